/**
 * Messages of a stream, in order and without a gap, many with one request.
 *
 * A server holds a consumer for them: its place in the stream. It is held by one server only, which need not be the leader,
 * and is gone with it. So whatever is not as it has to be ends the messages with an error, and the caller begins again
 * with another consumer: nothing arrives for a while, a message is missing, a request reaches no server.
 *
 * A server that is behind returns less than the leader has. What the caller needs to have read is asked of the leader.
 */
import {randomBytes} from 'node:crypto';
import {createInbox, type Msg, type NatsConnection} from '@nats-io/transport-node';
import {
  APPEND_RETRY_MS,
  NATS_CONSUMER_AGAIN_MS,
  NATS_CONSUMER_IDLE_MS,
  NATS_PULL_BYTES,
  NATS_PULL_MESSAGES,
  NATS_PULL_MS,
  NATS_SILENT_MS,
} from '../limits.ts';
import {EngineError, type Message} from '../log/log-engine.ts';
import {repeatedRequest} from './repeated-request.ts';

export type PullOptions = {
  /** Its name on the servers. */
  readonly stream: string;
  /** Subjects, with wildcards. */
  readonly filters: readonly string[];
  /** Sequence of the first message that is of interest. */
  readonly from: number;
  readonly signal?: AbortSignal | undefined;
  /** Without their bytes. */
  readonly isBare?: boolean | undefined;
};

/** Of `NATS_PULL_MS` without a sign of the server, each a turn of the event loop: one that was blocked has not read what arrived. */
const SILENT_TURNS = NATS_SILENT_MS / NATS_PULL_MS;
/** With status 409, as servers describe the end of a request: there is no room for another message, or all were sent. */
const COMPLETED = new Set(['message size exceeds maxbytes', 'batch completed']);
const NO_RESPONDER = 503;
const NANOSECONDS = 1_000_000;

/**
 * Ends when the signal aborts. `null`: there was no message for `NATS_PULL_MS`.
 * @param create makes the consumer, and rejects with the reason that it cannot
 * @throws EngineError
 */
