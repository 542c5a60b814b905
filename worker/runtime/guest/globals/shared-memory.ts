/**
 * Removes shared memory and limits WebAssembly memory. Memory is never shared: one thread runs a realm, and waiting on
 * shared memory would block a thread of ours. V8 does not count WebAssembly memory towards the isolate's limit. So each
 * memory gets a maximum, and an invocation a maximum number of memories. The maximum of a module's own memories is
 * written into its bytes before V8 compiles it.
 */
import {WASM_MEMORIES_KEPT_MAX, WASM_MEMORIES_MAX, WASM_MEMORY_PAGES_MAX} from '../limits.ts';
import {state} from '../state.ts';
import {define} from './define.ts';
import {limitMemories} from './wasm-binary.ts';

let memories = 0;
/** Memories that invocations made since the realm began: the realm can still hold them, and V8 counts none of them. */
let memoriesKept = 0;

/** Whether the realm should serve no further invocation. */
export function holdsMuch(): boolean {
  return memoriesKept > WASM_MEMORIES_KEPT_MAX;
}

/** Called before an invocation. */
export function resetMemory(): void {
  memories = 0;
}

export function installMemory(): void {
  removeSharedArrayBuffer();
  const refuse = (): never => {
    throw new TypeError('Atomics.wait cannot be called in this context');
  };
  define(Atomics, 'wait', refuse);
  define(Atomics, 'waitAsync', refuse);
  installWebAssembly();
}

/** Removes it from the global object and from where the prototype of an instance leads to it. */
function removeSharedArrayBuffer(): void {
  const shared = globalThis as {SharedArrayBuffer?: {prototype: object}};
  if (shared.SharedArrayBuffer === undefined) return;
  define(shared.SharedArrayBuffer.prototype, 'constructor', Object);
  delete shared.SharedArrayBuffer;
}

type Imports = Record<string, Record<string, unknown>> | undefined;
type WasmModule = object;
type WasmInstance = object;
type Wasm = {
  Module: new (bytes: Uint8Array) => WasmModule;
  Instance: new (module: WasmModule, imports?: Imports) => WasmInstance;
  Memory: new (options: object) => object;
} & Record<string, unknown>;

function installWebAssembly(): void {
  const wasm = (globalThis as unknown as {WebAssembly: Wasm}).WebAssembly;
  const {Module, Instance, Memory} = wasm;
  /** The number of memories that an instance of a module creates. */
  const own = new WeakMap<object, number>();

  const compile = (source: unknown, target: object): WasmModule => {
    const {bytes, count} = limitMemories(bytesOf(source), WASM_MEMORY_PAGES_MAX);
    const module = Reflect.construct(Module, [bytes], target as typeof Module) as WasmModule;
    own.set(module, count);
    return module;
  };
  const instantiate = (module: unknown, imports: Imports, target: object): WasmInstance => {
    reserve(own.get(module as object) ?? 0);
    return Reflect.construct(Instance, [module, imports], target as typeof Instance) as WasmInstance;
  };

  // Functions, not classes: classes would not take over V8's prototypes.
  function LimitedModule(source: unknown): object {
    return compile(source, requireNew(new.target));
  }
  function LimitedInstance(module: unknown, imports?: Imports): object {
    return instantiate(module, imports, requireNew(new.target));
  }
  function LimitedMemory(options: unknown): object {
    const target = requireNew(new.target);
    reserve(1);
    return Reflect.construct(Memory, [limitedOptions(options)], target as typeof Memory);
  }
  replaceConstructor(wasm, 'Module', Module, LimitedModule);
  replaceConstructor(wasm, 'Instance', Instance, LimitedInstance);
  replaceConstructor(wasm, 'Memory', Memory, LimitedMemory);

  // V8's original would finish through tasks of the host's event loop, which queries and mutations do not have.
  const compileAsync = async (source: unknown): Promise<WasmModule> => compile(source, LimitedModule);
  const instantiateAsync = async (source: unknown, imports?: Imports): Promise<unknown> => {
    if (source instanceof Module) return instantiate(source, imports, LimitedInstance);
    const module = compile(source, LimitedModule);
    return {module, instance: instantiate(module, imports, LimitedInstance)};
  };
  define(wasm, 'compile', compileAsync);
  define(wasm, 'instantiate', instantiateAsync);
  delete wasm.compileStreaming;
  delete wasm.instantiateStreaming;
}

function replaceConstructor(wasm: Wasm, name: string, original: {prototype: object}, replacement: object): void {
  Object.defineProperty(replacement, 'name', {value: name});
  Object.defineProperty(replacement, 'prototype', {value: original.prototype, writable: false});
  for (const key of Object.getOwnPropertyNames(original)) {
    const property = Object.getOwnPropertyDescriptor(original, key)!;
    if (typeof property.value === 'function') Object.defineProperty(replacement, key, property);
  }
  Object.defineProperty(original.prototype, 'constructor', {value: replacement, writable: false, configurable: false});
  define(wasm, name, replacement);
}

function requireNew(target: object | undefined): object {
  if (target === undefined) throw new TypeError('WebAssembly: this constructor must be called with new');
  return target;
}

function reserve(count: number): void {
  if (memories + count > WASM_MEMORIES_MAX) {
    throw new RangeError(`WebAssembly: more than ${WASM_MEMORIES_MAX} memories in one invocation`);
  }
  memories += count;
  if (state.phase !== 'import') memoriesKept += count;
}

/** A copy, so that an object which returns different values on a second read has no effect. */
function limitedOptions(options: unknown): object {
  const {initial, minimum, maximum, shared} = Object(options) as Record<string, unknown>;
  if (shared) throw new TypeError('shared WebAssembly.Memory is not available');
  const most = maximum === undefined ? WASM_MEMORY_PAGES_MAX : Math.min(Number(maximum), WASM_MEMORY_PAGES_MAX);
  const first = Number(initial ?? minimum);
  if (first > most) throw new RangeError('WebAssembly.Memory(): could not allocate memory');
  return {initial: first, maximum: most};
}

/** A copy, for the same reason. */
function bytesOf(source: unknown): Uint8Array {
  if (source instanceof ArrayBuffer) return new Uint8Array(source).slice();
  if (ArrayBuffer.isView(source)) {
    return new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength).slice();
  }
  throw new TypeError('WebAssembly: the first argument must be an ArrayBuffer or a typed array object');
}
