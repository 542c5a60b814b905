/**
 * One client on /ws.
 *
 *   awaiting_client_hello ──client_hello, protocol = svc.v2──▶ established ──disconnect──▶ closed
 *            └──time-out | bad JSON | other type | wrong protocol | binary──▶ closed
 *                   also: fatal_error frame, close 1008 with the code as reason
 *
 * In `established`, binary frames are ignored, and an invalid text frame gets an error without closing the connection.
 * Frames leave in the order in which they are sent here. Results are published instead (live-topic.ts), which
 * uWebSockets.js keeps in the same order.
 */

import type {WebSocket} from 'uWebSockets.js';
import type {Buffer} from 'node:buffer';
import {randomUUID} from 'node:crypto';
import {Compile} from 'typebox/compile';
import {unreachable} from '../../shared/assert.ts';
import {AwakeTimeout} from '../../shared/awake-timeout.ts';
import type {BufferedBytes} from '../../shared/byte-accounts.ts';
import {asServiceError, errorEnvelope, rateLimited, ServiceError, tooLarge} from '../../shared/errors.ts';
import {HELLO_TIMEOUT_MS} from '../../shared/limits.ts';
import {ClientMessage} from '../../shared/protocol/ws/client-message.ts';
import type {ServerMessage} from '../../shared/protocol/ws/server-message.ts';
import {FEATURES, PROTOCOL} from '../../shared/protocol/ws/version.ts';
import {TokenBucket} from '../../shared/token-bucket.ts';
import {parseJson} from '../../shared/values/json.ts';
import {BUILD, VERSION} from '../../shared/version.ts';
import type {Principal} from '../auth/credentials.ts';
import {judgeTable} from '../auth/rights.ts';
import {SOCKET_FRAME_BYTES_MAX, SOCKET_FRAMES_AT_ONCE, SOCKET_FRAMES_PER_SECOND} from '../limits.ts';
import {type Allowance, spendAll} from '../rates/rate-limits.ts';
import type {PlacedTenant} from '../tenants/placed-tenant.ts';
import {droppedRequestId} from './frame-head.ts';
import {judgeFirstFrame} from './handshake.ts';
import {Subscriptions} from './subscriptions.ts';
import type {UpgradedSocket} from './upgrades.ts';

const clientMessage = Compile(ClientMessage);
const POLICY_VIOLATION = 1008;
const FRAMES = {requests_per_second: SOCKET_FRAMES_PER_SECOND, burst: SOCKET_FRAMES_AT_ONCE};

export type SocketData = {readonly tenant: PlacedTenant; readonly principal: Principal};

export class Connection implements UpgradedSocket {
  readonly tenant: PlacedTenant;
  readonly principal: Principal;
  readonly subscriptions: Subscriptions;
  readonly #ws: WebSocket<SocketData>;
  #state: 'awaiting_client_hello' | 'established' | 'closed' = 'awaiting_client_hello';
  readonly #helloTimeout: AwakeTimeout;
  readonly #frames = new TokenBucket(FRAMES, performance.now());
  readonly #allowances: readonly (Allowance | null)[];

  /**
   * @param ofAll bytes buffered for all sockets of this router
   * @param allowances from which subscriptions are deducted
   */
  constructor(
    ws: WebSocket<SocketData>,
    tenant: PlacedTenant,
    principal: Principal,
    ofAll: BufferedBytes,
    allowances: readonly (Allowance | null)[],
  ) {
    this.#ws = ws;
    this.tenant = tenant;
    this.principal = principal;
    this.#allowances = allowances;
    this.subscriptions = new Subscriptions(ws, this, ofAll);
    this.#helloTimeout = new AwakeTimeout(HELLO_TIMEOUT_MS, () => this.#helloMissing());
    this.send({
      type: 'hello',
      protocol: PROTOCOL,
      server: {version: VERSION, build: BUILD},
      features: FEATURES,
      session: {id: randomUUID(), serverNow: Date.now()},
    });
  }

