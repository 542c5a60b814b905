/**
 * The worker's end of its connection to the cluster process: requests and their answers, and the lease of the host. When
 * the connection closes, nothing more can be appended, and the lease is not renewed: the worker ends.
 */
import {connect, type Socket} from 'node:net';
import {FrameFlag, FrameKind, type FrameWriter, MalformedFrame} from '../../shared/ipc/frame.ts';
import {ENDPOINT_CONNECT_MS, ENDPOINT_CONNECT_RETRY_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {delay, REAL_TIMING} from '../log/timing.ts';
import {ENDPOINT_VERSION, type LeaseNotice, type LogAnswer} from './endpoint-message.ts';
import {frameSocket} from './frame-socket.ts';
import type {LogRequest} from './log-request.ts';

export type EndpointAddress = {readonly socketPath: string; readonly secret: string};

export type EndpointEvents = {
  lease: (notice: LeaseNotice) => void;
  /** Called once, unless it was closed here. */
  closed: () => void;
};

export type Answered<Is extends LogAnswer['is']> = {
  readonly answer: Extract<LogAnswer, {is: Is}>;
  readonly body: Buffer;
};

const EMPTY: Buffer = Buffer.alloc(0);

type Pending = {resolve: (answered: {answer: LogAnswer; body: Buffer}) => void; reject: (error: EngineError) => void};

export class EndpointClient {
  readonly #socket: Socket;
  readonly #events: EndpointEvents;
  readonly #writer: FrameWriter;
  readonly #pending = new Map<number, Pending>();
  #stream = 0;
  #isClosed = false;

  /** Waits until the cluster process listens. @throws EngineError: it does not */
  static async connect({socketPath, secret}: EndpointAddress, events: EndpointEvents): Promise<EndpointClient> {
    for (let waitedMs = 0; ; waitedMs += ENDPOINT_CONNECT_RETRY_MS) {
      try {
        return new EndpointClient(await connected(socketPath), secret, events);
      } catch (error) {
        const {code} = error as NodeJS.ErrnoException;
        const isEarly = code === 'ENOENT' || code === 'ECONNREFUSED';
        if (!isEarly || waitedMs >= ENDPOINT_CONNECT_MS) throw new EngineError('the cluster process is not reached');
        await delay(REAL_TIMING, ENDPOINT_CONNECT_RETRY_MS);
      }
    }
  }

  private constructor(socket: Socket, secret: string, events: EndpointEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#writer = frameSocket(
      socket,
      (kind, stream, _flags, meta, body) => this.#frame(kind, stream, meta, body),
      () => socket.destroy(),
    );
    socket.on('close', () => this.#closed());
    this.#writer.frame(FrameKind.hello, 0, FrameFlag.none, secret, String(ENDPOINT_VERSION));
  }

  /** @throws EngineError: the connection has ended, or the log did not answer */
  async ask<Is extends LogAnswer['is']>(is: Is, request: LogRequest, body: Buffer = EMPTY): Promise<Answered<Is>> {
    const {answer, body: answered} = await this.askAny(request, body);
    if (answer.is !== is) throw new EngineError(`the cluster process answered ${answer.is}`);
    return {answer: answer as Extract<LogAnswer, {is: Is}>, body: answered};
  }

  /** For requests with more than one kind of answer. @throws EngineError */
  async askAny(request: LogRequest, body: Buffer = EMPTY): Promise<{answer: LogAnswer; body: Buffer}> {
    const answered = await this.#ask(request, body);
    if (answered.answer.is === 'failed') throw new EngineError(answered.answer.reason);
    return answered;
  }

  close(): void {
    this.#isClosed = true;
    this.#writer.flush();
    this.#socket.end();
  }

  #ask(request: LogRequest, body: Buffer): Promise<{answer: LogAnswer; body: Buffer}> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) {
        reject(ended());
        return;
      }
      const stream = ++this.#stream;
      this.#pending.set(stream, {resolve, reject});
      this.#writer.frame(FrameKind.request, stream, FrameFlag.none, JSON.stringify(request), body, true);
    });
  }

  #frame(kind: number, stream: number, meta: Buffer, body: Buffer): void {
    if (kind !== FrameKind.response) throw new MalformedFrame(`the cluster process does not send kind ${kind}`);
    const message = JSON.parse(meta.toString()) as LogAnswer | LeaseNotice;
    if (message.is === 'lease') {
      this.#events.lease(message);
      return;
    }
    const pending = this.#pending.get(stream);
    this.#pending.delete(stream);
    // The body is a view into the chunk that was received.
    pending?.resolve({answer: message, body: Buffer.from(body)});
  }

  #closed(): void {
    for (const {reject} of this.#pending.values()) reject(ended());
    this.#pending.clear();
    if (!this.#isClosed) this.#events.closed();
    this.#isClosed = true;
  }
}

function ended(): EngineError {
  return new EngineError('the connection to the cluster process has ended');
}

function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({path});
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
