/**
 * One host of several in this process. Its clock has a speed of its own, and it can pause at every await: requests, answers,
 * watched changes and timers wait until it resumes, while the time of the others goes on.
 */
import type {
  LogEngine,
  Message,
  PublishAnswer,
  StreamName,
  Subject,
  WatchOptions,
} from '../../../cluster/log/log-engine.ts';
import {delay} from '../../../cluster/log/timing.ts';
import type {Clock} from '../../../cluster/members/clock.ts';
import type {VirtualTime} from './virtual-time.ts';

export class PausableHost implements Clock {
  readonly #time: VirtualTime;
  readonly #speed: number;
  readonly #choosesPause: () => number;
  #resumed: Promise<void> | null = null;

  /** @param choosesPause called at each await: for how many milliseconds the host pauses there; 0: it goes on */
  constructor(time: VirtualTime, speed = 1, choosesPause: () => number = () => 0) {
    this.#time = time;
    this.#speed = speed;
    this.#choosesPause = choosesPause;
  }

  get nowMs(): number {
    return this.#time.nowMs * this.#speed;
  }

  after(ms: number, fire: () => void): () => void {
    let isCancelled = false;
    const cancel = this.#time.after(ms / this.#speed, async () => {
      await this.#resumed;
      if (!isCancelled) fire();
    });
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  pause(ms: number): void {
    const resumed = Promise.all([this.#resumed, delay(this.#time, ms)]).then(() => {
      if (this.#resumed === resumed) this.#resumed = null;
    });
    this.#resumed = resumed;
  }

  /** An await, at which the host can pause. */
  async step(): Promise<void> {
    const pauseMs = this.#choosesPause();
    if (pauseMs > 0) this.pause(pauseMs);
    while (this.#resumed !== null) await this.#resumed;
  }

  /** @param lagMs by how much a watched change is late */
  pausing(engine: LogEngine, lagMs: () => number = () => 0): LogEngine {
    const stepped = async <T>(request: () => Promise<T>): Promise<T> => {
      await this.step();
      try {
        return await request();
      } finally {
        await this.step();
      }
    };
    const watch = async function* (
      this: PausableHost,
      stream: StreamName,
      prefixes: readonly string[],
      options: WatchOptions,
    ): AsyncGenerator<Message | null> {
      for await (const message of engine.watch(stream, prefixes, options)) {
        await delay(this.#time, lagMs());
        await this.step();
        yield message;
      }
    };
    const messages = async function* (
      this: PausableHost,
      subject: Subject,
      range: {from: number; to: number},
    ): AsyncGenerator<Message> {
      for await (const message of engine.messages(subject, range)) {
        await this.step();
        yield message;
      }
    };
    return {
      publish: (subject, bytes, expected) => stepped<PublishAnswer>(() => engine.publish(subject, bytes, expected)),
      next: (subject: Subject, sequence) => stepped(() => engine.next(subject, sequence)),
      messages: messages.bind(this),
      last: subject => stepped(() => engine.last(subject)),
      removeBefore: (subject, sequence) => stepped(() => engine.removeBefore(subject, sequence)),
      watch: watch.bind(this),
    };
  }
}
