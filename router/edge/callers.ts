/**
 * Determines the address that a request comes from: the connected peer or, if that is a trusted proxy
 * (--trusted-proxy), the address that the proxy names. With several proxies, each names the one before it, so the
 * caller is the right-most address that is not a trusted proxy. Entries to its left can be forged. If a trusted proxy
 * names no address, the proxy itself counts as the caller, because it is the last known address.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {type AddressRange, isInRange, parseRange, rangeOf} from '../../shared/address-range.ts';
import {assert} from '../../shared/assert.ts';
import {type Address, parseAddress} from '../../shared/egress/address.ts';
import {FORWARDED_HOPS_MAX, FORWARDED_KEPT_CHARS_MAX, FORWARDED_LISTS_KEPT} from '../limits.ts';
import {addressIn, fromTheRight, hopListsOf, parameterOf} from './forwarded-header.ts';

/**
 * Which `X-Forwarded-` headers of a request count: all, because a trusted proxy sent it; none; or, if no proxy is
 * configured, only the scheme.
 */
export type Believed = 'all' | 'none' | 'scheme';

/** For each header: the addresses that the proxies name, the last one first. */
const HOPS = {
  forwardedFor: (list: string) => fromTheRight(list),
  forwarded: (list: string) => fromTheRight(list, element => parameterOf(element, 'for')),
};

/** The parts of an exchange that are used here. */
type Called = {readonly address: string; knownAddress: string; isFromProxy: boolean};

export class Callers {
  readonly #trusted: readonly AddressRange[];
  readonly #notesAll: boolean;
  /** The latest peer, and whether it is trusted. It is cached because most requests come through one proxy. */
  #peer = '';
  #isTrustedPeer = false;

  /** The callers found for recent lists, for `X-Forwarded-For` and for `Forwarded`, the oldest entry first. */
  readonly #known: Record<keyof typeof HOPS, Map<string, string | null>> = {
    forwardedFor: new Map(),
    forwarded: new Map(),
  };

  /**
   * @param trusted addresses and ranges
   * @param notesAll addresses of all requests are needed, for the log
   */
  constructor(trusted: readonly string[], notesAll: boolean) {
    this.#trusted = trusted.map(rangeIn);
    this.#notesAll = notesAll;
  }

  /** Must be called while the request can be read. */
  note(called: Called, req: HttpRequest): void {
    if (this.#trusted.length === 0) {
      if (this.#notesAll) called.knownAddress = called.address;
      return;
    }
    const peer = called.address;
    if (peer !== this.#peer) {
      this.#isTrustedPeer = this.#trusts(parseAddress(peer));
      this.#peer = peer;
    }
    if (!this.#isTrustedPeer) return;
    called.isFromProxy = true;
    called.knownAddress = this.#named(req) ?? peer;
  }

  believed(called: Called): Believed {
    if (this.#trusted.length === 0) return 'scheme';
    return called.isFromProxy ? 'all' : 'none';
  }

  /** Null: the request names no caller. */
  #named(req: HttpRequest): string | null {
    const {forwardedFor, forwarded} = hopListsOf(req);
    if (forwardedFor !== '') return this.#namedIn('forwardedFor', forwardedFor);
    return forwarded === '' ? null : this.#namedIn('forwarded', forwarded);
  }

  #namedIn(header: keyof typeof HOPS, list: string): string | null {
    const known = this.#known[header];
    let name = known.get(list);
    if (name === undefined) {
      name = this.#rightMost(HOPS[header](list));
      if (list.length > FORWARDED_KEPT_CHARS_MAX) return name;
      known.set(list, name);
      if (known.size > FORWARDED_LISTS_KEPT) known.delete(known.keys().next().value!);
    }
    return name;
  }

  /**
   * @param hops the addresses that the proxies name, the last one first.
   * @returns the first one that is not a trusted proxy; null: none is named
   */
  #rightMost(hops: Iterable<string>): string | null {
    let known: Address | null = null;
    let count = 0;
    for (const hop of hops) {
      const address = count++ === FORWARDED_HOPS_MAX ? null : addressIn(hop);
      if (address === null) break;
      known = address;
      if (!this.#trusts(address)) break;
    }
    return known === null ? null : known.toString();
  }

  #trusts(address: Address | null): boolean {
    return address !== null && this.#trusted.some(range => isInRange(range, address));
  }
}

function rangeIn(text: string): AddressRange {
  const address = parseAddress(text);
  const range = address === null ? parseRange(text) : rangeOf(address);
  assert(range !== null, `${text} was checked where it was given`);
  return range;
}
