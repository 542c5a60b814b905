/** Which subprotocols an upgrade offers. The list may come in several lines (RFC 6455, 11.3.4), as some proxies send it. */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';

/** @throws protocol.no_overlap 400 */
export function checkOffered(req: HttpRequest, protocol: string): void {
  const offered = offeredProtocols(req);
  if (offered.includes(protocol)) return;
  throw new ServiceError('protocol.no_overlap', `offer ${protocol} in Sec-WebSocket-Protocol`, {
    serverSupports: [protocol],
    clientOffered: offered,
  });
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
