/**
 * Reads the subprotocols that an upgrade offers, including the key that a page in a browser can offer among them. The
 * list may be split over several lines (RFC 6455, 11.3.4), as some proxies send it.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import {KEY_PREFIX} from '../../shared/key-prefix.ts';

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
