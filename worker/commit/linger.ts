/**
 * When an open group waits for company before it is committed. Those who were just told of a commit are likely to write again at
 * once. A commit that does not wait for them takes only those who arrived during the sync, and they and the others take turns
 * from then on, in groups of half the size: each costs a hand-over to the thread pool, and each writer waits for two syncs.
 *
 * So a group is held back until as many writes have run as were just told of, for as long as two syncs take and never longer than
 * LINGER_MS_MAX. Nobody waits alone: a lone writer's next write is the one that is waited for. Where writers do not come back
 * in time, fewer and fewer groups wait for them.
 */
import {LINGER_MS_MAX, LINGER_SKIPPED_MAX, LINGER_SYNC_MS_MIN} from '../../shared/limits.ts';

/** Weight of the newest sync in the moving figure. */
const NEWEST = 1 / 8;

export class Linger {
  readonly #msMax: number;
  /** How long a sync takes; 0: none has ended yet. */
  #syncMs = 0;
  /** So many writes were told of, and so many of as many have not run since. */
  #told = 0;
  #awaited = 0;
  #endsMs = 0;
  #hasWaited = false;
  /** Groups that will not wait, and how many will not after the next one that waits in vain. */
  #skipped = 0;
  #skippedNext = 1;

  constructor(msMax = LINGER_MS_MAX) {
    this.#msMax = msMax;
  }

  synced(ms: number): void {
    this.#syncMs = this.#syncMs === 0 ? ms : this.#syncMs + (ms - this.#syncMs) * NEWEST;
  }

  /** Writers are about to be told of their commit. */
  told(writes: number, nowMs: number): void {
    this.#told = this.#awaited = writes;
    this.#endsMs = nowMs + Math.min(2 * this.#syncMs, this.#msMax);
  }

  /** A write ran: it is in the open group. */
  ran(): void {
    this.#awaited--;
  }

  /** How long a group that could be committed now is held back at most; 0: not at all. To be asked again when writes have run. */
  remainingMs(nowMs: number): number {
    if (this.#awaited <= 0 || this.#syncMs < LINGER_SYNC_MS_MIN || this.#skipped > 0) return 0;
    const remainingMs = Math.max(0, this.#endsMs - nowMs);
    if (remainingMs > 0) this.#hasWaited = true;
    return remainingMs;
  }

  /** A group is committed, and nobody is waited for any more. */
  committed(): void {
    if (this.#hasWaited) this.#judge();
    else if (this.#awaited > 0 && this.#skipped > 0) this.#skipped--;
    this.#hasWaited = false;
    this.#awaited = 0;
  }

  #judge(): void {
    if (this.#awaited * 2 <= this.#told) {
      this.#skippedNext = 1;
      return;
    }
    this.#skipped = this.#skippedNext;
    this.#skippedNext = Math.min(this.#skippedNext * 2, LINGER_SKIPPED_MAX);
  }
}
