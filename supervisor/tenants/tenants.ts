/**
 * Creates and deletes tenants: changes directory, registry and placement in an order that is safe against a crash at
 * any point. The directories are authoritative; `start-plan.ts` decides what a start makes of them.
 *
 *   create  on disk so far                 a crash now leaves, and the next start
 *   1       t_ directory, empty            nothing: removes it
 *   2       … with a part of tenant.new    nothing: removes it
 *   3       … with tenant.new              the tenant: adds its row (its client got no answer)
 *   4       … and a row → served → 201     the tenant
 *
 *   delete  routers forget, worker ends   the tenant, whole (its client got no answer)
 *   1       t_ renamed to d_               nothing: goes on from here
 *   2       … and emptied                  nothing: goes on from here
 *   3       … and the row gone             nothing: goes on from here
 *   4       d_ gone → 204                  nothing
 *
 *   new timeline  routers forget, worker ends   the tenant as it was: the copier finds it again
 *   1             a note in incoming/           the same: incoming/ is emptied
 *   2             tenant.adopt in t_            the tenant, whose file begins the timeline when it is opened
 *
 * A tenant that comes as a file is in `files/adoption.ts`.
 *
 * Neither depends on the registry being there afterwards. Step 1 of a deletion needs no space and step 2 frees some, so
 * a tenant can be deleted from a full disk. If the row cannot be removed even then, it stays until the next start, and
 * d_ stays with it.
 */
import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {assert} from '../../shared/assert.ts';
import {isNoSpace, isUnwritable, unwritableError} from '../../shared/disk-errors.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {ClusterTenant} from '../../shared/ipc/cluster.ts';
import type {SupervisorToRouter} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {AdoptNote} from '../../shared/tenant-directory.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {finishAdoption, placeAdopted} from '../files/adoption.ts';
import type {Registry} from '../files/registry.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import {TENANTS_MAX} from '../limits.ts';
import {planStart, type StartPlan} from '../start/start-plan.ts';
import type {ClusterFiles} from './cluster-files.ts';
import type {Placement} from './placement.ts';
import type {PlacedTenant} from './tenant-entry.ts';

export type TenantsParts = {
  /** Makes tenants of files those of the cluster. Null: this server is no host of one. */
  cluster: Pick<ClusterFiles, 'reserve' | 'begin'> | null;
  registry: Registry;
  files: TenantFiles;
  placement: Pick<Placement, 'add' | 'delete' | 'find' | 'forget' | 'has' | 'ids' | 'isServed' | 'resumed' | 'size'>;
  /** Resolves when every router has applied it. */
  tellRouters: (message: SupervisorToRouter) => Promise<void>;
  now: () => number;
  log: Logger;
};

export class Tenants {
  readonly #parts: TenantsParts;
  /** Ids whose directory is being created. */
  readonly #creating = new Set<string>();
  /** Ids that are being removed from routers. */
  readonly #leaving = new Set<string>();
  #lastGeneration = 0;

  constructor(parts: TenantsParts) {
    this.#parts = parts;
  }

