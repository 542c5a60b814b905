/**
 * The function sockets of one tenant in this router, and their way to and from its worker. Sockets belong to one worker for as long as
 * they live: what a session is lies there. So when it goes they are closed (1012), and their clients come back at once to the next.
 *
 *   socket opens ──linked──▶ told to the worker
 *        └──no worker──▶ waits, its messages too, and wakes one ──attach──▶ told
 *                                                       └──unavailable──▶ closed (1013): come again later
 */
import {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {WAKE_TIMEOUT_MS} from '../../shared/limits.ts';
import type {HeldBytes} from '../workers/held-bytes.ts';
import type {WorkerLink} from '../workers/link.ts';
import {CloseCode, type FunctionSocket} from './function-socket.ts';
import type {PipeTraffic} from './pipe-traffic.ts';

type Waiting = {socket: FunctionSocket; message: Buffer; isBinary: boolean};

export class TenantPipes {
  readonly #sockets = new Map<number, FunctionSocket>();
  readonly #traffic: () => PipeTraffic;
  readonly #held: HeldBytes;
  readonly #wake: () => void;
  #link: WorkerLink | null = null;
  /** Messages of sockets that wait for a worker, in the order in which they came. */
  #waiting: Waiting[] = [];
  #waitingSinceMs: number | null = null;
  #lastStream = 0;

  /** @param wake asks for the tenant's worker, which comes by `attach` */
  constructor(traffic: () => PipeTraffic, held: HeldBytes, wake: () => void) {
    this.#traffic = traffic;
    this.#held = held;
    this.#wake = wake;
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** @returns the number under which the worker will know the next socket */
  nextStream(): number {
    return ++this.#lastStream;
  }

  opened(socket: FunctionSocket): void {
    this.#sockets.set(socket.stream, socket);
    if (this.#link !== null) {
      this.#link.openSocket(socket.stream, socket.origin);
      return;
    }
    this.#waitingSinceMs ??= performance.now();
    this.#wake();
  }

  receive(socket: FunctionSocket, message: Buffer, isBinary: boolean): void {
    this.#traffic().received(message.length);
    if (!this.#held.hasRoom(message.length)) socket.end(CloseCode.overloaded, 'session.overloaded');
    else if (this.#link !== null) this.#link.socketMessage(socket.stream, message, isBinary);
    else {
      this.#held.take(message.length);
      this.#waiting.push({socket, message: Buffer.from(message), isBinary});
    }
  }

  credit(socket: FunctionSocket, bytes: number): void {
    this.#link?.socketCredit(socket.stream, bytes);
  }

  closed(socket: FunctionSocket): void {
    if (!this.#sockets.delete(socket.stream)) return;
    if (this.#link !== null) this.#link.closeSocket(socket.stream);
    else this.#forget(one => one.socket === socket);
  }

  /** A worker serves the tenant from now on. */
  attach(link: WorkerLink): void {
    this.#link = link;
    this.#waitingSinceMs = null;
    for (const {stream, origin} of this.#sockets.values()) link.openSocket(stream, origin);
    for (const {socket, message, isBinary} of this.#waiting) link.socketMessage(socket.stream, message, isBinary);
    this.#forget(() => true);
  }

  /** The worker is gone, and with it the sessions. */
  detach(): void {
    this.#link = null;
    this.#endAll(socket => socket.end(CloseCode.restart, "the tenant's worker has ended"));
  }

  /** No worker can be had. */
  unavailable(error: ServiceError): void {
    this.#endAll(socket => socket.end(CloseCode.overloaded, error.code));
  }

  /** Sockets that have waited for too long come again. */
  expire(nowMs: number): void {
    if (this.#waitingSinceMs === null || nowMs - this.#waitingSinceMs < WAKE_TIMEOUT_MS) return;
    this.unavailable(new ServiceError('session.worker_unavailable', "the tenant's worker did not start in time"));
  }

  /** The tenant is being deleted. */
  end(error: ServiceError): void {
    this.#endAll(socket => socket.fatal(error));
  }

  /* ── from the worker ── */

  /** @param streams who gets it, those that are still there. The bytes are valid during the call. */
  message(streams: readonly number[], message: Buffer): void {
    let takers = 0;
    for (const stream of streams) {
      const socket = this.#sockets.get(stream);
      if (socket === undefined) continue;
      socket.send(message);
      takers++;
    }
    this.#traffic().sent(takers, message.length);
  }

  handled(stream: number, bytes: number): void {
    this.#sockets.get(stream)?.handled(bytes);
  }

  close(stream: number, code: number, reason: string): void {
    this.#sockets.get(stream)?.end(code, reason);
  }

  #endAll(end: (socket: FunctionSocket) => void): void {
    this.#waitingSinceMs = null;
    for (const socket of [...this.#sockets.values()]) end(socket);
    this.#forget(() => true);
  }

  #forget(isGone: (one: Waiting) => boolean): void {
    if (this.#waiting.length === 0) return;
    const gone = this.#waiting.filter(isGone);
    this.#waiting = this.#waiting.filter(one => !gone.includes(one));
    this.#held.give(gone.reduce((sum, {message}) => sum + message.length, 0));
  }
}
