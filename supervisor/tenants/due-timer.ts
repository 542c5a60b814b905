/**
 * One timer for the sleeping tenant that is due next, however many sleep. It looks at the clock every CLOCK_CHECK_MS at
 * least, because timers do not see it being set. When it was set back, every tenant with a due time is woken: only an open
 * tenant can move its crons to the new time.
 */
import {CLOCK_CHECK_MS} from '../../shared/limits.ts';
import type {Registry} from '../files/registry.ts';
import {CLOCK_SET_BACK_MS, DUE_AGAIN_MS} from '../limits.ts';

export class DueTimer {
  readonly #registry: Registry;
  readonly #now: () => number;
  readonly #onDue: (id: string) => void;
  #timer: NodeJS.Timeout | null = null;
  /** What the clock said when the timer was armed; at first, the newest time that an earlier server has stored. */
  #lastNowMs: number;

  constructor(registry: Registry, now: () => number, onDue: (id: string) => void) {
    this.#registry = registry;
    this.#now = now;
    this.#onDue = onDue;
    this.#lastNowMs = registry.newestMs();
  }

  /** Once, when tenants can be woken: the clock may have been set back while no server ran. */
  start(): void {
    if (this.#wasSetBack()) this.#wakeUntil(Number.MAX_SAFE_INTEGER);
    this.arm();
  }

  /** To be called when a tenant's due time was stored. */
  arm(leastMs = 0): void {
    this.stop();
    const dueMs = this.#registry.nextDueMs();
    if (dueMs === null) return;
    this.#lastNowMs = this.#now();
    const delayMs = Math.min(CLOCK_CHECK_MS, Math.max(leastMs, dueMs - this.#lastNowMs));
    this.#timer = setTimeout(() => this.#fire(), delayMs);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #fire(): void {
    this.#wakeUntil(this.#wasSetBack() ? Number.MAX_SAFE_INTEGER : this.#now());
    this.arm(DUE_AGAIN_MS);
  }

  #wasSetBack(): boolean {
    return this.#now() < this.#lastNowMs - CLOCK_SET_BACK_MS;
  }

  #wakeUntil(dueMs: number): void {
    for (const id of this.#registry.due(dueMs)) this.#onDue(id);
  }
}