  /**
   * Called once, at start: finishes interrupted operations and adds every tenant to the placement.
   * @param refuse called, before anything is changed, if there are directories that the registry should name
   */
  async recover(refuse: (unknown: StartPlan['unknown']) => never): Promise<void> {
    const {registry, files, log} = this.#parts;
    const found = files.scan();
    const plan = planStart(registry.rows(), found);
    if (plan.unknown.length > 0) refuse(plan.unknown);
    this.#lastGeneration = Math.max(registry.lastGeneration(), ...found.map(({generation}) => generation ?? 0));
    for (const {name} of found.filter(({kind, name: its}) => kind === 'foreign' && /^[td]_/.test(its))) {
      log.warn('a directory of the tenants has an unknown name; it is left alone', {name});
    }
    for (const {name, content} of found) {
      if (content === 'odd') log.error('the note of a tenant is no file, or too long: it is not read', {name});
    }
    for (const {name} of plan.odd) log.error('a directory that the registry does not name is left alone', {name});
    for (const {id, generation} of plan.impossible) {
      log.error('a row of the registry is damaged: it names no valid tenant', {id, generation});
    }
    for (const {id, generation} of plan.deleted) {
      if (await this.#finishDeletion(id, generation)) log.info('finished deleting a tenant', {tenant: id});
    }
    for (const {id, generation, name, content} of plan.interrupted) {
      if (content === 'torn') await files.removeNew(id, generation);
      else await files.removeEmpty(id, generation);
      log.info('removed the empty directory of a creation that was interrupted', {name});
    }
    for (const {id, generation, createdMs} of plan.created) {
      if (!registry.record(id, generation, createdMs))
        log.warn('the disk is full: a tenant has no row yet', {tenant: id});
      this.#parts.placement.add({id, generation, createdMs}, {isMarkedAwake: false, isToOpen: false});
      log.info('finished creating a tenant', {tenant: id});
    }
    for (const note of plan.adopted) {
      const {tenant: id, generation, created_ms: createdMs} = note;
      await finishAdoption(files, registry, note, this.#parts.now());
      this.#parts.placement.add({id, generation, createdMs}, {isMarkedAwake: true, isToOpen: true});
      log.info('finished taking in the file of a tenant', {tenant: id});
    }
    for (const {row, isMissing} of plan.tenants) this.#entry(row, isMissing);
  }

  #entry(row: StartPlan['tenants'][number]['row'], isMissing: boolean): void {
    const {placement, files, log} = this.#parts;
    const {id, generation, created_ms: createdMs} = row;
    const directory = files.path(id, generation);
    const file = files.fileState(id, generation);
    if (isMissing || file.isLost) {
      log.error("a tenant's file is missing: the tenant is not served until it is put back", {tenant: id, directory});
    }
    if (!row.isSound) log.error('a row of the registry was damaged and is corrected', {tenant: id, directory});
    // The file was written after the registry's last update, so the registry's due time is not the latest.
    const isChanged = file.hasLog || (row.file_ms !== null && file.fileMs !== row.file_ms);
    const isMarkedAwake = row.awake === 1 && row.isSound;
    placement.add({id, generation, createdMs}, {isMarkedAwake, isToOpen: row.awake === 1 || isChanged || !row.isSound});
  }

  /** Tenants that routers serve. */
  ids(): string[] {
    return this.#parts.placement.ids().filter(id => !this.#leaving.has(id));
  }

  /** Tenants that have a directory here, whether the cluster knows them or not. */
  inDirectories(): ClusterTenant[] {
    const {placement} = this.#parts;
    return placement.ids().flatMap(id => {
      const {generation, createdMs} = placement.find(id)!;
      return [{tenant: id, generation, createdMs}];
    });
  }

  /** Tenants that are being replaced, which routers refuse for a moment. */
  returning(): string[] {
    const {placement} = this.#parts;
    return [...this.#creating].filter(id => placement.has(id) && (this.#leaving.has(id) || !placement.isServed(id)));
  }

  /**
   * @throws session.tenant_exists 409, session.overloaded 503, session.worker_unavailable 503, session.storage_full 507
   */
  async create(id: string): Promise<void> {
    this.#checkNew(id);
    await this.#make(id, ++this.#lastGeneration, this.#parts.now());
  }

  /**
   * A tenant of the cluster becomes known on this host, and one of an earlier generation is removed.
   * @throws session.storage_full 507, session.worker_unavailable 503
   */
  async takeIn({tenant: id, generation, createdMs}: ClusterTenant): Promise<void> {
    const entry = this.#parts.placement.find(id);
    if (entry !== undefined && entry.generation >= generation) return;
    if (entry !== undefined) await this.delete(id);
    this.#lastGeneration = Math.max(this.#lastGeneration, generation);
    await this.#make(id, generation, createdMs);
  }

  /**
   * The tenant of this generation was deleted on a host of the cluster. One of an earlier generation was deleted before it
   * was made: a host that was away did not receive that. @throws session.worker_unavailable 503
   */
  async leaveCluster(id: string, generation: number): Promise<void> {
    const entry = this.#parts.placement.find(id);
    if (entry !== undefined && entry.generation <= generation) await this.delete(id);
  }

  async #make(id: string, generation: number, createdMs: number): Promise<void> {
    const {registry, files, placement, tellRouters} = this.#parts;
    this.#creating.add(id);
    try {
      await files.create(id, generation, createdMs).catch(caught => this.#failed('made', id, caught));
      try {
        // Creations overlap, so a higher generation may have been recorded first; only the highest counts.
        registry.create(id, generation, createdMs);
      } catch (caught) {
        await this.#takeBack(id, generation, caught);
        throw caught;
      }
      placement.add({id, generation, createdMs}, {isMarkedAwake: false, isToOpen: false});
      await tellRouters({type: 'tenant_added', tenant: id});
    } finally {
      this.#creating.delete(id);
    }
  }

  /** @throws session.tenant_exists 409, session.overloaded 503 */
  #checkNew(id: string): void {
    const {placement} = this.#parts;
    assert(TENANT_ID.test(id), 'the router checked the id');
    if (placement.has(id) || this.#creating.has(id)) {
      throw new ServiceError('session.tenant_exists', `tenant ${id} exists already`);
    }
    if (placement.size + this.#creating.size >= TENANTS_MAX) {
      throw new ServiceError('session.overloaded', `this server has ${TENANTS_MAX} tenants, which is its maximum`);
    }
  }

  /** @throws as `adopt` would, before the file is there */
  checkAdoption(id: string, replace: boolean): void {
    if (!replace) this.#checkNew(id);
    else if (this.#creating.has(id)) throw new ServiceError('op.conflict', `tenant ${id} is being made; try again`);
    else this.#checkServed(id);
  }

  /**
   * Makes a tenant of a file, or replaces one: its directory goes to set-aside/.
   * @param prepare checks the file and makes a directory of it, while a tenant that is replaced goes on
   * @throws session.tenant_exists 409, session.tenant_not_found 404, session.storage_full 507, what `prepare` throws
   */
  async adopt(
    id: string,
    {replace, serve, origin}: Pick<AdoptNote, 'serve' | 'origin'> & {replace: boolean},
    prepare: (note: AdoptNote) => Promise<string>,
  ): Promise<void> {
    const {cluster, placement, now} = this.#parts;
    this.checkAdoption(id, replace);
    this.#creating.add(id);
    try {
      const replaces = replace ? placement.find(id)!.generation : null;
      const generation = cluster === null ? this.#lastGeneration + 1 : await cluster.reserve(id);
      this.#lastGeneration = Math.max(this.#lastGeneration, generation);
      const createdMs = now();
      const note: AdoptNote = {
        ...{tenant: id, generation, created_ms: createdMs},
        ...{timeline: randomBytes(16).toString('hex'), origin, replaces, serve},
      };
      const directory = await prepare(note);
      if (cluster === null) await this.#place(note, directory);
      else {
        const paused = serve === 'reads' ? serve : null;
        await cluster.begin({tenant: id, generation, createdMs, paused}, directory, async () => {
          // Another one was made and deleted meanwhile.
          await this.leaveCluster(id, generation);
          await this.#place(note, directory);
        });
      }
      // Its jobs may be due.
      const entry = placement.find(id);
      if (entry !== undefined && !entry.isReadOnly) placement.resumed(entry);
    } finally {
      this.#creating.delete(id);
    }
  }

  /** The directory of a file that was adopted becomes that of its tenant, and the tenant is served. */
  async #place(note: AdoptNote, directory: string): Promise<void> {
    const {registry, files, placement, tellRouters, now, log} = this.#parts;
    const {tenant: id, generation, created_ms: createdMs, replaces} = note;
    const old = replaces === null ? null : await this.#leave(id, 'returns', note);
    try {
      const fault = await placeAdopted(files, registry, note, directory, now());
      if (fault !== null) log.error('a tenant was replaced on a disk that fails', {tenant: id, error: fault});
    } catch (caught) {
      const isPlaced = existsSync(files.path(id, generation));
      if (isPlaced) log.error('a file could not be taken back: the next start makes it the tenant', {tenant: id});
      if (old !== null) await this.#serveAgain(old);
      this.#failed('made', id, caught);
    }
    if (old !== null) placement.forget(id);
    placement.add({id, generation, createdMs}, {isMarkedAwake: true, isToOpen: false});
    await tellRouters({type: 'tenant_added', tenant: id});
  }

  /**
   * The tenant's file is older than what was copied of it, so it begins a new timeline: cursors and followers of the
   * history that ended are refused. Nothing happens if the tenant is being made, replaced or deleted.
   * @throws session.storage_full 507, session.worker_unavailable 503
   */
  async beginTimeline(id: string): Promise<void> {
    const {files, placement, log} = this.#parts;
    const entry = placement.find(id);
    if (entry === undefined || this.#creating.has(id) || this.#leaving.has(id)) return;
    this.#creating.add(id);
    try {
      const {generation, createdMs, isMarkedAwake} = entry;
      entry.isReturning = true;
      const left = await this.#leave(id, 'returns');
      try {
        const timeline = await files.noteTimeline(id, generation, createdMs);
        log.warn('the file of a tenant is older than its copies: it begins a new timeline', {tenant: id, timeline});
      } catch (caught) {
        this.#failed('changed', id, caught);
      } finally {
        await this.#serveAgain(left, isMarkedAwake);
      }
    } finally {
      this.#creating.delete(id);
    }
  }

  /**
   * All routers forget the tenant before its worker ends, so that none mistakes that end for a crash. Resolves when no
   * process uses its files.
   * @param by replaces it; it must still be the one that was to be replaced
   */
  async #leave(id: string, why: 'deleted' | 'returns', by: AdoptNote | null = null): Promise<PlacedTenant> {
    const {placement, tellRouters} = this.#parts;
    this.#checkServed(id);
    if (by !== null && placement.find(id)!.generation !== by.replaces) {
      throw new ServiceError('op.conflict', `tenant ${id} was made again meanwhile: nothing was replaced`);
    }
    this.#leaving.add(id);
    await tellRouters({type: 'tenant_removed', tenant: id, returns: why === 'returns'});
    const left = placement.delete(id);
    this.#leaving.delete(id);
    return await left;
  }

  /** A tenant that was to be removed stays as it was. @param isMarkedAwake it is opened: its jobs may be due */
  async #serveAgain({id, generation, createdMs}: PlacedTenant, isMarkedAwake = false): Promise<void> {
    const {placement, tellRouters} = this.#parts;
    placement.forget(id);
    placement.add({id, generation, createdMs}, {isMarkedAwake, isToOpen: true});
    await tellRouters({type: 'tenant_added', tenant: id});
    const entry = placement.find(id);
    if (entry !== undefined && !entry.isReadOnly) placement.resumed(entry);
  }

