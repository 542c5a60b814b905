import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {describe, expect, test} from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map(entry => relative(root, join(entry.parentPath, entry.name)));
}

/** A tenant's file and all that keeps it right: no process, no code of tenants. */
const ENGINE = [
  'engine/limits.ts',
  'engine/storage',
  'engine/copies',
  'engine/io',
  'engine/commit',
  'engine/replication',
  'engine/reads',
  'engine/live',
  'engine/verify',
  'engine/adopt',
  'engine/wire',
  'engine/wire-type.ts',
  'engine/scheduler',
  'engine/schema',
  'engine/journal',
  'engine/scrub',
];

/** Runs code that is not ours; the first floor is what is inside of an isolate. */
const RUNTIME = [
  'worker/runtime/limits.ts',
  'worker/runtime/code-body.ts',
  'worker/runtime/console-lines.ts',
  'worker/runtime/crypto',
  'worker/runtime/deadline.ts',
  'worker/runtime/database',
  'worker/runtime/egress',
  'worker/runtime/environment.ts',
  'worker/runtime/execution.ts',
  'worker/runtime/isolate',
  'worker/runtime/code-store.ts',
  'worker/runtime/log',
  'worker/runtime/process-memory.ts',
  'worker/runtime/actions',
  'worker/runtime/queries',
  'worker/runtime/source-positions.ts',
  'worker/runtime/suggestion.ts',
  'worker/runtime/call.ts',
  'worker/runtime/call-result.ts',
  'worker/runtime/process',
  'worker/runtime/analysis',
  'worker/runtime/isolate-process',
  'worker/runtime/node',
];

/** The function platform: who is asking, deployments, who runs what, live queries and sessions, and the ways in. */
const FUNCTIONS = [
  'worker/functions/limits.ts',
  'worker/functions/action-response.ts',
  'worker/functions/auth',
  'worker/functions/cookie-scope.ts',
  'worker/functions/deployments',
  'worker/functions/mutations',
  'worker/functions/results',
  'worker/functions/functions.ts',
  'worker/functions/endpoints.ts',
  'worker/functions/http-actions.ts',
  'worker/functions/settings.ts',
  'worker/functions/sync/queries',
  'worker/functions/sync/session',
  'worker/functions/sync/sync.ts',
  'worker/functions/service-watch.ts',
  'worker/functions/service-host.ts',
  'worker/functions/platform.ts',
  'worker/functions/gate.ts',
  'worker/functions/socket-gate.ts',
];

/**
 * The rooms, lowest first: each imports only what stands before it. Processes share `shared/` alone, and the worker and the command
 * line the engine. What is not named here (deployment, benches, tests) is imported by nothing.
 */
