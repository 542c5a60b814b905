/**
 * What an operator does to a tenant's worker: wake, sleep, pause, resume. Each resolves once the tenant is in the state
 * that was asked for.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {ClusterPause, ClusterTenant} from '../../shared/ipc/cluster.ts';
import type {PauseMode} from '../../shared/protocol/tenant-status.ts';
import type {PausedTenants} from '../files/paused-tenants.ts';
import type {Effect, Lifecycle} from './lifecycle-states.ts';
import type {Placement} from './placement.ts';
import type {TenantEntry} from './tenant-entry.ts';

export type TenantControlParts = {
  placement: Pick<Placement, 'find' | 'give' | 'resumed'>;
  paused: PausedTenants;
  now: () => number;
};

type State = Lifecycle['state'];
/** By another host of the cluster, it is opened for a request. */
const SERVING: ReadonlySet<State> = new Set(['awake', 'releasing', 'remote']);
/** On the way to a worker with other settings. */
const WITH_OTHER: ReadonlySet<State> = new Set(['moving', 'closing', 'pausing']);
/** Or with one that serves no requests. */
const WITHOUT_WORKER: ReadonlySet<State> = new Set(['asleep', 'resting', 'paused', 'errand']);

export class TenantControl {
  readonly #parts: TenantControlParts;

  constructor(parts: TenantControlParts) {
    this.#parts = parts;
  }

  /**
   * @returns how long it took, in milliseconds
   * @throws the error that a request of the tenant would get; session.tenant_not_found 404
   */
  async wake(id: string): Promise<number> {
    const entry = this.#entry(id);
    const sinceMs = this.#parts.now();
    entry.lastActiveMs = sinceMs;
    if (SERVING.has(entry.lifecycle.state)) return 0;
    const done = this.#until(entry, state => SERVING.has(state), ['asleep', 'resting', 'paused', 'deleting']);
    this.#parts.placement.give(entry, {type: 'want', requested: true}, 'operator');
    await done;
    return Math.max(0, this.#parts.now() - sinceMs);
  }

  /** @throws op.conflict 409: the tenant is in use; session.tenant_not_found 404 */
  async sleep(id: string): Promise<void> {
    const entry = this.#entry(id);
    const {state} = entry.lifecycle;
    if (WITHOUT_WORKER.has(state) || state === 'pausing') return;
    if (state === 'queued' || state === 'waking' || state === 'moving') throw inUse(entry, state);
    // The worker's own wish to stay awake, as for a service that runs, is respected here as it is by the idle time.
    if (entry.inUseUntilMs > this.#parts.now()) throw inUse(entry, 'in use');
    const done = this.#until(entry, next => next !== 'releasing' && next !== 'closing', null);
    this.#parts.placement.give(entry, {type: 'let_go', forOther: false});
    await done;
    if (entry.lifecycle.state === 'awake') throw inUse(entry, 'in use');
  }

  /**
   * Resolves when it has no worker, or none that writes.
   * @param serves `reads`: its next worker answers reads only
   * @throws session.storage_full 507, session.storage_read_only 503, session.tenant_not_found 404
   */
  async pause(id: string, serves: PauseMode): Promise<void> {
    const entry = this.#entry(id);
    // On disk first: a crash from here on leaves a paused tenant.
    this.#parts.paused.add(id, entry.generation, serves);
    const wasReadOnly = entry.isReadOnly;
    entry.isReadOnly = serves === 'reads';
    if (serves === 'reads') {
      await this.#reopen(entry, wasReadOnly);
      return;
    }
    if (entry.lifecycle.state === 'paused') return;
    const done = this.#until(entry, state => state !== 'pausing', null);
    this.#parts.placement.give(entry, {type: 'pause'});
    await done;
  }

  /** Ends a worker that has other settings. Resolves when it has none. */
  async #reopen(entry: TenantEntry, wasReadOnly: boolean): Promise<void> {
    const {placement} = this.#parts;
    const {state} = entry.lifecycle;
    if (state === 'paused' || state === 'pausing') placement.give(entry, {type: 'resume'}, 'operator');
    if (wasReadOnly === entry.isReadOnly) return;
    const done = this.#until(entry, next => !WITH_OTHER.has(next), null);
    placement.give(entry, {type: 'reopen'}, 'operator');
    await done;
  }

  /** @throws as `pause` */
  async resume(id: string): Promise<void> {
    const entry = this.#entry(id);
    this.#parts.paused.remove(id);
    if (entry.isReadOnly) {
      entry.isReadOnly = false;
      await this.#reopen(entry, true);
      this.#parts.placement.resumed(entry);
      return;
    }
    const {state} = entry.lifecycle;
    if (state !== 'paused' && state !== 'pausing' && state !== 'errand') return;
    this.#parts.placement.give(entry, {type: 'resume'}, 'operator');
    this.#parts.placement.resumed(entry);
  }

  /**
   * The tenant is paused as the cluster says. The cluster process ends a worker that has other settings.
   * @throws session.storage_full 507, session.storage_read_only 503
   */
  follow({tenant: id, generation, paused, epoch}: ClusterTenant & ClusterPause): void {
    const entry = this.#parts.placement.find(id);
    if (entry === undefined || entry.generation !== generation || entry.pauseEpoch > epoch) return;
    const marks = this.#parts.paused;
    if (paused === null) marks.remove(id);
    else if (marks.modeOf(id, generation) !== paused) marks.add(id, generation, paused);
    entry.pauseEpoch = epoch;
    entry.isReadOnly = paused === 'reads';
    this.#parts.placement.give(entry, {type: paused === 'nothing' ? 'pause' : 'resume'}, 'operator');
  }

  #entry(id: string): TenantEntry {
    const entry = this.#parts.placement.find(id);
    if (entry === undefined) {
      throw new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
    }
    return entry;
  }

  /** Resolves when a step leads to such a state. @param failed states in which it is given up; null: it cannot fail */
  #until(entry: TenantEntry, isReached: (state: State) => boolean, failed: readonly State[] | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch = (effects: readonly Effect[]): void => {
        const {state} = entry.lifecycle;
        const failure = effects.find(effect => effect.type === 'fail');
        const isFailed = failed !== null && (failed.includes(state) || failure !== undefined);
        if (!isReached(state) && !isFailed) return;
        entry.watches = entry.watches.filter(other => other !== watch);
        if (isReached(state)) resolve();
        else reject(failureOf(entry, failure));
      };
      entry.watches = [...entry.watches, watch];
    });
  }
}

function failureOf({id}: TenantEntry, failure: (Effect & {type: 'fail'}) | undefined): ServiceError {
  if (failure === undefined) {
    return new ServiceError('session.worker_unavailable', `tenant ${id} could not be woken; the log says why`);
  }
  const {code, message, detail} = failure.error;
  const retryS = Math.max(1, Math.ceil(failure.retryAfterMs / 1000));
  return new ServiceError(code, message, {...detail, retry_after_seconds: retryS});
}

function inUse({id}: TenantEntry, how: string): ServiceError {
  return new ServiceError(
    'op.conflict',
    `tenant ${id} is ${how}: it sleeps when no request, socket, service or sandbox needs it; pause it to close it now`,
  );
}
