/**
 * Bundles a project's code for the server: one ES module for each module of the app, packages included, and code that
 * several of them import in separate files below `_deps/`. All errors in the code are reported at once.
 */
import {Buffer} from 'node:buffer';
import {stat} from 'node:fs/promises';
import {isBuiltin} from 'node:module';
import {dirname, join, posix, relative} from 'node:path';
import {type BuildFailure, type BuildOptions, type BuildResult, build, type Message, type Plugin} from 'esbuild';
import {DEPLOYMENT_CODE_BYTES_MAX} from '../../shared/limits.ts';
import type {BundleFile, DeploymentUpload} from '../../shared/protocol/functions.ts';
import type {Runtime} from '../../shared/runtime-directive.ts';
import {importThroughPlatform} from './dynamic-imports.ts';
import {ExternalPackages} from './external-packages.ts';
import {type LockedPackage, lockedPackages} from './lock-file.ts';
import {runtimesOf, strangersAmong} from './module-runtimes.ts';
import {findModules, type ProjectModules, type SourceModule} from './modules.ts';
import {nodeTarget} from './node-bundle.ts';
import {described, type Problem, ProjectFailure, projectFailure} from './project-failure.ts';
import {type Project, readProject} from './project-file.ts';
import {sdkPlugin} from './sdk-location.ts';

export {ProjectFailure as BundleFailed} from './project-failure.ts';

export type Bundle = {
  upload: DeploymentUpload;
  /** The project's own files in the bundle, relative to its root, wherever they are. */
  sources: string[];
  warnings: string[];
  /** Packages that modules for Node import and that the upload names but does not contain. */
  packages: LockedPackage[];
};

export type BundleOptions = {message?: string | null; dryRun?: boolean; development?: boolean};

const MIB = 1024 * 1024;
/** Outputs get paths below this directory; nothing is written there. */
const OUTPUT = '/bundle';
/**
 * The default runtime is a browser without a page: packages with several builds use the one for workers or browsers,
 * which uses no module of Node.
 */
const TARGET: BuildOptions = {
  bundle: true,
  splitting: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'browser',
  conditions: ['svc', 'worker', 'module'],
  target: 'es2023',
  outdir: OUTPUT,
  chunkNames: '_deps/[name]-[hash]',
  sourcemap: 'external',
  sourcesContent: false,
  define: {'process.env.NODE_ENV': '"production"'},
  legalComments: 'none',
  charset: 'utf8',
  logLevel: 'silent',
  // Warnings about an entry point of svc: all of them have the same classes.
  logOverride: {'ignored-bare-import': 'silent'},
};
/** Files that plugins add have the plugin's name first: `svc:sdk/server.js`. */
const MADE_UP = /^svc[\w-]*:/;
/**
 * Async context stores follow promises only where the platform sees them, so `await` becomes `then` in apps that use
 * such stores.
 */
const AWAIT_AS_THEN: BuildOptions = {
  supported: {'async-await': false, 'async-generator': false, 'for-await': false},
};

type Built = BuildResult<{write: false; metafile: true}>;

/** The upload for the server. @param directory the project's root. @throws BundleFailed */
export async function bundleProject(directory: string, options: BundleOptions = {}): Promise<DeploymentUpload> {
  return (await bundle(await readProject(directory), options)).upload;
}

/** The upload, with the facts that the commands report and watch. @throws BundleFailed */
export async function bundle(
  project: Project,
  {message = null, dryRun = false, development = false}: BundleOptions = {},
): Promise<Bundle> {
  const modules = await findModules(project);
  const entries = [modules.schema, modules.authConfig, ...modules.functions].filter(module => module !== null);
  const runtimes = await runtimesOf(project.root, entries);
  const isNode = ({file}: SourceModule) => runtimes.get(file) === 'node';
  const nodeEntries = entries.filter(isNode);
  const external = await ExternalPackages.of(project);
  const both = await allOf([
    buildRuntime(
      project,
      entries.filter(entry => !isNode(entry)),
      'default',
      external,
    ),
    ...(nodeEntries.length === 0 ? [] : [buildRuntime(project, nodeEntries, 'node', external)]),
  ]);
  const packages = nodeEntries.length === 0 ? [] : await lockedPackages(project.root, external.wanted);
  const files = both.flatMap(built => built.files);
  refuseLargeCode(files);
  return {
    upload: {
      ...namesOf(modules, runtimes),
      ...(nodeEntries.length === 0 ? {} : {node: nodeOf(project, packages)}),
      files,
      modifiedMs: await newestMs(project, entries),
      message,
      dryRun,
      development,
    },
    sources: [...new Set(both.flatMap(built => built.sources))],
    warnings: [...modules.warnings, ...both.flatMap(built => built.warnings)].map(described),
    packages,
  };
}

function nodeOf(
  {node: {nodeVersion}}: Project,
  packages: readonly LockedPackage[],
): NonNullable<DeploymentUpload['node']> {
  if (packages.length === 0) return {version: nodeVersion};
  const uploaded = packages.map(({path, version, sha512, optional}) => ({
    path,
    version,
    sha512,
    ...(optional ? {optional} : {}),
  }));
  return {version: nodeVersion, packages: uploaded};
}

type RuntimeBundle = {files: BundleFile[]; sources: string[]; warnings: Problem[]};

/** Reports the problems of all of them together. @throws ProjectFailure */
async function allOf<T>(promises: Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  const failures = settled.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const problems = failures.flatMap(failure => (failure instanceof ProjectFailure ? failure.problems : []));
  const other = failures.find(failure => !(failure instanceof ProjectFailure));
  if (other !== undefined) throw other;
  if (problems.length > 0) throw new ProjectFailure(problems);
  return settled.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []));
}