const HOUSE: Record<string, string[]> = {
  shared: ['shared'],
  engine: ['shared', ...ENGINE],
  worker: [
    'shared',
    'worker/runtime/guest',
    'engine',
    'worker/ipc',
    ...RUNTIME,
    ...FUNCTIONS,
    'worker/control',
    'worker/api/limits.ts',
    'worker/api/body-rights.ts',
    'worker/api/bulk/bulk-records.ts',
    'worker/api/bulk/import',
    'worker/api/bulk/export',
    'worker/api/bulk',
    'worker/api/follow',
    'worker/api/operations',
    'worker/api/dispatch.ts',
    'worker/limits.ts',
    'cluster/limits.ts',
    'cluster/log',
    'cluster/owner',
    'cluster/endpoint',
    'worker/replication',
    'worker/close-file.ts',
    'worker/tenant-ends.ts',
    'worker/tenant-metrics.ts',
    'worker/tenant.ts',
    'worker/errands',
    'worker/serving.ts',
    'worker/warm-up.ts',
    'worker/main.ts',
  ],
  supervisor: [
    'shared',
    'supervisor/limits.ts',
    'shared/regular-file.ts',
    'supervisor/confinement',
    'supervisor/files',
    'supervisor/keys',
    'supervisor/processes',
    'supervisor/start',
    'supervisor/tenants/lifecycle-states.ts',
    'supervisor/tenants/worker-metric-sums.ts',
    'supervisor/metrics',
    'supervisor/figures',
    'supervisor/tenants',
    'supervisor/server',
    'supervisor/requests.ts',
    'supervisor/router-messages.ts',
    'supervisor/main.ts',
  ],
  copies: [
    'shared',
    'engine',
    'copies/limits.ts',
    'copies/store',
    'copies/repository',
    'copies/restore',
    'copies/drill',
    'copies/copier',
  ],
  cluster: [
    'shared',
    'engine/limits.ts',
    'engine/copies',
    'engine/replication',
    'cluster/limits.ts',
    'cluster/log',
    'cluster/placement',
    'cluster/members',
    'cluster/ownership',
    'cluster/nats',
    'cluster/owner',
    'cluster/endpoint',
    'cluster/standby',
    'cluster/copies',
    'cluster/host',
  ],
  router: [
    'shared',
    'router/limits.ts',
    'router/control-channel.ts',
    'router/routes.ts',
    'router/rates',
    'router/router-limits.ts',
    'router/auth',
    'router/workers',
    'router/http',
    'router/server.ts',
    'router/live',
    'router/peers',
    'router/tenants',
    'router/metrics',
    'router/dashboard',
    'router/edge',
    'router/ws',
    'router/main.ts',
  ],
  egress: ['shared', 'egress'],
  sdk: ['shared', 'sdk'],
  cli: ['shared', 'sdk', 'supervisor', 'engine', 'copies', 'cluster', 'build/check-node.cjs', 'cli'],
  build: ['shared', 'build', 'cli'],
  dashboard: [
    'shared',
    'sdk',
    'dashboard/styles.d.ts',
    'dashboard/limits.ts',
    'dashboard/api',
    'dashboard/parts',
    'dashboard/pages',
    'dashboard/app',
  ],
};

/** A room with more lines, and a third of those of the room around it, is to have rooms itself. */
const LARGE_LINES = 3_000;

/** Blank lines and comments count. A longer file has two concepts. */
const FILE_LINES_MAX = 500;

/** The relative imports of a source file, as paths from the root. */
function importsOf(file: string): string[] {
  const matches = readFileSync(join(root, file), 'utf8').matchAll(/(?:from |import\(|import )'(\.[^'$]+)'/g);
  return [...matches].map(([, target]) => relative(root, join(root, file, '..', target!)));
}

const isIn = (path: string, room: string) => path === room || path.startsWith(`${room}/`);