  /** @throws session.tenant_not_found 404 */
  #checkServed(id: string): void {
    if (this.#parts.placement.isServed(id) && !this.#leaving.has(id)) return;
    throw new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
  }

  /**
   * @throws session.tenant_not_found 404, also while another deletion of it is under way; session.worker_unavailable
   * 503
   */
  async delete(id: string): Promise<void> {
    const {files, placement, log} = this.#parts;
    const deleted = await this.#leave(id, 'deleted');
    const {generation} = deleted;
    try {
      await files.markDeleted(id, generation);
    } catch (caught) {
      if (existsSync(files.path(id, generation))) {
        await this.#serveAgain(deleted);
        this.#failed('removed', id, caught);
      }
      log.error('a tenant was deleted on a disk that fails', {tenant: id, error: caught});
    }
    await this.#finishDeletion(id, generation);
    placement.forget(id);
  }

  /** The tenant is deleted whether or not this succeeds. @returns false: the rest is retried at the next start */
  async #finishDeletion(id: string, generation: number): Promise<boolean> {
    const {registry, files, log} = this.#parts;
    try {
      await files.emptyDeleted(id, generation);
      registry.remove(id, generation);
      await files.removeMark(id, generation);
      return true;
    } catch (caught) {
      if (!(caught instanceof ServiceError) && !isOfFileSystem(caught)) throw caught;
      log.error('a tenant is deleted, but not all of its files could be removed; the next start tries again', {
        tenant: id,
        error: caught,
      });
      return false;
    }
  }

  /**
   * After any error but a full disk, the registry may already name the tenant. Then it is marked as deleted, for the
   * next start to finish.
   */
  async #takeBack(id: string, generation: number, caught: unknown): Promise<void> {
    const {files} = this.#parts;
    if (!(caught instanceof ServiceError)) return;
    if (caught.code === 'session.storage_full') await files.removeNew(id, generation);
    else await files.markDeleted(id, generation).catch(failed => this.#failed('removed', id, failed));
  }

  /** An error of the file system concerns only this tenant. */
  #failed(what: 'made' | 'changed' | 'removed', id: string, caught: unknown): never {
    if (!isOfFileSystem(caught)) throw caught;
    if (isNoSpace(caught)) {
      throw new ServiceError('session.storage_full', 'the disk is full: free space and try again', undefined, {
        cause: caught,
      });
    }
    if (isUnwritable(caught)) throw unwritableError(caught);
    this.#parts.log.error(`the directory of a tenant could not be ${what}`, {tenant: id, error: caught});
    throw new ServiceError(
      'session.worker_unavailable',
      `the directory of tenant ${id} could not be ${what}; nothing was changed, and the log of the service says why`,
    );
  }
}

function isOfFileSystem(caught: unknown): caught is NodeJS.ErrnoException {
  return caught instanceof Error && 'syscall' in caught;
}
