/**
 * A range of network addresses, such as `10.0.0.0/8`, or a single address; IPv4 or IPv6. Mapped IPv4 addresses count as
 * IPv4.
 */
import ipaddr from 'ipaddr.js';
import {type Address, parseAddress} from './egress/address.ts';

export type AddressRange = {base: Address; bits: number};

/** Null if the text is not an address range. */
export function parseRange(text: string): AddressRange | null {
  const parts = /^([^/]+)\/([0-9]{1,3})$/.exec(text);
  if (parts === null) return null;
  const written = parts[1]!;
  const base = parseAddress(written);
  if (base === null) return null;
  // `::ffff:10.0.0.0/104` is 10.0.0.0/8.
  const mapped = base instanceof ipaddr.IPv4 && written.includes(':');
  const bits = Number(parts[2]) - (mapped ? 96 : 0);
  return bits < 0 || bits > bitsOf(base) ? null : {base, bits};
}

/** The range that contains only this address. */
export function rangeOf(address: Address): AddressRange {
  return {base: address, bits: bitsOf(address)};
}

export function isInRange({base, bits}: AddressRange, address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits);
  return base instanceof ipaddr.IPv6 && address.match(base, bits);
}

function bitsOf(address: Address): number {
  return address instanceof ipaddr.IPv4 ? 32 : 128;
}
