/** Which hosts only this machine reaches: one rule for what may be listened on and for whose names are served. */
import {isIPv4} from 'node:net';

/** @param host a name or address, IPv6 with or without brackets, without a port */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || (host.startsWith('127.') && isIPv4(host));
}
