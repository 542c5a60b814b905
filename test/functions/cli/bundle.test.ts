/** What the bundler makes of a project: its output is run here in Node, as far as that has what the platform would have. */
import {AsyncLocalStorage} from 'node:async_hooks';
import {symlinkSync, utimesSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {originalPositionFor, TraceMap} from '@jridgewell/trace-mapping';
import {describe, expect, test} from 'vitest';
import {BundleFailed, bundle, bundleProject} from '../../../cli/project/bundle.ts';
import {readProject} from '../../../cli/project/project-file.ts';
import type {DeploymentUpload} from '../../../shared/protocol/functions.ts';
import {errorsOf, inFunctions, projectDirectory} from './project.ts';

type Namespace = Record<string, unknown>;

function uploadOf(files: Record<string, string>): Promise<DeploymentUpload> {
  return bundleProject(projectDirectory(inFunctions(files)));
}

function refusalOf(files: Record<string, string>) {
  return errorsOf(uploadOf(files));
}

/** The exports of a file of the bundle, run. */
async function exportsOf(upload: DeploymentUpload, path: string): Promise<Namespace> {
  const files = Object.fromEntries(upload.files.map(file => [file.path, file.source]));
  const directory = projectDirectory({'package.json': '{"type": "module"}', ...files});
  const load = (file: string): Promise<Namespace> => import(pathToFileURL(join(directory, file)).href);
  Object.assign(globalThis, {[Symbol.for('svc.import')]: load});
  return await load(path);
}

function sourceOf(upload: DeploymentUpload, path: string): string {
  return upload.files.find(file => file.path === path)!.source;
}

const QUERY = `import {query} from './_generated/server';
export const list = query({args: {}, handler: () => []});
`;
const SERVER = "export {queryGeneric as query} from 'svc/server';\n";

describe('an upload', () => {
  test('names modules, schema and auth config, and has a file with a source map for each', async () => {
    const upload = await uploadOf({
      'messages.ts': QUERY,
      'a/b.ts': 'export const f = 1;\n',
      'schema.ts': "import {defineSchema} from 'svc/server';\nexport default defineSchema({});\n",
      'auth.config.ts': 'export default {providers: []};\n',
      '_generated/server.js': SERVER,
    });
    expect(upload).toMatchObject({
      modules: ['a/b', 'messages'],
      schema: 'schema',
      authConfig: 'auth.config',
      message: null,
      dryRun: false,
    });
    const paths = upload.files.map(({path}) => path);
    expect(paths).toEqual(expect.arrayContaining(['a/b.js', 'messages.js', 'schema.js', 'auth.config.js']));
    expect(paths.filter(path => !path.startsWith('_deps/'))).toHaveLength(4);
    expect(upload.files.every(({sourceMap}) => sourceMap !== null)).toBe(true);
  });

  test('of a project without modules is empty', async () => {
    expect(await uploadOf({'readme.md': '# none'})).toMatchObject({files: [], modules: [], modifiedMs: 0});
  });

  test('carries what the deploy is for', async () => {
    const directory = projectDirectory(inFunctions({'m.ts': 'export const x = 1;\n'}));
    expect(await bundleProject(directory, {message: 'why', dryRun: true})).toMatchObject({
      message: 'why',
      dryRun: true,
    });
  });

  test('has the newest modification time of the modules', async () => {
    const directory = projectDirectory(inFunctions({'a.ts': 'export {};\n', 'b.ts': 'export {};\n'}));
    utimesSync(join(directory, 'svc/a.ts'), 1_000, 1_000);
    utimesSync(join(directory, 'svc/b.ts'), 2_000, 2_000);
    expect((await bundleProject(directory)).modifiedMs).toBe(2_000_000);
  });

  test('is the same for the same sources, wherever the project is, links included', async () => {
    const files = inFunctions({'m.ts': QUERY, 'n.ts': QUERY, '_generated/server.js': SERVER});
    const deeper = Object.fromEntries(Object.entries(files).map(([path, source]) => [`a/b/${path}`, source]));
    const directories = [projectDirectory(files), join(projectDirectory(deeper), 'a/b')];
    const link = join(projectDirectory({}), 'link');
    symlinkSync(directories[0]!, link);
    const [first, ...others] = await Promise.all([...directories, link].map(directory => bundleProject(directory)));
    for (const other of others) expect(other.files).toEqual(first!.files);
  });

  test('has nothing in it of where the command is', async () => {
    const upload = await uploadOf({'m.ts': QUERY, 'n.ts': QUERY, '_generated/server.js': SERVER});
    for (const {source, sourceMap} of upload.files) {
      expect(source).not.toContain('../sdk/');
      const {sources} = JSON.parse(sourceMap!) as {sources: string[]};
      for (const path of sources) expect(path).toMatch(/^svc(?:\/|:sdk\/|:shared\/)/);
    }
  });
});

describe('code', () => {
  test('exports registered functions', async () => {
    const upload = await uploadOf({'m.ts': QUERY, '_generated/server.js': SERVER});
    const {isSvcFunction, kind, visibility} = (await exportsOf(upload, 'm.js')).list as Namespace;
    expect({isSvcFunction, kind, visibility}).toEqual({isSvcFunction: true, kind: 'query', visibility: 'public'});
  });

  test('that several modules import is there once', async () => {
    const upload = await uploadOf({
      'shared.ts': 'export const token = {};\n',
      'a.ts': "export {token} from './shared';\n",
      'b/c.ts': "export {token} from '../shared';\n",
    });
    const directory = projectDirectory({
      'package.json': '{"type": "module"}',
      ...Object.fromEntries(upload.files.map(file => [file.path, file.source])),
    });
    const [a, c] = await Promise.all(
      ['a.js', 'b/c.js'].map(path => import(pathToFileURL(join(directory, path)).href) as Promise<Namespace>),
    );
    expect(a!.token).toBe(c!.token);
  });

  test('from outside the functions and from packages is bundled', async () => {
    const root = projectDirectory({
      'svc/m.ts': "import {one} from '../shared/one.ts';\nimport two from 'two';\nexport const sum = one + two;\n",
      'shared/one.ts': 'export const one = 1;\n',
      'node_modules/two/package.json': '{"name": "two", "main": "./index.js"}',
      'node_modules/two/index.js': 'module.exports = 2;\n',
    });
    expect(await exportsOf(await bundleProject(root), 'm.js')).toMatchObject({sum: 3});
    const {sources} = await bundle(await readProject(root));
    expect(sources.sort()).toEqual(['shared/one.ts', 'svc/m.ts']);
  });

  test.each([
    ['"svc"', {svc: './right.js', default: './wrong.js'}],
    ['"worker"', {node: './wrong.js', worker: './right.js', browser: './wrong.js', default: './wrong.js'}],
    ['"browser"', {node: './wrong.js', browser: './right.js', default: './wrong.js'}],
    ['"import"', {require: './wrong.js', import: './right.js'}],
  ])('of a package is the build for %s', async (_condition, exports) => {
    const root = projectDirectory({
      'svc/m.ts': "export {default} from 'p';\n",
      'node_modules/p/package.json': JSON.stringify({name: 'p', exports}),
      'node_modules/p/right.js': "export default 'right';\n",
      'node_modules/p/wrong.js': "export default 'wrong';\n",
    });
    expect(await exportsOf(await bundleProject(root), 'm.js')).toMatchObject({default: 'right'});
  });

  test('positions lead back to the sources', async () => {
    const source = '\n\nexport function here() {\n  throw new Error("thrown");\n}\n';
    const {files} = await uploadOf({'a/b.ts': source});
    const [file] = files;
    const map = new TraceMap(file!.sourceMap!);
    expect(map.sources).toEqual(['svc/a/b.ts']);
    const line = file!.source.split('\n').findIndex(text => text.includes('thrown')) + 1;
    expect(originalPositionFor(map, {line, column: 2})).toMatchObject({source: 'svc/a/b.ts', line: 4});
    expect(JSON.parse(file!.sourceMap!).sourcesContent?.some(Boolean)).toBeFalsy();
  });
});

describe('import()', () => {
  test('of a module goes through the platform, by its path in the bundle', async () => {
    const upload = await uploadOf({
      'a/m.ts': "export const load = async () => (await import('../other')).value;\n",
      'other.ts': "export const value = 'loaded';\n",
    });
    expect(sourceOf(upload, 'a/m.js')).toContain(`globalThis[Symbol.for('svc.import')]("other.js")`);
    const {load} = await exportsOf(upload, 'a/m.js');
    expect(await (load as () => Promise<unknown>)()).toBe('loaded');
  });

  test('of what is not known in advance is passed on', async () => {
    const upload = await uploadOf({'m.ts': "export const load = (x: string) => import(x + '.js');\n"});
    expect(sourceOf(upload, 'm.js')).toContain(`globalThis[Symbol.for('svc.import')](x + ".js")`);
  });

  test('in texts and comments stays', async () => {
    const upload = await uploadOf({'m.ts': 'export const text = "import(\'./x\')"; /*! import("./y") */\n'});
    expect(await exportsOf(upload, 'm.js')).toMatchObject({text: "import('./x')"});
  });

  test('of one among many, one of them inside another', async () => {
    const upload = await uploadOf({
      'm.ts': `export const load = async (name: string) => [
  (await import('./x')).x, (await import(\`./\${(await import('./names')).names[name]}.ts\`)).y,
];
`,
      'names.ts': "export const names: Record<string, string> = {second: 'y'};\n",
      'x.ts': 'export const x = 1;\n',
      'y.ts': 'export const y = 2;\n',
    });
    expect(sourceOf(upload, 'm.js')).not.toMatch(/^(?!\/\/).*\bimport\(/m);
    const {load} = await exportsOf(upload, 'm.js');
    expect(await (load as (name: string) => Promise<unknown>)('second')).toEqual([1, 2]);
  });

  test('of a template that names no module of the project fails as the platform says', async () => {
    const code = `export const load = (name: string) => import(\`./parts/\${name}.ts\`);\n`;
    const upload = await uploadOf({'m.ts': code, 'n.ts': code, 'parts/a.ts': 'export const a = 1;\n'});
    for (const file of ['m.js', 'n.js']) {
      const {load} = (await exportsOf(upload, file)) as {load: (name: string) => Promise<unknown>};
      expect(await load('a')).toMatchObject({a: 1});
      const refused: string[] = [];
      const platform = async (path: string) => {
        refused.push(path);
        throw new TypeError('unsupported');
      };
      Object.assign(globalThis, {[Symbol.for('svc.import')]: platform});
      for (const name of ['a', 'b', '../m']) await expect(load(name)).rejects.toThrow(new TypeError('unsupported'));
      expect(refused).toEqual(['parts/a.js', './parts/b.ts', './parts/../m.ts']);
    }
  });
});

describe('async_hooks', () => {
  const STORES = `import {AsyncLocalStorage} from 'NAME';
const store = new AsyncLocalStorage();
export const read = () => store.run(7, async () => { await null; for await (const one of [1]) void one; return store.getStore(); });
`;
  test.each(['node:async_hooks', 'async_hooks'])(
    '%s is what the platform has, and await is made of then',
    async name => {
      Object.assign(globalThis, {[Symbol.for('svc.async_hooks')]: {AsyncLocalStorage}});
      const upload = await uploadOf({'m.ts': STORES.replace('NAME', name)});
      expect(sourceOf(upload, 'm.js')).not.toMatch(/\bawait |\basync [(f]/);
      const {read} = await exportsOf(upload, 'm.js');
      expect(await (read as () => Promise<unknown>)()).toBe(7);
    },
  );
  test('without it, await stays as it is', async () => {
    const upload = await uploadOf({'m.ts': 'export const f = async () => { await null; };\n'});
    expect(sourceOf(upload, 'm.js')).toContain('await null');
  });
});

describe('what is refused', () => {
  test('as BundleFailed, whose message says where', async () => {
    const failure = uploadOf({'m.ts': 'export const = 1;\n'});
    await expect(failure).rejects.toBeInstanceOf(BundleFailed);
    await expect(failure).rejects.toThrow(/^svc\/m\.ts:1:14: /);
  });

  test('everything that is wrong at once, with file and line', async () => {
    const errors = await refusalOf({
      'a.ts': "\nimport './nowhere';\n",
      'b.ts': 'export const x = ;\n',
      'c.ts': "export {y} from 'not-installed';\n",
    });
    expect(errors.map(({file, line}) => `${file}:${line}`).sort()).toEqual(['svc/a.ts:2', 'svc/b.ts:1', 'svc/c.ts:1']);
  });

  test.each(['fs', 'node:fs', 'node:fs/promises', 'crypto'])('%s, with a hint at "use node"', async name => {
    const [error] = await refusalOf({'m.ts': `\nimport * as it from '${name}';\nexport const x = it;\n`});
    expect(error).toMatchObject({file: 'svc/m.ts', line: 2});
    expect(error!.message).toContain(`"${name}"`);
    expect(error!.message).toContain('"use node"');
  });

  test('SvcError, which does not exist', async () => {
    const [error] = await refusalOf({'m.ts': "import {SvcError} from 'svc/values';\nexport const x = SvcError;\n"});
    expect(error).toMatchObject({file: 'svc/m.ts', line: 1});
    expect(error!.message).toMatch(/No matching export in .* for import "SvcError"/);
  });

  test('an entry point of svc that does not exist', async () => {
    const [error] = await refusalOf({'m.ts': "export * from 'svc/nothing';\n"});
    expect(error).toMatchObject({file: 'svc/m.ts', line: 1});
  });

  test.each([['"use bun"', '"use bun";\nexport {};\n', 1, ['use bun', 'no Bun runtime adapter']]])(
    '%s',
    async (_name, source, line, parts) => {
      const errors = await refusalOf({'m.ts': source});
      expect(errors).toMatchObject([{file: 'svc/m.ts', line}]);
      for (const part of parts) expect(errors[0]!.message).toContain(part);
    },
  );

  test.each(['http.ts', 'schema.ts', 'auth.config.ts', 'crons.ts'])('"use node" in %s', async name => {
    const errors = await refusalOf({[name]: '"use node";\nexport default {};\n'});
    expect(errors).toMatchObject([{file: `svc/${name}`, line: 1}]);
    expect(errors[0]!.message).toContain('run in the default runtime');
  });

  test('"use node" in a file that a module imports', async () => {
    const errors = await refusalOf({'m.ts': "import './my.helper';\n", 'my.helper.ts': '"use node";\nexport {};\n'});
    expect(errors).toMatchObject([{file: 'svc/my.helper.ts', line: 1}]);
  });

  test('a directive is one at the top only', async () => {
    const upload = await uploadOf({'m.ts': 'export const x = 1;\n"use node";\n'});
    expect(upload.modules).toEqual(['m']);
  });

  test('more code than can be deployed, naming its size', async () => {
    const half = 'x'.repeat(17 * 1024 * 1024);
    const [error] = await refusalOf({
      'a.js': `export const a = '${half}';\n`,
      'b.js': `export const b = '${half}';\n`,
    });
    expect(error!.message).toMatch(/^the code is 34\.0 MiB .*32 MiB/);
  });
});

describe('modules with "use node"', () => {
  const files = {
    'plain.ts': "import {shared} from './shared';\nexport const x = shared;\n",
    'one.ts':
      "// comment\n'use node'\nimport fs from 'fs';\nimport {shared} from './shared';\nexport const x = [fs, shared];\n",
    'two.ts':
      '"use node";\nimport * as fs from "node:fs";\nimport {shared} from "./shared";\nexport const x = [fs, shared];\n',
    'shared.ts': 'export const shared = {};\n',
  };

  test('are distinguished from others, with the version that the project asks for, 24 unless it says', async () => {
    const {runtimes, node} = await uploadOf(files);
    expect(runtimes).toEqual({plain: 'default', one: 'node', two: 'node', shared: 'default'});
    expect(node).toEqual({version: '24'});
  });

  test('keep the modules of Node that they import, and share code apart from the others', async () => {
    const upload = await uploadOf(files);
    const source = (path: string) => upload.files.find(file => file.path === path)!.source;
    expect(source('one.js')).toMatch(/from ?"fs"/);
    expect(source('two.js')).toMatch(/from ?"node:fs"/);
    const chunks = upload.files.map(({path}) => path).filter(path => path.startsWith('_deps/'));
    expect(chunks.filter(path => path.startsWith('_deps/node/')).length).toBeGreaterThan(0);
    expect(chunks.filter(path => !path.startsWith('_deps/node/')).length).toBeGreaterThan(0);
  });

  test('a project without them says nothing of Node', async () => {
    expect(await uploadOf({'plain.ts': 'export const x = 1;\n'})).not.toHaveProperty('node');
  });
});
