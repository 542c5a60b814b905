/** Whether a load balancer should send clients to this host: the answer of `GET /health`. */
import {type ServiceError, unavailable} from '../../shared/errors.ts';
import {stopping} from './steps.ts';

export class Health {
  #holdsLease: boolean;
  /** The host hands its tenants over to others, and still serves. */
  #isDraining = false;

  /** @param isInCluster the host has no lease before its supervisor says so */
  constructor(isInCluster: boolean) {
    this.#holdsLease = !isInCluster;
  }

  change({holdsLease, isDraining}: {holdsLease: boolean; isDraining: boolean}): void {
    this.#holdsLease = holdsLease;
    this.#isDraining = isDraining;
  }

  /** Null: clients are welcome. */
  get fault(): ServiceError | null {
    if (this.#isDraining) return stopping();
    if (!this.#holdsLease) return unavailable('the host has no lease in its cluster', {reason: 'no_lease'});
    return null;
  }
}
