/**
 * One client of the function socket, as the router sees it: a number, and the bytes under way in either direction. The
 * content of its messages concerns only the client and the worker.
 *
 *   open ──peer gone | worker says so | worker gone | too much unhandled, or buffered | drain──▶ closed
 *     └──worker gone, and the client can resume──▶ open
 */

import type {WebSocket} from 'uWebSockets.js';
import type {Buffer} from 'node:buffer';
import type {Backlog, BufferedBytes} from '../../shared/byte-accounts.ts';
import {errorEnvelope, type ServiceError, tooLarge} from '../../shared/errors.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {FUNCTION_SOCKET_CREDIT_BYTES} from '../../shared/limits.ts';
import {
  FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  FUNCTION_SOCKET_PING_MS,
  FUNCTION_SOCKET_UNHANDLED_BYTES_MAX,
} from '../limits.ts';
import {CloseCode} from '../live/close-code.ts';
import type {PipeEnd, TenantPipes} from '../live/tenant-pipes.ts';
import type {Allowance} from '../rates/rate-limits.ts';
import type {PlacedTenant} from '../tenants/placed-tenant.ts';
import type {UpgradedSocket} from './upgrades.ts';

export type FunctionSocketData = {
  readonly tenant: PlacedTenant;
  /** The `Origin` of its page; empty: none. */
  readonly origin: string;
};

const PING = '{"type":"ping"}';

export class FunctionSocket implements PipeEnd, UpgradedSocket {
  readonly stream: number;
  readonly origin: string;
  readonly #ws: WebSocket<FunctionSocketData>;
  readonly #pipes: TenantPipes;
  /** Bytes that its network has not accepted. */
  readonly #backlog: Backlog;
  #isClosed = false;
  /** Bytes of the client's messages that the worker has not handled. */
  #unhandledBytes = 0;
  /** The part of those that counts in the total of the tenant's sockets. */
  readonly #unhandledShared: Backlog;
  /** Bytes from the worker that have not been credited. */
  #uncreditedBytes = 0;
  #sentMs = performance.now();
  /** Messages that the worker must send before the socket counts as used: a greeting, and one answer to its client. */
  #unused = 2;
  readonly #onUsed: () => void;
  readonly #allowance: Allowance | null;

  /**
   * @param allowance from which each message is deducted; null: messages are not limited
   * @param onUsed called once, when the client is shown something
   */
  constructor(
    ws: WebSocket<FunctionSocketData>,
    stream: number,
    pipes: TenantPipes,
    ofAll: BufferedBytes,
    allowance: Allowance | null,
    onUsed: () => void,
  ) {
    this.#ws = ws;
    this.#onUsed = onUsed;
    this.#allowance = allowance;
    this.stream = stream;
    this.origin = ws.getUserData().origin;
    this.#pipes = pipes;
    this.#backlog = ofAll.open();
    this.#unhandledShared = pipes.unhandled.open();
  }

  /** A message from the client. @param bytes valid during the call */
  receive(bytes: Buffer, isBinary: boolean): void {
    if (bytes.length > FUNCTION_SOCKET_MESSAGE_BYTES_MAX) {
      this.fatal(tooLarge(`a message has at most ${FUNCTION_SOCKET_MESSAGE_BYTES_MAX} bytes`));
      return;
    }
    // Dropping a message would break the sequence, so the socket is closed: its client returns later and resumes.
    if (this.#allowance !== null && this.#allowance.spend() !== null) {
      this.end(CloseCode.overloaded, 'op.rate_limited');
      return;
    }
    this.#unhandled(bytes.length);
    const isTooMuch = this.#unhandledBytes > FUNCTION_SOCKET_UNHANDLED_BYTES_MAX || this.#unhandledShared.isTooMuch;
    if (isTooMuch) this.end(CloseCode.overloaded, 'session.overloaded');
    else this.#pipes.receive(this, bytes, isBinary);
  }

  /** The worker has handled this many bytes. @throws MalformedFrame when this is more than was sent */
  handled(bytes: number): void {
    if (bytes > this.#unhandledBytes) throw new MalformedFrame('more of a socket is handled than came');
    this.#unhandled(-bytes);
  }

  moves(): void {
    this.#unhandled(-this.#unhandledBytes);
    this.#uncreditedBytes = 0;
  }

  /**
   * Adds to the unhandled bytes. A small amount is not counted in the total, because the worker reports handled bytes
   * only once they are worth a frame.
   */
  #unhandled(bytes: number): void {
    this.#unhandledBytes += bytes;
    this.#unhandledShared.measured(Math.max(0, this.#unhandledBytes - FUNCTION_SOCKET_CREDIT_BYTES));
  }

  /** Sends a message of the worker to the client. */
  send(message: Buffer): void {
    if (this.#isClosed) return;
    this.#sentMs = performance.now();
    this.#uncreditedBytes += message.length;
    if (this.#unused > 0 && --this.#unused === 0) this.#onUsed();
    this.#ws.send(message as Uint8Array<ArrayBuffer>, false);
    this.drained();
    // The client reads nothing: a close frame would wait behind the rest.
    if (!this.#isClosed && this.#backlog.isTooMuch) this.#ws.close(); // calls `closed`
  }

  /**
   * The network may have taken bytes: credits the worker once the amount is worth a frame. The buffered bytes are
   * updated, too.
   */
  drained(): void {
    if (this.#isClosed || (this.#uncreditedBytes < FUNCTION_SOCKET_CREDIT_BYTES && this.#backlog.bytes === 0)) return;
    this.#backlog.measured(this.#ws.getBufferedAmount());
    const taken = this.#uncreditedBytes - this.#backlog.bytes;
    if (taken < FUNCTION_SOCKET_CREDIT_BYTES) return;
    this.#uncreditedBytes -= taken;
    this.#pipes.credit(this, taken);
  }

  /** Sends a ping if the client was sent nothing for long and is able to receive it. */
  poll(nowMs: number): void {
    if (nowMs - this.#sentMs < FUNCTION_SOCKET_PING_MS || this.#ws.getBufferedAmount() > 0) return;
    this.#sentMs = nowMs;
    this.#ws.send(PING, false);
  }

  /** Sends the reason, and closes. */
  fatal(error: ServiceError): void {
    if (this.#isClosed) return;
    this.#ws.send(JSON.stringify({type: 'fatal_error', error: errorEnvelope(error).error}), false);
    this.end(CloseCode.violation, error.code);
  }

  end(code: number, reason: string): void {
    if (!this.#isClosed) this.#ws.end(code, reason); // calls `closed`
  }

  /** The client is gone; the socket must not be used any more. */
  closed(): void {
    this.#isClosed = true;
    this.#backlog.close();
    this.#unhandledShared.close();
    this.#pipes.closed(this);
  }
}
