/**
 * The log on NATS JetStream. Requests go to the leader of a stream, and their answers are judged strictly: what is not
 * understood decides nothing. Messages have no `Nats-Msg-Id`, because servers take the retry of a message that they
 * refused for a duplicate of a stored one.
 */
import {headers, type NatsConnection} from '@nats-io/transport-node';
import {
  APPEND_RETRY_MS,
  APPEND_RETRY_MS_MAX,
  NATS_GONE_AGAIN_MS,
  NATS_GONE_ANSWERS,
  NATS_READ_AGAIN_MS,
  NATS_READ_SINGLY,
  NATS_REQUEST_MS,
  NATS_STREAMS_MS,
} from '../limits.ts';
import {
  EngineError,
  type LogEngine,
  type Message,
  type PublishAnswer,
  type StreamName,
  type Subject,
  type WatchOptions,
} from '../log/log-engine.ts';
import type {Subjects} from '../log/subjects.ts';
import {delay, REAL_TIMING} from '../log/timing.ts';
import {connectToAny, type NatsOptions} from './connection.ts';
import {answerHosts, askHost} from './host-requests.ts';
import {pulledMessages} from './message-pull.ts';
import {NatsRefusal} from './nats-refusal.ts';
import {repeatedRequest} from './repeated-request.ts';
import {type StreamConfig, streamFault, streamNameOf, streamSettings} from './stream-settings.ts';

const WRONG_LAST_SEQUENCE = 10071;
const STORE_FAILED = 10077;
const INSUFFICIENT_RESOURCES = 10023;
const NO_MESSAGE = 10037;
const NO_STREAM = 10059;

type ApiError = {readonly err_code?: number; readonly description?: string};
type Answer = {
  readonly error?: ApiError;
  readonly stream?: string;
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly message?: {readonly subject: string; readonly seq: number; readonly data?: string};
  readonly config?: StreamConfig;
};

/** What is left of a sentence about a stream that a cluster had. */
export const GONE =
  'is gone, and so are the records in it that were acknowledged: bring back the stores of the NATS servers, or remove the cluster.';

export class NatsEngine implements LogEngine {
  readonly #connection: NatsConnection;
  readonly #subjects: Subjects;
  /** The settings of each stream that was prepared, by its name. */
  readonly #prepared = new Map<string, ReturnType<typeof streamSettings>>();
  /** Requests made without a connection would be sent whenever there is one. */
  #isConnected = true;
  #reconnects = 0;

  private constructor(connection: NatsConnection, subjects: Subjects) {
    this.#connection = connection;
    this.#subjects = subjects;
    void this.#follow();
  }

