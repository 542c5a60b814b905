/** Hides garbage collection, which must not be observable: weak references are strong, and no finalizer is called. */
import {define} from './define.ts';

export function installWeakReferences(): void {
  const held = new WeakMap<object, unknown>();

  class StrongRef {
    constructor(target: unknown) {
      requireHoldable(target, 'WeakRef');
      held.set(this, target);
    }
    deref(): unknown {
      return held.get(this);
    }
  }
  define(StrongRef.prototype, Symbol.toStringTag, 'WeakRef');

  class SilentRegistry {
    constructor(cleanup: unknown) {
      if (typeof cleanup !== 'function') throw new TypeError('FinalizationRegistry: cleanup must be callable');
    }
    register(target: unknown, value?: unknown): void {
      requireHoldable(target, 'FinalizationRegistry.prototype.register');
      if (target === value)
        throw new TypeError('FinalizationRegistry.prototype.register: target and holdings must not be same');
    }
    unregister(_token: unknown): boolean {
      return false;
    }
  }
  define(SilentRegistry.prototype, Symbol.toStringTag, 'FinalizationRegistry');

  install('WeakRef', StrongRef);
  install('FinalizationRegistry', SilentRegistry);
}

function install(name: string, replacement: object): void {
  Object.defineProperty(replacement, 'name', {value: name});
  define(globalThis, name, replacement);
}

function requireHoldable(target: unknown, what: string): void {
  const isObject = (typeof target === 'object' && target !== null) || typeof target === 'function';
  const isPlainSymbol = typeof target === 'symbol' && Symbol.keyFor(target) === undefined;
  if (!isObject && !isPlainSymbol) throw new TypeError(`${what}: invalid target`);
}
