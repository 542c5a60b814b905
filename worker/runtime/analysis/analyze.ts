/**
 * Runs the modules of an uploaded deployment once, in their own isolate, and describes their exports. All errors are
 * collected, so that one deploy reports all of them. It runs in a process that does nothing else (`main.ts`).
 */
import {init} from 'es-module-lexer';
import type {
  AuthProvider,
  DeploymentError,
  DeploymentUpload,
  FunctionEntry,
  HttpRoute,
  Manifest,
  SchemaDefinition,
} from '../../../shared/protocol/functions.ts';
import {cryptoCall} from '../crypto/crypto-host.ts';
import {type HostCall, HostOp} from '../guest/host-call.ts';
import {type AnalysisTarget, type Realm, RealmHost} from '../isolate/realm.ts';
import {failureOf, isOutOfMemory, isTimeOut} from '../isolate/realm-failure.ts';
import {
  ANALYSIS_MEMORY_MB,
  ANALYSIS_MS_MAX,
  DEPLOYMENT_ERROR_CHARS_MAX,
  DEPLOYMENT_ERRORS_SHOWN,
  FUNCTION_LOAD_MS_MAX,
} from '../limits.ts';
import {SourcePositions} from '../source-positions.ts';
import {CodeHashes} from './code-hashes.ts';
import {authProviders, functionEntries, httpRoutes, ManifestFault, schemaDefinition} from './manifest.ts';

export type ModulesToAnalyze = {
  upload: Pick<DeploymentUpload, 'files' | 'modules' | 'runtimes' | 'schema' | 'authConfig'>;
  timestampMs: number;
  seed: string;
  env: Readonly<Record<string, string>>;
};

/** A manifest without the Node modules, plus the hashes of those; or every reason why there is none. */
export type AnalysisResult =
  | {manifest: Manifest; nodeModules: {path: string; hash: string}[]; errors: []}
  | {manifest: null; errors: DeploymentError[]};

const HTTP_MODULE = 'http';

export async function analyze(task: ModulesToAnalyze): Promise<AnalysisResult> {
  await init;
  return new Analysis(task).run();
}

class Analysis {
  readonly #task: ModulesToAnalyze;
  readonly #sources: ReadonlyMap<string, string>;
  readonly #positions: SourcePositions;
  readonly #hashes: CodeHashes;
  readonly #isolate = RealmHost.open({memoryMb: ANALYSIS_MEMORY_MB});
  readonly #realm: Realm;
  readonly #errors: DeploymentError[] = [];
  /** Variables that were read but are not set, since the last check. */
  #missing: string[] = [];

  constructor(task: ModulesToAnalyze) {
    this.#task = task;
    const {files} = task.upload;
    this.#sources = new Map(files.map(({path, source}) => [path, source]));
    this.#hashes = new CodeHashes(this.#sources);
    const maps = new Map(files.map(({path, sourceMap}) => [path, sourceMap]));
    this.#positions = new SourcePositions(path => maps.get(path) ?? null);
    const read = (path: string) => {
      const source = this.#sources.get(path);
      if (source === undefined) throw new Error(`the bundle has no file ${path}`);
      return source;
    };
    this.#realm = this.#isolate.createRealm({timestampMs: task.timestampMs, seed: task.seed, read}, this.#host, 'once');
  }

