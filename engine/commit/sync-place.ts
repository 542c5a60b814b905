/**
 * Whether the next sync of the log is made by the thread that writes or by the thread pool. A hand-over to the pool costs two
 * wake-ups, which is more than a quick disk takes for the sync itself; a slow disk must not hold up that thread (decision 0061).
 *
 *   pool ── SYNC_POOL_GROUPS_MIN groups, at least one quick ──▶ thread ── slow on average ──▶ pool, for twice as many groups
 *
 * The moving average, not a single slow sync, ends a stay in the thread: quick disks have slow syncs, too. So n syncs of a stay take
 * at most n + SYNC_MEAN_GROUPS times SYNC_IN_THREAD_MS_MAX, and the last one. What the pool reports is never less than what the
 * disk took, so while the disk is slow no sync is tried in the thread, and reads never wait for it. As many syncs in the thread as
 * the last stay in the pool was long make the next stay short again. Where groups are larger the next one gathers while the
 * pool syncs, so one of them sends the next SYNC_POOL_GROUPS_MIN to the pool, too.
 */
import {
  SYNC_IN_THREAD_BYTES_MAX,
  SYNC_IN_THREAD_MS_MAX,
  SYNC_IN_THREAD_WRITES_MAX,
  SYNC_MEAN_GROUPS,
  SYNC_POOL_GROUPS_MAX,
  SYNC_POOL_GROUPS_MIN,
  SYNC_POOL_MS_MAX,
} from '../limits.ts';

export class SyncPlace {
  /** Groups that the pool still syncs; 0: the thread does. */
  #poolGroups = SYNC_POOL_GROUPS_MIN;
  /** How long the last stay in the pool was, and how long the next one is. */
  #stay = SYNC_POOL_GROUPS_MIN;
  #nextStay = SYNC_POOL_GROUPS_MIN;
  /** The quickest sync of this stay in the pool. */
  #quickestMs = Number.POSITIVE_INFINITY;
  /** Of this stay in the thread: the moving average of its syncs, and how many there were. */
  #meanMs = 0;
  #syncs = 0;
  /** Groups that the pool syncs because one before them was large. */
  #crowdedGroups = 0;

  /** @param writes of the group that is committed now @param bytes that they have written */
  isThread(writes: number, bytes: number): boolean {
    if (writes > SYNC_IN_THREAD_WRITES_MAX) this.#crowdedGroups = SYNC_POOL_GROUPS_MIN;
    else if (this.#crowdedGroups > 0) this.#crowdedGroups--;
    return this.#poolGroups === 0 && this.#crowdedGroups === 0 && bytes <= SYNC_IN_THREAD_BYTES_MAX;
  }

  inThread(ms: number): void {
    this.#meanMs += (ms - this.#meanMs) / SYNC_MEAN_GROUPS;
    if (this.#meanMs > SYNC_IN_THREAD_MS_MAX) this.#toPool();
    else if (++this.#syncs >= this.#stay) this.#nextStay = SYNC_POOL_GROUPS_MIN;
  }

  /** @param ms from the COMMIT to the thread's knowledge of it */
  inPool(ms: number): void {
    if (this.#poolGroups === 0) return; // it was sent there for its size
    this.#quickestMs = Math.min(this.#quickestMs, ms);
    if (--this.#poolGroups > 0) return;
    if (this.#quickestMs > SYNC_POOL_MS_MAX) this.#toPool();
    else this.#meanMs = Math.min(this.#quickestMs, SYNC_IN_THREAD_MS_MAX);
  }

  #toPool(): void {
    this.#poolGroups = this.#stay = this.#nextStay;
    this.#nextStay = Math.min(2 * this.#nextStay, SYNC_POOL_GROUPS_MAX);
    this.#quickestMs = Number.POSITIVE_INFINITY;
    this.#meanMs = this.#syncs = 0;
  }
}
