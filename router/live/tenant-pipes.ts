/**
 * The function sockets of one tenant in this router, and their connection to its worker. Sessions live in the worker,
 * and only the client knows what was in one. So when the tenant gets another worker, a socket stays open if its client
 * has announced that it can resume: the next worker greets it again, and the client repeats what it wants. Other sockets
 * are closed (1012), and their clients reconnect at once.
 *
 *   socket opens ──linked──▶ told to the worker ──worker gone, or left in order──▶ resuming, if the client can
 *        └──no worker──▶ waits, its messages too, and wakes one ──attach──▶ told         │ │
 *                                                 ▲ └──unavailable──▶ closed (1013) ◀────┘ │
 *                                                 └──── what it sends now is dropped ──────┘
 *
 * A worker that is left in order first answers the calls that it has received. The next one tells the client whether
 * that was done.
 */
import {Buffer} from 'node:buffer';
import {BufferedBytes, type ReservedBytes} from '../../shared/byte-accounts.ts';
import {type ServiceError, unavailable} from '../../shared/errors.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import type {Resumed} from '../../shared/protocol/function-socket/server-message.ts';
import {MESSAGE_OVERHEAD_BYTES, SOCKET_MESSAGES_WAITING_MAX, WAKE_TIMEOUT_MS} from '../limits.ts';
import type {LinkSockets, PipeReceiver} from '../workers/link-sockets.ts';
import {CloseCode} from './close-code.ts';

/** A function socket, as this file sees it. */
export type PipeEnd = {
  readonly stream: number;
  readonly origin: string;
  send(message: Buffer): void;
  /** @throws MalformedFrame when this is more than was sent */
  handled(bytes: number): void;
  /** Another worker gets it, which knows nothing of the bytes that are under way. */
  moves(): void;
  fatal(error: ServiceError): void;
  end(code: number, reason: string): void;
};

type Waiting = {message: Buffer; isBinary: boolean};

export class TenantPipes implements PipeReceiver {
  /** Bytes of messages that the worker has not handled. */
  readonly unhandled: BufferedBytes;
  readonly #sockets = new Map<number, PipeEnd>();
  readonly #metrics: RouterMetrics;
  readonly #reserved: ReservedBytes;
  readonly #wake: () => void;
  #link: LinkSockets | null = null;
  /** The worker that was left, until the next one is there. */
  #former: LinkSockets | null = null;
  /** Sockets whose clients can resume. */
  readonly #resumable = new Set<PipeEnd>();
  /** Sockets that had a worker and wait for the next one. */
  readonly #resuming = new Map<PipeEnd, Resumed>();
  /** Messages that wait for a worker, in order for each socket. */
  readonly #waiting = new Map<PipeEnd, Waiting[]>();
  #waitingSinceMs: number | null = null;
  #lastStream = 0;

  /** @param wake requests the tenant's worker, which arrives through `attach` */
  constructor(metrics: RouterMetrics, reserved: ReservedBytes, unhandledBytesMax: number, wake: () => void) {
    this.unhandled = new BufferedBytes(unhandledBytesMax);
    this.#metrics = metrics;
    this.#reserved = reserved;
    this.#wake = wake;
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** @returns the number that identifies the next socket to the worker */
  nextStream(): number {
    return ++this.#lastStream;
  }

  opened(socket: PipeEnd): void {
    this.#sockets.set(socket.stream, socket);
    if (this.#link !== null) {
      this.#link.open(socket.stream, socket.origin, null);
      return;
    }
    this.#awaitWorker();
  }

  #awaitWorker(): void {
    this.#waitingSinceMs ??= performance.now();
    this.#wake();
  }

