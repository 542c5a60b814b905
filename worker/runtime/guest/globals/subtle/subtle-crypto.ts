/**
 * `crypto.subtle`. The host computes synchronously, so that it is available in queries and mutations too. The permitted
 * usages of a key are checked here. Generating keys needs randomness that cannot be repeated, so only actions can do
 * it.
 */
import {HostOp} from '../../host-call.ts';
import {hostText, state} from '../../state.ts';
import {fromOneByteString, viewOf} from '../bytes.ts';
import {define} from '../define.ts';
import {encodeBase64} from '../web/base64.ts';
import {DOMException} from '../web/dom-exception.ts';
import {encodeUtf8} from '../web/utf8.ts';
import {
  algorithmOf,
  checkedUsages,
  type Given,
  hasCurve,
  hashName,
  isAgreement,
  needsHash,
  usagesOfHalf,
} from './algorithms.ts';
import {CryptoKey, type KeyAlgorithm, type KeyType, type KeyUsage, keyMaterial, makeKey} from './crypto-key.ts';

type Material = {type: KeyType; key: string; length?: number; publicExponent?: string};
const parse = JSON.parse;
const stringify = JSON.stringify;

export class SubtleCrypto {
  async digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
    return bytesFrom(ask('digest', {hash: hashName(algorithm)}, copyOf(data)));
  }

  async sign(algorithm: unknown, key: unknown, data: unknown): Promise<ArrayBuffer> {
    return bytesFrom(ask('sign', used(algorithm, key, 'sign'), copyOf(data)));
  }

  async verify(algorithm: unknown, key: unknown, signature: unknown, data: unknown): Promise<boolean> {
    const parameters = {...used(algorithm, key, 'verify'), signature: base64(signature)};
    return ask('verify', parameters, copyOf(data)) === '1';
  }

  async encrypt(algorithm: unknown, key: unknown, data: unknown): Promise<ArrayBuffer> {
    return bytesFrom(ask('encrypt', used(algorithm, key, 'encrypt'), copyOf(data)));
  }

  async decrypt(algorithm: unknown, key: unknown, data: unknown): Promise<ArrayBuffer> {
    return bytesFrom(ask('decrypt', used(algorithm, key, 'decrypt'), copyOf(data)));
  }

  async deriveBits(algorithm: unknown, key: unknown, length: unknown): Promise<ArrayBuffer> {
    return derived(usedForBits(algorithm, key, 'deriveBits'), bitCount(length));
  }

  async deriveKey(
    algorithm: unknown,
    key: unknown,
    derivedAlgorithm: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey> {
    const wanted = algorithmOf(derivedAlgorithm);
    const bits = derived(usedForBits(algorithm, key, 'deriveKey'), keyLength(wanted));
    return importedKey('raw', bits, wanted, extractable, usages);
  }

  async importKey(
    format: unknown,
    data: unknown,
    algorithm: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey> {
    return importedKey(String(format), data, algorithmOf(algorithm), extractable, usages);
  }

  async exportKey(format: unknown, key: unknown): Promise<ArrayBuffer | object> {
    const wanted = requireKey(key);
    if (!wanted.extractable) throw new DOMException('The key is not extractable', 'InvalidAccessError');
    const text = ask('exportKey', {...keyParameters(wanted), format: String(format)});
    if (format !== 'jwk') return bytesFrom(text);
    const jwk = parse(text) as Record<string, unknown>;
    const alg = webAlgorithm(wanted.algorithm);
    return {...jwk, ...(alg === null ? {} : {alg}), key_ops: wanted.usages, ext: true};
  }

  async generateKey(
    algorithm: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey | {privateKey: CryptoKey; publicKey: CryptoKey}> {
    if (state.phase !== 'action') {
      throw new Error('crypto.subtle.generateKey needs cryptographic randomness, which only actions have');
    }
    const wanted = algorithmOf(algorithm);
    const parameters = {...described(wanted), publicExponent: exponentOf(wanted.publicExponent)};
    const [first, second] = parse(ask('generateKey', parameters)) as Material[];
    if (second === undefined) return keyFrom(first!, wanted, extractable, checkedUsages(wanted.name, 'secret', usages));
    const privateUsages = usagesOfHalf(wanted.name, 'private', usages);
    if (privateUsages.length === 0) throw new DOMException('The usages of the private key are empty', 'SyntaxError');
    return {
      privateKey: keyFrom(first!, wanted, extractable, privateUsages),
      publicKey: keyFrom(second, wanted, true, usagesOfHalf(wanted.name, 'public', usages)),
    };
  }

  wrapKey(): never {
    throw new DOMException('Not implemented: crypto.subtle.wrapKey', 'NotSupportedError');
  }
  unwrapKey(): never {
    throw new DOMException('Not implemented: crypto.subtle.unwrapKey', 'NotSupportedError');
  }
}
define(SubtleCrypto.prototype, Symbol.toStringTag, 'SubtleCrypto');

/** Calls the host. Its errors become DOMExceptions with the same name. */
function ask(operation: string, parameters: object, bytes?: Uint8Array): string {
  try {
    return hostText(HostOp.crypto, operation, stringify(parameters), bytes);
  } catch (refused) {
    const {name, message} = refused as Error;
    throw new DOMException(message, name);
  }
}

function requireKey(key: unknown): CryptoKey {
  if (key instanceof CryptoKey) return key;
  throw new TypeError('the key must be a CryptoKey');
}

/** Parameters of an operation with a key. @throws if the key is not for this algorithm or usage */
function used(algorithm: unknown, key: unknown, usage: KeyUsage): Record<string, unknown> {
  const given = algorithmOf(algorithm);
  const wanted = requireKey(key);
  if (wanted.algorithm.name !== given.name)
    throw new DOMException(`The key is no ${given.name} key`, 'InvalidAccessError');
  if (!wanted.usages.includes(usage)) throw new DOMException(`The key cannot ${usage}`, 'InvalidAccessError');
  return {...described(given), ...keyParameters(wanted), ...hashOfCall(given, wanted)};
}

/** Same as `used`, with the other side's public key for a key agreement. */
function usedForBits(algorithm: unknown, key: unknown, usage: KeyUsage): Record<string, unknown> {
  const parameters = used(algorithm, key, usage);
  const {name, public: other} = algorithmOf(algorithm);
  if (!isAgreement(name)) return parameters;
  const peer = requireKey(other);
  const {namedCurve} = (key as CryptoKey).algorithm;
  if (peer.type !== 'public' || peer.algorithm.name !== name || peer.algorithm.namedCurve !== namedCurve) {
    throw new DOMException(`The other key is no public ${namedCurve ?? ''} key of ${name}`, 'InvalidAccessError');
  }
  return {...parameters, publicKey: keyMaterial(peer)};
}

/** Null: as many as available. */
function bitCount(length: unknown): number | null {
  return length === undefined || length === null ? null : Number(length) >>> 0;
}

/** ECDSA and derivations name the hash in the call; for other algorithms, the key has it. */
function hashOfCall(given: Given, key: CryptoKey): {hash?: string} {
  const hash = given.name === 'ECDSA' || !needsHash(given.name) ? given.hash : key.algorithm.hash;
  return hash === undefined ? {} : {hash: hashName(hash)};
}

function keyParameters(key: CryptoKey): Record<string, unknown> {
  const {name, namedCurve} = key.algorithm;
  return {name, namedCurve, key: keyMaterial(key), keyType: key.type};
}

/** The members of an algorithm that the host reads; bytes become base64. */
function described(given: Given): Record<string, unknown> {
  const {name, hash, namedCurve, length, tagLength, saltLength, iterations, modulusLength} = given;
  const parameters: Record<string, unknown> = {
    name,
    namedCurve,
    length,
    tagLength,
    saltLength,
    iterations,
    modulusLength,
  };
  if (hash !== undefined) parameters.hash = hashName(hash);
  for (const member of ['iv', 'additionalData', 'label', 'salt', 'info']) {
    if (given[member] !== undefined) parameters[member] = base64(given[member]);
  }
  if (given.counter !== undefined) parameters.iv = base64(given.counter);
  return parameters;
}

function derived(parameters: Record<string, unknown>, length: number | null): ArrayBuffer {
  return bytesFrom(ask('deriveBits', {...parameters, length}));
}

/** Length of a derived key, bits. Null: keys for further derivation take all available bits. */
function keyLength({name, length, hash}: Given): number | null {
  if (name === 'HKDF' || name === 'PBKDF2') return null;
  if (length !== undefined) return Number(length);
  if (name !== 'HMAC') throw new DOMException(`The length of the ${name} key is missing`, 'OperationError');
  return ['SHA-384', 'SHA-512'].includes(hashName(hash)) ? 1024 : 512;
}

function importedKey(format: string, data: unknown, given: Given, extractable: unknown, usages: unknown): CryptoKey {
  if (needsHash(given.name)) hashName(given.hash);
  const bytes = format === 'jwk' ? encodeUtf8(stringify(data)) : copyOf(data);
  const parameters = {...described(given), format, data: encodeBase64(bytes)};
  const material = parse(ask('importKey', parameters)) as Material;
  const checked = checkedUsages(given.name, material.type, usages);
  if (given.name === 'PBKDF2' || given.name === 'HKDF') {
    if (extractable) throw new DOMException(`${given.name} keys are not extractable`, 'SyntaxError');
  }
  return keyFrom(material, given, extractable, checked);
}

function keyFrom(material: Material, given: Given, extractable: unknown, usages: KeyUsage[]): CryptoKey {
  const {type, key, length, publicExponent} = material;
  const algorithm: KeyAlgorithm = {name: given.name};
  if (given.name.startsWith('RSA')) {
    algorithm.modulusLength = length!;
    algorithm.publicExponent = fromOneByteString(atob(publicExponent!));
  } else if (given.name === 'HMAC' || given.name.startsWith('AES')) algorithm.length = length!;
  if (needsHash(given.name)) algorithm.hash = {name: hashName(given.hash)};
  if (hasCurve(given.name)) algorithm.namedCurve = String(given.namedCurve);
  return makeKey(type, algorithm, key, Boolean(extractable), usages);
}

function exponentOf(exponent: unknown): number | undefined {
  if (exponent === undefined) return undefined;
  return viewOf(exponent, 'the public exponent').reduce((value, byte) => value * 256 + byte, 0);
}

function webAlgorithm({name, hash, length}: KeyAlgorithm): string | null {
  const bits = hash?.name.replace('SHA-', '');
  if (name === 'HMAC') return `HS${bits}`;
  if (name === 'RSASSA-PKCS1-v1_5') return `RS${bits}`;
  if (name === 'RSA-PSS') return `PS${bits}`;
  if (name === 'RSA-OAEP') return bits === '1' ? 'RSA-OAEP' : `RSA-OAEP-${bits}`;
  return name.startsWith('AES-') ? `A${length}${name.slice(4)}` : null;
}

/** A copy for the host, which the caller cannot change afterwards. */
function copyOf(data: unknown): Uint8Array {
  return viewOf(data, 'the data').slice();
}

function base64(data: unknown): string {
  return encodeBase64(viewOf(data, 'a parameter'));
}

function bytesFrom(text: string): ArrayBuffer {
  return fromOneByteString(text).buffer;
}
