/**
 * A router's copy of all keys, complete before it serves. A key keeps its object while its record changes, so that whoever was let
 * in with it (a `Caller`) can be asked at any time whether that still holds.
 */
import type {Grant, KeyRecord} from '../../shared/ipc/keys.ts';
import {isWellFormed, keyIdIn} from '../../shared/key-secret.ts';
import type {RateLimit} from '../../shared/rate-limit.ts';
import type {Scope} from '../../shared/rights.ts';
import {KEY_LOOK_MS, KEY_USES_REPORT_MS} from '../limits.ts';
import {Secret, wholeHeader} from './secret.ts';

/** Times are epoch milliseconds, and Infinity where there is no end. */
export class Key {
  readonly id: string;
  readonly name: string;
  /** The id of the first key of its line: rotation keeps it, and so do keys that it makes. */
  readonly family: string;
  readonly grant: Grant;
  readonly scopes: ReadonlySet<Scope>;
  readonly tenants: ReadonlySet<string> | null;
  readonly tables: ReadonlySet<string> | null;
  /** For whoever counts its requests. */
  readonly rateLimit: RateLimit | null;
  readonly expiresAtMs: number;
  isRevoked = false;
  /** Since the last report. */
  isUsed = false;
  /** Whoever shows one of its secrets, the newest first. */
  callers: Caller[] = [];

  constructor(record: KeyRecord) {
    this.id = record.id;
    this.name = record.name;
    this.family = record.family ?? record.id;
    this.grant = record;
    this.scopes = new Set(record.scopes);
    this.tenants = record.tenants === null ? null : new Set(record.tenants);
    this.tables = record.tables === null ? null : new Set(record.tables);
    this.rateLimit = record.rate_limit;
    this.expiresAtMs = record.expires_at ?? Number.POSITIVE_INFINITY;
    this.take(record);
  }

  /** It was rotated: secrets that stay keep their objects, and with them those who came. */
  take({secrets}: KeyRecord): void {
    const known = new Map(this.callers.map(caller => [caller.sha256, caller]));
    this.callers = secrets.map(({sha256, expires_at}) => {
      const caller = known.get(sha256) ?? new Caller(this, sha256);
      caller.secretExpiresAtMs = expires_at ?? Number.POSITIVE_INFINITY;
      known.delete(sha256);
      return caller;
    });
    for (const gone of known.values()) gone.secretExpiresAtMs = 0;
  }
}

/** Whoever shows this secret of the key. */
export class Caller extends Secret {
  readonly key: Key;
  readonly sha256: string;
  /** When the secret ends before its key does. */
  secretExpiresAtMs = 0;

  constructor(key: Key, sha256: string) {
    super(sha256);
    this.key = key;
    this.sha256 = sha256;
  }

  get endMs(): number {
    return Math.min(this.key.expiresAtMs, this.secretExpiresAtMs);
  }

  /** It may still ask. */
  isValid(nowMs: number): boolean {
    return !this.key.isRevoked && nowMs < this.key.expiresAtMs && nowMs < this.secretExpiresAtMs;
  }
}

export type KeyRingParts = {
  records: readonly KeyRecord[];
  /** Epoch milliseconds. */
  now: () => number;
  /** Ids of keys that were used since it was last called. */
  onUsed: (ids: string[]) => void;
};

export class KeyRing {
  readonly #keys = new Map<string, Key>();
  readonly #parts: KeyRingParts;
  readonly #watchers: (() => void)[] = [];
  #used: Key[] = [];
  #lookedMs: number;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    this.#lookedMs = parts.now();
    for (const record of parts.records) this.#keys.set(record.id, new Key(record));
    setInterval(() => this.#look(), KEY_LOOK_MS).unref();
    setInterval(() => this.#report(), KEY_USES_REPORT_MS).unref();
  }

  /** Calls it whenever somebody who was let in may not be valid any more. */
  watch(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  put(record: KeyRecord): void {
    const key = this.#keys.get(record.id);
    if (key === undefined) this.#keys.set(record.id, new Key(record));
    else key.take(record);
    this.#changed();
  }

  remove(id: string): void {
    const key = this.#keys.get(id);
    if (key === undefined) return;
    key.isRevoked = true;
    this.#keys.delete(id);
    this.#changed();
  }

  /**
   * Whom a header names by a secret that is valid now; null: nobody.
   * @param at where in the header the secret begins
   */
  find(header: string, at: number, tokenOf: (header: string) => string): Caller | null {
    const key = this.#keys.get(keyIdIn(header, at));
    if (key === undefined) return null;
    for (const caller of key.callers) {
      if (!caller.isIn(header, tokenOf) || !caller.isValid(this.#parts.now())) continue;
      if (!key.isUsed) {
        key.isUsed = true;
        this.#used.push(key);
      }
      return caller;
    }
    return null;
  }

  /** Why such a token is refused, for people. Says nothing of a key to those who do not know a secret of it. */
  refusal(token: string): string {
    if (!isWellFormed(token)) return 'this key is misspelled: its checksum does not fit; copy all of it';
    const caller = this.#keys.get(keyIdIn(token, 0))?.callers.find(one => one.isIn(token, wholeHeader));
    if (caller === undefined) return 'there is no such key: it was revoked or rotated, or is of another server';
    const at = new Date(caller.endMs).toISOString();
    return caller.secretExpiresAtMs < caller.key.expiresAtMs
      ? `this secret ended at ${at}, after its key was rotated`
      : `this key expired at ${at}`;
  }

  #look(): void {
    const fromMs = this.#lookedMs;
    const nowMs = this.#parts.now();
    this.#lookedMs = nowMs;
    const hasEnded = (ms: number) => ms > fromMs && ms <= nowMs;
    for (const {callers} of this.#keys.values()) {
      if (!callers.some(({endMs}) => hasEnded(endMs))) continue;
      this.#changed();
      return;
    }
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  #report(): void {
    if (this.#used.length === 0) return;
    for (const key of this.#used) key.isUsed = false;
    this.#parts.onUsed(this.#used.map(({id}) => id));
    this.#used = [];
  }
}