  receive(socket: PipeEnd, message: Buffer, isBinary: boolean): void {
    this.#metrics.socketReceived.value++;
    this.#metrics.socketReceivedBytes.value += message.length;
    if (!this.#reserved.hasRoom(message.length)) socket.end(CloseCode.overloaded, 'session.overloaded');
    else if (this.#link !== null) this.#link.message(socket.stream, message, isBinary);
    else if (this.#resuming.has(socket)) socket.handled(message.length);
    else this.#keep(socket, message, isBinary);
  }

  credit(socket: PipeEnd, bytes: number): void {
    (this.#link ?? this.#former)?.credit(socket.stream, bytes);
  }

  closed(socket: PipeEnd): void {
    if (!this.#sockets.delete(socket.stream)) return;
    this.#resumable.delete(socket);
    this.#resuming.delete(socket);
    (this.#link ?? this.#former)?.close(socket.stream);
    if (this.#link === null) this.#forget(socket);
  }

  /** A worker serves the tenant from now on. */
  attach(link: LinkSockets): void {
    this.#link = link;
    this.#former = null;
    this.#waitingSinceMs = null;
    for (const socket of this.#sockets.values())
      link.open(socket.stream, socket.origin, this.#resuming.get(socket) ?? null);
    this.#resuming.clear();
    for (const [socket, waiting] of this.#waiting) {
      for (const {message, isBinary} of waiting) link.message(socket.stream, message, isBinary);
      this.#forget(socket);
    }
  }

  /** The worker is not used any more. @param leaves it can still answer what it has under way */
  detach(leaves: boolean): void {
    const former = this.#link;
    this.#link = null;
    this.#former = leaves ? former : null;
    for (const socket of [...this.#sockets.values()]) {
      if (this.#resumable.has(socket)) {
        socket.moves();
        this.#resuming.set(socket, 'lost');
        this.#former?.leave(socket.stream);
      } else socket.end(CloseCode.restart, "the tenant's worker has ended");
    }
    if (this.#resuming.size > 0) this.#awaitWorker();
  }

  /** No worker is available. */
  unavailable(error: ServiceError): void {
    this.#endAll(socket => socket.end(CloseCode.overloaded, error.code));
  }

  /** Closes sockets that have waited too long; their clients reconnect. */
  expire(nowMs: number): void {
    if (this.#waitingSinceMs === null || nowMs - this.#waitingSinceMs < WAKE_TIMEOUT_MS) return;
    this.unavailable(unavailable("the tenant's worker did not start in time"));
  }

  /** The tenant is being deleted. */
  end(error: ServiceError): void {
    this.#endAll(socket => socket.fatal(error));
  }

  /* ── from the worker ── */

  /** @param streams the recipients; those that are gone are skipped. The bytes are valid during the call. */
  message(from: LinkSockets, streams: readonly number[], message: Buffer): void {
    if (!this.#isHeard(from)) return;
    let takers = 0;
    for (const stream of streams) {
      const socket = this.#sockets.get(stream);
      if (socket === undefined) continue;
      socket.send(message);
      takers++;
    }
    this.#metrics.socketSent.value += takers;
    this.#metrics.socketSentBytes.value += takers * message.length;
  }

  handled(from: LinkSockets, stream: number, bytes: number): void {
    if (from === this.#link) this.#sockets.get(stream)?.handled(bytes);
  }

  resumes(from: LinkSockets, stream: number): void {
    const socket = this.#sockets.get(stream);
    if (from === this.#link && socket !== undefined) this.#resumable.add(socket);
  }

  close(from: LinkSockets, stream: number, code: number, reason: string): void {
    const socket = this.#sockets.get(stream);
    if (socket === undefined || !this.#isHeard(from)) return;
    if (from === this.#former && code === CloseCode.restart) this.#resuming.set(socket, 'answered');
    else socket.end(code, reason);
  }

  /** Sockets of other workers are closed, or open at the present one. */
  #isHeard(from: LinkSockets): boolean {
    return from === this.#link || from === this.#former;
  }

  #endAll(end: (socket: PipeEnd) => void): void {
    this.#waitingSinceMs = null;
    for (const socket of [...this.#sockets.values()]) end(socket);
    for (const socket of [...this.#waiting.keys()]) this.#forget(socket);
  }

  #keep(socket: PipeEnd, message: Buffer, isBinary: boolean): void {
    const waiting = this.#waiting.get(socket) ?? [];
    if (waiting.length >= SOCKET_MESSAGES_WAITING_MAX) {
      socket.end(CloseCode.overloaded, 'session.overloaded');
      return;
    }
    this.#waiting.set(socket, waiting);
    this.#reserved.take(message.length + MESSAGE_OVERHEAD_BYTES);
    waiting.push({message: Buffer.from(message), isBinary});
  }

  #forget(socket: PipeEnd): void {
    for (const {message} of this.#waiting.get(socket) ?? [])
      this.#reserved.give(message.length + MESSAGE_OVERHEAD_BYTES);
    this.#waiting.delete(socket);
  }
}
