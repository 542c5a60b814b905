/**
 * `URL` and `URLSearchParams`: the package that implements the standard, with its tables, evaluated when one of them is
 * first read.
 */
import {defineLazily} from '../define.ts';
import {quoted, showInstancesAs} from '../inspect.ts';

type Class = {prototype: object};
type Package = {URL: Class; URLSearchParams: Class};

function load(): Package {
  const scope = globalThis as {SharedArrayBuffer?: unknown};
  // A package reads getters from this class when it is evaluated; here they belong to no object.
  scope.SharedArrayBuffer = NoSharedArrayBuffer;
  try {
    const loaded = require('whatwg-url') as Package;
    for (const name of ['URL', 'URLSearchParams'] as const) {
      showInstancesAs(loaded[name].prototype, value => `${name} ${quoted(String(value))}`);
    }
    return loaded;
  } finally {
    delete scope.SharedArrayBuffer;
  }
}

class NoSharedArrayBuffer {
  get byteLength(): never {
    throw new TypeError('not a SharedArrayBuffer');
  }
  get growable(): never {
    throw new TypeError('not a SharedArrayBuffer');
  }
}

export function installUrl(): void {
  defineLazily('URL', () => load().URL);
  defineLazily('URLSearchParams', () => load().URLSearchParams);
}
