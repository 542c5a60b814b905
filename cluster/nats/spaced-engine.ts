/** The streams of a cluster, to which nothing is sent for which the servers may have no space. */
import type {LogEngine, Message, PublishAnswer, StreamName, Subject, WatchOptions} from '../log/log-engine.ts';
import type {ServerSpace} from './server-space.ts';

export class SpacedEngine implements LogEngine {
  readonly #engine: LogEngine;
  readonly #space: Pick<ServerSpace, 'takes' | 'spend'>;

  constructor(engine: LogEngine, space: Pick<ServerSpace, 'takes' | 'spend'>) {
    this.#engine = engine;
    this.#space = space;
  }

  publish(subject: Subject, bytes: Buffer, expected: number | null): Promise<PublishAnswer> {
    const size = bytes.length + subject.name.length;
    if (!this.#space.takes(subject.stream, size)) return Promise.resolve({kind: 'full'});
    this.#space.spend(size);
    return this.#engine.publish(subject, bytes, expected);
  }

  next(subject: Subject, sequence: number): Promise<Message | null> {
    return this.#engine.next(subject, sequence);
  }

  messages(subject: Subject, range: {readonly from: number; readonly to: number}): AsyncIterable<Message> {
    return this.#engine.messages(subject, range);
  }

  last(subject: Subject): Promise<Message | null> {
    return this.#engine.last(subject);
  }

  removeBefore(subject: Subject, sequence: number): Promise<void> {
    return this.#engine.removeBefore(subject, sequence);
  }

  watch(stream: StreamName, prefixes: readonly string[], options: WatchOptions): AsyncIterable<Message | null> {
    return this.#engine.watch(stream, prefixes, options);
  }
}
