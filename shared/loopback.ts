/** Decides which hosts only this machine can reach: one rule for listen addresses and for accepted `Host` names. */
import {isIPv4} from 'node:net';

/** @param host a name or address, IPv6 with or without brackets, without a port */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || (host.startsWith('127.') && isIPv4(host));
}
