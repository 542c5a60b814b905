/**
 * What goes wrong between a host and any engine. A fault concerns one request; `chooses` picks it.
 * - `lost`: the request never arrives; `ack_lost`: it does, and its answer does not
 * - `late`: there is no answer, and the request arrives after so many milliseconds
 * - `duplicate`: it arrives twice, and the answer is that of the second
 * - `stale`: a read that misses the newest messages; one of many ends there
 */
import type {
  LogEngine,
  Message,
  PublishAnswer,
  StreamName,
  Subject,
  WatchOptions,
} from '../../../cluster/log/log-engine.ts';
import {EngineError} from '../../../cluster/log/log-engine.ts';
import {delay, type Timing} from '../../../cluster/log/timing.ts';

export type Fault = 'none' | 'lost' | 'ack_lost' | 'duplicate' | 'stale' | {readonly late: number};
export type Request = 'publish' | 'read' | 'remove';

const TIMEOUT_MS = 50;

export class FaultyEngine implements LogEngine {
  readonly #engine: LogEngine;
  readonly #timing: Timing;
  readonly #chooses: (request: Request, subject: Subject) => Fault;
  /** Requests that arrive late. */
  readonly #late: Promise<unknown>[] = [];

  constructor(engine: LogEngine, timing: Timing, chooses: (request: Request, subject: Subject) => Fault) {
    this.#engine = engine;
    this.#timing = timing;
    this.#chooses = chooses;
  }

  /** When all late requests have arrived. */
  async settled(): Promise<void> {
    await Promise.all(this.#late);
  }

  async publish(subject: Subject, bytes: Buffer, expected: number | null): Promise<PublishAnswer> {
    const fault = this.#chooses('publish', subject);
    const send = () => this.#engine.publish(subject, bytes, expected);
    if (fault === 'none' || fault === 'stale') return send();
    if (fault === 'duplicate') {
      const first = send();
      const second = await send();
      await first;
      return second;
    }
    if (fault === 'ack_lost') await send();
    if (typeof fault === 'object') this.#late.push(delay(this.#timing, fault.late).then(send));
    await delay(this.#timing, TIMEOUT_MS);
    return {kind: 'failed', reason: 'no answer'};
  }

  next(subject: Subject, sequence: number): Promise<Message | null> {
    return this.#read(subject, () => this.#engine.next(subject, sequence));
  }

  /** Any message of it can be the one at which it fails. */
  async *messages(subject: Subject, range: {from: number; to: number}): AsyncGenerator<Message> {
    for await (const message of this.#engine.messages(subject, range)) {
      const found = await this.#read(subject, async () => message);
      if (found === null) return;
      yield found;
    }
  }

  last(subject: Subject): Promise<Message | null> {
    return this.#read(subject, () => this.#engine.last(subject));
  }

  async removeBefore(subject: Subject, sequence: number): Promise<void> {
    const fault = this.#chooses('remove', subject);
    if (fault !== 'lost') await this.#engine.removeBefore(subject, sequence);
    if (fault === 'lost' || fault === 'ack_lost') throw new EngineError('no answer');
  }

  watch(stream: StreamName, prefixes: readonly string[], options: WatchOptions) {
    return this.#engine.watch(stream, prefixes, options);
  }

  async #read(subject: Subject, read: () => Promise<Message | null>): Promise<Message | null> {
    const fault = this.#chooses('read', subject);
    if (fault === 'stale') return null;
    if (fault === 'lost' || fault === 'ack_lost') {
      await delay(this.#timing, TIMEOUT_MS);
      throw new EngineError('no answer');
    }
    return read();
  }
}
