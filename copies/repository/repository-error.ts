import {keyName} from './object-names.ts';

/** A repository cannot be used, or an object of it cannot. The code is for programs, the message for people. */
export type RepositoryCode =
  /** The store has no repository. */
  | 'no_repository'
  /** There is one already. */
  | 'exists'
  | 'wrong_key'
  /** A later svc wrote it. */
  | 'unknown_format'
  /** Bytes are missing, or are not those that were written. */
  | 'damaged'
  /** Another server writes to it. */
  | 'locked'
  /** The tenant has no copies, or none at or before the moment. */
  | 'no_copies'
  | 'unavailable';

/** Who holds a repository's lease. */
export type LeaseHolder = {
  readonly host: string;
  readonly serverId: string;
  readonly sinceMs: number;
  /** Of which it is a host; null: none. */
  readonly cluster: string | null;
};

export class RepositoryError extends Error {
  override name = 'RepositoryError';
  readonly code: RepositoryCode;
  /** The name of the object at fault. */
  readonly object: string | null;
  /** The only one that it concerns: its data key cannot be used. */
  readonly tenant: string | null;
  /** Of `locked`. */
  readonly holder: LeaseHolder | null;

  constructor(
    code: RepositoryCode,
    message: string,
    options?: ErrorOptions & {object?: string; tenant?: string; holder?: LeaseHolder | null},
  ) {
    super(message, options);
    this.code = code;
    this.object = options?.object ?? null;
    this.tenant = options?.tenant ?? null;
    this.holder = options?.holder ?? null;
  }
}

/** @param object its name */
export function damaged(object: string, detail: string, cause?: unknown): RepositoryError {
  return new RepositoryError('damaged', `the object ${object} is damaged: ${detail}`, {object, cause});
}

/** A fault of one tenant: none of its copies can be read or made. */
export function damagedKey(tenant: string, detail: string, cause?: unknown): RepositoryError {
  const object = keyName(tenant);
  return new RepositoryError('damaged', `the object ${object} is damaged: ${detail}`, {object, tenant, cause});
}

/** Whether it concerns one tenant alone. */
export function isOfTenant(caught: unknown): caught is RepositoryError {
  return caught instanceof RepositoryError && caught.tenant !== null;
}
