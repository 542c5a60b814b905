/**
 * `npm run build`: the sources become `dist/`, one bundle a process. JavaScript dependencies are bundled (one file to read
 * makes a worker start faster), native ones stay packages beside it.
 *
 *   cli.js        the svc command: checks Node, then loads the verb it was given from its own chunk
 *   router.js     the router process
 *   egress.js     the egress process
 *   worker.js     a tenant's worker process; what it may need later, functions above all, is in chunks, worker-*.js
 *   wire-faults.cjs  what a worker needs to say why a request is refused
 *   analysis.js   the process that looks at an upload for a worker
 *   node-child.js, node-call.js  a Node process of modules with "use node", and the kernel of a call in it
 *   sandboxes.js  the process of a tenant's sandboxes
 *   isolates.js   the process of a tenant's query and action isolates
 *   *.thread.js   threads of it, and of a worker
 *   realm.js      the first script of every isolate: globals and contexts of functions
 *   api-docs/*    the document of the HTTP API and the page for its readers
 *   sdk/*         the entry points apps import, `svc/server` and the like, with types/* as their declarations
 *
 * A file that did not change is not touched and the others are replaced by renaming, so building beside a running server
 * never shows a process half a file.
 */
import {execFileSync} from 'node:child_process';
import {chmodSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {basename, dirname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {type BuildOptions, build} from 'esbuild';
import {apiDocs} from './api-docs.ts';
import {declarations} from './declarations.ts';
import {realmBundle} from './realm-bundle.ts';
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
  // Stack traces get their lines from the maps and their text from the sources, so the maps stay small.
  sourcesContent: false,
  // Names and lines stay: a worker runs without its source map, and a stack trace has to say where it was.
  minifySyntax: true,
  // Bundled CommonJS packages call `require` for Node's own modules.
  banner: {
    js: "import {createRequire as __createRequire} from 'node:module';const require=__createRequire(import.meta.url);",
  },
  legalComments: 'linked',
  logLevel: 'warning',
};

/** By the folder in sdk/ that has it. For any JavaScript environment. What entry points share is one file, so that an app has one of it too. */
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
  // The app's own, of which there must be one.
  external: ['react'],
  minifySyntax: true,
  logLevel: 'warning',
};

/** A script that makes `svcCall`; it is run once for each call. */
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

const threads = globSync('{engine,worker}/**/*.thread.ts', {cwd: root});
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
  // On the oldest Node that modules ask for.
  build({...common, entryPoints: {'node-child': 'worker/runtime/node/main.ts'}, target: 'node20'}),
  build(sdk),
]).catch(() => process.exit(1)); // esbuild has said what is wrong, and where.

mkdirSync(dist, {recursive: true});
const made = new Set<string>();
for (const file of results.flatMap(result => result.outputFiles ?? [])) {
  const name = relative(dist, file.path);
  made.add(name);
  replaceFile(file.path, file.contents);
}
for (const [name, text] of declarations(root, entries)) {
  made.add(name);
  replaceFile(join(dist, name), Buffer.from(text));
}
for (const [name, contents] of await apiDocs(root, version)) {
  made.add(name);
  replaceFile(join(dist, name), contents);
}
chmodSync(join(dist, 'cli.js'), 0o755);
// Another build may be under way beside this one: its temporary files are not ours.
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
    return null; // Not there yet: it is about to be written.
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
