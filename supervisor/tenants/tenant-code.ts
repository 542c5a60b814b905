/**
 * Tracks which tenants have code, so that all others get workers that start in half the time (0063). The registry may
 * err only in the safe direction: a tenant counts as having code unless the registry says that it has none. A worker
 * that finds a deployment but cannot hold isolates reports that instead of serving.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {Logger} from '../../shared/log.ts';
import type {Registry} from '../files/registry.ts';
import type {Place} from './place.ts';

export class TenantCode {
  readonly #registry: Registry;
  readonly #log: Logger;

  constructor(registry: Registry, log: Logger) {
    this.#registry = registry;
    this.#log = log;
  }

  /** Whether any tenant has code, or may have some. */
  get isAnywhere(): boolean {
    return this.#registry.tenantsWithCode > 0;
  }

  /** Reads the registry's value for a tenant that is being added. */
  known(place: Place): void {
    place.hasCode = this.#registry.hasCode(place.id, place.generation);
  }

  /**
   * Records the value. If the registry is not writable, the value holds until the next start, after which a worker
   * reports the contradiction.
   */
  is(place: Place, hasCode: boolean): void {
    if (place.hasCode === hasCode) return;
    place.hasCode = hasCode;
    try {
      this.#registry.setHasCode(place.id, place.generation, hasCode);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#log.warn('the registry could not be told whether a tenant has code', {tenant: place.id, error: caught});
    }
  }
}
