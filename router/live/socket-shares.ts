/**
 * Who may have a function socket when as many are open as there may be. No credential is needed for one, so whoever knows a tenant's name can
 * open many: they must not keep out the clients of other tenants, nor, as long as they only sit there, those of the same one.
 *
 * Each tenant that has sockets, or wants one, has an equal share. While not all are taken anybody may have more. Then a tenant with less than
 * its share gets a socket of one with more: first a silent one, the oldest, and else the newest of who has most, as those who came before a flood
 * are more likely to be its victims than its makers. A tenant with its share or more gets a socket only for a silent one of its own.
 */
import {ServiceError} from '../../shared/errors.ts';

/** In the order in which they came. `silent`: nothing was ever shown on it, as nothing was asked for. */
type Sockets<Socket> = {readonly silent: Set<Socket>; readonly others: Set<Socket>};

export class SocketShares<Tenant, Socket> {
  readonly #max: number;
  readonly #tenants = new Map<Tenant, Sockets<Socket>>();
  #size = 0;

  /** @param max open at once */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns the socket that has to go for one more of this tenant; null: there is room. @throws session.overloaded */
  placeFor(tenant: Tenant): Socket | null {
    if (this.#size < this.#max) return null;
    const own = this.#tenants.get(tenant);
    const share = this.#max / (this.#tenants.size + (own === undefined ? 1 : 0));
    const gone = own !== undefined && countOf(own) >= share ? first(own.silent) : this.#ofRichest(share);
    if (gone === undefined) throw new ServiceError('session.overloaded', 'too many sockets are open');
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

  /** Something is shown on it. */
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

  /** Only looked for when all are taken: the tenants that have sockets are few beside those. */
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
