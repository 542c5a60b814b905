/**
 * `npm run build` turns the sources into `dist/`, one bundle per process. JavaScript dependencies are bundled (a
 * worker starts faster from a single file); native ones stay separate packages.
 *
 *   cli.js        the svc command: checks Node, then loads the given verb from its own chunk
 *   router.js     the router process
 *   egress.js     the egress process
 *   copier.js     the copier, which makes backups; the client of S3 is in chunks, copier-*.js
 *   cluster.js    the cluster process of a host; the client of NATS is part of it
 *   worker.js     a tenant's worker process; code that it needs later, mainly functions, is in chunks, worker-*.js
 *   wire-faults.cjs  the worker's code for explaining why a request is refused
 *   analysis.js   the process that analyses an upload for a worker
 *   node-child.js, node-call.js  the Node process of modules with "use node", and the code of one call in it
 *   sandboxes.js  the process of a tenant's sandboxes
 *   isolates.js   the process of a tenant's query and action isolates
 *   *.thread.js   threads of isolates.js, and of a worker
 *   realm.js      the first script of every isolate: globals and contexts of functions
 *   api-docs/*    the document of the HTTP API and the page that shows it
 *   dashboard/*   the dashboard's page, with its scripts and stylesheet
 *   starter/*     the templates of `svc init`
 *   sdk/*         the entry points that apps import, `svc/server` and the like, with types/* as their declarations
 *
 * An unchanged file is not touched, and the others are replaced by renaming, so building while a server runs never
 * shows a process half a file.
 */
import {execFileSync} from 'node:child_process';
import {chmodSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {basename, dirname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {type BuildOptions, build} from 'esbuild';
import {apiDocs} from './api-docs.ts';
import {dashboard} from './dashboard.ts';
import {declarations} from './declarations.ts';
import {oneByte} from './one-byte.ts';
import {realmBundle} from './realm-bundle.ts';
import {starterTemplates} from './starter.ts';
import {wireChecks} from './wire-checks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const {version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {version: string};

const common: BuildOptions = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  write: false,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  external: ['better-sqlite3', 'chokidar', 'esbuild', 'isolated-vm', 'piscina', 'uWebSockets.js'],
  define: {__VERSION__: JSON.stringify(version), __BUILD__: JSON.stringify(gitRevision())},
  sourcemap: 'linked',
  // Stack traces take lines from the maps and text from the sources, so the maps stay small.
  sourcesContent: false,
  // Names and lines stay: a worker runs without its source map, and a stack trace has to show the position.
  minifySyntax: true,
  // Bundled CommonJS packages call `require` for Node's own modules.
  banner: {
    js: "import {createRequire as __createRequire} from 'node:module';const require=__createRequire(import.meta.url);",
  },
  legalComments: 'linked',
  logLevel: 'warning',
};

/**
 * Entry points by their folder in sdk/, for any JavaScript environment. Code that they share is in one file, so an app
 * has a single copy of it, too.
 */
const entries: Record<string, string> = {
  browser: 'browser',
  client: 'native',
  'compat/browser': 'compat/browser',
  'compat/react': 'compat/react',
  'compat/server': 'compat/server',
  'compat/values': 'compat/values',
  react: 'react',
  server: 'server',
  values: 'values',
};
const sdk: BuildOptions = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  write: false,
  entryPoints: Object.fromEntries(
    Object.entries(entries).map(([entry, folder]) => [`sdk/${entry}`, `sdk/${folder}/index.ts`]),
  ),
  splitting: true,
  chunkNames: 'sdk/chunk-[hash]',
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  // The app's own React, of which there must be only one.
  external: ['react'],
  minifySyntax: true,
  logLevel: 'warning',
};

/** A script that defines `svcCall`; it runs once for each call. */
const nodeCall: BuildOptions = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  write: false,
  entryPoints: {'node-call': 'worker/runtime/guest/node-call.ts'},
  platform: 'neutral',
  format: 'iife',
  globalName: 'svcCall',
  target: 'es2023',
  banner: {js: '"use strict";'},
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
};

const threads = globSync('{cluster,engine,copies,worker}/**/*.thread.ts', {cwd: root});
const processes: Record<string, string> = {
  analysis: 'worker/runtime/analysis/main.ts',
  isolates: 'worker/runtime/isolate-process/main.ts',
  sandboxes: 'worker/control/host/main.ts',
};
for (const thread of threads) processes[basename(thread, '.ts')] = thread;

const results = await Promise.all([
  build({...common, entryPoints: {cli: 'cli/main.ts'}, splitting: true}),
  build({...common, entryPoints: {router: 'router/main.ts'}}),
  build({...common, entryPoints: {egress: 'egress/main.ts'}}),
  build({...common, entryPoints: {cluster: 'cluster/host/main.ts'}}),
  build({
    ...common,
    entryPoints: {copier: 'copies/copier/main.ts'},
    splitting: true,
    chunkNames: 'copier-[name]-[hash]',
  }),
  build({
    ...common,
    entryPoints: {worker: 'worker/main.ts'},
    splitting: true,
    chunkNames: 'worker-[name]-[hash]',
    plugins: [wireChecks(root)],
  }),
  build({...common, entryPoints: processes, plugins: [wireChecks(root)]}),
  build({
    ...common,
    entryPoints: {'wire-faults': 'engine/wire/faults.ts'},
    format: 'cjs',
    outExtension: {'.js': '.cjs'},
    banner: {},
  }),
  build({...realmBundle, outdir: dist}),
  build(nodeCall),
  // The target is the oldest Node that modules can request.
  build({...common, entryPoints: {'node-child': 'worker/runtime/node/main.ts'}, target: 'node20'}),
  build(sdk),
]).catch(() => process.exit(1)); // esbuild has already reported the error and its location.

mkdirSync(dist, {recursive: true});
const made = new Set<string>();
const files = results.flatMap(result => result.outputFiles ?? []);
await Promise.all(
  files.map(async file => {
    const name = relative(dist, file.path);
    made.add(name);
    replaceFile(file.path, /\.c?js$/.test(name) ? Buffer.from(await oneByte(name, file.text)) : file.contents);
  }),
);
for (const [name, text] of [...declarations(root, entries), ...starterTemplates(root)]) {
  made.add(name);
  replaceFile(join(dist, name), Buffer.from(text));
}
for (const [name, contents] of (await Promise.all([apiDocs(root, version), dashboard(root)])).flat()) {
  made.add(name);
  replaceFile(join(dist, name), contents);
}
chmodSync(join(dist, 'cli.js'), 0o755);
// Another build can run at the same time: its temporary files are not ours.
for (const entry of readdirSync(dist, {recursive: true, withFileTypes: true})) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !made.has(relative(dist, path)) && !entry.name.endsWith('.tmp')) rmSync(path);
}

function replaceFile(path: string, contents: Uint8Array): void {
  if (readIfThere(path)?.equals(contents)) return;
  mkdirSync(dirname(path), {recursive: true});
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null; // It does not exist yet: it is about to be written.
  }
}

function gitRevision(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {cwd: root, stdio: ['ignore', 'pipe', 'ignore']})
      .toString()
      .trim();
  } catch {
    return 'dev'; // A source archive has no history.
  }
}
