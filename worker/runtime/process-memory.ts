/**
 * The memory of this worker, looked at while functions are called. An isolate's limit counts its heap and buffers, but not one
 * large string and not WebAssembly; the supervisor's limit of the process would end it with all that goes on in it. So:
 *
 *   from FUNCTIONS_PROCESS_BYTES_SHORT on   isolates that no call has used for a moment are given back
 *   from FUNCTIONS_PROCESS_BYTES_MAX on     so are all that no call uses now, and no more functions start
 *   from FUNCTIONS_PROCESS_BYTES_END on     actions are ended, the one that takes most first
 */
import {ServiceError} from '../../shared/errors.ts';
import {ownBytes} from '../../shared/own-memory.ts';
import {
  FUNCTIONS_PROCESS_BYTES_END,
  FUNCTIONS_PROCESS_BYTES_MAX,
  FUNCTIONS_PROCESS_BYTES_SHORT,
  FUNCTIONS_PROCESS_LOOK_MS,
  FUNCTIONS_SHORT_IDLE_MS,
} from './limits.ts';

/** Who holds isolates. */
export type IsolateHolder = {
  /** Calls under way. */
  readonly underWay: number;
  /** Gives back what no call has used for this long: nothing else would, as long as no function starts. */
  releaseIdle(unusedMs: number): void;
  /** Ends the call that takes most, if any can be ended. */
  endLargest?(): void;
};

export class ProcessMemory {
  readonly #bytesNow: () => number;
  readonly #holders: IsolateHolder[] = [];
  #lookedMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** @param bytesNow for tests: what the process takes */
  constructor(bytesNow: () => number = () => ownBytes('self') ?? process.memoryUsage.rss()) {
    this.#bytesNow = bytesNow;
  }

  add(holder: IsolateHolder): void {
    this.#holders.push(holder);
  }

  /** To be called before a function starts. @throws session.overloaded 503 when no more functions should start now */
  check(): void {
    if (performance.now() - this.#lookedMs >= FUNCTIONS_PROCESS_LOOK_MS) this.#look();
    this.#timer ??= setInterval(() => this.#tick(), FUNCTIONS_PROCESS_LOOK_MS).unref();
    if (this.#bytes <= FUNCTIONS_PROCESS_BYTES_MAX) return;
    throw new ServiceError('session.overloaded', 'the functions under way need too much memory; try again shortly');
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** While calls are under way, and until memory is not short any more for their leavings. */
  #tick(): void {
    this.#look();
    const isUsed = this.#holders.some(({underWay}) => underWay > 0);
    if (!isUsed && this.#bytes <= FUNCTIONS_PROCESS_BYTES_SHORT) this.close();
  }

  #look(): void {
    this.#lookedMs = performance.now();
    this.#bytes = this.#bytesNow();
    if (this.#bytes <= FUNCTIONS_PROCESS_BYTES_SHORT) return;
    const unusedMs = this.#bytes > FUNCTIONS_PROCESS_BYTES_MAX ? 0 : FUNCTIONS_SHORT_IDLE_MS;
    for (const holder of this.#holders) holder.releaseIdle(unusedMs);
    if (this.#bytes <= FUNCTIONS_PROCESS_BYTES_END) return;
    for (const holder of this.#holders) holder.endLargest?.();
  }
}