/** @throws ProjectFailure */
async function buildRuntime(
  project: Project,
  entries: SourceModule[],
  runtime: 'default' | 'node',
  external: ExternalPackages,
): Promise<RuntimeBundle> {
  let built: Built;
  try {
    built = await buildEntries(project, entries, runtime, external);
  } catch (caught) {
    const {errors} = caught as Partial<BuildFailure>;
    if (errors === undefined) throw caught;
    const problems = errors.map(problemOf);
    // A module for the other runtime often has unresolved imports; those are not its actual problem.
    const files = new Set(problems.flatMap(({file}) => (file != null && isProjectFile(file) ? [file] : [])));
    const strangers = await strangersAmong(project.root, files, runtime);
    const rest = problems.filter(({file}) => !strangers.some(stranger => stranger.file === file));
    throw new ProjectFailure([...strangers, ...rest]);
  }
  const sources = Object.keys(built.metafile.inputs).filter(isProjectFile);
  const strangers = await strangersAmong(project.root, sources, runtime);
  if (strangers.length > 0) throw new ProjectFailure(strangers);
  return {files: await bundleFiles(project, built, runtime), sources, warnings: built.warnings.map(problemOf)};
}

function namesOf({functions, schema, authConfig}: ProjectModules, runtimes: ReadonlyMap<string, Runtime>) {
  return {
    modules: functions.map(({path}) => path),
    runtimes: Object.fromEntries(functions.map(({path, file}) => [path, runtimes.get(file)!])),
    schema: schema?.path ?? null,
    authConfig: authConfig?.path ?? null,
  };
}

/** @throws BuildFailure */
async function buildEntries(
  project: Project,
  entries: SourceModule[],
  runtime: 'default' | 'node',
  external: ExternalPackages,
): Promise<Built> {
  const options: BuildOptions = {
    ...TARGET,
    absWorkingDir: project.root,
    entryPoints: entries.map(({file, path}) => ({in: `./${file}`, out: path})),
  };
  if (runtime === 'node') {
    return (await build({
      ...options,
      ...nodeTarget(project.node),
      plugins: [sdkPlugin(), external.plugin()],
    })) as Built;
  }
  let usesContextStores = false;
  const onUse = () => {
    usesContextStores = true;
  };
  const withStores = {...options, plugins: [sdkPlugin(), external.refusal(), contextStoresPlugin(onUse)]};
  const built = await build(withStores);
  return (usesContextStores ? await build({...withStores, ...AWAIT_AS_THEN}) : built) as Built;
}

/** The part of `node:async_hooks` that the default runtime has. */
function contextStoresPlugin(onUse: () => void): Plugin {
  const namespace = 'svc-async-hooks';
  return {
    name: namespace,
    setup({onResolve, onLoad}) {
      onResolve({filter: /^(?:node:)?async_hooks$/}, () => {
        onUse();
        return {path: 'async_hooks', namespace};
      });
      onLoad({filter: /.*/, namespace}, () => ({contents: CONTEXT_STORES}));
    },
  };
}

const CONTEXT_STORES = `
const stores = globalThis[Symbol.for('svc.async_hooks')];
export const AsyncLocalStorage = stores.AsyncLocalStorage;
export const AsyncResource = stores.AsyncResource;
export default stores;
`;

function problemOf({text, location}: Message): Problem {
  return {
    message: explained(text),
    file: location?.file ?? null,
    line: location?.line ?? null,
    column: location === null ? null : location.column + 1,
  };
}

function explained(text: string): string {
  const [, name] = /^Could not resolve "(.+)"$/.exec(text) ?? [];
  if (name === undefined || !isBuiltin(name)) return text;
  const rest = 'the default runtime has none of these but node:async_hooks';
  return `Could not resolve "${name}": it is a module of Node.js, and ${rest}; modules that need it begin with "use node"`;
}

/** Neither a package, nor the SDK, nor added by a plugin. */
function isProjectFile(input: string): boolean {
  return !MADE_UP.test(input) && !/^\.\.\/|^\/|(?:^|\/)node_modules\//.test(input);
}

async function bundleFiles(project: Project, built: Built, runtime: 'default' | 'node'): Promise<BundleFile[]> {
  const texts = new Map(built.outputFiles.map(file => [relative(OUTPUT, file.path), file.text]));
  const files = [...texts].filter(([path]) => path.endsWith('.js'));
  return await Promise.all(
    files.map(async ([path, text]) => ({
      path,
      source: runtime === 'node' ? text : await importThroughPlatform(text, path),
      sourceMap: relocated(texts.get(`${path}.map`), path, project),
    })),
  );
}

/** The source map with its sources named as in the project. */
function relocated(map: string | undefined, path: string, project: Project): string | null {
  if (map === undefined) return null;
  const parsed = JSON.parse(map) as {sources: string[]};
  const below = join(OUTPUT, dirname(path));
  const sources = parsed.sources.map(source =>
    MADE_UP.test(source) ? source : posix.normalize(relative(project.root, join(below, source))),
  );
  return JSON.stringify({...parsed, sources});
}

function refuseLargeCode(files: BundleFile[]): void {
  const bytes = files.reduce((sum, {source}) => sum + Buffer.byteLength(source), 0);
  if (bytes <= DEPLOYMENT_CODE_BYTES_MAX) return;
  const size = `${(bytes / MIB).toFixed(1)} MiB`;
  throw projectFailure(
    `the code is ${size} with all packages it imports; at most ${DEPLOYMENT_CODE_BYTES_MAX / MIB} MiB can be deployed`,
  );
}

async function newestMs(project: Project, entries: SourceModule[]): Promise<number> {
  const times = await Promise.all(entries.map(async ({file}) => (await stat(join(project.root, file))).mtimeMs));
  return Math.floor(Math.max(0, ...times));
}
