/**
 * Converts keys between their formats and the material of a realm's `CryptoKey`. Keys of a pair are always stored as
 * DER, whatever format they were imported from, so that they are checked once and read quickly afterwards.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import {RSA_GENERATED_BITS_MAX, RSA_MODULUS_BITS_MAX} from '../limits.ts';
import {CryptoRefusal} from './crypto-refusal.ts';
import {bytesOf, type CryptoParameters, HASHES, hashOf} from './parameters.ts';

export type KeyType = 'secret' | 'public' | 'private';
/** The properties of a key that the realm gets. `key` is base64. */
export type KeyMaterial = {
  type: KeyType;
  key: string;
  /** Bits of a secret or a modulus. */
  length?: number;
  /** Big-endian bytes in base64. */
  publicExponent?: string;
};

const AES_BITS = [128, 192, 256];
const CURVES: Readonly<Record<string, {node: string; bytes: number}>> = {
  'P-256': {node: 'prime256v1', bytes: 32},
  'P-384': {node: 'secp384r1', bytes: 48},
  'P-521': {node: 'secp521r1', bytes: 66},
};
const EXPONENTS = [3, 65537];
/** Node's key type for an algorithm. */
const KEY_TYPES: Readonly<Record<string, string>> = {
  'RSASSA-PKCS1-v1_5': 'rsa',
  'RSA-PSS': 'rsa',
  'RSA-OAEP': 'rsa',
  ECDSA: 'ec',
  ECDH: 'ec',
  Ed25519: 'ed25519',
  X25519: 'x25519',
};

export function isSecretAlgorithm(name: string): boolean {
  return ['HMAC', 'AES-GCM', 'AES-CBC', 'AES-CTR', 'PBKDF2', 'HKDF'].includes(name);
}

/** The other party's public key in a key agreement. */
export function peerKey(parameters: CryptoParameters): KeyObject {
  return checkedKey(derKey(bytesOf(parameters, 'publicKey'), 'public'), parameters, 'InvalidAccessError');
}

/** The key of a call, for Node. @throws if it is of the other type */
export function keyObject(parameters: CryptoParameters, type: 'public' | 'private'): KeyObject {
  if (parameters.keyType !== type) throw new CryptoRefusal('InvalidAccessError', `the key is no ${type} key`);
  return checkedKey(derKey(bytesOf(parameters, 'key'), type), parameters, 'InvalidAccessError');
}

function derKey(key: Buffer, type: 'public' | 'private'): KeyObject {
  return type === 'public'
    ? createPublicKey({key, format: 'der', type: 'spki'})
    : createPrivateKey({key, format: 'der', type: 'pkcs8'});
}

export function importKey(parameters: CryptoParameters): KeyMaterial {
  return isSecretAlgorithm(parameters.name) ? importSecret(parameters) : importPairKey(parameters);
}

function importSecret(parameters: CryptoParameters): KeyMaterial {
  const {name, format} = parameters;
  let key: Buffer;
  if (format === 'raw') key = bytesOf(parameters, 'data');
  else if (format === 'jwk') {
    const jwk = webKeyOf(parameters);
    if (jwk.kty !== 'oct' || typeof jwk.k !== 'string')
      throw new CryptoRefusal('DataError', 'the JWK is no secret key');
    key = Buffer.from(jwk.k, 'base64url');
  } else throw new CryptoRefusal('NotSupportedError', `${name} keys have no format ${format}`);
  if (name.startsWith('AES-') && !AES_BITS.includes(key.length * 8)) {
    throw new CryptoRefusal('DataError', 'the AES key has no valid length');
  }
  if (name === 'HMAC' && key.length === 0) throw new CryptoRefusal('DataError', 'the HMAC key is empty');
  return {type: 'secret', key: key.toString('base64'), length: key.length * 8};
}

function importPairKey(parameters: CryptoParameters): KeyMaterial {
  let key: KeyObject;
  try {
    key = readPairKey(parameters);
  } catch (caught) {
    if (caught instanceof CryptoRefusal) throw caught;
    throw new CryptoRefusal('DataError', 'the key data is not valid');
  }
  return materialOf(checkedKey(key, parameters, 'DataError'));
}

function readPairKey(parameters: CryptoParameters): KeyObject {
  const {format, name} = parameters;
  const data = bytesOf(parameters, 'data');
  switch (format) {
    case 'spki':
      return derKey(data, 'public');
    case 'pkcs8':
      return derKey(data, 'private');
    case 'jwk': {
      const key = webKeyOf(parameters);
      return 'd' in key ? createPrivateKey({key, format: 'jwk'}) : createPublicKey({key, format: 'jwk'});
    }
    case 'raw':
      return createPublicKey({key: rawPublicKey(parameters, data), format: 'jwk'});
    default:
      throw new CryptoRefusal('NotSupportedError', `${name} keys have no format ${format}`);
  }
}

function rawPublicKey({name, namedCurve = ''}: CryptoParameters, data: Buffer): JsonWebKey {
  if (isOctetPair(name)) return {kty: 'OKP', crv: name, x: data.toString('base64url')};
  if (KEY_TYPES[name] !== 'ec') throw new CryptoRefusal('NotSupportedError', `${name} keys have no format raw`);
  const {bytes} = curveOf(namedCurve);
  if (data.length !== 1 + 2 * bytes || data[0] !== 4)
    throw new CryptoRefusal('DataError', 'the point is not uncompressed');
  const x = data.subarray(1, 1 + bytes).toString('base64url');
  return {kty: 'EC', crv: namedCurve, x, y: data.subarray(1 + bytes).toString('base64url')};
}

/** Such a key is one string of bytes, not a point with two coordinates. */
function isOctetPair(name: string): boolean {
  return name === 'Ed25519' || name === 'X25519';
}

