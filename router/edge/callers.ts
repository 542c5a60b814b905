/**
 * Whose a request is: the address that connected, or, where that is a trusted proxy (--trusted-proxy), the one that it names. Of
 * several proxies each names the one before it, so the caller is the right-most address that is not a trusted proxy's. What is left of it
 * anybody may have written. Where a trusted proxy names no address, it counts itself: it is the last one that is known.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {type AddressRange, isInRange, parseRange, rangeOf} from '../../shared/address-range.ts';
import {assert} from '../../shared/assert.ts';
import {type Address, parseAddress} from '../../shared/egress/address.ts';
import {FORWARDED_HOPS_MAX, FORWARDED_KEPT_CHARS_MAX, FORWARDED_LISTS_KEPT} from '../limits.ts';
import {addressIn, fromTheRight, hopListsOf, parameterOf} from './forwarded-header.ts';

/** Which of a request's `X-Forwarded-` headers count: all, because a trusted proxy sent it; none; or, where no proxy is named, the scheme. */
export type Believed = 'all' | 'none' | 'scheme';

/** Of each header: who each proxy says called it, the last one first. */
const HOPS = {
  forwardedFor: (list: string) => fromTheRight(list),
  forwarded: (list: string) => fromTheRight(list, element => parameterOf(element, 'for')),
};

/** What of an exchange is known here. */
type Called = {readonly address: string; knownAddress: string; isFromProxy: boolean};

export class Callers {
  readonly #trusted: readonly AddressRange[];
  readonly #notesAll: boolean;
  /** The latest peer, and whether it is trusted: most requests come through one proxy. */
  #peer = '';
  #isTrustedPeer = false;

  /** Who is named by the lists of the latest callers, by `X-Forwarded-For` and by `Forwarded`, those found first first. */
  readonly #known: Record<keyof typeof HOPS, Map<string, string | null>> = {
    forwardedFor: new Map(),
    forwarded: new Map(),
  };

  /** @param trusted addresses and ranges, @param notesAll addresses are wanted of all requests, for the log */
  constructor(trusted: readonly string[], notesAll: boolean) {
    this.#trusted = trusted.map(rangeIn);
    this.#notesAll = notesAll;
  }

  /** Called while the request can be read. */
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

  /** Null: none. */
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

  /** @param hops who each proxy says called it, the last one first. @returns the first that is no trusted proxy; null: none is named */
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