  /** @throws Error: no server answers */
  static async connect(subjects: Subjects, options: NatsOptions): Promise<NatsEngine> {
    return new NatsEngine(await connectToAny(options), subjects);
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  get reconnects(): number {
    return this.#reconnects;
  }

  async publish(subject: Subject, bytes: Buffer, expected: number | null): Promise<PublishAnswer> {
    const expectation = headers();
    if (expected !== null) expectation.set('Nats-Expected-Last-Subject-Sequence', String(expected));
    expectation.set('Nats-Expected-Stream', streamNameOf(this.#subjects, subject.stream));
    try {
      return publishAnswer(await this.#request(subject.name, bytes, expectation));
    } catch (error) {
      if (error instanceof EngineError) return {kind: 'failed', reason: error.message};
      throw error;
    }
  }

  next(subject: Subject, sequence: number): Promise<Message | null> {
    return this.#message(subject, {seq: sequence, next_by_subj: subject.name});
  }

  /** The first few come one by one from the leader: to make a consumer takes as long as several of them. */
  async *messages(subject: Subject, {from, to}: {from: number; to: number}): AsyncGenerator<Message> {
    let at = from;
    let next = this.next(subject, at);
    for (let left = NATS_READ_SINGLY; left > 0; left--) {
      const message = await next;
      if (message === null || message.sequence > to) return;
      at = message.sequence + 1;
      if (at <= to && left > 1) {
        // The next one is on its way while the caller has this one.
        next = this.next(subject, at);
        next.catch(() => undefined); // the caller may stop before it is awaited
      }
      yield message;
      if (at > to) return;
    }
    const stream = streamNameOf(this.#subjects, subject.stream);
    const filters = [subject.name];
    for await (const message of pulledMessages(this.#connection, this.#create, {stream, filters, from: at})) {
      if (message === null) throw new EngineError('the server that sends the messages is behind');
      if (message.sequence <= to) yield message;
      if (message.sequence >= to) return;
    }
  }

  last(subject: Subject): Promise<Message | null> {
    return this.#message(subject, {last_by_subj: subject.name});
  }

  async removeBefore(subject: Subject, sequence: number): Promise<void> {
    // Without a sequence, or with 0, a server removes every message.
    if (sequence <= 1) return;
    const stream = streamNameOf(this.#subjects, subject.stream);
    await this.#api(`STREAM.PURGE.${stream}`, {filter: subject.name, seq: sequence});
  }

  async *watch(
    name: StreamName,
    prefixes: readonly string[],
    {from: first, signal, isBare}: WatchOptions,
  ): AsyncGenerator<Message | null> {
    const filters = [...new Set(prefixes.map(prefix => `${prefix.slice(0, prefix.lastIndexOf('.'))}.>`))];
    const stream = streamNameOf(this.#subjects, name);
    const newest = async () => {
      const found = await Promise.all(filters.map(filter => this.#found(name, {last_by_subj: filter})));
      return Math.max(...found.map(message => message?.sequence ?? 0));
    };
    // Of the leader: the server that sends the messages can be behind.
    let mark = await newest();
    const from = first ?? mark + 1;
    let seen = from - 1;
    let isBehind = mark > seen;
    if (!isBehind) yield null;
    for await (const message of pulledMessages(this.#connection, this.#create, {
      stream,
      filters,
      from,
      signal,
      isBare,
    })) {
      if (message !== null && prefixes.some(prefix => message.subject.startsWith(prefix))) yield message;
      seen = message?.sequence ?? seen;
      // The newest one can have been removed.
      if (isBehind && message === null) mark = await newest();
      if (isBehind && seen >= mark) yield null;
      isBehind &&= seen < mark;
    }
  }

  /**
   * Makes a stream, or checks the settings of one that is there. It is tried again while the servers elect their leaders.
   * @param isNew false: the stream was made before, and its records are lost if it is gone. @throws NatsRefusal
   */
  async prepare(
    stream: StreamName,
    {replicas, isNew, signal}: {replicas: number; isNew: boolean; signal?: AbortSignal},
  ): Promise<void> {
    const settings = streamSettings(this.#subjects, stream, replicas);
    const until = performance.now() + NATS_STREAMS_MS;
    for (;;) {
      try {
        const config = isNew ? await this.#made(settings.name, settings) : await this.#kept(settings.name);
        if (config === null) throw new NatsRefusal(`the stream ${settings.name} ${GONE}`);
        const fault = streamFault(config, settings);
        if (fault !== null) throw new NatsRefusal(fault);
        this.#prepared.set(settings.name, settings);
        return;
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        if (performance.now() > until || signal?.aborted) {
          throw new NatsRefusal(`the stream ${settings.name} cannot be made or checked: ${error.message}.`);
        }
        await delay(REAL_TIMING, APPEND_RETRY_MS_MAX);
      }
    }
  }

  /** Whether the stream has a message. @throws EngineError: also if there is no such stream */
  async isUsed(stream: StreamName): Promise<boolean> {
    return (await this.#found(stream, {last_by_subj: `${this.#subjects.prefix(stream)}>`})) !== null;
  }

  /** One sentence if a stream that was prepared has other settings since; null: it has not. @throws EngineError */
  async changedSetting(stream: StreamName): Promise<string | null> {
    const settings = this.#prepared.get(streamNameOf(this.#subjects, stream));
    if (settings === undefined) return null;
    const config = await this.#kept(settings.name);
    return config === null ? `the stream ${settings.name} ${GONE}` : streamFault(config, settings);
  }

  /** @returns null: the host does not run, or does not answer in time. @throws EngineError */
  askHost(host: string, request: unknown, withinMs: number): Promise<unknown> {
    if (!this.#isConnected) return Promise.resolve(null);
    return askHost(this.#connection, this.#subjects, {host, request, withinMs});
  }

  /** @param answer of outside input; null: none */
  answerHosts(host: string, answer: (request: unknown) => Promise<unknown>): void {
    answerHosts(this.#connection, this.#subjects, host, answer);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #made(name: string, settings: object): Promise<StreamConfig> {
    const found = await this.#config(name);
    if (found !== null) return found;
    const {error, config} = await this.#answer(`$JS.API.STREAM.CREATE.${name}`, settings);
    if (error !== undefined) throw new EngineError(describe(error));
    if (config === undefined) throw new EngineError('the answer has no settings');
    return config;
  }

  /** Of a stream that was made. Null: it is gone. */
  async #kept(name: string): Promise<StreamConfig | null> {
    for (let answers = 1; ; answers++) {
      const config = await this.#config(name);
      if (config !== null || answers === NATS_GONE_ANSWERS) return config;
      await delay(REAL_TIMING, NATS_GONE_AGAIN_MS);
    }
  }

  /** Null: a server says that there is no such stream. */
  async #config(name: string): Promise<StreamConfig | null> {
    const {error, config} = await this.#answer(`$JS.API.STREAM.INFO.${name}`, {});
    if (error?.err_code === NO_STREAM) return null;
    if (error !== undefined) throw new EngineError(describe(error));
    if (config === undefined) throw new EngineError('the answer has no settings');
    return config;
  }

  readonly #create = (verb: string, request: object) => this.#api(verb, request);

  async #message(subject: Subject, query: object): Promise<Message | null> {
    const message = await this.#found(subject.stream, query);
    if (message !== null && message.subject !== subject.name) throw new EngineError('the answer is of another subject');
    return message;
  }

  async #found(stream: StreamName, query: object): Promise<Message | null> {
    const subject = `$JS.API.STREAM.MSG.GET.${streamNameOf(this.#subjects, stream)}`;
    const answer = await repeatedRequest({send: () => this.#answer(subject, query), everyMs: NATS_READ_AGAIN_MS});
    if (answer.error?.err_code === NO_MESSAGE) return null;
    if (answer.error !== undefined) throw new EngineError(describe(answer.error));
    const {message} = answer;
    if (message === undefined) throw new EngineError('the answer has no message');
    return {subject: message.subject, sequence: message.seq, bytes: Buffer.from(message.data ?? '', 'base64')};
  }

  async #api(verb: string, body: object): Promise<void> {
    const {error} = await this.#answer(`$JS.API.${verb}`, body);
    if (error !== undefined) throw new EngineError(describe(error));
  }

  async #answer(subject: string, body: object): Promise<Answer> {
    return this.#request(subject, Buffer.from(JSON.stringify(body)));
  }

  /** @throws EngineError */
  async #request(subject: string, bytes: Buffer, withHeaders?: ReturnType<typeof headers>): Promise<Answer> {
    if (!this.#isConnected) {
      // Callers can try again at once, and the connection must get its turns.
      await delay(REAL_TIMING, APPEND_RETRY_MS);
      throw new EngineError('there is no connection');
    }
    try {
      const options = {timeout: NATS_REQUEST_MS, ...(withHeaders === undefined ? {} : {headers: withHeaders})};
      const {data} = await this.#connection.request(subject, bytes, options);
      const answer: unknown = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
      if (typeof answer === 'object' && answer !== null) return answer;
      throw new Error('the answer is no object');
    } catch (error) {
      throw new EngineError((error as Error).message, {cause: error});
    }
  }

  async #follow(): Promise<void> {
    for await (const {type} of this.#connection.status()) {
      if (type === 'disconnect') this.#isConnected = false;
      if (type !== 'reconnect') continue;
      this.#isConnected = true;
      this.#reconnects++;
    }
  }
}

function publishAnswer({error, seq, duplicate}: Answer): PublishAnswer {
  if (error === undefined) {
    if (!Number.isSafeInteger(seq)) return {kind: 'failed', reason: 'the answer has no sequence'};
    return {kind: 'stored', sequence: seq!, isDuplicate: duplicate === true};
  }
  const {err_code: code, description = ''} = error;
  if (code === WRONG_LAST_SEQUENCE) return {kind: 'refused'};
  const isFull = code === INSUFFICIENT_RESOURCES || (code === STORE_FAILED && description.startsWith('maximum '));
  return isFull ? {kind: 'full'} : {kind: 'failed', reason: describe(error)};
}

function describe({err_code: code, description}: ApiError): string {
  return `${description ?? 'an error without description'} (${code ?? 'no code'})`;
}
