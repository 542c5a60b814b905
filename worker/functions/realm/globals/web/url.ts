/**
 * `URL` and `URLSearchParams`: the package that follows the standard, with its tables, evaluated when one of them is first
 * looked at.
 */
import {defineLazily} from '../define.ts';

type Package = {URL: unknown; URLSearchParams: unknown};

function load(): Package {
  const scope = globalThis as {SharedArrayBuffer?: unknown};
  // A package asks this class for its getters when it is evaluated; here they are of no object.
  scope.SharedArrayBuffer = NoSharedArrayBuffer;
  try {
    return require('whatwg-url') as Package;
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
