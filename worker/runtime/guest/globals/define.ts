/** How a global is put in place: not enumerable, replaceable, as browsers have them. */
import {isFixedNow, noteChange, noteLate} from '../integrity.ts';
import {state} from '../state.ts';

export function define(target: object, name: string | symbol, value: unknown): void {
  Object.defineProperty(target, name, {value, writable: true, configurable: true, enumerable: false});
}

/** Most functions use few of the large globals: such a one is made when it is first looked at. */
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
