/** Whether a load balancer should send clients to this host: the answer of `GET /health`. */
import {type ServiceError, unavailable} from '../../shared/errors.ts';
import type {HostState} from '../../shared/ipc/cluster.ts';
import {monotonicMs} from '../../shared/monotonic.ts';
import {stopping} from './steps.ts';

export class Health {
  #leaseUntilMs: number;
  /** The host hands its tenants over to others, and still serves. */
  #isDraining = false;

  /** @param isInCluster the host has no lease before its supervisor says so */
  constructor(isInCluster: boolean) {
    this.#leaseUntilMs = isInCluster ? 0 : Number.POSITIVE_INFINITY;
  }

  change({leaseUntilMs, isDraining}: Pick<HostState, 'leaseUntilMs' | 'isDraining'>): void {
    this.#leaseUntilMs = leaseUntilMs;
    this.#isDraining = isDraining;
  }

  /** Null: clients are welcome. */
  get fault(): ServiceError | null {
    if (this.#isDraining) return stopping();
    if (monotonicMs() >= this.#leaseUntilMs)
      return unavailable('the host has no lease in its cluster', {reason: 'no_lease'});
    return null;
  }
}
