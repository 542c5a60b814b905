/**
 * A router's copy of all keys, complete before the router serves. The object of a key stays the same when its record
 * changes, so a `Caller` that was admitted with it can be checked for validity at any time.
 */
import type {Grant, KeyRecord} from '../../shared/ipc/keys.ts';
import {isWellFormed, keyIdIn} from '../../shared/key-secret.ts';
import type {RateLimit} from '../../shared/rate-limit.ts';
import type {Scope} from '../../shared/rights.ts';
import {KEY_LOOK_MS, KEY_USES_REPORT_MS} from '../limits.ts';
import {Secret, wholeHeader} from './secret.ts';

/** Times are epoch milliseconds; Infinity means no end. */
export class Key {
  readonly id: string;
  readonly name: string;
  /** The id of the first key in its lineage. Rotation keeps it, and keys inherit it from the key that makes them. */
  readonly family: string;
  readonly grant: Grant;
  readonly scopes: ReadonlySet<Scope>;
  readonly tenants: ReadonlySet<string> | null;
  readonly tables: ReadonlySet<string> | null;
  /** Read by the rate limiter. */
  readonly rateLimit: RateLimit | null;
  readonly expiresAtMs: number;
  isRevoked = false;
  /** Since the last report. */
  isUsed = false;
  /** One caller for each secret of the key, the newest first. */
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

  /**
   * Takes over a changed record. Secrets that remain keep their `Caller` objects, so requests admitted with them stay
   * valid.
   */
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

/** The holder of this secret of the key. */
export class Caller extends Secret {
  readonly key: Key;
  readonly sha256: string;
  /** Set if the secret ends before its key does. */
  secretExpiresAtMs = 0;

  constructor(key: Key, sha256: string) {
    super(sha256);
    this.key = key;
    this.sha256 = sha256;
  }

  get endMs(): number {
    return Math.min(this.key.expiresAtMs, this.secretExpiresAtMs);
  }

  /** Whether it may still send requests. */
  isValid(nowMs: number): boolean {
    return !this.key.isRevoked && nowMs < this.key.expiresAtMs && nowMs < this.secretExpiresAtMs;
  }
}

export type KeyRingParts = {
  records: readonly KeyRecord[];
  /** Epoch milliseconds. */
  now: () => number;
  /** Receives the ids of keys that were used since the last call. */
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

  /** Registers a function that is called whenever an admitted caller may have become invalid. */
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
   * Finds the caller whose currently valid secret the header holds; null: there is none.
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

  /**
   * Why such a token is refused, as a message for people. Without a correct secret it discloses nothing about a key.
   */
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
