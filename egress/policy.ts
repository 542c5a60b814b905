/**
 * Decides where a tenant's code, and the fetch of its auth providers' keys, can connect to. The public internet is
 * open; this machine with all its addresses, private networks and reserved addresses are closed. A tenant's lists open
 * and close more; deny wins over allow.
 *
 * The decision is about the address, not the name: `check` gets the exact address that is connected to, after name
 * resolution, for each connection, including redirects.
 */
import {assert} from '../shared/assert.ts';
import {type Address, aliasesOf, isBeyondNames, parseAddress, reservedReason} from '../shared/egress/address.ts';
import {
  type EgressPattern,
  matchesAddress,
  matchesName,
  parseEgressPattern,
  plainHost,
} from '../shared/egress/pattern.ts';
import {EgressRefused} from '../shared/egress/refused.ts';
import type {EgressSettings} from '../shared/ipc/egress.ts';
import {EGRESS_ADDRESSES_MAX} from './limits.ts';
import {ownAddresses} from './own-addresses.ts';

/** Resolves to all addresses of a name; rejects if it has none, or if the look-up is aborted. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<string[]>;

export class EgressPolicy {
  readonly #allow: EgressPattern[];
  readonly #deny: EgressPattern[];
  readonly #resolve: Resolve;
  readonly #own: () => ReadonlySet<string>;

  private constructor(allow: EgressPattern[], deny: EgressPattern[], resolve: Resolve, own: () => ReadonlySet<string>) {
    this.#allow = allow;
    this.#deny = deny;
    this.#resolve = resolve;
    this.#own = own;
  }

  /**
   * @param settings checked with `checkEgressPattern` when they were stored
   * @param own addresses of this machine, in the format of `Address.toString`
   */
  static of(settings: EgressSettings, resolve: Resolve, own = ownAddresses): EgressPolicy {
    return new EgressPolicy(settings.allow.map(parsed), settings.deny.map(parsed), resolve, own);
  }

  /** @returns why a connection to `address` for `hostname:port` is refused; null: it is allowed */
  check(hostname: string, port: number, address: string): string | null {
    const at = parseAddress(address);
    if (at === null) return refusal(hostname, port, `${JSON.stringify(address)} is not an address`);
    const host = plainHost(hostname);
    const denied = this.#deny.some(
      entry => matchesName(entry, host, port) || aliasesOf(at).some(alias => matchesAddress(entry, alias, port)),
    );
    if (denied) return refusal(hostname, port, `${at.toString()} is denied`);
    const reason = reservedReason(at);
    const isOwn = aliasesOf(at).some(alias => this.#own().has(alias.toString()));
    if (reason === null && !isOwn) return null;
    if (this.#opens(host, port, at, reason === null)) return null;
    const what = reason === null ? 'an address of this machine' : `${reason} address`;
    return refusal(hostname, port, `${at.toString()} is ${what}`);
  }

  /** Whether the allow list opens this address, which is reserved or belongs to this machine. */
  #opens(host: string, port: number, address: Address, isPublic: boolean): boolean {
    if (this.#allow.some(entry => matchesAddress(entry, address, port))) return true;
    // A name that is allowed because its address was public must not reach this machine after its address changes.
    return !isPublic && !isBeyondNames(address) && this.#allow.some(entry => matchesName(entry, host, port));
  }

  /**
   * The allowed addresses of `hostname`, at least one.
   * @throws EgressRefused if none is allowed, or the error of the resolver
   */
  async addresses(hostname: string, port: number, signal: AbortSignal): Promise<string[]> {
    const literal = parseAddress(plainHost(hostname)) !== null;
    const host = plainHost(hostname);
    // A denied name is not resolved either, because DNS queries can carry data.
    if (this.#deny.some(entry => matchesName(entry, host, port))) {
      throw new EgressRefused(refusal(hostname, port, `${host} is denied`));
    }
    const found = literal ? [host] : (await this.#resolve(host, signal)).slice(0, EGRESS_ADDRESSES_MAX);
    let reason = refusal(hostname, port, 'the name has no address');
    const open = found.filter(address => {
      const why = this.check(hostname, port, address);
      if (why !== null) reason = why;
      return why === null;
    });
    if (open.length === 0) throw new EgressRefused(reason);
    return open;
  }
}

function parsed(text: string): EgressPattern {
  const pattern = parseEgressPattern(text);
  assert(typeof pattern !== 'string', `egress entries are checked before they are stored: ${pattern}`);
  return pattern;
}

function refusal(hostname: string, port: number, why: string): string {
  return `Connection to ${hostname}:${port} refused by the tenant's egress policy: ${why}`;
}
