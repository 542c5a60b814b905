/**
 * Derives bits from a secret (PBKDF2, HKDF), or agrees on them with another party's key (ECDH, X25519). Lengths and
 * work are limited.
 */
import {diffieHellman, hkdfSync, pbkdf2Sync} from 'node:crypto';
import {DERIVED_BYTES_MAX, PBKDF2_WORK_MAX} from '../limits.ts';
import {CryptoRefusal} from './crypto-refusal.ts';
import {keyObject, peerKey} from './keys.ts';
import {bytesOf, type CryptoParameters, HASHES, hashOf, secretOf} from './parameters.ts';

/** Iterations times blocks; 0 for quick operations, and for those that are refused anyway. */
export function derivationWork({name, iterations = 0, length = 0, hash = ''}: CryptoParameters): number {
  if (name !== 'PBKDF2' || !Object.hasOwn(HASHES, hash)) return 0;
  return iterations * Math.ceil(length / 8 / HASHES[hash]!.bytes);
}

/** `length` in bits; without it, the algorithm's full length. */
export function deriveBits(parameters: CryptoParameters): Buffer {
  const {name, length} = parameters;
  if (name === 'ECDH' || name === 'X25519') return agreedBits(parameters);
  // Both can give any number of bits: without this check, a forgotten length would give an empty secret.
  if (length === undefined) throw new CryptoRefusal('OperationError', `${name} needs the length, in bits`);
  const hash = hashOf(parameters);
  if (length % 8 !== 0) throw new CryptoRefusal('OperationError', 'the length is not a multiple of 8');
  const bytes = length / 8;
  if (bytes > DERIVED_BYTES_MAX) throw new CryptoRefusal('OperationError', `more than ${DERIVED_BYTES_MAX} bytes`);
  const hashBytes = HASHES[parameters.hash!]!.bytes;
  const salt = bytesOf(parameters, 'salt');
  switch (name) {
    case 'PBKDF2': {
      const {iterations = 0} = parameters;
      if (iterations < 1) throw new CryptoRefusal('OperationError', 'PBKDF2 needs at least one iteration');
      if (derivationWork(parameters) > PBKDF2_WORK_MAX) {
        throw new CryptoRefusal(
          'OperationError',
          `PBKDF2 with more than ${PBKDF2_WORK_MAX} iterations, for each block`,
        );
      }
      return bytes === 0 ? Buffer.alloc(0) : pbkdf2Sync(secretOf(parameters), salt, iterations, bytes, hash);
    }
    case 'HKDF':
      if (bytes > 255 * hashBytes) throw new CryptoRefusal('OperationError', 'more bits than HKDF gives');
      return Buffer.from(hkdfSync(hash, secretOf(parameters), salt, bytesOf(parameters, 'info'), bytes));
    default:
      throw new CryptoRefusal('NotSupportedError', `the algorithm ${name} does not derive bits`);
  }
}

/** The first bits of the shared secret. */
function agreedBits(parameters: CryptoParameters): Buffer {
  const secret = diffieHellman({privateKey: keyObject(parameters, 'private'), publicKey: peerKey(parameters)});
  const {length = secret.length * 8} = parameters;
  if (length > secret.length * 8) {
    throw new CryptoRefusal('OperationError', `the secret has ${secret.length * 8} bits, not ${length}`);
  }
  const bits = Buffer.from(secret.subarray(0, Math.ceil(length / 8)));
  const spare = bits.length * 8 - length;
  if (spare > 0) bits[bits.length - 1]! &= 0xff << spare;
  return bits;
}
