/**
 * GET /svc/{tenant_id}/ws. Checks before the upgrade, in this order (the first violation is answered as an HTTP
 * envelope): subprotocol, tenant exists. Pages of any origin can connect without a credential, because the tenant's
 * worker knows its list of origins and judges tokens. After the upgrade the socket is a FunctionSocket, whose messages
 * the worker handles.
 */
import type {HttpRequest, WebSocket} from 'uWebSockets.js';
import {unavailable} from '../../shared/errors.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import {FUNCTION_SOCKET_MESSAGE_BYTES_READ} from '../limits.ts';
import {CloseCode} from '../live/close-code.ts';
import {SocketShares} from '../live/socket-shares.ts';
import {spendAll} from '../rates/rate-limits.ts';
import {decodedOrSame} from '../routes.ts';
import type {PlacedTenant} from '../tenants/placed-tenant.ts';
import {FunctionSocket, type FunctionSocketData} from './function-socket.ts';
import {checkOffered, requireSurface, type UpgradeParts, Upgrades} from './upgrades.ts';

const ROUTE = {
  paths: ['/svc/:tenant/ws'],
  protocol: FUNCTION_PROTOCOL,
  messageBytesRead: FUNCTION_SOCKET_MESSAGE_BYTES_READ,
};

export class FunctionSockets extends Upgrades<FunctionSocketData, FunctionSocket> {
  readonly #parts: UpgradeParts;
  readonly #shares: SocketShares<PlacedTenant, FunctionSocket>;

  constructor(parts: UpgradeParts) {
    super(ROUTE, parts);
    this.#parts = parts;
    parts.metrics.measure('svc_function_sockets', () => this.open.size);
    parts.metrics.measure('svc_socket_owed_bytes', () => parts.buffered.buffered);
    this.#shares = new SocketShares(parts.socketsMax);
  }

  protected admit(req: HttpRequest): FunctionSocketData {
    requireSurface(req, this.#parts.surfaces, 'deployment');
    checkOffered(req, FUNCTION_PROTOCOL);
    const id = decodedOrSame(req.getParameter(0) ?? '');
    const tenant = this.#parts.directory.find(id);
    if (tenant === undefined) throw this.#parts.directory.refusalOf(id);
    if (this.isDraining) throw unavailable('the server is stopping');
    spendAll([this.#parts.rateLimits.ofTenant(tenant)]);
    const displaced = this.#shares.placeFor(tenant);
    if (displaced !== null) {
      this.#parts.metrics.count('svc_function_sockets_displaced_total');
      displaced.end(CloseCode.overloaded, 'session.overloaded');
    }
    return {tenant, origin: req.getHeader('origin')};
  }

  protected opened(ws: WebSocket<FunctionSocketData>): FunctionSocket {
    const {tenant} = ws.getUserData();
    const {pipes} = tenant;
    const {rateLimits, buffered, directory} = this.#parts;
    const onUsed = () => this.#shares.isUsed(tenant, socket);
    const allowance = rateLimits.ofTenant(tenant);
    const socket: FunctionSocket = new FunctionSocket(ws, pipes.nextStream(), pipes, buffered, allowance, onUsed);
    this.#shares.opened(tenant, socket);
    directory.functionSocketOpened(tenant, socket);
    return socket;
  }

  protected left({tenant}: FunctionSocketData, socket: FunctionSocket): void {
    this.#shares.closed(tenant, socket);
  }
}
