/**
 * Limits how many messages are read from a process at once, so that the worker can continue its own work. The others
 * wait in the pipe, then in the process.
 */
import {NODE_MESSAGES_MAX, NODE_READ_INTERVAL_MS} from '../limits.ts';

export class ReadLimiter {
  readonly #hear: (isHeard: boolean) => void;
  readonly #most: number;
  #timer: NodeJS.Timeout | null = null;
  #messages = 0;

  /** @param hear pauses or resumes reading. @param most messages per interval */
  constructor(hear: (isHeard: boolean) => void, most = NODE_MESSAGES_MAX) {
    this.#hear = hear;
    this.#most = most;
  }

  /** Counts one message of the process. */
  count(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#messages = 0;
      this.#hear(true);
    }, NODE_READ_INTERVAL_MS);
    if (++this.#messages === this.#most) this.#hear(false);
  }

  /** The process has ended. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
