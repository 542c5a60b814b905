/**
 * A router's copy of all keys, complete before the router serves. The object of a key stays the same when its record
 * changes, so a `Caller` that was admitted with it can be checked for validity at any time.
 */

import {type ServiceError, unavailable} from '../../shared/errors.ts';
import type {KeyRecord} from '../../shared/ipc/keys.ts';
import {isWellFormed, keyIdIn} from '../../shared/key-secret.ts';
import {monotonicMs} from '../../shared/monotonic.ts';
import {KEY_POLL_MS, KEY_USES_REPORT_MS} from '../limits.ts';
import {type Caller, Key, keyOf, type Principal, wholeHeader} from './credentials.ts';
import {keyEnded} from './rights.ts';

/** A timer takes no more. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** A key or a session. */
type Used = {readonly id: string; isUsed: boolean};

export type KeyRingParts = {
  records: readonly KeyRecord[];
  /** The keys are not current before the supervisor says so. */
  isInCluster: boolean;
  /** Epoch milliseconds. */
  now: () => number;
  /** Receives the ids of keys and sessions that were used since the last call. */
  onUsed: (ids: string[]) => void;
};

export class KeyRing {
  readonly #keys = new Map<string, Key>();
  readonly #parts: KeyRingParts;
  readonly #watchers: (() => void)[] = [];
  #used: Used[] = [];
  #lookedMs: number;
  /** Until then the host would have received it if a key was revoked: an instant of its monotonic clock. */
  #currentUntilMs: number;
  #currentTimer: NodeJS.Timeout | null = null;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    this.#currentUntilMs = parts.isInCluster ? 0 : Number.POSITIVE_INFINITY;
    this.#lookedMs = parts.now();
    for (const record of parts.records) this.#keys.set(record.id, new Key(record));
    setInterval(() => this.#poll(), KEY_POLL_MS).unref();
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
    this.changed();
  }

  remove(id: string): void {
    const key = this.#keys.get(id);
    if (key === undefined) return;
    key.isRevoked = true;
    this.#keys.delete(id);
    this.changed();
  }

  /**
   * A host of a cluster that loses its lease can be cut off, and not receive that a key was revoked. What says so can stand
   * still then, so this process compares the time by itself.
   */
  setCurrentUntil(untilMs: number): void {
    this.#currentUntilMs = untilMs;
    if (this.#currentTimer !== null) clearTimeout(this.#currentTimer);
    this.#currentTimer = null;
    if (!this.#isCurrent) {
      this.changed();
      return;
    }
    const leftMs = Math.min(untilMs - monotonicMs() + 1, TIMER_MS_MAX);
    this.#currentTimer = setTimeout(() => this.setCurrentUntil(this.#currentUntilMs), leftMs).unref();
  }

  get #isCurrent(): boolean {
    return this.#currentUntilMs === Number.POSITIVE_INFINITY || monotonicMs() < this.#currentUntilMs;
  }

  /** Why the principal, which was admitted, must not go on. Null: it can. */
  faultOf(principal: Principal): ServiceError | null {
    if (principal === null) return null;
    if (!principal.isValid(this.#parts.now())) return keyEnded();
    return this.#isCurrent || keyOf(principal) === null ? null : notCurrent();
  }

  /**
   * Finds the caller whose currently valid secret the header holds; null: there is none.
   * @param at where in the header the secret begins
   * @throws session.worker_unavailable 503: it cannot be known whether the key was revoked
   */
  find(header: string, at: number, tokenOf: (header: string) => string): Caller | null {
    const key = this.#keys.get(keyIdIn(header, at));
    if (key === undefined) return null;
    for (const caller of key.callers) {
      if (!caller.isIn(header, tokenOf) || !caller.isValid(this.#parts.now())) continue;
      if (!this.#isCurrent) throw notCurrent();
      this.noteUse(key);
      return caller;
    }
    return null;
  }

  /** The holder of this secret; null: the key has no such secret. */
  secretOf(id: string, sha256: string): Caller | null {
    return this.#keys.get(id)?.callers.find(caller => caller.sha256 === sha256) ?? null;
  }

  noteUse(used: Used): void {
    if (used.isUsed) return;
    used.isUsed = true;
    this.#used.push(used);
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

  #poll(): void {
    const fromMs = this.#lookedMs;
    const nowMs = this.#parts.now();
    this.#lookedMs = nowMs;
    const hasEnded = (ms: number) => ms > fromMs && ms <= nowMs;
    for (const {callers} of this.#keys.values()) {
      if (!callers.some(({endMs}) => hasEnded(endMs))) continue;
      this.changed();
      return;
    }
  }

  /** An admitted caller may have become invalid. */
  changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  #report(): void {
    if (this.#used.length === 0) return;
    for (const key of this.#used) key.isUsed = false;
    this.#parts.onUsed(this.#used.map(({id}) => id));
    this.#used = [];
  }
}

function notCurrent(): ServiceError {
  return unavailable('the host has no lease in its cluster, so it cannot check keys; try again, or use another host', {
    reason: 'no_lease',
  });
}
