/**
 * GET /svc/{tenant_id}/ws. Checks before the upgrade, in this order (the first violation is answered as an HTTP
 * envelope): subprotocol, tenant exists. Pages of any origin can connect without a credential, because the tenant's
 * worker knows its list of origins and judges tokens. After the upgrade the socket is a FunctionSocket, whose messages
 * the worker handles.
 */
import type {HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import type {BufferedBytes} from '../../shared/byte-accounts.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import type {Callers} from '../edge/callers.ts';
import {Exchange, type ExchangeObserver} from '../http/exchange.ts';
import type {RequestIds} from '../http/reply-head.ts';
import {
  FUNCTION_SOCKET_MESSAGE_BYTES_READ,
  FUNCTION_SOCKET_POLL_MS,
  SOCKET_BUFFERED_BYTES_MAX,
  SOCKET_IDLE_SECONDS,
} from '../limits.ts';
import {CloseCode} from '../live/close-code.ts';
import {SocketShares} from '../live/socket-shares.ts';
import {type RateLimits, spendAll} from '../rates/rate-limits.ts';
import {decodedOrSame} from '../routes.ts';
import type {TenantDirectory} from '../tenants/directory.ts';
import {type PlacedTenant, tenantNotFound} from '../tenants/placed-tenant.ts';
import {FunctionSocket, type FunctionSocketData} from './function-socket.ts';
import {checkOffered} from './offered-protocols.ts';

export type FunctionSocketParts = {
  directory: TenantDirectory;
  requestIds: RequestIds;
  observer: ExchangeObserver;
  callers: Callers;
  rateLimits: RateLimits;
  metrics: RouterMetrics;
  /** Simultaneously open sockets, in this router. */
  socketsMax: number;
  /** Bytes buffered for all its sockets. */
  buffered: BufferedBytes;
};

export class FunctionSockets {
  readonly #parts: FunctionSocketParts;
  readonly #open = new Set<FunctionSocket>();
  readonly #shares: SocketShares<PlacedTenant, FunctionSocket>;
  #isDraining = false;

  constructor(parts: FunctionSocketParts) {
    this.#parts = parts;
    parts.metrics.measure('svc_function_sockets', () => this.#open.size);
    parts.metrics.measure('svc_socket_owed_bytes', () => parts.buffered.buffered);
    this.#shares = new SocketShares(parts.socketsMax);
    setInterval(() => this.#poll(), FUNCTION_SOCKET_POLL_MS).unref();
  }

  mount(app: TemplatedApp): void {
    app.ws<FunctionSocketData>('/svc/:tenant/ws', {
      maxPayloadLength: FUNCTION_SOCKET_MESSAGE_BYTES_READ,
      maxBackpressure: SOCKET_BUFFERED_BYTES_MAX,
      closeOnBackpressureLimit: true,
      idleTimeout: SOCKET_IDLE_SECONDS,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: ws => this.#opened(ws),
      message: (ws, message, isBinary) => ws.getUserData().socket?.receive(Buffer.from(message), isBinary),
      drain: ws => ws.getUserData().socket?.credit(),
      close: ws => this.#closed(ws),
    });
  }

  /** Sends every client the request to reconnect; upgrades are refused from now on. */
  drain(): void {
    this.#isDraining = true;
    for (const socket of [...this.#open]) socket.end(CloseCode.restart, 'the server restarts');
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    try {
      const tenant = this.#check(req);
      const data: FunctionSocketData = {socket: null, tenant, origin: req.getHeader('origin')};
      const key = req.getHeader('sec-websocket-key');
      res.upgrade(data, key, FUNCTION_PROTOCOL, req.getHeader('sec-websocket-extensions'), context);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      const requestId = this.#parts.requestIds.next(req.getHeader('x-request-id'));
      const exchange = new Exchange(res, 'GET', requestId, this.#isDraining, this.#parts.observer);
      this.#parts.callers.note(exchange, req);
      exchange.fail(caught);
    }
  }

  #check(req: HttpRequest): PlacedTenant {
    checkOffered(req, FUNCTION_PROTOCOL);
    const id = decodedOrSame(req.getParameter(0) ?? '');
    const tenant = this.#parts.directory.find(id);
    if (tenant === undefined) throw tenantNotFound(id);
    if (this.#isDraining) throw new ServiceError('session.worker_unavailable', 'the server is stopping');
    spendAll([this.#parts.rateLimits.ofTenant(tenant)]);
    const displaced = this.#shares.placeFor(tenant);
    if (displaced !== null) {
      this.#parts.metrics.count('svc_function_sockets_displaced_total');
      displaced.end(CloseCode.overloaded, 'session.overloaded');
    }
    return tenant;
  }

  #opened(ws: WebSocket<FunctionSocketData>): void {
    const data = ws.getUserData();
    const {tenant} = data;
    const {pipes} = tenant;
    const onUsed = () => this.#shares.isUsed(tenant, socket);
    const allowance = this.#parts.rateLimits.ofTenant(tenant);
    const socket: FunctionSocket = new FunctionSocket(
      ws,
      pipes.nextStream(),
      pipes,
      this.#parts.buffered,
      allowance,
      onUsed,
    );
    data.socket = socket;
    this.#open.add(socket);
    this.#shares.opened(tenant, socket);
    this.#parts.directory.functionSocketOpened(data.tenant, socket);
  }

  #closed(ws: WebSocket<FunctionSocketData>): void {
    const {socket, tenant} = ws.getUserData();
    if (socket === null) return;
    this.#open.delete(socket);
    this.#shares.closed(tenant, socket);
    socket.closed();
  }

  #poll(): void {
    const nowMs = performance.now();
    for (const socket of this.#open) socket.pingIfIdle(nowMs);
  }
}
