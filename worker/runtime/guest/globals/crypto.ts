/** `crypto`: random values from the phase's source, and `subtle`, which the host computes. */
import {RANDOM_BYTES_MAX} from '../limits.ts';
import {define} from './define.ts';
import {randomBytes} from './random-bytes.ts';
import {CryptoKey} from './subtle/crypto-key.ts';
import {SubtleCrypto} from './subtle/subtle-crypto.ts';
import {DOMException} from './web/dom-exception.ts';

const INTEGER_ARRAYS = [
  'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
  'BigInt64Array', 'BigUint64Array',
]; // biome-ignore format: a list

class Crypto {
  readonly subtle = new SubtleCrypto();

  getRandomValues<T>(target: T): T {
    if (!ArrayBuffer.isView(target) || !INTEGER_ARRAYS.includes(typeName(target))) {
      throw new DOMException('getRandomValues: the argument must be an integer typed array', 'TypeMismatchError');
    }
    const {buffer, byteOffset, byteLength} = target;
    if (byteLength > RANDOM_BYTES_MAX) {
      throw new DOMException(`getRandomValues: more than ${RANDOM_BYTES_MAX} bytes`, 'QuotaExceededError');
    }
    new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength).set(randomBytes(byteLength));
    return target;
  }

  randomUUID(): string {
    const bytes = randomBytes(16);
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const hex = [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
}
define(Crypto.prototype, Symbol.toStringTag, 'Crypto');

/** Uses the getter of the prototype that all typed arrays share, because user code cannot make it lie. */
const typeName = (view: ArrayBufferView): string => Reflect.apply(tagOf, view, []) as string;
const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!;

let made: {crypto: Crypto; Crypto: unknown; SubtleCrypto: unknown; CryptoKey: unknown} | null = null;

export function cryptoGlobal(): {crypto: Crypto; Crypto: unknown; SubtleCrypto: unknown; CryptoKey: unknown} {
  made ??= {crypto: new Crypto(), Crypto, SubtleCrypto, CryptoKey};
  return made;
}
