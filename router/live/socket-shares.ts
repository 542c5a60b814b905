/**
 * Decides which clients get a function socket when the maximum is open. Function sockets need no credential, so anyone
 * who knows a tenant's name can open many. They must not keep out the clients of other tenants nor, while they are
 * idle, other clients of the same tenant.
 *
 * Each tenant that has sockets, or requests one, has an equal share. Below the maximum any tenant can exceed its share.
 * At the maximum, a tenant below its share replaces a socket of a tenant above its share: preferably the oldest silent
 * one, otherwise the newest one of the tenant with the most, because clients that came before a flood are more likely
 * its victims than its source. A tenant that has its share can only replace a silent socket of its own.
 */
import {overloaded} from '../../shared/errors.ts';

/** In order of arrival. `silent`: nothing was ever requested on the socket, so nothing was shown on it. */
type Sockets<Socket> = {readonly silent: Set<Socket>; readonly others: Set<Socket>};

export class SocketShares<Tenant, Socket> {
  readonly #max: number;
  readonly #tenants = new Map<Tenant, Sockets<Socket>>();
  #size = 0;

  /** @param max simultaneously open sockets */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * @returns the socket to be closed in favour of a new one of this tenant; null: the maximum is not reached.
   * @throws session.overloaded
   */
  placeFor(tenant: Tenant): Socket | null {
    if (this.#size < this.#max) return null;
    const own = this.#tenants.get(tenant);
    const share = this.#max / (this.#tenants.size + (own === undefined ? 1 : 0));
    const gone = own !== undefined && countOf(own) >= share ? first(own.silent) : this.#ofRichest(share);
    if (gone === undefined) throw overloaded('too many sockets are open');
    return gone;
  }

  opened(tenant: Tenant, socket: Socket): void {
    let sockets = this.#tenants.get(tenant);
    if (sockets === undefined) {
      sockets = {silent: new Set(), others: new Set()};
      this.#tenants.set(tenant, sockets);
    }
    sockets.silent.add(socket);
    this.#size++;
  }

  /** The socket has been used, so it is not silent any more. */
  isUsed(tenant: Tenant, socket: Socket): void {
    const sockets = this.#tenants.get(tenant);
    if (sockets?.silent.delete(socket) === true) sockets.others.add(socket);
  }

  closed(tenant: Tenant, socket: Socket): void {
    const sockets = this.#tenants.get(tenant);
    if (sockets === undefined || !(sockets.silent.delete(socket) || sockets.others.delete(socket))) return;
    this.#size--;
    if (countOf(sockets) === 0) this.#tenants.delete(tenant);
  }

  /**
   * A linear search, because it is only needed at the maximum, and there are far fewer tenants with sockets than
   * sockets.
   */
  #ofRichest(share: number): Socket | undefined {
    let silent: Sockets<Socket> | null = null;
    let richest: Sockets<Socket> | null = null;
    for (const sockets of this.#tenants.values()) {
      const count = countOf(sockets);
      if (count <= share) continue;
      if (richest === null || count > countOf(richest)) richest = sockets;
      if (sockets.silent.size > 0 && (silent === null || count > countOf(silent))) silent = sockets;
    }
    if (silent !== null) return first(silent.silent);
    return richest === null ? undefined : [...richest.others].at(-1);
  }
}

function countOf({silent, others}: Sockets<unknown>): number {
  return silent.size + others.size;
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  const [oldest] = set;
  return oldest;
}
