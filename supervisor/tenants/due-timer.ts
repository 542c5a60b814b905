/**
 * One timer for the sleeping tenant that is due next, however many sleep. It reads the clock at least every
 * CLOCK_CHECK_MS, because timers do not notice when the clock is set. After it was set back, every tenant with a due
 * time is woken, because only an open tenant can move its crons to the new time.
 */
import {CLOCK_CHECK_MS} from '../../shared/limits.ts';
import type {Registry} from '../files/registry.ts';
import {CLOCK_SET_BACK_MS, DUE_AGAIN_MS} from '../limits.ts';

export class DueTimer {
  readonly #registry: Registry;
  readonly #now: () => number;
  readonly #onDue: (id: string) => void;
  #timer: NodeJS.Timeout | null = null;
  /** The clock's value when the timer was armed; initially the newest time that an earlier server stored. */
  #lastNowMs: number;

  constructor(registry: Registry, now: () => number, onDue: (id: string) => void) {
    this.#registry = registry;
    this.#now = now;
    this.#onDue = onDue;
    this.#lastNowMs = registry.newestMs();
  }

  /** Called once, when tenants can be woken: the clock may have been set back while no server ran. */
  start(): void {
    if (this.#wasSetBack()) this.#wakeUntil(Number.MAX_SAFE_INTEGER);
    this.arm();
  }

  /** Must be called when a tenant's due time was stored. */
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
