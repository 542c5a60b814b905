/**
 * Addresses of the machine's own interfaces, including public ones, because services that listen there may be meant for
 * this machine only.
 */
import {networkInterfaces} from 'node:os';
import {parseAddress} from '../shared/egress/address.ts';
import {EGRESS_OWN_ADDRESSES_POLL_MS} from './limits.ts';

let known: ReadonlySet<string> = new Set();
let lookedMs = Number.NEGATIVE_INFINITY;

/** In the format of `Address.toString`. */
export function ownAddresses(): ReadonlySet<string> {
  const nowMs = performance.now();
  if (nowMs - lookedMs < EGRESS_OWN_ADDRESSES_POLL_MS) return known;
  lookedMs = nowMs;
  const found = Object.values(networkInterfaces()).flatMap(interfaces => interfaces ?? []);
  known = new Set(found.map(({address}) => parseAddress(address)?.toString() ?? address));
  return known;
}
