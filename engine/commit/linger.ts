/**
 * Decides whether an open group lingers, which means that it waits for more writes before it is committed. In a closed
 * loop, the writers that just got their replies write again at once. A commit that does not wait for them takes only
 * the writes that arrived during the sync. From then on the two halves of the writers alternate, and each writer waits
 * for two syncs. When writes arrive independently, a wait would only add latency.
 *
 * The number of writes in flight when a group becomes durable tells the two cases apart: in a closed loop it always
 * equals the number of writers; otherwise it varies. A group lingers only where that number stays the same, until as
 * many writes have run as were answered, for LINGER_SYNCS syncs and LINGER_MS_MAX at most. After lingers in vain, more
 * and more groups do not linger. A lone writer never waits, because the write it would wait for is its own next one.
 */
import {LINGER_MS_MAX, LINGER_SKIPPED_MAX, LINGER_SYNC_MS_MIN, LINGER_SYNCS, LINGER_WRITES_MAX} from '../limits.ts';

/** Weight of the newest value in the moving averages. */
const NEWEST = 1 / 8;
/**
 * Minimum share of groups with the same number in flight as the group before. It is higher in a closed loop; with
 * independent arrivals it is 1/4 at most.
 */
const SAME_MIN = 0.6;
/**
 * This many complete lingers in a row reset the penalty for vain ones; with evenly spaced arrivals every other linger
 * is complete.
 */
const WELL_IN_A_ROW_MIN = 4;
/** A linger is in vain if more than this share of the awaited writers did not write. */
const MISSING_SHARE = 1 / 4;
/** Even in a closed loop, one in this many writers can be late. */
const LATE_SHARE = 1 / 32;

export class Linger {
  readonly #msMax: number;
  /** Moving average of the time of a sync; 0: none has ended yet. */
  #syncMs = 0;
  /**
   * Writes in flight when the last group was durable, and the moving share of groups that had as many as the one
   * before.
   */
  #inFlight = 0;
  #same = 0;
  #notifiedMs = 0;
  #notified = 0;
  /** Number of writers that were answered last, have not written since, and are awaited. */
  #awaited = 0;
  #hasWaited = false;
  /** Groups that will not linger from now on, and how many will not after the next vain linger. */
  #skipped = 0;
  #skippedNext = 1;
  #wellInARow = 0;

  constructor(msMax = LINGER_MS_MAX) {
    this.#msMax = msMax;
  }

  synced(ms: number): void {
    this.#syncMs = this.#syncMs === 0 ? ms : this.#syncMs + (ms - this.#syncMs) * NEWEST;
  }

  /** Call it directly before writers are answered. @param waiting writes that have arrived in the meantime */
  notified(writes: number, waiting: number, nowMs: number): void {
    this.#saw(writes + waiting);
    this.#notifiedMs = nowMs;
    this.#notified = writes;
    this.#awaited = this.#same >= SAME_MIN && writes + waiting <= LINGER_WRITES_MAX ? writes : 0;
    if (this.#awaited > 0 && this.#skipped > 0) {
      this.#skipped--;
      this.#awaited = 0;
    }
  }

  /** A write ran and is in the open group. */
  ran(): void {
    this.#awaited--;
  }

  /**
   * Longest time to hold back a group that could be committed now; 0: do not wait. Call it again after writes have run.
   */
  remainingMs(nowMs: number): number {
    if (this.#awaited <= 0 || this.#syncMs < LINGER_SYNC_MS_MIN) return 0;
    this.#hasWaited = true;
    return Math.max(0, this.#notifiedMs + Math.min(LINGER_SYNCS * this.#syncMs, this.#msMax) - nowMs);
  }

  /** A group is committed, so no writer is awaited any more. */
  committed(): void {
    if (this.#hasWaited) this.#judge(this.#awaited > this.#notified * MISSING_SHARE);
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
