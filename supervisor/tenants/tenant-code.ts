/**
 * Tracks which tenants have code, so that all others get workers that start in half the time (0063). The registry may
 * err only in the safe direction: a tenant counts as having code unless the registry says that it has none. A worker
 * that finds a deployment but cannot hold isolates reports that instead of serving.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {Logger} from '../../shared/log.ts';
import type {Registry} from '../files/registry.ts';
import type {TenantEntry} from './tenant-entry.ts';

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
  known(entry: TenantEntry): void {
    entry.hasCode = this.#registry.hasCode(entry.id, entry.generation);
  }

  /**
   * Records the value. If the registry is not writable, the value holds until the next start, after which a worker
   * reports the contradiction.
   */
  is(entry: TenantEntry, hasCode: boolean): void {
    if (entry.hasCode === hasCode) return;
    entry.hasCode = hasCode;
    try {
      this.#registry.setHasCode(entry.id, entry.generation, hasCode);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#log.warn('whether a tenant has code could not be stored in the registry', {
        tenant: entry.id,
        error: caught,
      });
    }
  }
}
