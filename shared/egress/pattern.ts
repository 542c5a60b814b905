/**
 * Parses and matches one entry of an egress policy: a host, an address or a range, optionally with a port.
 *
 *     api.example.com   api.example.com:8443   *.example.com   10.0.0.0/8   127.0.0.1:9000   [::1]:80   2001:db8::/32
 */
import {type AddressRange, isInRange, parseRange, rangeOf} from '../address-range.ts';
import {EGRESS_PATTERN_CHARS_MAX} from '../limits.ts';
import {type Address, parseAddress} from './address.ts';

export type EgressPattern =
  /** `port` null: every port. */
  | {kind: 'host'; host: string; port: number | null}
  /** `*.example.com`: every name below it, not the name itself. `suffix` begins with the dot. */
  | {kind: 'suffix'; suffix: string; port: number | null}
  | ({kind: 'range'; port: number | null} & AddressRange);

const FORMS =
  'write a host name, `*.example.com`, an address or a range like `10.0.0.0/8`, and `:port` after all but ranges';

/** What is wrong with an entry, as text for its author; null: nothing. */
export function checkEgressPattern(text: string): string | null {
  const pattern = parseEgressPattern(text);
  return typeof pattern === 'string' ? pattern : null;
}

/** The entry, or a text that says what is wrong with it. */
export function parseEgressPattern(text: string): EgressPattern | string {
  if (text.length > EGRESS_PATTERN_CHARS_MAX) {
    return `an egress entry is ${text.length} characters long; at most ${EGRESS_PATTERN_CHARS_MAX} are allowed`;
  }
  const wrong = `${JSON.stringify(text)} is not an egress entry: ${FORMS}`;
  if (text.includes('/')) {
    const range = parseRange(text);
    return range === null ? wrong : {kind: 'range', ...range, port: null};
  }
  const bare = parseAddress(text);
  if (bare !== null) return single(bare, null);
  const parts = /^(\[[^\]]*\]|[^:[\]]+)(?::([0-9]{1,5}))?$/.exec(text);
  if (parts === null) return wrong;
  const port = parts[2] === undefined ? null : Number(parts[2]);
  if (port !== null && (port < 1 || port > 65_535)) return `${JSON.stringify(text)} has no valid port: 1 to 65535`;
  return parseHost(parts[1]!, port) ?? wrong;
}

/** Whether the pattern names this host (as in a URL, see `plainHost`). False for a pattern that names addresses. */
export function matchesName(pattern: EgressPattern, host: string, port: number): boolean {
  if (pattern.kind === 'range' || !matchesPort(pattern, port)) return false;
  return pattern.kind === 'host' ? host === pattern.host : host.endsWith(pattern.suffix);
}

export function matchesAddress(pattern: EgressPattern, address: Address, port: number): boolean {
  return pattern.kind === 'range' && matchesPort(pattern, port) && isInRange(pattern, address);
}

/** A host as policies compare it: lower case, punycode, without the dot of the root; addresses without brackets. */
export function plainHost(hostname: string): string {
  const lower = hostname.toLowerCase();
  if (lower.startsWith('[') && lower.endsWith(']')) return lower.slice(1, -1);
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

function matchesPort(pattern: EgressPattern, port: number): boolean {
  return pattern.port === null || pattern.port === port;
}

function single(address: Address, port: number | null): EgressPattern {
  return {kind: 'range', ...rangeOf(address), port};
}

function parseHost(text: string, port: number | null): EgressPattern | null {
  const address = parseAddress(text.startsWith('[') ? text.slice(1, -1) : text);
  if (address !== null) return single(address, port);
  const isSuffix = text.startsWith('*.');
  const name = canonicalName(isSuffix ? text.slice(2) : text);
  if (name === null) return null;
  return isSuffix ? {kind: 'suffix', suffix: `.${name}`, port} : {kind: 'host', host: name, port};
}

/** The name as a URL would contain it; null if a URL could not, or would read it as an address. */
function canonicalName(text: string): string | null {
  if (!URL.canParse(`http://${text}/`)) return null;
  const url = new URL(`http://${text}/`);
  if (url.username !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') return null;
  const host = plainHost(url.hostname);
  return /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(host) && !host.includes('..') && parseAddress(host) === null
    ? host
    : null;
}
