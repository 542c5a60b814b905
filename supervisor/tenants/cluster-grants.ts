/**
 * Tenants of a host of a cluster: finds out with the cluster process which host serves a tenant, and keeps the grants, each
 * of which lets this host have one worker for a tenant. A grant ends with the worker, or with the wish for one.
 */
import {assert} from '../../shared/assert.ts';
import type {ErrorObject} from '../../shared/errors.ts';
import type {LogGrant, TenantLocation} from '../../shared/ipc/cluster.ts';
import {LOCATE_AGAIN_MS, LOCATE_MS_MAX} from '../limits.ts';
import type {ClusterNotice, ClusterProcess} from '../processes/cluster-process.ts';
import type {Input, Lifecycle} from './lifecycle-states.ts';
import type {TenantEntry} from './tenant-entry.ts';
import type {WakeCause} from './wakes.ts';

export type ClusterGrantsParts = {
  process: ClusterProcess;
  find: (tenant: string) => TenantEntry | undefined;
  entries: () => Iterable<TenantEntry>;
  give: (entry: TenantEntry, input: Input, cause?: WakeCause) => void;
};

const GRANTED: ReadonlySet<Lifecycle['state']> = new Set([
  ...(['queued', 'waking', 'awake', 'releasing', 'moving', 'handing_over', 'closing', 'pausing'] as const),
]);

export class ClusterGrants {
  readonly #parts: ClusterGrantsParts;
  /** The newest search for each tenant, so that an older one that ends late has no effect. */
  readonly #searches = new WeakMap<TenantEntry, symbol>();
  #onNoGrants: (() => void) | null = null;

  constructor(parts: ClusterGrantsParts) {
    this.#parts = parts;
  }

  /** The effect `locate`. */
  locate(entry: TenantEntry): void {
    void this.#locate(entry);
  }

  /** Must be called after each step. */
  follow(entry: TenantEntry): void {
    const {state} = entry.lifecycle;
    if (state !== 'remote') entry.remote = null;
    if (state !== 'acquiring') this.#searches.delete(entry);
    const {grant} = entry;
    const isGranted = GRANTED.has(state) || (entry.lifecycle.state === 'deleting' && entry.lifecycle.hasWorker);
    if (grant === null || isGranted) return;
    entry.grant = null;
    this.#parts.process.workerEnded(grant);
    if (!this.#hasGrants()) this.#onNoGrants?.();
  }

  /** What the cluster process reports about a tenant. */
  received(notice: Extract<ClusterNotice, {tenant: string} | {type: 'granted'}>): void {
    const {find, give} = this.#parts;
    if (notice.type === 'granted') {
      this.#granted(notice.grant);
      return;
    }
    const entry = find(notice.tenant);
    if (entry === undefined) return;
    if (notice.type === 'owner_changed') {
      // The host that was chosen has taken it over.
      if (entry.remote?.host !== notice.host) give(entry, {type: 'moved'});
    } else if (notice.type === 'tenant_due') {
      // The host that routers were referred to has ended.
      if (entry.remote !== null) give(entry, {type: 'moved'});
      give(entry, {type: 'want', requested: false}, 'due');
    } else if (notice.type === 'hand_over' || notice.type === 'fence') {
      if (entry.grant?.epoch === notice.epoch) give(entry, {type: notice.type});
    }
  }

  /** The cluster process has ended: no worker can append. Resolves when none is left. */
  async lost(): Promise<void> {
    const ended = new Promise<void>(resolve => {
      this.#onNoGrants = resolve;
    });
    for (const entry of [...this.#parts.entries()]) if (entry.grant !== null) this.#parts.give(entry, {type: 'fence'});
    if (this.#hasGrants()) await ended;
    this.#onNoGrants = null;
  }

  #hasGrants(): boolean {
    for (const {grant} of this.#parts.entries()) if (grant !== null) return true;
    return false;
  }

  #granted(grant: LogGrant): void {
    const {find, give, process} = this.#parts;
    const entry = find(grant.tenant);
    const isIt = entry?.generation === grant.generation;
    if (entry === undefined || !isIt || entry.lifecycle.state !== 'acquiring') {
      // It is not needed any more, or the tenant was made again and this host still has the deleted one.
      process.workerEnded(grant);
      return;
    }
    assert(entry.grant === null, 'a tenant has one grant at a time');
    entry.grant = grant;
    if (grant.epoch > entry.pauseEpoch) entry.isReadOnly = grant.isReadOnly;
    give(entry, {type: 'granted'});
  }

  async #locate(entry: TenantEntry): Promise<void> {
    const search = Symbol(entry.id);
    this.#searches.set(entry, search);
    const untilMs = performance.now() + LOCATE_MS_MAX;
    const {isForwarded} = entry;
    entry.isForwarded = false;
    for (;;) {
      const location = await this.#parts.process.locate(entry.id, isForwarded);
      if (this.#searches.get(entry) !== search) return;
      const error = this.#found(entry, location);
      if (error === null) return;
      if (performance.now() > untilMs) {
        this.#parts.give(entry, {type: 'nowhere', error});
        return;
      }
      await new Promise(resolve => setTimeout(resolve, LOCATE_AGAIN_MS));
      if (this.#searches.get(entry) !== search) return;
    }
  }

  /** @returns why it has to be located again; null: it is found, or nowhere */
  #found(entry: TenantEntry, location: TenantLocation | null): ErrorObject | null {
    const {give} = this.#parts;
    switch (location?.kind) {
      case 'there': {
        const {host, address, worker} = location;
        entry.remote = {tenant: entry.id, worker, host, address};
        give(entry, {type: 'located_there'});
        return null;
      }
      case 'nowhere':
        if (location.isTemporary) return location.error;
        give(entry, {type: 'nowhere', error: location.error});
        return null;
      default:
        // A worker that served it has just ended, or the cluster process has.
        return {
          code: 'session.worker_unavailable',
          message: 'this host does not know at the moment which host of the cluster serves the tenant; try again',
        };
    }
  }
}
