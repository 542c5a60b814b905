/**
 * Creating and deleting tenants: registry, directory and placement in an order that a crash at any point leaves sound.
 *
 *   create   directory on disk → registry row on disk → served → 201
 *            crash before the row: `recover` removes a directory that no row names
 *   delete   row 'deleting' on disk → router forgets → worker ends → directory gone from disk → row gone → 204
 *            crash in between: `recover` goes on from the row
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import {TENANTS_MAX} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {TENANT_ID} from '../../shared/protocol/tenants.ts';
import type {Placement} from './placement.ts';
import type {Registry} from './registry.ts';
import type {TenantFiles} from './tenant-files.ts';

export class Tenants {
  readonly #registry: Registry;
  readonly #files: TenantFiles;
  readonly #placement: Placement;
  readonly #sendToRouter: (message: SupervisorToRouter) => void;
  readonly #log: Logger;
  /** Ids whose directory is being made. */
  readonly #creating = new Set<string>();
  #lastGeneration: number;

  constructor(
    registry: Registry,
    files: TenantFiles,
    placement: Placement,
    sendToRouter: (message: SupervisorToRouter) => void,
    log: Logger,
  ) {
    this.#registry = registry;
    this.#files = files;
    this.#placement = placement;
    this.#sendToRouter = sendToRouter;
    this.#log = log;
    this.#lastGeneration = registry.lastGeneration();
  }

  /** Once, at start: finishes what a crash interrupted and gives every tenant its place. */
  async recover(): Promise<void> {
    const known = new Set<string>();
    for (const {id, generation, state, awake, created_ms: createdMs} of this.#registry.rows()) {
      if (state === 'deleting') {
        await this.#files.remove(id, generation);
        this.#registry.remove(id);
        this.#log.info('finished deleting a tenant', {tenant: id});
        continue;
      }
      known.add(this.#files.path(id, generation));
      this.#placement.add(id, generation, createdMs, awake === 1);
    }
    for (const name of await this.#files.removeUnknown(known)) {
      this.#log.info('removed a directory that belongs to no tenant', {name});
    }
  }

  /** @throws session.tenant_exists 409, session.overloaded 503, session.storage_full 507 */
  async create(id: string): Promise<void> {
    assert(TENANT_ID.test(id), 'the router checked the id');
    if (this.#placement.has(id) || this.#creating.has(id)) {
      throw new ServiceError('session.tenant_exists', `tenant ${id} exists already`);
    }
    if (this.#placement.size + this.#creating.size >= TENANTS_MAX) {
      throw new ServiceError('session.overloaded', `this server has ${TENANTS_MAX} tenants, which is its maximum`);
    }
    this.#creating.add(id);
    try {
      const generation = ++this.#lastGeneration;
      await this.#files.create(id, generation).catch(rethrowFullDisk);
      // Creations overlap, so a higher generation may have been recorded first: it is the highest that counts.
      const createdMs = Date.now();
      this.#registry.create(id, generation, createdMs);
      this.#placement.add(id, generation, createdMs, false);
      this.#sendToRouter({type: 'tenant_added', tenant: id});
    } finally {
      this.#creating.delete(id);
    }
  }

  /** @throws session.tenant_not_found 404, also while another deletion of it is under way */
  async delete(id: string): Promise<void> {
    if (!this.#placement.isServed(id)) {
      throw new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
    }
    this.#registry.markDeleting(id);
    this.#sendToRouter({type: 'tenant_removed', tenant: id});
    const {generation} = await this.#placement.delete(id);
    await this.#files.remove(id, generation);
    this.#registry.remove(id);
    this.#placement.forget(id);
  }
}

function rethrowFullDisk(caught: unknown): never {
  const code = (caught as NodeJS.ErrnoException).code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') throw caught;
  throw new ServiceError('session.storage_full', 'the disk is full: free space and try again', undefined, {
    cause: caught,
  });
}
