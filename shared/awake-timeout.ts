/**
 * A timeout for messages that this process receives through its own event loop. After a stall, a timer that is due runs
 * before the messages that arrived in the meantime are read, and would blame the sender for the stall. Time is
 * therefore counted in ticks, and a tick that fires late does not count, because it only shows that this process could
 * not read.
 */
import {performance} from 'node:perf_hooks';

const TICKS = 10;

export class AwakeTimeout {
  readonly #tickMs: number;
  readonly #callback: () => void;
  #left = TICKS;
  #timer: NodeJS.Timeout;

  /** @param callback called once, after this much time with a running loop, unless the timeout is cleared first */
  constructor(ms: number, callback: () => void) {
    this.#tickMs = ms / TICKS;
    this.#callback = callback;
    this.#timer = this.#wait();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #wait(): NodeJS.Timeout {
    const lateMs = performance.now() + 1.5 * this.#tickMs;
    return setTimeout(() => {
      if (performance.now() < lateMs) this.#left--;
      if (this.#left === 0) this.#callback();
      else this.#timer = this.#wait();
    }, this.#tickMs);
  }
}
