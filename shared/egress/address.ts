/**
 * Classifies network addresses as public or reserved. Unlike most lists, this one treats an address as public only if
 * it is known to be, so that an overlooked range is closed. An IPv6 address with an IPv4 address inside reaches that
 * IPv4 address (through the kernel or a gateway), so the inner address decides.
 */
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Services that give the machine's credentials to every caller; a name in an allow list never reaches them. */
const METADATA = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
].map(text => ipaddr.parse(text).toByteArray().join('.'));

/** Readable names for ipaddr.js's ranges. A range that is not listed is shown by its own name. */
const RANGE_WORDS: Record<string, string> = {
  unspecified: 'an unspecified',
  loopback: 'a loopback',
  private: 'a private',
  uniqueLocal: 'a private',
  deprecatedSiteLocal: 'a private',
  linkLocal: 'a link-local',
  carrierGradeNat: 'a carrier-grade NAT',
  multicast: 'a multicast',
  broadcast: 'a broadcast',
};

/**
 * The address that this text stands for, with mapped IPv4 addresses as IPv4; null if it is not an address. Only the
 * canonical forms count: `0x7f.1` and `010.0.0.1`, as old C libraries accept them, are names here, and no name server
 * resolves them.
 */
export function parseAddress(text: string): Address | null {
  // The library reports a non-address by an exception, which takes ten times as long as all the rest, so names avoid
  // it.
  if (!text.includes(':')) return parseFourParts(text);
  if (!ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  // The kernel uses the zone only for link-local addresses. Elsewhere one address must not have several names.
  if (address.range() !== 'linkLocal') delete address.zoneId;
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

const FOUR_PARTS = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/;

function parseFourParts(text: string): ipaddr.IPv4 | null {
  if (!FOUR_PARTS.test(text)) return null;
  const octets = text.split('.').map(Number);
  return octets.every(octet => octet <= 255) ? new ipaddr.IPv4(octets) : null;
}

/** Every address that reaches the same host, the given one first: deny entries are compared with all of them. */
export function aliasesOf(address: Address): Address[] {
  const inner = address instanceof ipaddr.IPv6 ? innerIPv4(address) : null;
  return inner === null ? [address] : [address, inner];
}

/** Why connections to this address are refused unless a policy allows it; null: it is public. */
export function reservedReason(address: Address): string | null {
  if (isMetadata(address)) return 'a cloud metadata';
  return address instanceof ipaddr.IPv4 ? reservedIPv4(address) : reservedIPv6(address);
}

/** Addresses that only an address in an allow list opens, never a name: the owner of a name chooses its addresses. */
export function isBeyondNames(address: Address): boolean {
  return aliasesOf(address).some(alias => isMetadata(alias) || alias.range() === 'linkLocal');
}

function isMetadata(address: Address): boolean {
  return METADATA.includes(address.toByteArray().join('.'));
}

function reservedIPv4(address: ipaddr.IPv4): string | null {
  const range = address.range();
  return range === 'unicast' ? null : (RANGE_WORDS[range] ?? 'a reserved');
}

/**
 * Global unicast is 2000::/3 without the ranges that ipaddr.js knows. The well-known NAT64 prefix is as public as the
 * address inside.
 */
function reservedIPv6(address: ipaddr.IPv6): string | null {
  const range = address.range();
  const inner = innerIPv4(address);
  const innerReason = inner === null ? null : reservedReason(inner);
  if (innerReason !== null) return innerReason;
  if (isWellKnownNat64(address)) return null;
  if (range === 'unicast' && (address.parts[0]! & 0xe000) === 0x2000) return null;
  return RANGE_WORDS[range] ?? 'a reserved';
}

function isWellKnownNat64(address: ipaddr.IPv6): boolean {
  return address.match(ipaddr.IPv6.parse('64:ff9b::'), 96);
}

/** The IPv4 address inside a mapped, compatible, translated, NAT64, 6to4, Teredo or ISATAP one. */
function innerIPv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const parts = address.parts;
  if (address.range() === 'unspecified' || address.range() === 'loopback') return null;
  if (parts.slice(0, 6).every(part => part === 0)) return pair(parts[6]!, parts[7]!);
  if (address.range() === 'ipv4Mapped' || address.range() === 'rfc6145') return pair(parts[6]!, parts[7]!);
  if (address.range() === 'rfc6052') return pair(parts[6]!, parts[7]!);
  if (address.range() === '6to4') return pair(parts[1]!, parts[2]!);
  if (address.range() === 'teredo') return pair(parts[6]! ^ 0xffff, parts[7]! ^ 0xffff);
  const isIsatap = (parts[4]! & 0xfdff) === 0 && parts[5] === 0x5efe;
  return isIsatap ? pair(parts[6]!, parts[7]!) : null;
}

function pair(high: number, low: number): ipaddr.IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}
