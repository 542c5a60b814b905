/**
 * The keys of a repository. Its key, which is in a file of the operator and in no object, seals the indexes of packs and
 * wraps the data key of each tenant. A data key seals the segments and manifests of one tenant: removing it makes all
 * copies of that tenant unreadable.
 */
import {hkdfSync, randomBytes} from 'node:crypto';
import {RepositoryError} from './repository-error.ts';
import {seal, UnsealError, unseal} from './sealed.ts';

export const KEY_BYTES = 32;

export type DataKey = {
  /** Tells the key from an earlier one of the tenant's name. */
  readonly id: string;
  readonly bytes: Buffer;
};

/** The content of `keys/TENANT.json`. */
type StoredKey = {format: 1; tenant: string; id: string; wrapped: string};

/** The text of a key file. */
export function newRepositoryKey(): string {
  return `${randomBytes(KEY_BYTES).toString('base64url')}\n`;
}

/** @throws RepositoryError `wrong_key` */
export function parseRepositoryKey(text: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64url');
  if (key.length === KEY_BYTES && key.toString('base64url') === text.trim()) return key;
  throw new RepositoryError('wrong_key', 'the key file does not have a key: svc backup init makes one');
}

/** The keys that are derived from the repository's key. */
export class RepositoryKeys {
  readonly #repositoryId: string;
  readonly #wrapping: Buffer;
  /** Seals what belongs to no tenant. */
  readonly index: Buffer;
  /** Is stored in the repository: it says whether a key is the right one, and nothing about it. */
  readonly check: string;

  constructor(key: Buffer, repositoryId: string) {
    const derived = (use: string): Buffer => Buffer.from(hkdfSync('sha256', key, repositoryId, use, KEY_BYTES));
    this.#repositoryId = repositoryId;
    this.#wrapping = derived('svc repository: data keys');
    this.index = derived('svc repository: indexes');
    this.check = derived('svc repository: check').toString('hex');
  }

  newDataKey(): DataKey {
    return {id: randomBytes(8).toString('hex'), bytes: randomBytes(KEY_BYTES)};
  }

  /** The content of `keys/TENANT.json`. */
  wrapped(tenant: string, {id, bytes}: DataKey): Buffer {
    const wrapped = seal(this.#wrapping, this.#context(tenant, id), bytes).toString('base64url');
    const stored: StoredKey = {format: 1, tenant, id, wrapped};
    return Buffer.from(`${JSON.stringify(stored)}\n`);
  }

  /** @throws UnsealError; SyntaxError */
  dataKey(tenant: string, stored: Buffer): DataKey {
    const {id, wrapped} = JSON.parse(stored.toString()) as Partial<StoredKey>;
    if (typeof id !== 'string' || typeof wrapped !== 'string') throw new UnsealError('it has no key');
    return {id, bytes: unseal(this.#wrapping, this.#context(tenant, id), Buffer.from(wrapped, 'base64url'))};
  }

  #context(tenant: string, id: string): readonly string[] {
    return [this.#repositoryId, 'data key', tenant, id];
  }
}
