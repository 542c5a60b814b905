/** When garbage is collected must not be observable: references are strong, and nothing is told of a collection. */
import {define} from './define.ts';

export function installWeakReferences(): void {
  const held = new WeakMap<object, unknown>();

  class WeakRef {
    constructor(target: unknown) {
      requireHoldable(target, 'WeakRef');
      held.set(this, target);
    }
    deref(): unknown {
      return held.get(this);
    }
  }
  define(WeakRef.prototype, Symbol.toStringTag, 'WeakRef');

  class FinalizationRegistry {
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
  define(FinalizationRegistry.prototype, Symbol.toStringTag, 'FinalizationRegistry');

  define(globalThis, 'WeakRef', WeakRef);
  define(globalThis, 'FinalizationRegistry', FinalizationRegistry);
}

function requireHoldable(target: unknown, what: string): void {
  const isObject = (typeof target === 'object' && target !== null) || typeof target === 'function';
  const isPlainSymbol = typeof target === 'symbol' && Symbol.keyFor(target) === undefined;
  if (!isObject && !isPlainSymbol) throw new TypeError(`${what}: invalid target`);
}
