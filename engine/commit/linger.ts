/**
 * When an open group waits for company before it is committed. In a closed circle those who were just answered write again at once.
 * A commit that does not wait for them takes only those who arrived during the sync, and the two halves take turns from then on:
 * each writer waits for two syncs. Where writes arrive by themselves, a wait would only add to their time.
 *
 * The two are told apart by how many writes are in flight whenever a group is durable: in a closed circle always as many as there
 * are writers, otherwise now more and now fewer. Only where that number stays the same does a group wait, until as many writes have
 * run as were answered, for LINGER_SYNCS syncs and LINGER_MS_MAX at most. After waits in vain more and more groups do not wait.
 * So nobody waits alone: the write that a lone writer would wait for is its own next one.
 */
import {LINGER_MS_MAX, LINGER_SKIPPED_MAX, LINGER_SYNC_MS_MIN, LINGER_SYNCS, LINGER_WRITES_MAX} from '../limits.ts';

/** Weight of the newest in the moving figures. */
const NEWEST = 1 / 8;
/** The share of groups that found as many in flight as the group before, in a closed circle; of independent arrivals it is 1/4 at most. */
const SAME_MIN = 0.6;
/** So many waits in a row that brought all make up for those in vain; of arrivals in equal times every other one does. */
const WELL_IN_A_ROW_MIN = 4;
/** A wait is in vain that more of those who were answered missed. */
const MISSING_SHARE = 1 / 4;
/** In a circle, too, one of so many may be late. */
const LATE_SHARE = 1 / 32;

export class Linger {
  readonly #msMax: number;
  /** How long a sync takes; 0: none has ended yet. */
  #syncMs = 0;
  /** How many writes were in flight when the last group was durable, and how often it was as many as before. */
  #inFlight = 0;
  #same = 0;
  #toldMs = 0;
  #told = 0;
  /** So many of the writers who were answered last have not written since, and are waited for. */
  #awaited = 0;
  #hasWaited = false;
  /** Groups that will not wait, and how many will not after the next one that waits in vain. */
  #skipped = 0;
  #skippedNext = 1;
  #wellInARow = 0;

  constructor(msMax = LINGER_MS_MAX) {
    this.#msMax = msMax;
  }

  synced(ms: number): void {
    this.#syncMs = this.#syncMs === 0 ? ms : this.#syncMs + (ms - this.#syncMs) * NEWEST;
  }

  /** Writers are about to be answered. @param waiting writes that have arrived meanwhile */
  told(writes: number, waiting: number, nowMs: number): void {
    this.#saw(writes + waiting);
    this.#toldMs = nowMs;
    this.#told = writes;
    this.#awaited = this.#same >= SAME_MIN && writes + waiting <= LINGER_WRITES_MAX ? writes : 0;
    if (this.#awaited > 0 && this.#skipped > 0) {
      this.#skipped--;
      this.#awaited = 0;
    }
  }

  /** A write ran: it is in the open group. */
  ran(): void {
    this.#awaited--;
  }

  /** How long a group that could be committed now is held back at most; 0: not at all. To be called again when writes have run. */
  remainingMs(nowMs: number): number {
    if (this.#awaited <= 0 || this.#syncMs < LINGER_SYNC_MS_MIN) return 0;
    this.#hasWaited = true;
    return Math.max(0, this.#toldMs + Math.min(LINGER_SYNCS * this.#syncMs, this.#msMax) - nowMs);
  }

  /** A group is committed, and nobody is waited for any more. */
  committed(): void {
    if (this.#hasWaited) this.#judge(this.#awaited > this.#told * MISSING_SHARE);
    this.#hasWaited = false;
    this.#awaited = 0;
  }

  #judge(isInVain: boolean): void {
    if (isInVain) {
      this.#skipped = this.#skippedNext;
      this.#skippedNext = Math.min(2 * this.#skippedNext, LINGER_SKIPPED_MAX);
      this.#wellInARow = 0;
    } else if (++this.#wellInARow >= WELL_IN_A_ROW_MIN) this.#skippedNext = 1;
  }

  #saw(inFlight: number): void {
    const before = this.#inFlight;
    this.#inFlight = inFlight;
    if (inFlight <= 1 && before <= 1) return;
    const isSame = Math.abs(inFlight - before) <= inFlight * LATE_SHARE;
    this.#same += ((isSame ? 1 : 0) - this.#same) * NEWEST;
  }
}
