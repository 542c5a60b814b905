/** `node.externalPackages`: packages as they are locked, in modules for Node, on each of its versions and as an operator finds them. */
import {createHash} from 'node:crypto';
import {existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {ServiceClient} from '../../../cli/client.ts';
import {readProject} from '../../../cli/project/project-file.ts';
import {type Pushed, push} from '../../../cli/project/push.ts';
import {NODE_VERSIONS} from '../../../shared/node-version.ts';
import {firstOf, nightly, rounds} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {errorsOf} from '../cli/project.ts';
import {nodeVariables} from './node-app.ts';
import {PackageRegistry} from './package-registry.ts';

const INSTALL_MS = 300_000;
const OWN = process.versions.node.split('.')[0]!;

const PACKAGES = {
  'shared@1.0.0': {files: {'index.js': "module.exports = 'shared 1';\n"}},
  'shared@2.0.0': {files: {'index.js': "module.exports = 'shared 2';\n"}},
  'common@1.0.0': {
    manifest: {dependencies: {shared: '^1.0.0'}, optionalDependencies: {speedup: '1.0.0', darwin: '1.0.0'}},
    files: {
      'index.js': `
        let fast = true;
        try { require('speedup'); } catch { fast = false; }
        exports.say = () => 'common with ' + require('shared') + (fast ? ', fast' : '');
        exports.directory = __dirname;`,
    },
  },
  'modern@1.0.0': {
    manifest: {
      type: 'module',
      dependencies: {shared: '^2.0.0'},
      exports: {'.': {import: './main.js', default: './wrong.js'}, './deep': './lib/deep.js'},
    },
    files: {
      'main.js': "import shared from 'shared';\nexport const say = () => 'modern with ' + shared;\n",
      'wrong.js': "throw new Error('the wrong condition');\n",
      'lib/deep.js': "export default 'deep';\n",
    },
  },
  '@team/pair@1.0.0': {
    manifest: {exports: {import: './pair.mjs', require: './pair.cjs'}, peerDependencies: {shared: '^1.0.0'}},
    files: {
      'pair.mjs': "import shared from 'shared';\nexport const how = 'import ' + shared;\n",
      'pair.cjs': "exports.how = 'require ' + require('shared');\n",
    },
  },
  // Its tarball has the name that that of @team/pair has.
  'team-pair@1.0.0': {files: {'index.js': "module.exports = 'another';\n"}},
  'suitcase@1.0.0': {
    manifest: {bundleDependencies: ['inner'], dependencies: {inner: '*'}},
    files: {
      'index.js': "module.exports = 'suitcase with ' + require('inner');\n",
      'node_modules/inner/package.json': '{"name": "inner", "version": "9.0.0"}',
      'node_modules/inner/index.js': "module.exports = 'inner';\n",
    },
  },
  'speedup@1.0.0': {files: {'binding.gyp': '{}', 'index.js': ''}},
  'darwin@1.0.0': {manifest: {os: ['darwin'], cpu: ['arm64']}, files: {'index.js': ''}},
  'native@1.0.0': {files: {'index.js': '', 'build/Release/addon.node': 'ELF'}},
  'scripted@1.0.0': {
    manifest: {scripts: {install: 'touch /tmp/svc-test-script-ran', postinstall: 'touch /tmp/svc-test-script-ran'}},
    files: {'index.js': "module.exports = 'scripted';\n"},
  },
  'inlined@1.0.0': {files: {'index.js': "module.exports = 'inlined';\n"}},
};
const DEPENDENCIES = {
  shared: '1.0.0',
  common: '1.0.0',
  modern: '1.0.0',
  '@team/pair': '1.0.0',
  'team-pair': '1.0.0',
  suitcase: '1.0.0',
  scripted: '1.0.0',
  inlined: '1.0.0',
  renamed: 'npm:team-pair@1.0.0',
};
const EXTERNAL = Object.keys(DEPENDENCIES).filter(name => name !== 'inlined' && name !== 'shared');
const MODULE = `"use node";
  import common from 'common';
  import {say} from 'modern';
  import deep from 'modern/deep';
  import {how} from '@team/pair';
  import pair from 'team-pair';
  import suitcase from 'suitcase';
  import scripted from 'scripted';
  import inlined from 'inlined';
  import renamed from 'renamed';
  import {action} from './_generated/server';
  export const all = action(async () => [
    common.say(), say(), deep, how, pair, suitcase, scripted, inlined, renamed, require('@team/pair').how,
  ]);
  export const directory = action(async () => common.directory);
  export const loaded = action(async (_ctx, {name}) => (await import(name)).default);
`;
const ALL = [
  'common with shared 1',
  'modern with shared 2',
  'deep',
  'import shared 1',
  'another',
  'suitcase with inner',
  'scripted',
  'inlined',
  'another',
  'require shared 1',
];

let service: Service;
let registry: PackageRegistry;
beforeAll(async () => {
  [service, registry] = await Promise.all([
    nodeVariables().then(env => Service.start({env})),
    PackageRegistry.start(PACKAGES),
  ]);
}, INSTALL_MS);
afterAll(async () => {
  await Promise.all([service.stop(), registry.stop()]);
});

type Wanted = {
  version?: string;
  external?: string[];
  dependencies?: Record<string, string>;
  files?: Record<string, string>;
};

/** @param files below `svc/` */
function project({version = OWN, external = EXTERNAL, dependencies = DEPENDENCIES, files = {'m.ts': MODULE}}: Wanted) {
  const svc = {node: {nodeVersion: version, externalPackages: external}};
  const sources = Object.fromEntries(Object.entries(files).map(([path, source]) => [`svc/${path}`, source]));
  return registry.project(dependencies, {'svc.json': JSON.stringify(svc), ...sources});
}

/** As `svc deploy` does it. @returns what it said */
async function deployed(app: App, root: string, dryRun = false): Promise<{said: string[]; pushed: Pushed}> {
  process.env.SVC_ACCESS_TOKEN = service.accessToken;
  const client = await ServiceClient.open({url: service.url}, 4);
  try {
    const said: string[] = [];
    const target = {project: await readProject(root), client, tenant: app.tenant};
    const pushed = await push(target, {typecheck: 'disable', message: null, dryRun}, text => said.push(text));
    return {said, pushed};
  } finally {
    delete process.env.SVC_ACCESS_TOKEN;
    await client.close();
  }
}

function storeOf(app: App): string {
  return join(service.directoryOf(app.tenant)!, 'packages');
}

describe.each(rounds<readonly string[]>({commit: [OWN], nightly: NODE_VERSIONS}))('Node %s', version => {
  test('modules import what is installed: CommonJS, ES modules, exports, scopes, peers, aliases, two versions of one, bundled ones', async () => {
    const app = await App.empty(service);
    const root = await project({version});
    await deployed(app, root);
    expect(await app.action('m:all', {})).toEqual(ALL);
    expect(existsSync('/tmp/svc-test-script-ran')).toBe(false);
  });
});

nightly.test('["*"] is all dependencies that modules for Node import; those of other modules are bundled', async () => {
  const app = await App.empty(service);
  const files = {
    'm.ts': MODULE,
    'q.ts': `import common from 'team-pair';
      import {query} from './_generated/server';
      export const q = query(async () => common);`,
  };
  await deployed(app, await project({external: ['*'], files}));
  expect(await app.action('m:all', {})).toEqual(ALL);
  expect(await app.query('q:q', {})).toBe('another');
  // Only what is imported is there.
  const missing = await app.actionError('m:loaded', {name: 'native'});
  expect(missing).toContain("Cannot find package 'native'");
  expect(missing).not.toContain(service.data);
});

nightly.test('a service has the packages of its module', async () => {
  const app = await App.empty(service);
  const worker = `"use node";
    import common from 'common';
    export default (_ctx: unknown, _signal: unknown, log: {info(text: string): void}) => log.info(common.say());`;
  await deployed(app, await project({external: ['common'], files: {'worker.ts': worker}}));
  const body = {name: 's', source: {type: 'module', path: 'worker'}, restart: 'never'};
  expect((await app.admin('POST', '/services', body)).status).toBe(201);
  await until('it says so', async () =>
    (await app.admin('GET', '/services/s/logs')).text.includes('common with shared 1') ? true : null,
  );
});

describe('what is deployed', () => {
  nightly.test('comes from the cache of npm: no registry is asked', async () => {
    const own = await PackageRegistry.start({'shared@1.0.0': PACKAGES['shared@1.0.0']});
    onTestFinished(() => own.stop());
    const files = {'svc.json': JSON.stringify({node: {nodeVersion: OWN, externalPackages: ['shared']}})};
    const source = `"use node";
      import shared from 'shared';
      import {action} from './_generated/server';
      export const all = action(async () => shared);`;
    const root = await own.project({shared: '1.0.0'}, {...files, 'svc/m.ts': source});
    await own.close();
    const app = await App.empty(service);
    const {said} = await deployed(app, root);
    expect(said).toContain('sending 1 package of 1 to the server');
    expect(await app.action('m:all', {})).toBe('shared 1');
  });

  test('is sent once, and kept for the deployments that have it', async () => {
    const app = await App.empty(service);
    const root = await project({});
    const {said} = await deployed(app, root, true);
    expect(said.join('\n')).toMatch(/sending 9 packages of 9 to the server\nsent 9 packages/);
    const again = await deployed(app, root);
    expect(again.said.join('\n')).not.toContain('sending');
    const directory = String(await app.action('m:directory', {}));
    const inode = (path: string) => statSync(path).ino;
    const shared = readdirSync(storeOf(app)).filter(name => !name.endsWith('.tgz'));
    const stored = shared.map(name => join(storeOf(app), name, 'index.js')).filter(path => existsSync(path));
    // The same files, not copies of them.
    expect(stored.map(inode)).toContain(inode(join(directory, 'index.js')));
    writeFileSync(join(root, 'svc/m.ts'), `${MODULE}export const more = 1;\n`);
    await deployed(app, root);
    const other = String(await app.action('m:directory', {}));
    expect(other).not.toBe(directory);
    expect(inode(join(other, 'index.js'))).toBe(inode(join(directory, 'index.js')));
  });

  nightly.test('survives kill -9 of the server, and files that are damaged or not all there', async () => {
    const app = await App.empty(service);
    await deployed(app, await project({}));
    const directory = String(await app.action('m:directory', {}));
    await service.end('SIGKILL');
    rmSync(join(directory, '..', 'modern'), {recursive: true});
    for (const name of readdirSync(storeOf(app))) {
      if (!name.endsWith('.tgz')) truncateSync(join(storeOf(app), name, 'package.json'), 1);
    }
    await service.run();
    expect(await app.action('m:all', {})).toEqual(ALL);
  });

  nightly.test('is not served damaged: a deploy brings it again', async () => {
    const app = await App.empty(service);
    const root = await project({});
    await deployed(app, root);
    const tarballs = readdirSync(storeOf(app)).filter(name => name.endsWith('.tgz'));
    await service.end('SIGTERM');
    for (const name of tarballs) {
      const tarball = readFileSync(join(storeOf(app), name));
      tarball[tarball.length - 9]! ^= 1;
      writeFileSync(join(storeOf(app), name), tarball);
    }
    await service.run();
    const {status, text} = await app.svc('POST', '/action', {path: 'm:all', args: {}});
    expect([status, text]).toEqual([503, expect.stringMatching(/the external package .*@.* is damaged/)]);
    await deployed(app, root);
    expect(await app.action('m:all', {})).toEqual(ALL);
  });
});

describe('a deploy is refused', () => {
  test('by the name of a package with native code', async () => {
    const app = await App.empty(service);
    const source = '"use node";\nimport "native";\n';
    const root = await project({external: ['native'], dependencies: {native: '1.0.0'}, files: {'m.ts': source}});
    const [error] = await errorsOf(deployed(app, root));
    expect(error!.message).toContain('native@1.0.0 has native code (build/Release/addon.node)');
  });

  test('when a module of the default runtime imports one that is named', async () => {
    const app = await App.empty(service);
    const files = {
      'q.ts': `import {query} from './_generated/server';
        import common from 'common';
        export const q = query(async () => common.say());`,
    };
    const [error] = await errorsOf(deployed(app, await project({external: ['common'], files})));
    expect(error).toMatchObject({file: 'svc/q.ts', line: 2});
    expect(error!.message).toContain('only they can import it');
  });

  const refused: [name: string, spoil: (root: string) => unknown, reason: string][] = [
    ['no lock file', root => rmSync(join(root, 'package-lock.json')), 'there is no package-lock.json'],
    ['no lock file that is JSON', root => writeFileSync(join(root, 'package-lock.json'), '{'), 'is not JSON'],
    [
      'the integrity of something else',
      root =>
        edit(
          root,
          lock =>
            (lock.packages['node_modules/modern']!.integrity =
              `sha512-${createHash('sha512').update(root).digest('base64')}`),
        ),
      'modern@1.0.0: the downloaded package does not match the lock file',
    ],
    [
      'a package that is not installed',
      root => rmSync(join(root, 'node_modules/common'), {recursive: true}),
      'common is in "node.externalPackages" and not installed',
    ],
    [
      'another version than is locked',
      root => writeFileSync(join(root, 'node_modules/common/package.json'), '{"version": "3.0.0"}'),
      'common is installed as 3.0.0, and locked as 1.0.0',
    ],
    [
      'no integrity',
      root => edit(root, lock => delete lock.packages['node_modules/modern']!.integrity),
      'modern@1.0.0 has no integrity',
    ],
    [
      'an integrity that is no SHA-512',
      root => edit(root, lock => (lock.packages['node_modules/modern']!.integrity = 'sha1-AAAA')),
      'modern@1.0.0 has the integrity sha1-AAAA, which is no SHA-512',
    ],
    [
      'a directory of the project',
      root => edit(root, lock => (lock.packages['node_modules/modern']!.link = true)),
      'modern is a directory of this project',
    ],
    [
      'a dependency that is not locked',
      root => edit(root, lock => delete lock.packages['node_modules/shared']),
      'depends on shared, which is not locked',
    ],
    [
      'a lock file of npm 6',
      root => edit(root, lock => delete (lock as {packages?: unknown}).packages),
      'is of a version that has no "packages"',
    ],
  ];
  let refusing: App | null = null;
  test.each(firstOf(3, refused))('with %s', async (_name, spoil, reason) => {
    refusing ??= await App.empty(service);
    const app = refusing;
    const root = await project({});
    spoil(root);
    expect((await errorsOf(deployed(app, root))).map(({message}) => message).join('\n')).toContain(reason);
  });
});

type Lock = {packages: Record<string, Record<string, unknown>>};

function edit(root: string, change: (lock: Lock) => unknown): void {
  const path = join(root, 'package-lock.json');
  const lock = JSON.parse(readFileSync(path, 'utf8')) as Lock;
  change(lock);
  writeFileSync(path, JSON.stringify(lock));
}
