/** Of what a process says no more is heard in one moment than the worker can do beside its own work: the rest waits in the pipe, and then in the process. */
import {NODE_HEARING_MS, NODE_MESSAGES_MAX} from '../limits.ts';

export class Hearing {
  readonly #hear: (isHeard: boolean) => void;
  readonly #most: number;
  #timer: NodeJS.Timeout | null = null;
  #messages = 0;

  /** @param hear whether it is heard now. @param most so many pieces in one moment */
  constructor(hear: (isHeard: boolean) => void, most = NODE_MESSAGES_MAX) {
    this.#hear = hear;
    this.#most = most;
  }

  /** It has said something. */
  count(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#messages = 0;
      this.#hear(true);
    }, NODE_HEARING_MS);
    if (++this.#messages === this.#most) this.#hear(false);
  }

  /** The process has ended. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
