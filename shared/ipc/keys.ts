/**
 * Messages about keys between the supervisor, which stores them on disk, and the routers, which check requests against
 * a copy. They contain digests of secrets, never a secret.
 */
import type {RateLimit} from '../rate-limit.ts';
import {SCOPES, type Scope} from '../rights.ts';

/** What a key can do. Null: no limit. */
export type Grant = {
  readonly scopes: readonly Scope[];
  readonly tenants: readonly string[] | null;
  readonly tables: readonly string[] | null;
  /** Epoch milliseconds, as all times here. */
  readonly expires_at: number | null;
  readonly rate_limit: RateLimit | null;
};

/** The rights of an admin credential. */
export const ALL_RIGHTS: Grant = {scopes: SCOPES, tenants: null, tables: null, expires_at: null, rate_limit: null};

export type KeyRecord = Grant & {
  readonly id: string;
  readonly name: string;
  readonly created_at: number;
  /** The id of the key that created it; null: an admin credential. */
  readonly created_by: string | null;
  /**
   * Of a key that another key created: the id of the first key of its line, which an admin credential created. Absent:
   * an admin credential created this one, or, on disk, a version that did not write the member.
   */
  readonly family?: string;
  /** One secret, or two during a rotation. The newest first. */
  readonly secrets: readonly {
    readonly sha256: string;
    readonly created_at: number;
    /** When it expires before its key does; null: it does not. */
    readonly expires_at: number | null;
  }[];
};

/** The caller: a key, or (null) an admin credential. */
export type Actor = string | null;

export type KeyRequest =
  | {action: 'key_list'; actor: Actor}
  | {action: 'key_get'; actor: Actor; key: string}
  | {action: 'key_create'; actor: Actor; name: string; grant: Grant}
  | {action: 'key_rotate'; actor: Actor; key: string; overlapMs: number}
  | {action: 'key_revoke'; actor: Actor; key: string};

/** Whether the holder of the first grant can pass on the second. */
export function covers(held: Grant, given: Grant): boolean {
  return (
    isWithin(given.scopes, held.scopes) &&
    isWithin(given.tenants, held.tenants) &&
    isWithin(given.tables, held.tables) &&
    (held.expires_at === null || (given.expires_at !== null && given.expires_at <= held.expires_at)) &&
    (held.rate_limit === null ||
      (given.rate_limit !== null &&
        given.rate_limit.requests_per_second <= held.rate_limit.requests_per_second &&
        given.rate_limit.burst <= held.rate_limit.burst))
  );
}

function isWithin(given: readonly string[] | null, held: readonly string[] | null): boolean {
  if (held === null) return true;
  return given?.every(name => held.includes(name)) ?? false;
}
