/**
 * The host's side of `crypto.subtle`: synchronous, because queries and mutations are. Parameters and bytes come from
 * user code, so sizes and work are limited before anything is computed. It does not throw: an answer is `+` and the
 * result (bytes as a one-byte string), or `-` and an error as JSON.
 *
 * A key is passed as its material: secret bytes, or DER (SPKI or PKCS #8), in base64. The realm owns it, and enforces
 * `extractable` and the usages.
 */
import {createHash, createHmac, timingSafeEqual} from 'node:crypto';
import {AssertionError} from '../../../shared/assert.ts';
import {CRYPTO_INPUT_BYTES_MAX, CRYPTO_PARAMETERS_CHARS_MAX, PBKDF2_WORK_MAX} from '../limits.ts';
import {asymmetricDecrypt, asymmetricEncrypt, asymmetricSign, asymmetricVerify} from './asymmetric.ts';
import {symmetricDecrypt, symmetricEncrypt} from './ciphers.ts';
import {CryptoRefusal} from './crypto-refusal.ts';
import {derivationWork, deriveBits} from './derivation.ts';
import {exportKey, generateKey, importKey} from './keys.ts';
import {type CryptoParameters, checkedParameters, hashOf, secretOf} from './parameters.ts';

type Operation = (parameters: CryptoParameters, bytes: Uint8Array) => string;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  digest: (parameters, bytes) => oneByte(createHash(hashOf(parameters)).update(bytes).digest()),
  sign: (parameters, bytes) =>
    oneByte(parameters.name === 'HMAC' ? hmac(parameters, bytes) : asymmetricSign(parameters, bytes)),
  verify: (parameters, bytes) => (isAuthentic(parameters, bytes) ? '1' : '0'),
  encrypt: (parameters, bytes) =>
    oneByte(
      parameters.name === 'RSA-OAEP' ? asymmetricEncrypt(parameters, bytes) : symmetricEncrypt(parameters, bytes),
    ),
  decrypt: (parameters, bytes) =>
    oneByte(
      parameters.name === 'RSA-OAEP' ? asymmetricDecrypt(parameters, bytes) : symmetricDecrypt(parameters, bytes),
    ),
  deriveBits: parameters => oneByte(deriveBits(parameters)),
  importKey: parameters => JSON.stringify(importKey(parameters)),
  exportKey: parameters => exportKey(parameters),
  generateKey: parameters => JSON.stringify(generateKey(parameters)),
};

/** Computing budget of one query or mutation: its thread does nothing else meanwhile. */
export class CryptoBudget {
  #work = 0;

  /** @throws CryptoRefusal */
  use(operation: string, parameters: CryptoParameters): void {
    if (operation !== 'deriveBits') return;
    this.#work += derivationWork(parameters);
    if (this.#work <= PBKDF2_WORK_MAX) return;
    throw new CryptoRefusal('OperationError', `more than ${PBKDF2_WORK_MAX} iterations of PBKDF2 in one function`);
  }
}

/**
 * @param parameters JSON
 * @param budget of a query or mutation
 * @returns a host answer; it never throws for what user code did
 */
export function cryptoCall(
  operation: string,
  parameters: string,
  bytes?: Uint8Array,
  budget: CryptoBudget | null = null,
): string {
  try {
    if (!Object.hasOwn(OPERATIONS, operation))
      throw new CryptoRefusal('NotSupportedError', `crypto.subtle has no ${operation}`);
    if (parameters.length > CRYPTO_PARAMETERS_CHARS_MAX)
      throw new CryptoRefusal('OperationError', 'the parameters are too long');
    const input = bytes ?? NOTHING;
    if (input.byteLength > CRYPTO_INPUT_BYTES_MAX) {
      throw new CryptoRefusal('OperationError', `the input is longer than ${CRYPTO_INPUT_BYTES_MAX} bytes`);
    }
    const checked = checkedParameters(parameters);
    budget?.use(operation, checked);
    return `+${OPERATIONS[operation]!(checked, input)}`;
  } catch (caught) {
    if (caught instanceof AssertionError) throw caught;
    if (caught instanceof CryptoRefusal) return refusal(caught.name, caught.message);
    // OpenSSL's messages are not stable, and could reveal too much about a key.
    return refusal('OperationError', `crypto.subtle.${operation} failed`);
  }
}

const NOTHING = new Uint8Array(0);

function refusal(name: string, message: string): string {
  return `-${JSON.stringify({name, message})}`;
}

function oneByte(bytes: Buffer): string {
  return bytes.toString('latin1');
}

function hmac(parameters: CryptoParameters, bytes: Uint8Array): Buffer {
  return createHmac(hashOf(parameters), secretOf(parameters)).update(bytes).digest();
}

function isAuthentic(parameters: CryptoParameters, bytes: Uint8Array): boolean {
  const signature = Buffer.from(parameters.signature ?? '', 'base64');
  if (parameters.name !== 'HMAC') return asymmetricVerify(parameters, bytes, signature);
  const expected = hmac(parameters, bytes);
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}
