/**
 * One client of the function socket, as the router knows it: a number, and how many bytes are under way in either direction. What its
 * messages say is between the client and the worker.
 *
 *   open ──peer gone | worker says so | worker gone | too much unhandled, or owed | drain──▶ closed
 */

import type {WebSocket} from 'uWebSockets.js';
import type {Buffer} from 'node:buffer';
import {errorEnvelope, ServiceError} from '../../shared/errors.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import {FUNCTION_SOCKET_CREDIT_BYTES} from '../../shared/limits.ts';
import type {OwedBytes} from '../../shared/owed-bytes.ts';
import {
  FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  FUNCTION_SOCKET_PING_MS,
  FUNCTION_SOCKET_UNHANDLED_BYTES_MAX,
} from '../limits.ts';
import {CloseCode} from '../live/close-code.ts';
import type {PipeEnd, TenantPipes} from '../live/tenant-pipes.ts';
import type {Allowance} from '../rates/rate-limits.ts';
import type {PlacedTenant} from '../tenants/placed-tenant.ts';

export type FunctionSocketData = {
  socket: FunctionSocket | null;
  readonly tenant: PlacedTenant;
  /** The `Origin` of its page; empty: none. */
  readonly origin: string;
};

const PING = '{"type":"ping"}';

export class FunctionSocket implements PipeEnd {
  readonly stream: number;
  readonly origin: string;
  readonly #ws: WebSocket<FunctionSocketData>;
  readonly #pipes: TenantPipes;
  readonly #ofAll: OwedBytes;
  /** Of `#ofAll`, as it was last looked at. */
  #owedBytes = 0;
  #isClosed = false;
  /** Of its peer's messages, what the worker has not handled. */
  #unhandledBytes = 0;
  /** Of that, what counts among the bytes of all sockets of its tenant. */
  #sharedBytes = 0;
  /** Of what the worker sent, what it has not been credited. */
  #uncreditedBytes = 0;
  #sentMs = performance.now();
  /** Messages of the worker that have to come for it to be used: a greeting, and what its client has asked for. */
  #unused = 2;
  readonly #onUsed: () => void;
  readonly #allowance: Allowance | null;

  /** @param allowance what each message is taken from; null: they are not counted, @param onUsed told once, when its client is shown something */
  constructor(
    ws: WebSocket<FunctionSocketData>,
    stream: number,
    pipes: TenantPipes,
    ofAll: OwedBytes,
    allowance: Allowance | null,
    onUsed: () => void,
  ) {
    this.#ws = ws;
    this.#onUsed = onUsed;
    this.#allowance = allowance;
    this.stream = stream;
    this.origin = ws.getUserData().origin;
    this.#pipes = pipes;
    this.#ofAll = ofAll;
    ofAll.opened();
    pipes.unhandled.opened();
  }

  /** A message of its peer. @param bytes valid during the call */
  receive(bytes: Buffer, isBinary: boolean): void {
    if (bytes.length > FUNCTION_SOCKET_MESSAGE_BYTES_MAX) {
      this.fatal(new ServiceError('op.too_large', `a message has at most ${FUNCTION_SOCKET_MESSAGE_BYTES_MAX} bytes`));
      return;
    }
    // A message that is left out would be out of step: its client comes back later, and goes on where it was.
    if (this.#allowance !== null && this.#allowance.spend() !== null) {
      this.end(CloseCode.overloaded, 'op.rate_limited');
      return;
    }
    this.#unhandled(bytes.length);
    const isTooMuch =
      this.#unhandledBytes > FUNCTION_SOCKET_UNHANDLED_BYTES_MAX || this.#pipes.unhandled.isTooMuch(this.#sharedBytes);
    if (isTooMuch) this.end(CloseCode.overloaded, 'session.overloaded');
    else this.#pipes.receive(this, bytes, isBinary);
  }

  /** The worker has handled so much. @throws MalformedFrame when it is more than it was sent */
  handled(bytes: number): void {
    if (bytes > this.#unhandledBytes) throw new MalformedFrame('more of a socket is handled than came');
    this.#unhandled(-bytes);
  }

  /** What the worker has handled and not told yet, as it is not worth a frame, takes no memory: so much is not counted. */
  #unhandled(bytes: number): void {
    this.#unhandledBytes += bytes;
    const sharedBytes = Math.max(0, this.#unhandledBytes - FUNCTION_SOCKET_CREDIT_BYTES);
    if (sharedBytes === this.#sharedBytes) return;
    this.#pipes.unhandled.changed(sharedBytes - this.#sharedBytes);
    this.#sharedBytes = sharedBytes;
  }

  /** What the worker says to its peer. */
  send(message: Buffer): void {
    if (this.#isClosed) return;
    this.#sentMs = performance.now();
    this.#uncreditedBytes += message.length;
    if (this.#unused > 0 && --this.#unused === 0) this.#onUsed();
    this.#ws.send(message as Uint8Array<ArrayBuffer>, false);
    this.credit();
    // It reads nothing: a close frame would wait behind the rest.
    if (!this.#isClosed && this.#ofAll.isTooMuch(this.#owedBytes)) this.#ws.close(); // calls `closed`
  }

  /** The network may have taken something: the worker is told once that is worth a frame. What is sent is looked at from then on, too. */
  credit(): void {
    if (this.#isClosed || (this.#uncreditedBytes < FUNCTION_SOCKET_CREDIT_BYTES && this.#owedBytes === 0)) return;
    const owedBytes = this.#ws.getBufferedAmount();
    this.#ofAll.changed(owedBytes - this.#owedBytes);
    this.#owedBytes = owedBytes;
    const taken = this.#uncreditedBytes - owedBytes;
    if (taken < FUNCTION_SOCKET_CREDIT_BYTES) return;
    this.#uncreditedBytes -= taken;
    this.#pipes.credit(this, taken);
  }

  /** Says that the server is there, to a peer that has heard nothing for long and could hear it. */
  pingIfIdle(nowMs: number): void {
    if (nowMs - this.#sentMs < FUNCTION_SOCKET_PING_MS || this.#ws.getBufferedAmount() > 0) return;
    this.#sentMs = nowMs;
    this.#ws.send(PING, false);
  }

  /** Says why, and closes. */
  fatal(error: ServiceError): void {
    if (this.#isClosed) return;
    this.#ws.send(JSON.stringify({type: 'fatal_error', error: errorEnvelope(error).error}), false);
    this.end(CloseCode.violation, error.code);
  }

  end(code: number, reason: string): void {
    if (!this.#isClosed) this.#ws.end(code, reason); // calls `closed`
  }

  /** The peer is gone; the socket must not be touched any more. */
  closed(): void {
    this.#isClosed = true;
    this.#ofAll.closed(this.#owedBytes);
    this.#pipes.unhandled.closed(this.#sharedBytes);
    this.#pipes.closed(this);
  }
}
