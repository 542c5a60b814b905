/**
 * A time-out for what reaches this process over its own event loop. A timer that is due when the loop comes back from a stall runs before
 * what arrived meanwhile is read, and would blame the sender for it. So time is counted in ticks, each of which counts once however late it
 * is, and one that is late counts for nothing: it says only that nobody could be heard.
 */
import {performance} from 'node:perf_hooks';

const TICKS = 10;

export class AwakeTimeout {
  readonly #tickMs: number;
  readonly #callback: () => void;
  #left = TICKS;
  #timer: NodeJS.Timeout;

  /** @param callback called once, after so much time in which the loop was turning, unless it is cleared before */
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
