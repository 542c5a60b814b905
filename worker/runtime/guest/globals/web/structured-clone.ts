/**
 * `structuredClone`, by the algorithm of the HTML standard, for the types of this runtime. Transfer is not supported.
 */
import {DOMException} from './dom-exception.ts';

const ERRORS: Readonly<Record<string, ErrorConstructor>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

export function structuredClone(...args: [value?: unknown, options?: {transfer?: unknown[]}]): unknown {
  if (args.length === 0) throw new TypeError('structuredClone: a value is needed');
  const [value, options] = args;
  const transfer = options?.transfer;
  if (transfer !== undefined && [...transfer].length > 0) {
    throw new DOMException('structuredClone: transfer not supported', 'DataCloneError');
  }
  return cloneOf(value, new Map());
}

function cloneOf(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') throw notCloneable(value);
  if (typeof value !== 'object' || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const leaf = cloneOfLeaf(value, seen);
  if (leaf !== undefined) {
    seen.set(value, leaf);
    return leaf;
  }
  return cloneOfContainer(value, seen);
}

/** Clones objects that hold no values of the caller. Undefined: the value is no such object. */
function cloneOfLeaf(value: object, seen: Map<object, unknown>): object | undefined {
  for (const Boxed of [String, Number, Boolean, BigInt]) {
    if (value instanceof Boxed) return Object(Reflect.apply(Boxed.prototype.valueOf, value, [])) as object;
  }
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (ArrayBuffer.isView(value)) return cloneOfView(value, seen);
  for (const name of ['Blob', 'File'] as const) {
    const Type = (globalThis as Record<string, unknown>)[name];
    if (typeof Type === 'function' && value instanceof Type) return value;
  }
  return undefined;
}

/** Views of one buffer become views of one clone. */
function cloneOfView(view: ArrayBufferView, seen: Map<object, unknown>): object {
  const buffer = cloneOf(view.buffer, seen) as ArrayBuffer;
  if (view instanceof DataView) return new DataView(buffer, view.byteOffset, view.byteLength);
  const {length} = view as Uint8Array;
  const Type = Object.getPrototypeOf(view).constructor as new (
    buffer: ArrayBuffer,
    at: number,
    length: number,
  ) => object;
  return new Type(buffer, view.byteOffset, length);
}

function cloneOfContainer(value: object, seen: Map<object, unknown>): object {
  if (value instanceof Map) {
    const clone = new Map<unknown, unknown>();
    seen.set(value, clone);
    for (const [key, item] of [...value]) clone.set(cloneOf(key, seen), cloneOf(item, seen));
    return clone;
  }
  if (value instanceof Set) {
    const clone = new Set<unknown>();
    seen.set(value, clone);
    for (const item of [...value]) clone.add(cloneOf(item, seen));
    return clone;
  }
  if (value instanceof Error) return cloneOfError(value, seen);
  const isOpaque =
    value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef;
  if (isOpaque) throw notCloneable(value);
  const clone = Array.isArray(value) ? new Array<unknown>(value.length) : {};
  seen.set(value, clone);
  for (const key of Object.keys(value)) {
    const item = cloneOf((value as Record<string, unknown>)[key], seen);
    Object.defineProperty(clone, key, {value: item, writable: true, enumerable: true, configurable: true});
  }
  return clone;
}

function cloneOfError(error: Error, seen: Map<object, unknown>): Error {
  const Type = Object.hasOwn(ERRORS, error.name) ? ERRORS[error.name]! : Error;
  const copy = new Type(error.message);
  seen.set(error, copy);
  Object.defineProperty(copy, 'stack', {value: error.stack, writable: true, configurable: true});
  if (Object.hasOwn(error, 'cause')) {
    Object.defineProperty(copy, 'cause', {value: cloneOf(error.cause, seen), writable: true, configurable: true});
  }
  return copy;
}

function notCloneable(value: unknown): Error {
  const shown = typeof value === 'object' ? Object.prototype.toString.call(value) : String(value);
  return new DOMException(`${shown} could not be cloned.`, 'DataCloneError');
}
