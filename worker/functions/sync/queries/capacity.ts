/**
 * Waiting list for capacity. Waiters are notified in order of arrival, a few at a time, because the memory that their
 * queries need is unknown until they have run.
 */
import {LIVE_RUN_AGAIN_MS, LIVE_RUNS_OF_ONE_MAX} from '../../limits.ts';

export interface Waiter {
  /** There may be capacity. A waiter that finds none waits again, behind the others. */
  tryAgain(): void;
}

export class Capacity {
  readonly #isThere: () => boolean;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | null = null;

  /** @param isThere whether there is capacity now */
  constructor(isThere: () => boolean) {
    this.#isThere = isThere;
  }

  wait(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#timer ??= setTimeout(() => this.#tell(), LIVE_RUN_AGAIN_MS);
  }

  leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#waiters.clear();
  }

  #tell(): void {
    this.#timer = null;
    let notified = 0;
    for (const waiter of this.#waiters) {
      if (notified++ === LIVE_RUNS_OF_ONE_MAX || !this.#isThere()) break;
      this.#waiters.delete(waiter);
      waiter.tryAgain();
    }
    if (this.#waiters.size > 0) this.#timer ??= setTimeout(() => this.#tell(), LIVE_RUN_AGAIN_MS);
  }
}
