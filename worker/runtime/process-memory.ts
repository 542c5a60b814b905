/**
 * Watches the memory of this worker while functions run. An isolate's limit counts its heap and buffers, but neither
 * one large string nor WebAssembly. The supervisor's process limit would end the worker with everything in it.
 * Therefore:
 *
 *   from FUNCTIONS_PROCESS_BYTES_SHORT on   isolates that no call has used for a moment are freed
 *   from FUNCTIONS_PROCESS_BYTES_MAX on     all idle isolates are freed, and no more functions start
 *   from FUNCTIONS_PROCESS_BYTES_END on     actions are ended, the largest first
 */
import {overloaded} from '../../shared/errors.ts';
import {ownBytes} from '../../shared/own-memory.ts';
import {
  FUNCTIONS_PROCESS_BYTES_END,
  FUNCTIONS_PROCESS_BYTES_MAX,
  FUNCTIONS_PROCESS_BYTES_SHORT,
  FUNCTIONS_PROCESS_POLL_MS,
  FUNCTIONS_SHORT_IDLE_MS,
} from './limits.ts';

/** A pool that holds isolates. */
export type IsolateHolder = {
  /** Number of running calls. */
  readonly underWay: number;
  /** Frees isolates that no call has used for this long: while no function starts, nothing else would free them. */
  releaseIdle(unusedMs: number): void;
  /** Ends the largest call, if one can be ended. */
  endLargest?(): void;
};

export class ProcessMemory {
  readonly #bytesNow: () => number;
  readonly #holders: IsolateHolder[] = [];
  #lookedMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param bytesNow measures the memory of the process; tests replace it */
  constructor(bytesNow: () => number = () => ownBytes('self') ?? process.memoryUsage.rss()) {
    this.#bytesNow = bytesNow;
  }

  add(holder: IsolateHolder): void {
    this.#holders.push(holder);
  }

  /** Call this before a function starts. @throws session.overloaded 503 if no more functions can start now */
  check(): void {
    if (performance.now() - this.#lookedMs >= FUNCTIONS_PROCESS_POLL_MS) this.#poll();
    this.#timer ??= setInterval(() => this.#tick(), FUNCTIONS_PROCESS_POLL_MS).unref();
    if (this.#bytes <= FUNCTIONS_PROCESS_BYTES_MAX) return;
    throw overloaded('the functions under way need too much memory; try again shortly');
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Runs while calls are running, and afterwards until memory is no longer short. */
  #tick(): void {
    this.#poll();
    const isUsed = this.#holders.some(({underWay}) => underWay > 0);
    if (!isUsed && this.#bytes <= FUNCTIONS_PROCESS_BYTES_SHORT) this.close();
  }

  #poll(): void {
    this.#lookedMs = performance.now();
    this.#bytes = this.#bytesNow();
    if (this.#bytes <= FUNCTIONS_PROCESS_BYTES_SHORT) return;
    const unusedMs = this.#bytes > FUNCTIONS_PROCESS_BYTES_MAX ? 0 : FUNCTIONS_SHORT_IDLE_MS;
    for (const holder of this.#holders) holder.releaseIdle(unusedMs);
    if (this.#bytes <= FUNCTIONS_PROCESS_BYTES_END) return;
    for (const holder of this.#holders) holder.endLargest?.();
  }
}
