/**
 * The upgrade of HTTP requests to sockets, for both kinds of sockets: `sockets.ts` and `function-sockets.ts` have their
 * rules. A request that violates one is answered with an HTTP envelope, any other becomes a socket, which is open until
 * either side closes it or the router is drained.
 */
import type {HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import type {BufferedBytes} from '../../shared/byte-accounts.ts';
import {notFound, ServiceError} from '../../shared/errors.ts';
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import type {Principal} from '../auth/credentials.ts';
import type {Surface, Surfaces} from '../dashboard/surfaces.ts';
import type {Callers} from '../edge/callers.ts';
import {Exchange, type ExchangeObserver} from '../http/exchange.ts';
import type {RequestIds} from '../http/reply-head.ts';
import {FUNCTION_SOCKET_POLL_MS, SOCKET_BUFFERED_BYTES_MAX, SOCKET_IDLE_SECONDS} from '../limits.ts';
import {CloseCode} from '../live/close-code.ts';
import type {RateLimits} from '../rates/rate-limits.ts';
import type {TenantDirectory} from '../tenants/directory.ts';

export type UpgradeParts = {
  directory: TenantDirectory;
  surfaces: Surfaces;
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

/** Where the sockets of one kind are, and what their clients must offer and can send. */
export type UpgradeRoute = {
  readonly paths: readonly string[];
  readonly protocol: string;
  readonly messageBytesRead: number;
};

export interface UpgradedSocket {
  /** A message from the client. @param bytes valid during the call */
  receive(bytes: Buffer, isBinary: boolean): void;
  /** The network may have taken bytes. */
  drained(): void;
  /** Called at intervals, because no event reports a network that takes nothing. */
  poll(nowMs: number): void;
  end(code: number, reason: string): void;
  /** The client is gone; the socket must not be used any more. */
  closed(): void;
}

/** An upgrade that is being judged. The sender is set before it is judged, because the record of a refusal names it. */
export type Attempt = {principal: Principal};

/** What uWebSockets.js keeps with a socket. `socket`: null until it is open. */
export type Upgraded<Data, Socket> = Data & {socket: Socket | null};

export abstract class Upgrades<Data, Socket extends UpgradedSocket> {
  protected readonly open = new Set<Socket>();
  protected isDraining = false;
  readonly #route: UpgradeRoute;
  readonly #parts: UpgradeParts;

  constructor(route: UpgradeRoute, parts: UpgradeParts) {
    this.#route = route;
    this.#parts = parts;
    setInterval(() => this.#poll(), FUNCTION_SOCKET_POLL_MS).unref();
  }

  /** Checks a request. @throws ServiceError for the first violation */
  protected abstract admit(req: HttpRequest, attempt: Attempt): Data;
  protected abstract opened(ws: WebSocket<Upgraded<Data, Socket>>): Socket;
  /** The socket is not open any more. */
  protected abstract left(data: Data, socket: Socket): void;

  /** Answers a request that violates a rule. */
  protected refuse(exchange: Exchange, error: ServiceError, _req: HttpRequest): void {
    exchange.fail(error);
  }

  mount(app: TemplatedApp): void {
    for (const path of this.#route.paths) this.#mount(app, path);
  }

  #mount(app: TemplatedApp, path: string): void {
    app.ws<Upgraded<Data, Socket>>(path, {
      maxPayloadLength: this.#route.messageBytesRead,
      maxBackpressure: SOCKET_BUFFERED_BYTES_MAX,
      closeOnBackpressureLimit: true,
      idleTimeout: SOCKET_IDLE_SECONDS,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: ws => this.#opened(ws),
      // A view that is valid during the call: code that keeps a part parses or copies it.
      message: (ws, message, isBinary) => ws.getUserData().socket?.receive(Buffer.from(message), isBinary),
      drain: ws => ws.getUserData().socket?.drained(),
      close: ws => this.#closed(ws),
    });
  }

  /** Sends every client the request to reconnect; upgrades are refused from now on. */
  drain(): void {
    this.isDraining = true;
    for (const socket of [...this.open]) socket.end(CloseCode.restart, 'the server restarts');
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const attempt: Attempt = {principal: null};
    try {
      const data: Upgraded<Data, Socket> = {...this.admit(req, attempt), socket: null};
      const key = req.getHeader('sec-websocket-key');
      res.upgrade(data, key, this.#route.protocol, req.getHeader('sec-websocket-extensions'), context);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      const requestId = this.#parts.requestIds.next(req.getHeader('x-request-id'));
      const exchange = new Exchange(res, 'GET', requestId, this.isDraining, this.#parts.observer);
      this.#parts.callers.note(exchange, req);
      exchange.principal = attempt.principal;
      this.refuse(exchange, caught, req);
      exchange.handled();
    }
  }

  #opened(ws: WebSocket<Upgraded<Data, Socket>>): void {
    const socket = this.opened(ws);
    ws.getUserData().socket = socket;
    this.open.add(socket);
  }

  #closed(ws: WebSocket<Upgraded<Data, Socket>>): void {
    const data = ws.getUserData();
    const {socket} = data;
    if (socket === null) return;
    this.open.delete(socket);
    this.left(data, socket);
    socket.closed();
  }

  #poll(): void {
    const nowMs = performance.now();
    for (const socket of this.open) socket.poll(nowMs);
  }
}

/** Another surface of the same port has no such sockets. @throws op.not_found 404 */
export function requireSurface(req: HttpRequest, surfaces: Surfaces, surface: Surface): void {
  if (surfaces.of(req.getHeader('host'), req.getUrl()) === surface) return;
  throw notFound('there is no such route on this host', {missing: 'route'});
}

/* ── subprotocols ── */

/** @throws protocol.no_overlap 400 */
export function checkOffered(req: HttpRequest, protocol: string): void {
  const offered = offeredProtocols(req);
  if (offered.includes(protocol)) return;
  throw new ServiceError('protocol.no_overlap', `offer ${protocol} in Sec-WebSocket-Protocol`, {
    serverSupports: [protocol],
    // Messages are shown and stored, so they must not contain the key.
    clientOffered: offered.map(name => (name.startsWith(KEY_PREFIX) ? `${KEY_PREFIX}…` : name)),
  });
}

/** The first key secret that is offered as a subprotocol; null: none. */
export function offeredKey(req: HttpRequest): string | null {
  return offeredProtocols(req).find(name => name.startsWith(KEY_PREFIX)) ?? null;
}

/** The list may be split over several lines (RFC 6455, 11.3.4), as some proxies send it. */
function offeredProtocols(req: HttpRequest): string[] {
  const lines: string[] = [];
  req.forEach((name, value) => {
    if (name === 'sec-websocket-protocol') lines.push(value);
  });
  return lines
    .join(',')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');
}
