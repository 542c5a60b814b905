/**
 * The function sockets of one tenant in this router, and their connection to its worker. A socket belongs to one worker
 * for its lifetime, because its session lives there. When the worker ends, its sockets are closed (1012), and their
 * clients reconnect at once.
 *
 *   socket opens ──linked──▶ told to the worker
 *        └──no worker──▶ waits, its messages too, and wakes one ──attach──▶ told
 *                                                       └──unavailable──▶ closed (1013): come again later
 */
import {Buffer} from 'node:buffer';
import {BufferedBytes, type ReservedBytes} from '../../shared/byte-accounts.ts';
import {type ServiceError, unavailable} from '../../shared/errors.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {MESSAGE_OVERHEAD_BYTES, SOCKET_MESSAGES_WAITING_MAX, WAKE_TIMEOUT_MS} from '../limits.ts';
import type {WorkerLink} from '../workers/link.ts';
import {CloseCode} from './close-code.ts';

/** A function socket, as this file sees it. */
export type PipeEnd = {
  readonly stream: number;
  readonly origin: string;
  send(message: Buffer): void;
  /** @throws MalformedFrame when this is more than was sent */
  handled(bytes: number): void;
  fatal(error: ServiceError): void;
  end(code: number, reason: string): void;
};

type Waiting = {message: Buffer; isBinary: boolean};

export class TenantPipes {
  /** Bytes of messages that the worker has not handled. */
  readonly unhandled: BufferedBytes;
  readonly #sockets = new Map<number, PipeEnd>();
  readonly #metrics: RouterMetrics;
  readonly #reserved: ReservedBytes;
  readonly #wake: () => void;
  #link: WorkerLink | null = null;
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
      this.#link.openSocket(socket.stream, socket.origin);
      return;
    }
    this.#waitingSinceMs ??= performance.now();
    this.#wake();
  }

  receive(socket: PipeEnd, message: Buffer, isBinary: boolean): void {
    this.#metrics.socketReceived.value++;
    this.#metrics.socketReceivedBytes.value += message.length;
    if (!this.#reserved.hasRoom(message.length)) socket.end(CloseCode.overloaded, 'session.overloaded');
    else if (this.#link !== null) this.#link.socketMessage(socket.stream, message, isBinary);
    else this.#keep(socket, message, isBinary);
  }

  credit(socket: PipeEnd, bytes: number): void {
    this.#link?.socketCredit(socket.stream, bytes);
  }

  closed(socket: PipeEnd): void {
    if (!this.#sockets.delete(socket.stream)) return;
    if (this.#link !== null) this.#link.closeSocket(socket.stream);
    else this.#forget(socket);
  }

  /** A worker serves the tenant from now on. */
  attach(link: WorkerLink): void {
    this.#link = link;
    this.#waitingSinceMs = null;
    for (const {stream, origin} of this.#sockets.values()) link.openSocket(stream, origin);
    for (const [socket, waiting] of this.#waiting) {
      for (const {message, isBinary} of waiting) link.socketMessage(socket.stream, message, isBinary);
      this.#forget(socket);
    }
  }

  /** The worker is gone, and the sessions with it. */
  detach(): void {
    this.#link = null;
    this.#endAll(socket => socket.end(CloseCode.restart, "the tenant's worker has ended"));
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
  message(streams: readonly number[], message: Buffer): void {
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

  handled(stream: number, bytes: number): void {
    this.#sockets.get(stream)?.handled(bytes);
  }

  close(stream: number, code: number, reason: string): void {
    this.#sockets.get(stream)?.end(code, reason);
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
