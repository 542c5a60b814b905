/** `CryptoKey`: its key material is not readable, unless the key can be exported. */
import {define} from '../define.ts';

export type KeyUsage = 'encrypt' | 'decrypt' | 'sign' | 'verify' | 'deriveKey' | 'deriveBits' | 'wrapKey' | 'unwrapKey';
export type KeyType = 'secret' | 'public' | 'private';
export type KeyAlgorithm = {
  name: string;
  hash?: {name: string};
  namedCurve?: string;
  length?: number;
  modulusLength?: number;
  publicExponent?: Uint8Array;
};
/** Base64 of the secret bytes, or of DER. */
type Material = string;

const OURS = Symbol('made by this module');
let materialOf: (key: CryptoKey) => Material;

export class CryptoKey {
  readonly #material: Material;
  readonly #type: KeyType;
  readonly #algorithm: KeyAlgorithm;
  readonly #usages: readonly KeyUsage[];
  readonly #extractable: boolean;

  static {
    materialOf = key => key.#material;
  }

  constructor(
    key: unknown,
    type: KeyType,
    algorithm: KeyAlgorithm,
    material: Material,
    extractable: boolean,
    usages: readonly KeyUsage[],
  ) {
    if (key !== OURS) throw new TypeError('Illegal constructor');
    this.#type = type;
    this.#algorithm = algorithm;
    this.#material = material;
    this.#extractable = extractable;
    this.#usages = usages;
  }

  get type(): KeyType {
    return this.#type;
  }
  get extractable(): boolean {
    return this.#extractable;
  }
  get algorithm(): KeyAlgorithm {
    return {...this.#algorithm};
  }
  get usages(): KeyUsage[] {
    return [...this.#usages];
  }
}
define(CryptoKey.prototype, Symbol.toStringTag, 'CryptoKey');

export function makeKey(
  type: KeyType,
  algorithm: KeyAlgorithm,
  material: Material,
  extractable: boolean,
  usages: readonly KeyUsage[],
): CryptoKey {
  return new CryptoKey(OURS, type, algorithm, material, extractable, usages);
}

export function keyMaterial(key: CryptoKey): Material {
  return materialOf(key);
}
