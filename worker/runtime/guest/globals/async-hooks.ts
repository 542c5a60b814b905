/**
 * The supported part of `node:async_hooks`: AsyncLocalStorage and AsyncResource. The stores of all storages form one
 * immutable frame. A callback runs in the frame in which it was passed on.
 *
 * JavaScript cannot intercept a native `await`. Bundles that use this module have `await` lowered to `.then`, which is
 * wrapped when the first storage is made, so other code pays nothing.
 */
import {replaceBuiltIn} from '../integrity.ts';

type Frame = ReadonlyMap<object, unknown>;
type Callback = (this: unknown, ...args: never[]) => unknown;

const NO_STORES: Frame = new Map();
let frame: Frame = NO_STORES;
let isTracking = false;

/** Called before an invocation. */
export function resetContextStores(): void {
  frame = NO_STORES;
}

/** @returns the callback, bound to the current frame */
export function bindContext<F extends Callback>(callback: F): F {
  return isTracking ? boundTo(frame, callback) : callback;
}

function boundTo<F extends Callback>(captured: Frame, callback: F): F {
  return function (this: unknown, ...args: never[]): unknown {
    return runIn(captured, callback, this, args);
  } as F;
}

function runIn(entered: Frame, callback: Callback, self: unknown, args: unknown[]): unknown {
  const before = frame;
  frame = entered;
  try {
    return Reflect.apply(callback, self, args);
  } finally {
    frame = before;
  }
}

function withStore(storage: object, store: unknown): Frame {
  return new Map(frame).set(storage, store);
}

export class AsyncLocalStorage {
  constructor() {
    track();
  }

  static bind<F extends Callback>(callback: F): F {
    return boundTo(frame, callback);
  }

  /** @returns a function that runs others in the current frame */
  static snapshot(): (callback: Callback, ...args: unknown[]) => unknown {
    const captured = frame;
    return (callback, ...args) => runIn(captured, callback, undefined, args);
  }

  getStore(): unknown {
    return frame.get(this);
  }

  run(store: unknown, callback: Callback, ...args: unknown[]): unknown {
    return runIn(withStore(this, store), callback, undefined, args);
  }

  exit(callback: Callback, ...args: unknown[]): unknown {
    return this.run(undefined, callback, ...args);
  }

  /** Applies to the rest of the running code, and to the callbacks that it passes on. */
  enterWith(store: unknown): void {
    frame = withStore(this, store);
  }

  disable(): void {
    const rest = new Map(frame);
    rest.delete(this);
    frame = rest;
  }
}

export class AsyncResource {
  readonly type: string;
  readonly #frame = frame;

  constructor(type: string) {
    if (typeof type !== 'string' || type === '') throw new TypeError('AsyncResource: the type must be a string');
    this.type = type;
    track();
  }

  static bind<F extends Callback>(callback: F): F {
    return boundTo(frame, callback);
  }

  bind<F extends Callback>(callback: F): F {
    return boundTo(this.#frame, callback);
  }

  runInAsyncScope(callback: Callback, self?: unknown, ...args: unknown[]): unknown {
    return runIn(this.#frame, callback, self, args);
  }

  emitDestroy(): this {
    return this;
  }
}

function track(): void {
  if (isTracking) return;
  isTracking = true;
  const {prototype} = Promise;
  const {then} = prototype;
  const bound = (callback: unknown): unknown =>
    typeof callback === 'function' ? boundTo(frame, callback as Callback) : callback;
  replaceBuiltIn(prototype, 'then', function (this: Promise<unknown>, onFulfilled?: unknown, onRejected?: unknown) {
    return Reflect.apply(then, this, [bound(onFulfilled), bound(onRejected)]);
  });
  trackThenables();
}

/** V8 calls the `then` of foreign thenables from a microtask, where the frame is lost, so they get a bound `then`. */
function trackThenables(): void {
  const {resolve} = Promise;
  replaceBuiltIn(Promise, 'resolve', function (this: PromiseConstructor, value?: unknown) {
    if (typeof value !== 'object' || value === null || value instanceof Promise)
      return Reflect.apply(resolve, this, [value]);
    const {then} = value as {then?: unknown};
    if (typeof then !== 'function') return Reflect.apply(resolve, this, [value]);
    const inFrame = boundTo(frame, (onFulfilled: unknown, onRejected: unknown) =>
      Reflect.apply(then as Callback, value, [onFulfilled, onRejected]),
    );
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is meant.
    return Reflect.apply(resolve, this, [{then: inFrame}]);
  });
}

/** The members that the bundler's `node:async_hooks` reads from the global object. */
export function createContextStores(): object {
  return Object.freeze({AsyncLocalStorage, AsyncResource});
}
