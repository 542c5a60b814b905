/**
 * Bases of tenants that sleep, one after another, on request of the copier. An errand makes each, which a wake ends: a
 * tenant that is awake makes its base by itself. The file of an earlier version of svc has to be migrated first, so its
 * tenant is woken instead. A base that cannot be made is a fault of its tenant, and is tried again after a pause.
 *
 *   due ──errand──▶ made ──▶ the copier looks again
 *    ├── awake by now, or woken to be migrated ──▶ its worker makes it
 *    └── fails ──▶ the copier has the fault ──a pause──▶ the copier looks again
 *
 * A tenant whose file is older than its copies begins a new timeline first, and the copier requests a base of that.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {ClosedBase} from '../../shared/ipc/errand.ts';
import type {Logger} from '../../shared/log.ts';
import {BASE_RETRY_MS} from '../limits.ts';
import type {Errands} from '../tenants/errands.ts';
import {hasWorker, type Lifecycle} from '../tenants/lifecycle-states.ts';
import type {Placement} from '../tenants/placement.ts';
import type {TenantControl} from '../tenants/tenant-control.ts';

export type BasesParts = {
  placement: Pick<Placement, 'find'>;
  errands: Pick<Errands, 'runFor'>;
  control: Pick<TenantControl, 'wake'>;
  beginTimeline: (tenant: string) => Promise<void>;
  /** The copier is to look into the spool again. */
  lookAgain: (tenant: string) => void;
  failed: (tenant: string, message: string) => void;
  log: Logger;
};

export class Bases {
  readonly #parts: BasesParts;
  readonly #due = new Set<string>();
  #isBusy = false;
  #isClosed = false;

  constructor(parts: BasesParts) {
    this.#parts = parts;
  }

  due(tenant: string): void {
    this.#due.add(tenant);
    if (!this.#isBusy) void this.#makeAll();
  }

  /** No base begins from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /** The file of the tenant is older than its copies. */
  async timelineDue(tenant: string): Promise<void> {
    if (this.#isClosed) return;
    try {
      await this.#parts.beginTimeline(tenant);
      this.#parts.lookAgain(tenant);
    } catch (caught) {
      this.#failed(tenant, caught, 'its new timeline cannot begin');
    }
  }

  async #makeAll(): Promise<void> {
    this.#isBusy = true;
    for (const tenant of this.#due) {
      this.#due.delete(tenant);
      if (!this.#isClosed) await this.#make(tenant);
    }
    this.#isBusy = false;
  }

  async #make(tenant: string): Promise<void> {
    const {errands, control, lookAgain} = this.#parts;
    try {
      const made = (await errands.runFor(tenant, {kind: 'base'})) as ClosedBase | null;
      if (made?.commit === null) await control.wake(tenant);
      lookAgain(tenant);
    } catch (caught) {
      const state = this.#parts.placement.find(tenant)?.lifecycle;
      // Its worker makes the base.
      if (!(caught instanceof ServiceError && state !== undefined && isAwake(state))) {
        this.#failed(tenant, caught, 'its base cannot be made');
      }
    }
  }

  #failed(tenant: string, caught: unknown, what: string): void {
    if (!(caught instanceof ServiceError)) throw caught;
    const {placement, lookAgain, failed, log} = this.#parts;
    // It was deleted.
    if (this.#isClosed || placement.find(tenant) === undefined) return;
    log.warn('a copy of a tenant could not be made; trying again', {tenant, error: caught});
    failed(tenant, `${what}: ${caught.message}`);
    setTimeout(() => lookAgain(tenant), BASE_RETRY_MS).unref();
  }
}

/** It has a worker that captures its commits. */
export function isAwake(lifecycle: Lifecycle): boolean {
  return hasWorker(lifecycle) && lifecycle.state !== 'errand';
}
