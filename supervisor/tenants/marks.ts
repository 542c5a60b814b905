/** The registry's marks of tenants that are awake, on a disk that may be full or read-only. */
import {ServiceError} from '../../shared/errors.ts';
import type {Logger} from '../../shared/log.ts';
import type {Registry} from '../files/registry.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import type {TenantEntry} from './tenant-entry.ts';

export class Marks {
  readonly #registry: Registry;
  readonly #files: TenantFiles;
  readonly #log: Logger;
  /** It was logged that the data directory is not writable. */
  #isUnwritable = false;

  constructor(registry: Registry, files: TenantFiles, log: Logger) {
    this.#registry = registry;
    this.#files = files;
    this.#log = log;
  }

  awake(entry: TenantEntry): void {
    try {
      if (!entry.isMarkedAwake) {
        this.#registry.markAwake(entry.id);
        this.#isUnwritable = false;
      }
      entry.isMarkedAwake = true;
    } catch (caught) {
      // The mark only saves a scan at the next start: a file that was written has a log, or a different modification
      // time.
      this.#notMarked('the disk is full: a tenant is woken without a mark', entry, caught);
    }
  }

  asleep(entry: TenantEntry, nextDueMs: number | null): void {
    try {
      const {fileMs} = this.#files.fileState(entry.id, entry.generation);
      this.#registry.markAsleep(entry.id, nextDueMs, fileMs);
      entry.isMarkedAwake = false;
    } catch (caught) {
      // The mark remains, which is safe: the tenant is opened once at the next start.
      this.#notMarked('a tenant stays marked awake', entry, caught);
    }
  }

  /** The registry could not store a mark. An unwritable disk is logged once, until it is writable again. */
  #notMarked(what: string, {id}: TenantEntry, caught: unknown): void {
    if (!(caught instanceof ServiceError)) throw caught;
    if (!this.#registry.isUnwritable) this.#log.warn(what, {tenant: id, error: caught});
    else if (!this.#isUnwritable) {
      this.#log.error('the data directory cannot be written: reads go on, and changes are refused', {error: caught});
    }
    this.#isUnwritable = this.#registry.isUnwritable;
  }
}
