/**
 * The engine in memory: streams as they should be. A message needs a moment to be stored after it was accepted, and the
 * retry of a message that is under way is refused, as servers do. `faulty-engine.ts` adds what goes wrong.
 */
import {
  EngineError,
  type LogEngine,
  type Message,
  type PublishAnswer,
  type StreamName,
  type Subject,
  type WatchOptions,
} from '../../../cluster/log/log-engine.ts';
import {delay, type Timing} from '../../../cluster/log/timing.ts';

const HOP_MS = 1;
const STORE_MS = 3;
const keyOf = (stream: StreamName) => JSON.stringify(stream);

class MemoryStream {
  readonly messages: Message[] = [];
  /** Those that a later one of their subject has replaced. */
  readonly replaced: Message[] = [];
  /** Accepted, and not stored yet: the sequence by subject. */
  readonly underWay = new Map<string, number>();
  sequence = 0;
  /** Reads miss what is after it. */
  readableTo = Number.POSITIVE_INFINITY;
  readonly watchers = new Set<() => void>();
  /** Starts with older stores: they end what is watched. */
  losses = 0;

  newestOf(subject: string): number {
    return this.underWay.get(subject) ?? this.messages.findLast(message => message.subject === subject)?.sequence ?? 0;
  }
}

/** What the connections of all hosts share. */
export class MemoryStreams {
  readonly #streams = new Map<string, MemoryStream>();
  /** Bytes that each stream takes. */
  bytesMax = Number.POSITIVE_INFINITY;

  of(stream: StreamName): MemoryStream {
    const found = this.#streams.get(keyOf(stream)) ?? new MemoryStream();
    this.#streams.set(keyOf(stream), found);
    return found;
  }

  /** As after a start with older stores: what was acknowledged is gone, and its sequences are used again. */
  loseAfter(stream: StreamName, sequence: number): void {
    const found = this.of(stream);
    remove(found, message => message.sequence > sequence);
    const older = found.replaced.filter(message => message.sequence <= sequence);
    for (const message of older.toReversed()) {
      if (!found.messages.some(({subject}) => subject === message.subject)) found.messages.push(message);
    }
    found.messages.sort((one, other) => one.sequence - other.sequence);
    found.sequence = sequence;
    found.losses++;
    for (const notify of found.watchers) notify();
  }
}

export class MemoryEngine implements LogEngine {
  readonly #streams: MemoryStreams;
  readonly #timing: Timing;

  constructor(streams: MemoryStreams, timing: Timing) {
    this.#streams = streams;
    this.#timing = timing;
  }

  async publish(subject: Subject, bytes: Buffer, expected: number | null): Promise<PublishAnswer> {
    await delay(this.#timing, HOP_MS);
    const stream = this.#streams.of(subject.stream);
    if (expected !== null && expected !== stream.newestOf(subject.name)) return this.#answer({kind: 'refused'});
    const stored = stream.messages.reduce((sum, message) => sum + message.bytes.length, 0);
    if (Number.isFinite(this.#streams.bytesMax) && stored + bytes.length > this.#streams.bytesMax) {
      return this.#answer({kind: 'full'});
    }
    const sequence = ++stream.sequence;
    stream.underWay.set(subject.name, sequence);
    await delay(this.#timing, STORE_MS);
    if (stream.underWay.get(subject.name) === sequence) stream.underWay.delete(subject.name);
    if (subject.stream.kind === 'records') {
      stream.replaced.push(...remove(stream, message => message.subject === subject.name));
    }
    stream.messages.push({subject: subject.name, sequence, bytes: Buffer.from(bytes)});
    for (const notify of stream.watchers) notify();
    return this.#answer({kind: 'stored', sequence, isDuplicate: false});
  }

  async next(subject: Subject, sequence: number): Promise<Message | null> {
    await delay(this.#timing, HOP_MS);
    const {messages, readableTo} = this.#streams.of(subject.stream);
    const found = messages.find(
      message => message.subject === subject.name && message.sequence >= sequence && message.sequence <= readableTo,
    );
    return this.#answer(found ?? null);
  }

  /** A hop for many: those that are there when it begins to return them. */
  async *messages(subject: Subject, {from, to}: {from: number; to: number}): AsyncGenerator<Message> {
    await delay(this.#timing, 2 * HOP_MS);
    const {messages} = this.#streams.of(subject.stream);
    for (const message of messages.filter(({subject: name, sequence}) => name === subject.name && sequence >= from)) {
      if (message.sequence > to) return;
      yield message;
    }
  }

  async last(subject: Subject): Promise<Message | null> {
    await delay(this.#timing, HOP_MS);
    const {messages, readableTo} = this.#streams.of(subject.stream);
    const found = messages.findLast(({subject: name, sequence}) => name === subject.name && sequence <= readableTo);
    return this.#answer(found ?? null);
  }

  async removeBefore(subject: Subject, sequence: number): Promise<void> {
    await delay(this.#timing, HOP_MS);
    remove(
      this.#streams.of(subject.stream),
      message => message.subject === subject.name && message.sequence < sequence,
    );
  }

  async *watch(
    name: StreamName,
    prefixes: readonly string[],
    {from, signal, isBare}: WatchOptions,
  ): AsyncGenerator<Message | null> {
    const stream = this.#streams.of(name);
    const {losses} = stream;
    let notify = () => {};
    const onChange = () => notify();
    stream.watchers.add(onChange);
    signal.addEventListener('abort', onChange);
    try {
      for (
        let [at, isFirst] = [from ?? (stream.messages.at(-1)?.sequence ?? 0) + 1, true];
        !signal.aborted;
        isFirst = false
      ) {
        const changed = new Promise<void>(resolve => {
          notify = resolve;
        });
        for (const message of stream.messages.filter(({sequence}) => sequence >= at)) {
          at = message.sequence + 1;
          if (prefixes.some(prefix => message.subject.startsWith(prefix)))
            yield isBare ? {...message, bytes: Buffer.alloc(0)} : message;
        }
        if (isFirst) yield null;
        if (!signal.aborted) await changed;
        if (stream.losses !== losses) throw new EngineError('the server is lost');
      }
    } finally {
      stream.watchers.delete(onChange);
    }
  }

  async #answer<T>(answer: T): Promise<T> {
    await delay(this.#timing, HOP_MS);
    return answer;
  }
}

/** @returns those that are gone */
function remove(stream: MemoryStream, isGone: (message: Message) => boolean): Message[] {
  const left = stream.messages.filter(message => !isGone(message));
  const gone = stream.messages.filter(isGone);
  stream.messages.splice(0, stream.messages.length, ...left);
  return gone;
}
