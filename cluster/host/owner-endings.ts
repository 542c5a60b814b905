/**
 * Ends the owners of tenants that were deleted or paused. A request waits for that up to a time. What it has begun goes on, or
 * a later request for the same tenant goes on instead of it.
 */
import type {OwnedTenant} from '../../shared/ipc/cluster.ts';
import {EngineError} from '../log/log-engine.ts';
import {delay} from '../log/timing.ts';
import {type EndOwnerParts, endOwner} from '../ownership/end-owner.ts';
import type {HostTenants} from '../ownership/host-tenants.ts';

export type OwnerEndingsParts = Omit<EndOwnerParts, 'self'> & {
  readonly self: () => EndOwnerParts['self'];
  readonly tenants: Pick<HostTenants, 'releaseUpTo'>;
  /** Time for a request. */
  readonly waitMs: number;
};

export class OwnerEndings {
  readonly #parts: OwnerEndingsParts;
  /** The newest of each tenant. */
  readonly #under = new Map<string, AbortController>();

  constructor(parts: OwnerEndingsParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when no host serves the tenant as it was before the mark.
   * @throws EngineError: it is not known in time
   */
  async end(tenant: OwnedTenant, mark: 'deleted' | 'paused'): Promise<void> {
    const {clock, waitMs} = this.#parts;
    const ended = this.#begin(tenant, mark).then(() => true);
    if (await Promise.race([ended, delay(clock, waitMs).then(() => false)])) return;
    ended.catch(() => undefined);
    throw new EngineError(`the tenant ${tenant.tenant} is ${mark}, and the host that served it may not know it yet`);
  }

  async #begin({tenant: id, generation, owner, epoch}: OwnedTenant, mark: 'deleted' | 'paused'): Promise<void> {
    const {tenants, self, signal: untilLeft, ...parts} = this.#parts;
    this.#under.get(id)?.abort();
    const newest = new AbortController();
    this.#under.set(id, newest);
    const signal = AbortSignal.any([untilLeft, newest.signal]);
    try {
      await tenants.releaseUpTo(id, epoch, signal);
      await endOwner({...parts, self: self(), signal}, {id, generation}, {owner, epoch}, mark);
    } finally {
      if (this.#under.get(id) === newest) this.#under.delete(id);
    }
  }
}
