/** The algorithms of `crypto.subtle`: their names (case-insensitive) and the permitted usages of their keys. */
import {DOMException} from '../web/dom-exception.ts';
import type {KeyType, KeyUsage} from './crypto-key.ts';

const PAIR_SIGNS: KeyRules = {public: ['verify'], private: ['sign']};
const CIPHER: KeyRules = {secret: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']};
const DERIVES: KeyRules = {secret: ['deriveKey', 'deriveBits']};
const AGREES: KeyRules = {public: [], private: ['deriveKey', 'deriveBits']};
type KeyRules = Partial<Record<KeyType, readonly KeyUsage[]>>;

/** By name: the usages that a key of each type can have. */
const ALGORITHMS: Readonly<Record<string, KeyRules>> = {
  HMAC: {secret: ['sign', 'verify']},
  'AES-GCM': CIPHER,
  'AES-CBC': CIPHER,
  'AES-CTR': CIPHER,
  PBKDF2: DERIVES,
  HKDF: DERIVES,
  'RSASSA-PKCS1-v1_5': PAIR_SIGNS,
  'RSA-PSS': PAIR_SIGNS,
  'RSA-OAEP': {public: ['encrypt', 'wrapKey'], private: ['decrypt', 'unwrapKey']},
  ECDSA: PAIR_SIGNS,
  Ed25519: PAIR_SIGNS,
  ECDH: AGREES,
  X25519: AGREES,
};
const HASHES = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'];

export type Given = {name: string} & Record<string, unknown>;

/** Parses a caller's algorithm: its name, or an object with one. Members are read only here, once. */
export function algorithmOf(given: unknown): Given {
  const members = typeof given === 'object' && given !== null ? {...given} : {name: given};
  const name = canonical(Object.keys(ALGORITHMS), (members as {name?: unknown}).name);
  return {...members, name};
}

export function hashName(given: unknown): string {
  return canonical(HASHES, typeof given === 'object' && given !== null ? (given as {name?: unknown}).name : given);
}

function canonical(names: readonly string[], given: unknown): string {
  const wanted = String(given).toLowerCase();
  const name = names.find(known => known.toLowerCase() === wanted);
  if (name === undefined) throw new DOMException(`Unrecognized algorithm name: ${String(given)}`, 'NotSupportedError');
  return name;
}

/** For key agreement, the caller names the other side's public key. */
export function isAgreement(name: string): boolean {
  return ALGORITHMS[name] === AGREES;
}

export function hasCurve(name: string): boolean {
  return name === 'ECDSA' || name === 'ECDH';
}

export function needsHash(name: string): boolean {
  return name === 'HMAC' || name.startsWith('RSA');
}

/** @throws SyntaxError for a usage that keys of this kind do not have */
export function checkedUsages(name: string, type: KeyType, given: unknown): KeyUsage[] {
  const usages = [...new Set([...(given as Iterable<KeyUsage>)].map(String))] as KeyUsage[];
  const allowed = ALGORITHMS[name]![type] ?? [];
  const wrong = usages.find(usage => !allowed.includes(usage));
  if (wrong !== undefined) throw new DOMException(`A ${type} key of ${name} cannot ${wrong}`, 'SyntaxError');
  if (usages.length === 0 && type !== 'public')
    throw new DOMException('The usages of the key are empty', 'SyntaxError');
  return usages;
}

/** Each half of a pair gets only its own usages. */
export function usagesOfHalf(name: string, type: KeyType, given: unknown): KeyUsage[] {
  const allowed = ALGORITHMS[name]![type] ?? [];
  return allowed.filter(usage => [...(given as Iterable<string>)].includes(usage));
}