describe('the house', () => {
  test.each(Object.entries(HOUSE))('in %s each room imports only the rooms below it', (folder, rooms) => {
    const breaches: string[] = [];
    for (const file of sources(folder)) {
      const floor = rooms.findLastIndex(room => isIn(file, room));
      if (floor === -1) breaches.push(`${file} is in no room`);
      const below = rooms.slice(0, floor + 1);
      for (const imported of importsOf(file))
        if (!below.some(room => isIn(imported, room))) breaches.push(`${file} imports ${imported}`);
    }
    expect(breaches).toEqual([]);
  });

  test('no large room lacks floors inside of it', () => {
    const linesIn = (folder: string) =>
      sources(folder).reduce((sum, file) => sum + readFileSync(join(root, file), 'utf8').split('\n').length, 0);
    const rooms = [
      ...new Set(
        Object.keys(HOUSE)
          .flatMap(sources)
          .map(file => dirname(file)),
      ),
    ];
    const breaches = rooms.filter(room => {
      const hasFloors = readdirSync(join(root, room), {withFileTypes: true}).some(entry => entry.isDirectory());
      const parent = dirname(room);
      return !hasFloors && parent !== '.' && linesIn(room) > LARGE_LINES && linesIn(room) > linesIn(parent) / 3;
    });
    expect(breaches).toEqual([]);
  });

  test('no file is long', () => {
    const files = [...Object.keys(HOUSE), 'bench', 'examples', 'test']
      .flatMap(sources)
      .filter(file => !file.includes('node_modules/'));
    const lines = (file: string) => readFileSync(join(root, file), 'utf8').split('\n').length - 1;
    expect(files.filter(file => lines(file) > FILE_LINES_MAX)).toEqual([]);
  });

  test('no file imports itself by way of others, for types either', () => {
    const files = Object.keys(HOUSE).flatMap(sources);
    const left = new Map(files.map(file => [file, importsOf(file).filter(imported => files.includes(imported))]));
    // Files that import none of those left cannot be on a circle; when there is no such file, all that is left leads to one.
    for (let size = -1; size !== left.size; ) {
      size = left.size;
      for (const [file, imported] of left) if (!imported.some(other => left.has(other))) left.delete(file);
    }
    expect([...left.keys()]).toEqual([]);
  });

  test('the list of rooms names what is there', () => {
    expect(Object.values(HOUSE).flatMap(rooms => rooms.filter(room => !existsSync(join(root, room))))).toEqual([]);
  });

  // SQLite plans a statement whose LIMIT is a parameter again each time another value is bound, which takes longer than a short read.
  test('no statement has a bare parameter for its LIMIT', () => {
    const files = ['cli', 'cluster', 'copies', 'egress', 'engine', 'router', 'shared', 'supervisor', 'worker'].flatMap(
      sources,
    );
    const withLimit = files.filter(file => /\bLIMIT\b/.test(readFileSync(join(root, file), 'utf8')));
    expect(withLimit).not.toEqual([]);
    expect(withLimit.filter(file => /\bLIMIT \?(?! \+ 0)/.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  // So it does for a column that is compared with a parameter, unless all of a unique index are.
  test('no statement looks for a part of an index by a bare parameter', () => {
    const reads = sources('engine').filter(file =>
      readFileSync(join(root, file), 'utf8').includes('index_number = (? + 0)'),
    );
    expect(reads).not.toEqual([]);
    const bare = /\bindex_number = \?(?! AND key = \? AND doc = \?)/;
    expect(sources('engine').filter(file => bare.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  // npm hands the project's settings to `npx -p node@22` too, whose package installs Node by a script.
  test('npm may run the install script that brings Node 22', () => {
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).not.toMatch(/ignore-scripts/);
  });

  // Its package.json says so, but `npm ci` looks at the lock file alone and would compile. `npm install` drops the line again.
  test('package-lock.json says that better-sqlite3 is not to be compiled', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    expect(lock.packages['node_modules/better-sqlite3']).toMatchObject({gypfile: false});
  });

  test('every path in docs/architecture.md exists', () => {
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const paths = [
      ...page.matchAll(
        /`((?:supervisor|router|egress|cluster|copies|engine|worker|shared|cli|sdk|build|dashboard|deploy|test)\/[\w./-]*)`/g,
      ),
    ].map(match => match[1]!);
    expect(paths.length).toBeGreaterThan(40);
    expect(paths.filter(path => !existsSync(join(root, path)))).toEqual([]);
  });
});

const LONG_PAGE_LINES = 150;
const SECTIONS_LEAST = 3;

/** What the list has to say, in whatever lines. */
function contentsOf(sections: string[]): string {
  const links = sections.map(title => `[${title}](#${slug(title)})`);
  return `**On this page:** ${links.join(' · ')}`;
}

/** As GitHub makes the anchor of a heading. */
function slug(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

const PAGES = readdirSync(join(root, 'docs'))
  .filter(name => name.endsWith('.md'))
  .map(name => `docs/${name}`);

describe('the documentation', () => {
  test.each(PAGES)('%s lists its sections if it is long', path => {
    const text = readFileSync(join(root, path), 'utf8');
    const sections = Array.from(text.replace(/^```.*?^```/gms, '').matchAll(/^## (.+)$/gm), match => match[1]!);
    const shown = /^\*\*On this page:\*\*.*?(?=\n\n)/ms.exec(text)?.[0].replaceAll(/\s+/g, ' ');
    const isLong = text.split('\n').length > LONG_PAGE_LINES && sections.length >= SECTIONS_LEAST;
    if (isLong || shown !== undefined) expect(shown).toBe(contentsOf(sections));
  });

  test('the picture in the README is small, in git, and loads nothing', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const picture = readFileSync(join(root, /!\[[^\]]{100,}\]\((docs\/[a-z]+\.svg)\)/.exec(readme)![1]!), 'utf8');
    expect(picture.length).toBeLessThan(8_192);
    expect(picture.replace('http://www.w3.org/2000/svg', '')).not.toMatch(
      /https?:|href|<script|<image|@import|url\((?!#)/,
    );
  });
});
