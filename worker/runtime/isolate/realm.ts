/**
 * The host side of an isolate and its realms (V8 contexts). User code in a realm has its own intrinsics. Its only way
 * to our code is one host function, which only the kernel holds.
 *
 * Files of a bundle are evaluated one by one, dependencies first, each with its own seed. So random numbers and times
 * that a module reads at load are the same, whichever function is called first.
 */
import {createHash} from 'node:crypto';
import {createRequire} from 'node:module';
import {posix} from 'node:path';
import type ivm from 'isolated-vm';
import {assert} from '../../../shared/assert.ts';
import {asFunction, LINES_BEFORE, notABody} from '../code-body.ts';
import type {CodeInvocation, HostCall, Invocation, RealmUse} from '../guest/host-call.ts';
import {compileKernel} from './kernel-script.ts';
import {timeOut} from './realm-failure.ts';

/** Supplies the files of a deployment to a realm. */
export type CodeSource = {
  /** The deployment timestamp, epoch milliseconds. */
  timestampMs: number;
  /** 32 hex characters, drawn when the deployment was made. */
  seed: string;
  /** The source of a file of the bundle, `a/b.js`. @throws if there is none */
  read(path: string): string;
};

export type AnalysisTarget = 'module' | 'schema' | 'router' | 'auth';
const KERNEL_FUNCTIONS = [
  'open',
  'importing',
  'addModule',
  'imported',
  'isReusable',
  'enter',
  'run',
  'start',
  'runCode',
  'analyze',
  'settle',
  'event',
] as const;
type KernelFunction = (typeof KERNEL_FUNCTIONS)[number];
type Kernel = Record<KernelFunction, ivm.Reference>;

let library: typeof ivm | null = null;

/** Loaded with the first isolate: some processes that have this code must not hold the library (0063). */
export function isolateLibrary(): typeof ivm {
  library ??= createRequire(import.meta.url)('isolated-vm') as typeof ivm;
  return library;
}

/** A realm that has no deployment yet. */
type BlankRealm = {context: ivm.Context; kernel: Kernel; host: HostCall};

export class RealmHost {
  readonly #isolate: ivm.Isolate;
  #blank: BlankRealm | null = null;

  private constructor(isolate: ivm.Isolate) {
    this.#isolate = isolate;
  }

  /** @param memoryMb limit of the isolate's heap and buffers, MiB */
  static open({memoryMb}: {memoryMb: number}): RealmHost {
    const {Isolate} = isolateLibrary();
    return new RealmHost(new Isolate({memoryLimit: memoryMb}));
  }

  /** Makes a realm that the next `createRealm` with this host function uses. */
  warm(host: HostCall): void {
    this.#blank ??= this.#newBlank(host);
  }