export async function* pulledMessages(
  connection: NatsConnection,
  create: (subject: string, request: object) => Promise<void>,
  {stream, filters, from, signal, isBare = false}: PullOptions,
): AsyncGenerator<Message | null> {
  const send = async () => {
    const name = `svc-${randomBytes(12).toString('hex')}`;
    await create(`CONSUMER.CREATE.${stream}.${name}`, {
      stream_name: stream,
      config: {
        name,
        deliver_policy: 'by_start_sequence',
        opt_start_seq: Math.max(from, 1),
        filter_subjects: filters,
        ack_policy: 'none',
        headers_only: isBare,
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: NATS_CONSUMER_IDLE_MS * NANOSECONDS,
      },
    });
    return `${stream}.${name}`;
  };
  // A server that was just lost can have been chosen to hold it.
  const unused = (consumer: string) => remove(connection, consumer);
  const consumer = await repeatedRequest({send, everyMs: NATS_CONSUMER_AGAIN_MS, unused});
  const pull = new Pull(connection, consumer);
  const isAborted = () => signal?.aborted === true;
  const onAbort = () => pull.end();
  signal?.addEventListener('abort', onAbort);
  try {
    let [delivered, sequence] = [0, from - 1];
    while (!isAborted()) {
      const found = await pull.next();
      if (found === null) {
        if (!isAborted()) yield null;
        continue;
      }
      const place = placeOf(found.reply);
      if (place.delivered !== ++delivered) throw new EngineError('a message has not arrived');
      // A server that is behind the first message begins with an earlier one.
      if (place.sequence <= sequence) continue;
      ({sequence} = place);
      yield {subject: found.subject, sequence, bytes: Buffer.from(found.data)};
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    pull.close();
  }
}

/** One request at a time. The next is sent when all messages of the one before have been taken, so they bound the memory. */
class Pull {
  readonly #connection: NatsConnection;
  readonly #consumer: string;
  readonly #inbox = createInbox();
  readonly #subscription;
  readonly #arrived: Msg[] = [];
  readonly #turns;
  #silentTurns = 0;
  #again: NodeJS.Timeout | undefined;
  /** The server with the consumer has answered. */
  #isFound = false;
  #requests = 0;
  /** Messages that the newest request can still return; 0: there is none. */
  #left = 0;
  #failure: EngineError | null = null;
  #notify = () => {};

  constructor(connection: NatsConnection, consumer: string) {
    this.#connection = connection;
    this.#consumer = consumer;
    this.#subscription = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => (error === null ? this.#receive(message) : this.#fail(error.message)),
    });
    this.#turns = setInterval(() => {
      if (this.#left > 0 && ++this.#silentTurns >= SILENT_TURNS) this.#fail('the server that sends is silent');
    }, NATS_PULL_MS);
  }

  /** Null: the request returned none. @throws EngineError */
  async next(): Promise<Msg | null> {
    const before = this.#arrived.shift();
    if (before !== undefined) return before;
    if (this.#failure === null && this.#left === 0) {
      this.#silentTurns = 0;
      this.#request();
    }
    while (this.#arrived.length === 0 && this.#left > 0 && this.#failure === null) {
      await new Promise<void>(resolve => {
        this.#notify = resolve;
      });
    }
    const found = this.#arrived.shift();
    if (found === undefined && this.#failure !== null) throw this.#failure;
    return found ?? null;
  }

  /** As if the request had returned all that there is. */
  end(): void {
    this.#left = 0;
    this.#notify();
  }

  close(): void {
    clearInterval(this.#turns);
    clearTimeout(this.#again);
    this.#subscription.unsubscribe();
    remove(this.#connection, this.#consumer);
  }

  #request(): void {
    this.#left = NATS_PULL_MESSAGES;
    const request = {batch: this.#left, max_bytes: NATS_PULL_BYTES, expires: NATS_PULL_MS * NANOSECONDS};
    try {
      const options = {reply: `${this.#inbox}.${++this.#requests}`};
      this.#connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${this.#consumer}`, JSON.stringify(request), options);
    } catch (error) {
      this.#fail((error as Error).message);
    }
  }

  #receive(message: Msg): void {
    const {code = 0, description = ''} = message.headers ?? {};
    if (code === NO_RESPONDER && !this.#isFound) {
      // The server of this connection does not know yet where the new consumer is.
      this.#again = setTimeout(() => this.#request(), APPEND_RETRY_MS);
      return;
    }
    this.#isFound = true;
    this.#silentTurns = 0;
    if (code === 0) {
      this.#arrived.push(message);
      this.#left--;
    } else if (code === 404 || code === 408 || COMPLETED.has(description.toLowerCase())) {
      // The end of a request can arrive after its last message, and then there is another one.
      if (message.subject === `${this.#inbox}.${this.#requests}`) this.#left = 0;
    } else {
      this.#fail(`${description} (${code})`);
    }
    this.#notify();
  }

  #fail(reason: string): void {
    this.#failure ??= new EngineError(`the messages have ended: ${reason}`);
    this.#notify();
  }
}

function remove(connection: NatsConnection, consumer: string): void {
  if (!connection.isClosed()) connection.publish(`$JS.API.CONSUMER.DELETE.${consumer}`);
}

/**
 * Where a message is in its stream, and in what its consumer has delivered:
 * `$JS.ACK.<stream>.<consumer>.<attempts>.<sequence>.<delivered>.<time>.<pending>`, with two more after `$JS.ACK` in
 * newer servers. @throws EngineError
 */
function placeOf(reply: string | undefined): {sequence: number; delivered: number} {
  const tokens = (reply ?? '').split('.');
  const at = tokens.length === 9 ? 5 : 7;
  const [sequence, delivered] = [Number(tokens[at]), Number(tokens[at + 1])];
  if (Number.isSafeInteger(sequence) && Number.isSafeInteger(delivered)) return {sequence, delivered};
  throw new EngineError('a message has no place in its stream');
}