function webKeyOf(parameters: CryptoParameters): JsonWebKey {
  const key = JSON.parse(bytesOf(parameters, 'data').toString()) as unknown;
  if (typeof key !== 'object' || key === null) throw new CryptoRefusal('DataError', 'the JWK is no object');
  return key as JsonWebKey;
}

function curveOf(name: string): {node: string; bytes: number} {
  if (!Object.hasOwn(CURVES, name)) throw new CryptoRefusal('NotSupportedError', `the curve ${name} is not supported`);
  return CURVES[name]!;
}

/** @throws if the key is not of the algorithm, or takes too long to use */
function checkedKey(
  key: KeyObject,
  parameters: CryptoParameters,
  error: 'DataError' | 'InvalidAccessError',
): KeyObject {
  const {name} = parameters;
  const {asymmetricKeyType: type, asymmetricKeyDetails: {namedCurve, modulusLength = 0} = {}} = key;
  const wanted = Object.hasOwn(KEY_TYPES, name) ? KEY_TYPES[name] : undefined;
  if (wanted === undefined) throw new CryptoRefusal('NotSupportedError', `the algorithm ${name} is not supported`);
  if (type !== wanted) throw new CryptoRefusal(error, `the key is no ${name} key`);
  if (modulusLength > RSA_MODULUS_BITS_MAX) {
    throw new CryptoRefusal('OperationError', `an RSA key of more than ${RSA_MODULUS_BITS_MAX} bits`);
  }
  if (wanted === 'ec' && namedCurve !== curveOf(parameters.namedCurve ?? '').node) {
    throw new CryptoRefusal(error, `the key is not on the curve ${parameters.namedCurve}`);
  }
  return key;
}

function materialOf(key: KeyObject): KeyMaterial {
  const type = key.type as KeyType;
  const der =
    type === 'public' ? key.export({format: 'der', type: 'spki'}) : key.export({format: 'der', type: 'pkcs8'});
  const {modulusLength, publicExponent} = key.asymmetricKeyDetails ?? {};
  return {
    type,
    key: der.toString('base64'),
    ...(modulusLength === undefined ? {} : {length: modulusLength}),
    ...(publicExponent === undefined ? {} : {publicExponent: exponentBytes(publicExponent)}),
  };
}

function exponentBytes(exponent: bigint): string {
  const hex = exponent.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64');
}

/** @returns bytes as a one-byte string, or a JWK as JSON */
export function exportKey(parameters: CryptoParameters): string {
  const {name, format, keyType} = parameters;
  const bytes = bytesOf(parameters, 'key');
  if (keyType === 'secret') {
    if (format === 'raw') return bytes.toString('latin1');
    if (format === 'jwk') return JSON.stringify({kty: 'oct', k: bytes.toString('base64url')});
  } else if (format === 'jwk') {
    return JSON.stringify(keyObject(parameters, keyType as 'public' | 'private').export({format: 'jwk'}));
  } else if (format === (keyType === 'public' ? 'spki' : 'pkcs8')) return bytes.toString('latin1');
  else if (format === 'raw' && keyType === 'public') return rawOf(keyObject(parameters, 'public'), name);
  throw new CryptoRefusal('NotSupportedError', `a ${keyType} key of ${name} has no format ${format}`);
}

function rawOf(key: KeyObject, name: string): string {
  const {x = '', y = ''} = key.export({format: 'jwk'});
  if (isOctetPair(name)) return Buffer.from(x, 'base64url').toString('latin1');
  if (KEY_TYPES[name] !== 'ec') throw new CryptoRefusal('NotSupportedError', `${name} keys have no format raw`);
  return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]).toString('latin1');
}

/** @returns one secret, or the private and the public key */
export function generateKey(parameters: CryptoParameters): KeyMaterial[] {
  const {name, modulusLength = 0, publicExponent = 0} = parameters;
  if (name === 'HMAC' || name.startsWith('AES-')) return [generateSecret(parameters)];
  if (name.startsWith('RSA')) {
    if (modulusLength < 1024 || modulusLength > RSA_GENERATED_BITS_MAX) {
      throw new CryptoRefusal('OperationError', `RSA keys have from 1024 to ${RSA_GENERATED_BITS_MAX} bits`);
    }
    if (!EXPONENTS.includes(publicExponent))
      throw new CryptoRefusal('OperationError', 'the public exponent is not 3 or 65537');
    return pairOf(generateKeyPairSync('rsa', {modulusLength, publicExponent}));
  }
  if (name === 'ECDSA' || name === 'ECDH')
    return pairOf(generateKeyPairSync('ec', {namedCurve: curveOf(parameters.namedCurve ?? '').node}));
  if (name === 'Ed25519') return pairOf(generateKeyPairSync('ed25519'));
  if (name === 'X25519') return pairOf(generateKeyPairSync('x25519'));
  throw new CryptoRefusal('NotSupportedError', `keys of ${name} cannot be generated`);
}

function generateSecret(parameters: CryptoParameters): KeyMaterial {
  const {name} = parameters;
  if (parameters.name === 'HMAC') hashOf(parameters);
  const bits = parameters.length ?? (name === 'HMAC' ? HASHES[parameters.hash!]!.blockBits : 0);
  const isFitting = name === 'HMAC' ? bits > 0 && bits % 8 === 0 && bits <= 65_536 : AES_BITS.includes(bits);
  if (!isFitting) throw new CryptoRefusal('OperationError', `${bits} is no length of a key of ${name}`);
  return {type: 'secret', key: randomBytes(bits / 8).toString('base64'), length: bits};
}

function pairOf({privateKey, publicKey}: {privateKey: KeyObject; publicKey: KeyObject}): KeyMaterial[] {
  return [materialOf(privateKey), materialOf(publicKey)];
}