  /** Creates a realm without user code. */
  createRealm(code: CodeSource, host: HostCall, use: RealmUse): Realm {
    const {context, kernel} = this.#blank?.host === host ? this.#blank : this.#newBlank(host);
    this.#blank = null;
    kernel.open.applySync(undefined, [code.timestampMs, code.seed, use]);
    return new Realm(this.#isolate, context, kernel, code);
  }

  #newBlank(host: HostCall): BlankRealm {
    const context = this.#isolate.createContextSync();
    const {global} = context;
    global.setSync('__svcHost', new (isolateLibrary().Callback)(host));
    const script = compileKernel(this.#isolate);
    script.runSync(context);
    script.release();
    const published = global.getSync('__svcKernel', {reference: true}) as ivm.Reference<Record<string, unknown>>;
    const kernel = {} as Kernel;
    for (const name of KERNEL_FUNCTIONS) kernel[name] = published.getSync(name, {reference: true}) as ivm.Reference;
    global.deleteSync('__svcKernel');
    published.release();
    return {context, kernel, host};
  }

  /** CPU time spent in this isolate so far, ms. */
  get cpuMs(): number {
    return this.isDisposed ? 0 : Number(this.#isolate.cpuTime) / 1e6;
  }

  /** Heap in use, bytes. */
  get heapBytes(): number {
    if (this.isDisposed) return 0;
    const {used_heap_size, externally_allocated_size} = this.#isolate.getHeapStatisticsSync();
    return used_heap_size + externally_allocated_size;
  }

  /** Also true after it ran out of memory: it can no longer be used. */
  get isDisposed(): boolean {
    return this.#isolate.isDisposed;
  }

  dispose(): void {
    if (this.isDisposed) return;
    if (this.#blank !== null) releaseBlank(this.#blank);
    this.#blank = null;
    this.#isolate.dispose();
  }
}

export class Realm {
  readonly #isolate: ivm.Isolate;
  readonly #context: ivm.Context;
  readonly #kernel: Kernel;
  readonly #code: CodeSource;
  readonly #files = new Map<string, ivm.Module>();
  readonly #paths = new Map<ivm.Module, string>();
  readonly #evaluated = new Set<string>();
  /** Files that threw; they are not evaluated again. */
  readonly #failed = new Map<string, {thrown: unknown}>();
  /** Functions that were called, by their numbers in the kernel: a text costs half a microsecond on its way there. */
  readonly #entries = new Map<string, number>();
  /** Files whose namespace the kernel has. */
  readonly #loaded = new Set<string>();

  constructor(isolate: ivm.Isolate, context: ivm.Context, kernel: Kernel, code: CodeSource) {
    this.#isolate = isolate;
    this.#context = context;
    this.#kernel = kernel;
    this.#code = code;
  }

  /** True once `load` of this file has succeeded. */
  has(path: string): boolean {
    return this.#loaded.has(path);
  }

  /**
   * Loads a file of the bundle and all it imports.
   * @param path `a/b.js` @param timeoutMs for all of them together
   * @throws the module's error, each time
   */
  load(path: string, timeoutMs: number): void {
    if (this.#loaded.has(path)) return;
    const endMs = performance.now() + timeoutMs;
    const module = this.#file(path);
    try {
      for (const file of this.#inOrder(path, [])) this.#evaluate(file, endMs);
      const {namespace} = module;
      this.#kernel.addModule.applySync(undefined, [path, namespace.derefInto()]);
      namespace.release();
      this.#loaded.add(path);
    } finally {
      if (!this.#isolate.isDisposed) this.#kernel.imported.applySync(undefined, []);
    }
  }

  #evaluate(file: string, endMs: number): void {
    const failure = this.#failed.get(file);
    if (failure !== undefined) throw failure.thrown;
    const leftMs = Math.ceil(endMs - performance.now());
    if (leftMs <= 0) throw timeOut();
    const module = this.#files.get(file)!;
    // One at a time, dependencies first: isolated-vm crashes if it evaluates a file that was only linked through
    // another.
    module.instantiateSync(this.#context, (specifier, referrer) => this.#imported(referrer, specifier));
    this.#kernel.importing.applySync(undefined, [seedOf(this.#code.seed, file)]);
    try {
      module.evaluateSync({timeout: leftMs});
    } catch (thrown) {
      this.#failed.set(file, {thrown});
      throw thrown;
    }
    this.#evaluated.add(file);
  }

  /** JSON of what a loaded module exports. */
  analyze(what: AnalysisTarget, path: string, timeoutMs: number): string {
    return this.#kernel.analyze.applySync(undefined, [what, path], {timeout: timeoutMs}) as string;
  }

  /** Files that were loaded. */
  get loaded(): string[] {
    return [...this.#loaded];
  }

  /**
   * Runs a query or mutation until its outcome has come through the host function, or can no longer come.
   * @returns false if it was not run, because an earlier invocation has changed the realm
   */
  runSync(invocation: Invocation, timeoutMs: number): boolean {
    const {n, args, nowMs, seed} = invocation;
    const entry = this.#entryOf(invocation);
    return this.#kernel.run.applySync(undefined, [entry, n, args, nowMs, seed], {timeout: timeoutMs}) as boolean;
  }

  /** Whether it is as its modules left it, and holds no uncounted memory. */
  isReusable(): boolean {
    return this.#kernel.isReusable.applySync(undefined, []) as boolean;
  }

  /**
   * Starts an action. Resolves when it can do nothing more until the host answers it; its outcome comes as `done` or
   * `failed`. It has no time-out, and neither have `settle` and `event`: isolated-vm holds each time-out until it
   * expires, long after the entry has returned. The caller disposes of an isolate that is out of time.
   */
  async run(invocation: Invocation): Promise<void> {
    const {n, module, name, kind, paginated, args, nowMs, seed} = invocation;
    await this.#kernel.start.apply(undefined, [n, module, name, kind, paginated, args, nowMs, seed]);
  }

  /**
   * Compiles code that belongs to no module, as the body of an async function of `args`. @returns that function, to be
   * released
   * @throws the compiler's error
   */
  async compile(code: string, filename: string, timeoutMs: number): Promise<ivm.Reference> {
    const script = await this.#isolate.compileScript(asFunction(code), {filename, lineOffset: -LINES_BEFORE});
    try {
      const compiled = await script.run(this.#context, {reference: true, timeout: timeoutMs});
      if (compiled.typeof === 'function') return compiled;
      compiled.release();
      throw notABody();
    } finally {
      if (!this.#isolate.isDisposed) script.release();
    }
  }

  /** Starts code from `compile`, as `run` starts an action. */
  async runCode(code: ivm.Reference, {n, args, nowMs, seed}: CodeInvocation, timeoutMs: number): Promise<void> {
    await this.#kernel.runCode.apply(undefined, [n, code.derefInto(), args, nowMs, seed], {timeout: timeoutMs});
  }

  /** Answers an asynchronous call of an action. */
  async settle(call: number, answer: string, bytes: Uint8Array | null): Promise<void> {
    await this.#kernel.settle.apply(undefined, [call, answer, bytes], {arguments: {copy: true}});
  }

  /** Notifies an action of an event on one of its sockets. */
  async event(name: string, detail: string, bytes: Uint8Array | null): Promise<void> {
    await this.#kernel.event.apply(undefined, [name, detail, bytes], {arguments: {copy: true}});
  }

  /**
   * Releases everything that holds its heap: the context, functions of the kernel and modules. Collecting the handles
   * would release them too, but handles are small: our own heap is not collected for them while the isolate fills.
   */
  release(): void {
    if (this.#isolate.isDisposed) return;
    for (const module of this.#paths.keys()) module.release();
    this.#files.clear();
    this.#paths.clear();
    releaseBlank({context: this.#context, kernel: this.#kernel});
  }

  #entryOf({module, name, kind, paginated}: Invocation): number {
    const key = `${kind}\0${paginated}\0${module}\0${name}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = this.#kernel.enter.applySync(undefined, [module, name, kind, paginated]) as number;
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #file(path: string): ivm.Module {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const module = this.#isolate.compileModuleSync(this.#code.read(path), {filename: path});
    this.#files.set(path, module);
    this.#paths.set(module, path);
    for (const specifier of module.dependencySpecifiers) this.#file(resolvePath(path, specifier));
    return module;
  }

  #imported(referrer: ivm.Module, specifier: string): ivm.Module {
    const path = this.#paths.get(referrer);
    assert(path !== undefined, `${specifier} is imported by a file of the bundle`);
    return this.#file(resolvePath(path, specifier));
  }

  /** Files that are not evaluated yet, each after the files that it imports. */
  #inOrder(path: string, order: string[], seen = new Set<string>()): string[] {
    if (seen.has(path) || this.#evaluated.has(path)) return order;
    seen.add(path);
    const module = this.#files.get(path);
    assert(module !== undefined, `${path} was compiled`);
    for (const specifier of module.dependencySpecifiers) this.#inOrder(resolvePath(path, specifier), order, seen);
    order.push(path);
    return order;
  }
}

function releaseBlank({context, kernel}: Pick<BlankRealm, 'context' | 'kernel'>): void {
  for (const name of KERNEL_FUNCTIONS) kernel[name].release();
  context.release();
}

function resolvePath(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier);
}

function seedOf(seed: string, path: string): string {
  return createHash('sha256').update(seed).update(path).digest('hex').slice(0, 32);
}
