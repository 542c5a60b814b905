/**
 * When an open group waits for company before it is committed. In a closed circle those who were just answered write again at once.
 * A commit that does not wait for them takes only those who arrived during the sync, and the two halves take turns from then on:
 * each writer waits for two syncs. Where writes arrive by themselves, a wait would only add to their time.
 *
 * The two are told apart by when writes run after a group was answered: those of a circle in the first half of a sync, others as
 * often in the second half. Only where first minus second is nearly as many as were answered, over the last groups, does a group
 * wait: until as many have run as were answered, at most half a sync, and never longer than LINGER_MS_MAX. So nobody waits
 * alone: the write that a lone writer would wait for is its own next one.
 */
import {LINGER_MS_MAX, LINGER_SYNC_MS_MIN, LINGER_WRITES_MAX} from '../../shared/limits.ts';

/** Weight of the newest sync in the moving figure. */
const NEWEST = 1 / 8;
/** How much of what was seen counts after another group, and how much there must be of it. */
const KEPT = 15 / 16;
const GROUPS_MIN = 4;
/** Of those who were answered, those who come back at once in a closed circle. */
const NEARLY_ALL = 3 / 4;

export class Linger {
  readonly #msMax: number;
  /** How long a sync takes; 0: none has ended yet. */
  #syncMs = 0;
  /** The group that was answered last: when, how many, and how many have run in each half of a sync since. */
  #toldMs = 0;
  #told = 0;
  #early = 0;
  #late = 0;
  /** The same of those before, the older the less. */
  #toldBefore = 0;
  #returnedBefore = 0;
  #groupsBefore = 0;
  #awaited = 0;

  constructor(msMax = LINGER_MS_MAX) {
    this.#msMax = msMax;
  }

  synced(ms: number): void {
    this.#syncMs = this.#syncMs === 0 ? ms : this.#syncMs + (ms - this.#syncMs) * NEWEST;
  }

  /** Writers are about to be answered. */
  told(writes: number, nowMs: number): void {
    this.#toldBefore = this.#toldBefore * KEPT + this.#told;
    this.#returnedBefore = this.#returnedBefore * KEPT + this.#early - this.#late;
    this.#groupsBefore = this.#groupsBefore * KEPT + (this.#told > 0 ? 1 : 0);
    this.#toldMs = nowMs;
    this.#told = writes;
    this.#early = this.#late = 0;
    this.#awaited = writes <= LINGER_WRITES_MAX && this.#isCircle ? writes : 0;
  }

  /** A write ran: it is in the open group. */
  ran(nowMs: number): void {
    const sinceMs = nowMs - this.#toldMs;
    if (sinceMs <= this.#halfMs) this.#early++;
    else if (sinceMs <= 2 * this.#halfMs) this.#late++;
    this.#awaited--;
  }

  /** How long a group that could be committed now is held back at most; 0: not at all. To be called again when writes have run. */
  remainingMs(nowMs: number): number {
    if (this.#awaited <= 0 || this.#syncMs < LINGER_SYNC_MS_MIN) return 0;
    return Math.max(0, this.#toldMs + this.#halfMs - nowMs);
  }

  /** A group is committed, and nobody is waited for any more. */
  committed(): void {
    this.#awaited = 0;
  }

  get #halfMs(): number {
    return Math.min(this.#syncMs / 2, this.#msMax);
  }

  get #isCircle(): boolean {
    return this.#groupsBefore >= GROUPS_MIN && this.#returnedBefore >= NEARLY_ALL * this.#toldBefore;
  }
}