  /** A frame from the client. @param frame valid during the call */
  receive(frame: Buffer, isBinary: boolean): void {
    switch (this.#state) {
      case 'awaiting_client_hello': {
        const violation = judgeFirstFrame(frame, isBinary);
        if (violation !== null) this.fatal(violation);
        else this.#establish();
        return;
      }
      case 'established':
        if (!isBinary) this.#frame(frame);
        return;
      case 'closed':
        return;
      default:
        unreachable(this.#state);
    }
  }

  drained(): void {
    this.subscriptions.drained();
  }

  poll(): void {
    this.subscriptions.poll();
  }

  send(message: ServerMessage): void {
    if (this.#state !== 'closed') this.#ws.send(JSON.stringify(message));
  }

  error(error: ServiceError): void {
    this.send({type: 'error', error: errorEnvelope(error).error});
  }

  /** Reports a failed request; `detail.code` has the actual error. */
  requestFailed(requestId: string, error: ServiceError): void {
    const {code, message, detail} = error;
    const failed = new ServiceError('op.failed', message, {...detail, code});
    this.send({type: 'op.error', id: requestId, error: errorEnvelope(failed).error});
  }

  /** Sends the reason, and closes. */
  fatal(error: ServiceError): void {
    if (this.#state === 'closed') return;
    this.send({type: 'fatal_error', error: errorEnvelope(error).error});
    this.end(POLICY_VIOLATION, error.code);
  }

  end(code: number, reason: string): void {
    if (this.#state === 'closed') return;
    this.#ws.end(code, reason); // calls `closed`
  }

  /** Closes without a close frame, which would wait behind the unread rest. */
  drop(): void {
    if (this.#state !== 'closed') this.#ws.close(); // calls `closed`
  }

  /** The client is gone; the socket must not be used any more. */
  closed(): void {
    this.#state = 'closed';
    this.#helloTimeout.clear();
    this.subscriptions.end();
  }

  #establish(): void {
    this.#state = 'established';
    this.#helloTimeout.clear();
  }

  #helloMissing(): void {
    this.fatal(
      new ServiceError('protocol.hello_timeout', `client_hello did not arrive within ${HELLO_TIMEOUT_MS} ms`, {
        timeoutMs: HELLO_TIMEOUT_MS,
      }),
    );
  }

  #frame(frame: Buffer): void {
    try {
      this.#checkRate();
      checkLength(frame);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#dropped(frame, caught);
      return;
    }
    try {
      this.#handle(decode(frame));
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.error(caught);
    }
  }

  /** Drops the frame without parsing it. If it was a subscribe, the client gets an error under its id. */
  #dropped(frame: Buffer, error: ServiceError): void {
    const requestId = droppedRequestId(frame);
    if (requestId === null) this.error(error);
    else this.requestFailed(requestId, error);
  }

  #handle(message: ClientMessage): void {
    switch (message.type) {
      case 'subscribe':
        this.#subscribe(message.request_id, message.query);
        return;
      case 'unsubscribe':
        this.subscriptions.remove(message.subscription_id);
        return;
      case 'clear_auth':
        this.send({type: 'authenticated', is_authenticated: false});
        return;
      case 'authenticate':
        throw new ServiceError('auth.unauthorized', 'authentication is not supported on the generic websocket route');
      default:
        unreachable(message);
    }
  }

  #subscribe(requestId: string, query: unknown): void {
    try {
      spendAll(this.#allowances);
      judgeTable(this.principal, (query as {table?: unknown} | null | undefined)?.table);
      this.subscriptions.add(requestId, query);
    } catch (caught) {
      this.requestFailed(requestId, asServiceError(caught));
      if (!(caught instanceof ServiceError)) throw caught;
    }
  }

  #checkRate(): void {
    if (this.#frames.take(performance.now())) return;
    throw rateLimited(`more than ${SOCKET_FRAMES_PER_SECOND} frames a second; this one was dropped`);
  }
}

/** @throws op.too_large */
function checkLength(frame: Buffer): void {
  if (frame.length <= SOCKET_FRAME_BYTES_MAX) return;
  throw tooLarge(`a frame has at most ${SOCKET_FRAME_BYTES_MAX} bytes`);
}

/** @throws protocol.invalid_json */
function decode(frame: Buffer): ClientMessage {
  let message: unknown;
  try {
    message = parseJson(frame);
  } catch (caught) {
    throw new ServiceError('protocol.invalid_json', asServiceError(caught).message.replace('the body', 'the frame'));
  }
  if (clientMessage.Check(message)) return message;
  throw new ServiceError(
    'protocol.invalid_json',
    'the frame is not a client message: subscribe {request_id, query}, unsubscribe {subscription_id}, clear_auth or authenticate',
  );
}