  run(): AnalysisResult {
    const {modules, runtimes = {}, schema, authConfig} = this.#task.upload;
    const functions: FunctionEntry[] = [];
    const nodeModules: {path: string; hash: string}[] = [];
    for (const module of modules) {
      if (runtimes[module] === 'node') {
        nodeModules.push({path: module, hash: this.#hashes.of(`${module}.js`)});
        continue;
      }
      const json = this.#read('module', module);
      if (json !== null)
        functions.push(
          ...(this.#checked(module, () => functionEntries(module, json, this.#hashes.of(`${module}.js`))) ?? []),
        );
    }
    const hasHttp = modules.includes(HTTP_MODULE);
    const routes = hasHttp ? this.#part('router', HTTP_MODULE, httpRoutes) : null;
    const definition = schema === null ? null : this.#part('schema', schema, schemaDefinition);
    const providers = authConfig === null ? [] : this.#auth(authConfig);
    if (this.#errors.length > 0) return {manifest: null, errors: this.#errors.slice(0, DEPLOYMENT_ERRORS_SHOWN)};
    const manifest = {functions, routes, schema: definition, authProviders: providers ?? []};
    return {manifest, nodeModules, errors: []};
  }

  #part<T extends HttpRoute[] | SchemaDefinition>(
    what: AnalysisTarget,
    module: string,
    check: (json: string) => T,
  ): T | null {
    const json = this.#read(what, module);
    return json === null ? null : this.#checked(module, () => check(json));
  }

  #auth(module: string): AuthProvider[] | null {
    this.#missing = [];
    const json = this.#read('auth', module);
    for (const name of new Set(this.#missing)) {
      this.#add(`Environment variable ${name} is used in auth config file but its value was not set`, module);
    }
    return json === null || this.#missing.length > 0 ? null : this.#checked(module, () => authProviders(json));
  }

  /** JSON of a module's exports; null: it failed, and the reason is recorded. */
  #read(what: AnalysisTarget, module: string): string | null {
    // The worker ends this process after the same time; this check is needed if the worker has ended.
    if (this.#isolate.isDisposed || performance.now() > ANALYSIS_MS_MAX) return null;
    try {
      this.#realm.load(`${module}.js`, FUNCTION_LOAD_MS_MAX);
      return this.#realm.analyze(what, `${module}.js`, FUNCTION_LOAD_MS_MAX);
    } catch (caught) {
      this.#note(caught, module);
      return null;
    }
  }

  #checked<T>(module: string, check: () => T): T | null {
    try {
      return check();
    } catch (caught) {
      if (!(caught instanceof ManifestFault)) throw caught;
      for (const line of caught.lines) this.#add(line, module);
      return null;
    }
  }

  #note(caught: unknown, module: string): void {
    if (isTimeOut(caught)) {
      this.#add(`Loading the module took longer than ${FUNCTION_LOAD_MS_MAX / 1000} seconds`, module);
    } else if (isOutOfMemory(caught)) {
      this.#add('JavaScript execution ran out of memory while the modules were loaded', module);
    } else {
      const error = failureOf(caught);
      const place = this.#positions.first(error.stack);
      const title = error.name === '' ? error.message : `${error.name}: ${error.message}`;
      const known = this.#errors.some(
        ({file, line, message}) =>
          place !== null && file === place.file && line === place.line && message.endsWith(title),
      );
      // A file that several modules import fails once.
      if (!known) this.#add(`Uncaught ${title}`, module, place);
    }
  }

  #add(message: string, module: string, place: {file: string; line: number} | null = null): void {
    const file = place?.file ?? this.#positions.fileOf(module);
    this.#errors.push({message: message.slice(0, DEPLOYMENT_ERROR_CHARS_MAX), file, line: place?.line ?? null});
  }

  readonly #host: HostCall = (op, a, b, c) => {
    switch (op) {
      case HostOp.log:
        return '+';
      case HostOp.env: {
        const {env} = this.#task;
        if (Object.hasOwn(env, String(a))) return `+${JSON.stringify(env[String(a)])}`;
        this.#missing.push(String(a));
        return '+null';
      }
      case HostOp.envNames:
        return `+${JSON.stringify(Object.keys(this.#task.env))}`;
      case HostOp.crypto:
        return cryptoCall(String(a), String(b), c instanceof Uint8Array ? c : undefined);
      default:
        return `-${JSON.stringify({name: 'Error', message: "Can't use database at import time"})}`;
    }
  };
}
