/** Defines globals as browsers do: not enumerable, and replaceable. */
import {isFixedNow, noteChange, noteLate} from '../integrity.ts';
import {state} from '../state.ts';

export function define(target: object, name: string | symbol, value: unknown): void {
  Object.defineProperty(target, name, {value, writable: true, configurable: true, enumerable: false});
}

/** Most functions use few of the large globals, so a global is made when it is first read. */
export function defineLazily(name: string, make: () => unknown): void {
  let value: unknown;
  let isMade = false;
  Object.defineProperty(globalThis, name, {
    configurable: true,
    enumerable: false,
    get() {
      if (!isMade) {
        isMade = true;
        value = make();
        noteLate(value);
      }
      if (!isFixedNow()) define(globalThis, name, value);
      return value;
    },
    set(replacement: unknown) {
      isMade = true;
      value = replacement;
      if (!isFixedNow()) define(globalThis, name, value);
      else if (state.phase !== 'import') noteChange();
    },
  });
}
