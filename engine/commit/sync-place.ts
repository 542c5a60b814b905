/**
 * Decides whether the serving thread or the thread pool makes the next sync of the WAL. A hand-over to the pool costs
 * two wake-ups, which is more than a quick disk takes for the sync; a slow disk must not block that thread (decision
 * 0061).
 *
 *   pool ── SYNC_POOL_GROUPS_MIN groups, at least one quick ──▶ thread ── slow on average ──▶ pool, for twice as many groups
 *
 * Groups of many writes, and those that follow one closely, have turns of their own, with a lower limit: while the pool
 * syncs, the next group gathers, so the pool must be much slower than the disk before it loses.
 *
 * After SYNC_POOL_GROUPS_MIN groups without company (`company.ts`) the limit is SYNC_ALONE_MS_MAX, because no request
 * waits for the thread. The first group with company goes to the pool, if the average is over the other limit.
 */
import {
  SYNC_ALONE_MS_MAX,
  SYNC_CROWD_MS_MAX,
  SYNC_FEW_WRITES_MAX,
  SYNC_IN_THREAD_BYTES_MAX,
  SYNC_IN_THREAD_MS_MAX,
  SYNC_MEAN_GROUPS,
  SYNC_POOL_GROUPS_MAX,
  SYNC_POOL_GROUPS_MIN,
  SYNC_POOL_MS_MAX,
} from '../limits.ts';

export class SyncPlace {
  readonly #few = new Turns(SYNC_IN_THREAD_MS_MAX);
  readonly #many = new Turns(SYNC_CROWD_MS_MAX);
  /** Those of the group that is committed now. */
  #turns = this.#few;
  /** Groups that count as large ones because an earlier one was. */
  #crowdedGroups = 0;
  /** Groups in a row without company. */
  #aloneGroups = 0;
  readonly #isAlone: (writes: number) => boolean;

  /** @param isAlone whether the tenant had no more to do than so many writes since the last group */
  constructor(isAlone: (writes: number) => boolean = () => false) {
    this.#isAlone = isAlone;
  }

  /** @param writes number in the group that is committed now @param bytes written by them */
  isThread(writes: number, bytes: number): boolean {
    if (writes > SYNC_FEW_WRITES_MAX) this.#crowdedGroups = SYNC_POOL_GROUPS_MIN;
    else if (this.#crowdedGroups > 0) this.#crowdedGroups--;
    this.#aloneGroups = this.#isAlone(writes) ? this.#aloneGroups + 1 : 0;
    this.#turns = this.#crowdedGroups > 0 ? this.#many : this.#few;
    const isAlone = this.#aloneGroups >= SYNC_POOL_GROUPS_MIN && this.#crowdedGroups === 0;
    return this.#turns.isThread(isAlone ? SYNC_ALONE_MS_MAX : null) && bytes <= SYNC_IN_THREAD_BYTES_MAX;
  }

  inThread(ms: number): void {
    this.#turns.inThread(ms);
  }

  /** @param ms from the COMMIT until this thread receives the result */
  inPool(ms: number): void {
    this.#turns.inPool(ms);
  }
}

/**
 * Stays in the pool and in the thread, by turns.
 *
 * The moving average, not a single slow sync, ends a stay in the thread, because quick disks also have slow syncs. So
 * the n syncs of a stay take at most (n + SYNC_MEAN_GROUPS) times the limit, plus the last one. The pool
 * never reports less time than the disk took, so while the disk is slow no sync is tried in the thread, and reads never
 * wait for it. A stay in the thread that has as many syncs as the last stay in the pool makes the next pool stay short
 * again.
 */
class Turns {
  readonly #usualMsMax: number;
  #msMax: number;
  /** Groups that the pool still syncs; 0: the thread makes the syncs. */
  #poolGroups = SYNC_POOL_GROUPS_MIN;
  /** The length in groups of the last stay in the pool, and of the next one. */
  #stay = SYNC_POOL_GROUPS_MIN;
  #nextStay = SYNC_POOL_GROUPS_MIN;
  /** The quickest sync of the current stay in the pool. */
  #quickestMs = Number.POSITIVE_INFINITY;
  /** Of the current stay in the thread: the moving average and the number of its syncs. */
  #meanMs = 0;
  #syncs = 0;

  constructor(msMax: number) {
    this.#usualMsMax = this.#msMax = msMax;
  }

  /** @param msMax limit of the average from now on; null: the usual one */
  isThread(msMax: number | null): boolean {
    this.#msMax = msMax ?? this.#usualMsMax;
    if (this.#meanMs > this.#msMax) this.#toPool();
    return this.#poolGroups === 0;
  }

  inThread(ms: number): void {
    this.#meanMs += (ms - this.#meanMs) / SYNC_MEAN_GROUPS;
    if (this.#meanMs > this.#msMax) this.#toPool();
    else if (++this.#syncs >= this.#stay) this.#nextStay = SYNC_POOL_GROUPS_MIN;
  }

  inPool(ms: number): void {
    if (this.#poolGroups === 0) return; // the pool got it because of its size
    this.#quickestMs = Math.min(this.#quickestMs, ms);
    if (--this.#poolGroups > 0) return;
    if (this.#quickestMs > SYNC_POOL_MS_MAX) this.#toPool();
    else this.#meanMs = Math.min(this.#quickestMs, this.#usualMsMax);
  }

  #toPool(): void {
    this.#poolGroups = this.#stay = this.#nextStay;
    this.#nextStay = Math.min(2 * this.#nextStay, SYNC_POOL_GROUPS_MAX);
    this.#quickestMs = Number.POSITIVE_INFINITY;
    this.#meanMs = this.#syncs = 0;
  }
}
