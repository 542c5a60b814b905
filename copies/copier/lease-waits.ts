/** Whether another one has the lease of the repository, or it ends by itself and this server waits for that. */
import type {CopierSettings} from '../../shared/ipc/copier.ts';
import {LEASE_MS, LEASE_RENEW_MS} from '../limits.ts';
import {type LeaseHolder, RepositoryError} from '../repository/repository-error.ts';
import {RepositoryRefused} from './open-repository.ts';

/**
 * - `other`: it is tried again on request only.
 * - `ends`: it can be this server's own, from before a restart of the machine, and nothing renews it.
 * - `of_cluster`: another host of this cluster copies all tenants, until it stops or is lost.
 */
export type LeaseWait = 'other' | 'ends' | 'of_cluster';

export class LeaseWaits {
  readonly #now: () => number;
  readonly #cluster: string | undefined;
  /** When a lease of this server's id has ended, if it is not that of a copy; null: none was met. */
  #endsMs: number | null = null;

  constructor({cluster}: Pick<CopierSettings, 'cluster'>, now: () => number) {
    this.#cluster = cluster;
    this.#now = now;
  }

  /** @param caught an error of the kind `locked` */
  of(caught: unknown): LeaseWait {
    if (this.holderInCluster(caught) !== null) return 'of_cluster';
    if (!(caught instanceof RepositoryRefused && caught.isOwn)) return 'other';
    this.#endsMs ??= this.#now() + LEASE_MS + LEASE_RENEW_MS;
    return this.#now() < this.#endsMs ? 'ends' : 'other';
  }

  /** The host of this cluster that has the lease. Null: none has. */
  holderInCluster(caught: unknown): LeaseHolder | null {
    const isLocked = caught instanceof RepositoryRefused || caught instanceof RepositoryError;
    const holder = isLocked ? caught.holder : null;
    return holder !== null && this.#cluster !== undefined && holder.cluster === this.#cluster ? holder : null;
  }
}
