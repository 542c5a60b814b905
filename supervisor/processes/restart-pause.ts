/** The pauses before the supervisor restarts a process that serves all tenants; none after the first crash. */
import {HEALTHY_MS} from '../limits.ts';

const PAUSES_MS = [0, 100, 250, 500, 1_000, 2_500, 5_000];

export class RestartPauses {
  #startedMs = 0;
  /** Consecutive crashes of processes that did not run for HEALTHY_MS. */
  #crashes = 0;

  started(): void {
    this.#startedMs = performance.now();
  }

  /** The process crashed. @returns how long to wait before the next start, in ms */
  next(): number {
    this.#crashes = performance.now() - this.#startedMs >= HEALTHY_MS ? 0 : this.#crashes + 1;
    return PAUSES_MS[Math.min(this.#crashes, PAUSES_MS.length - 1)]!;
  }
}
