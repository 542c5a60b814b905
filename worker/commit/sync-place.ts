/**
 * Whether the next sync of the log is made by the thread that writes or by the thread pool. A hand-over to the pool costs two
 * wake-ups, which is more than a quick disk takes for the sync itself; a slow disk must not hold up that thread (decision 0061).
 *
 *   pool ── SYNC_POOL_GROUPS_MIN groups, at least one of them quick ──▶ thread ── one slow sync ──▶ pool, for twice as many groups
 *
 * What the pool reports is never less than what the disk took. So while the disk is slow no sync is tried in the thread, and
 * reads never wait for it. As many quick syncs in a row as the last stay in the pool was long make the next stay short again.
 */
import {
  SYNC_IN_THREAD_BYTES_MAX,
  SYNC_IN_THREAD_MS_MAX,
  SYNC_POOL_GROUPS_MAX,
  SYNC_POOL_GROUPS_MIN,
  SYNC_POOL_MS_MAX,
} from '../../shared/limits.ts';

export class SyncPlace {
  /** Groups that the pool still syncs; 0: the thread does. */
  #poolGroups = SYNC_POOL_GROUPS_MIN;
  /** How long the last stay in the pool was, and how long the next one is. */
  #stay = SYNC_POOL_GROUPS_MIN;
  #nextStay = SYNC_POOL_GROUPS_MIN;
  /** The quickest sync of this stay. */
  #quickestMs = Number.POSITIVE_INFINITY;
  /** Quick syncs of the thread in a row. */
  #quick = 0;

  /** @param bytes that the group has written */
  isThread(bytes: number): boolean {
    return this.#poolGroups === 0 && bytes <= SYNC_IN_THREAD_BYTES_MAX;
  }

  inThread(ms: number): void {
    if (ms > SYNC_IN_THREAD_MS_MAX) this.#toPool();
    else if (++this.#quick >= this.#stay) this.#nextStay = SYNC_POOL_GROUPS_MIN;
  }

  /** @param ms from the COMMIT to the thread's knowledge of it */
  inPool(ms: number): void {
    if (this.#poolGroups === 0) return; // it was sent there for its bytes
    this.#quickestMs = Math.min(this.#quickestMs, ms);
    if (--this.#poolGroups === 0 && this.#quickestMs > SYNC_POOL_MS_MAX) this.#toPool();
  }

  #toPool(): void {
    this.#poolGroups = this.#stay = this.#nextStay;
    this.#nextStay = Math.min(2 * this.#nextStay, SYNC_POOL_GROUPS_MAX);
    this.#quickestMs = Number.POSITIVE_INFINITY;
    this.#quick = 0;
  }
}
