/** How a global is put in place: not enumerable, replaceable, as browsers have them. */

export function define(target: object, name: string | symbol, value: unknown): void {
  Object.defineProperty(target, name, {value, writable: true, configurable: true, enumerable: false});
}

/** Most functions use few of the large globals: such a one is made when it is first looked at. */
export function defineLazily(name: string, make: () => unknown): void {
  Object.defineProperty(globalThis, name, {
    configurable: true,
    enumerable: false,
    get() {
      const value = make();
      define(globalThis, name, value);
      return value;
    },
    set(value: unknown) {
      define(globalThis, name, value);
    },
  });
}
