/** The address at the other end of a connection, as text for people. */
import type {HttpResponse} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {parseAddress} from '../../shared/egress/address.ts';

/**
 * Returns IPv4 addresses as such, even if the server listens on IPv6. uWebSockets.js writes IPv6 with all its zeros.
 */
export function peerAddress(res: HttpResponse): string {
  const text = Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
  return text.includes(':') ? (parseAddress(text)?.toString() ?? text) : text;
}
