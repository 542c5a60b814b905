/** One timer for the sleeping tenant that is due next, however many sleep. */
import type {Registry} from './registry.ts';

/** Longest delay a timer takes. Later times are reached in several. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** A due tenant that still waits for its turn to wake is looked at again after this. */
const AGAIN_MS = 1_000;

export class DueTimer {
  readonly #registry: Registry;
  readonly #now: () => number;
  readonly #onDue: (id: string) => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(registry: Registry, now: () => number, onDue: (id: string) => void) {
    this.#registry = registry;
    this.#now = now;
    this.#onDue = onDue;
  }

  /** To be called when a tenant's due time was stored. */
  arm(leastMs = 0): void {
    this.stop();
    const dueMs = this.#registry.nextDueMs();
    if (dueMs === null) return;
    const delayMs = Math.min(TIMER_MS_MAX, Math.max(leastMs, dueMs - this.#now()));
    this.#timer = setTimeout(() => this.#fire(), delayMs);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #fire(): void {
    for (const id of this.#registry.due(this.#now())) this.#onDue(id);
    this.arm(AGAIN_MS);
  }
}
