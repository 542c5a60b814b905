/** Time that passes when all that can run has run: waits of seconds take none, and one seed gives one course. */
import {setImmediate as turn} from 'node:timers/promises';
import type {Timing} from '../../../cluster/log/timing.ts';

/** Turns of the event loop that work may take between two timers. */
const TURNS_MAX = 20;

type Timer = {readonly at: number; readonly fire: () => void};

export class VirtualTime implements Timing {
  nowMs = 0;
  readonly #timers = new Set<Timer>();

  after(ms: number, fire: () => void): () => void {
    const timer = {at: this.nowMs + ms, fire};
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Runs until the work is done. Timers that are left afterwards never fire. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    work.then(end, end);
    for (let turns = 0; ; ) {
      await turn();
      if (isDone) return await work;
      if (this.#timers.size === 0) {
        if (++turns < TURNS_MAX) continue;
        throw new Error('everything waits, and nothing is to come');
      }
      turns = 0;
      this.nowMs = Math.min(...[...this.#timers].map(({at}) => at));
      for (const timer of [...this.#timers].filter(({at}) => at === this.nowMs)) {
        this.#timers.delete(timer);
        timer.fire();
      }
    }
  }
}
