/**
 * Where a tenant's code, and the look-up of its auth providers' keys, may connect to. The public internet is open; this
 * machine with all its addresses, private networks and everything reserved is closed; a tenant's lists open and close more. Deny wins over allow.
 *
 * The address decides, not the name: `check` is asked with the very address a connection is made to, after name resolution,
 * for each connection, redirects included.
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

/** All addresses of a name; rejects when it has none, and when the look-up is given up. */
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
   * @param own addresses of this machine, as `Address.toString` has them
   */
  static of(settings: EgressSettings, resolve: Resolve, own = ownAddresses): EgressPolicy {
    return new EgressPolicy(settings.allow.map(parsed), settings.deny.map(parsed), resolve, own);
  }

  /** Why no connection to `address` may be made for `hostname:port`; null: it may. */
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

  /** Does the allow list open this address, which is reserved or this machine's? */
  #opens(host: string, port: number, address: Address, isPublic: boolean): boolean {
    if (this.#allow.some(entry => matchesAddress(entry, address, port))) return true;
    // A name that is open because its address was public must not reach this machine once it leads here.
    return !isPublic && !isBeyondNames(address) && this.#allow.some(entry => matchesName(entry, host, port));
  }

  /**
   * The addresses of `hostname` that may be connected to: at least one.
   * @throws EgressRefused when there is none, or what the resolver rejected with
   */
  async addresses(hostname: string, port: number, signal: AbortSignal): Promise<string[]> {
    const literal = parseAddress(plainHost(hostname)) !== null;
    const host = plainHost(hostname);
    // A denied name is not even asked for: questions to name servers carry data too.
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
