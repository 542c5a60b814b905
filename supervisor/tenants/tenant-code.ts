/**
 * Which tenants have code, so that all others get workers that start in half the time (0063). The registry's word is a guess on the safe
 * side: a tenant that it does not name as one without code has some, and a worker that finds a deployment where it cannot hold isolates
 * says so instead of serving.
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

  /** A tenant has code, or may have some. */
  get isAnywhere(): boolean {
    return this.#registry.tenantsWithCode > 0;
  }

  /** What the registry says of a tenant that gets its place. */
  known(place: Place): void {
    place.hasCode = this.#registry.hasCode(place.id, place.generation);
  }

  /** Known from now on. A registry that cannot be written knows it until the next start, where a worker that finds otherwise says so. */
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
