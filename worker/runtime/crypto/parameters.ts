/**
 * Parses the realm's parameters of a `crypto.subtle` call. They are outside input: only the members below are read,
 * with their types checked.
 */
import {CryptoRefusal} from './crypto-refusal.ts';

const STRINGS = [
  'name', 'hash', 'namedCurve', 'key', 'keyType', 'format', 'data', 'iv', 'additionalData', 'label', 'salt', 'info',
  'signature', 'publicKey',
] as const; // biome-ignore format: a list
const NUMBERS = ['length', 'tagLength', 'saltLength', 'iterations', 'modulusLength', 'publicExponent'] as const;

type Member = (typeof STRINGS)[number];
type NumberMember = (typeof NUMBERS)[number];

/** Bytes are base64: `key`, `data`, `iv`, `additionalData`, `label`, `salt`, `info`, `signature`, `publicKey`. */
export type CryptoParameters = {name: string} & {[M in Member]?: string} & {[M in NumberMember]?: number};

/** @param text JSON */
export function checkedParameters(text: string): CryptoParameters {
  const given = JSON.parse(text) as Record<string, unknown> | null;
  const checked: Record<string, unknown> = {name: ''};
  for (const member of STRINGS) {
    if (typeof given?.[member] === 'string') checked[member] = given[member];
  }
  for (const member of NUMBERS) {
    const value = given?.[member];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) checked[member] = value;
  }
  return checked as CryptoParameters;
}

export const HASHES: Readonly<Record<string, {node: string; bytes: number; blockBits: number}>> = {
  'SHA-1': {node: 'sha1', bytes: 20, blockBits: 512},
  'SHA-256': {node: 'sha256', bytes: 32, blockBits: 512},
  'SHA-384': {node: 'sha384', bytes: 48, blockBits: 1024},
  'SHA-512': {node: 'sha512', bytes: 64, blockBits: 1024},
};

/** Node's name of the hash. */
export function hashOf({hash = ''}: CryptoParameters): string {
  if (!Object.hasOwn(HASHES, hash)) throw new CryptoRefusal('NotSupportedError', `the hash ${hash} is not supported`);
  return HASHES[hash]!.node;
}

export function secretOf(parameters: CryptoParameters): Buffer {
  return bytesOf(parameters, 'key');
}

export function bytesOf(parameters: CryptoParameters, member: Member): Buffer {
  return Buffer.from(parameters[member] ?? '', 'base64');
}
