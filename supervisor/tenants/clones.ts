/**
 * Makes a new tenant that is a copy of another one, while that one goes on: its worker holds the file at one commit,
 * this process copies it to `<data>/incoming`, with the packages of its deployments, and it is adopted as a file that
 * arrives.
 *
 *   wake ── held ──▶ copied ── released: it was held all the time ──▶ adopted
 *
 * The worker never has the copy open: it could go on writing it when it is another tenant's.
 */
import {randomBytes} from 'node:crypto';
import {rm} from 'node:fs/promises';
import {join} from 'node:path';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {conflict, ServiceError, unavailable} from '../../shared/errors.ts';
import type {CloneRequest} from '../../shared/ipc/files.ts';
import type {Logger} from '../../shared/log.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {packagesBeside} from '../files/adoption.ts';
import {copyPackages} from '../files/packages-copy.ts';
import {copyShared} from '../files/shared-copy.ts';
import {removeTree, type TenantFiles} from '../files/tenant-files.ts';
import {CLONES_MAX} from '../limits.ts';
import type {Worker} from '../processes/worker-pool.ts';
import type {Adoptions} from './adoptions.ts';
import type {ClusterFiles} from './cluster-files.ts';
import type {Placement} from './placement.ts';
import type {TenantControl} from './tenant-control.ts';
import type {TenantEntry} from './tenant-entry.ts';
import type {Tenants} from './tenants.ts';

export type ClonesParts = {
  tenants: Pick<Tenants, 'checkAdoption'>;
  placement: Pick<Placement, 'find'>;
  control: Pick<TenantControl, 'wake'>;
  files: Pick<TenantFiles, 'path'>;
  adopt: Adoptions['adopt'];
  /** Null: this server is no host of a cluster. */
  cluster: Pick<ClusterFiles, 'copy' | 'copyPackages'> | null;
  /** `<data>/incoming`. */
  directory: string;
  log: Logger;
};

export class Clones {
  readonly #parts: ClonesParts;
  /** Tenants that are being copied. */
  readonly #underWay = new Set<string>();

  constructor(parts: ClonesParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when the copy is served.
   * @throws session.tenant_exists 409, session.tenant_not_found 404, session.tenant_paused 503, op.conflict 409,
   * session.overloaded 503, session.worker_unavailable 503, session.storage_full 507
   */
  async clone({tenant, as, live}: CloneRequest): Promise<void> {
    const {tenants, adopt, directory} = this.#parts;
    tenants.checkAdoption(as, false);
    if (this.#underWay.has(tenant)) throw conflict(`tenant ${tenant} is being cloned; try again when it is done`);
    if (this.#underWay.size >= CLONES_MAX) {
      throw new ServiceError('session.overloaded', `${CLONES_MAX} clones are being made; try again later`);
    }
    this.#underWay.add(tenant);
    const path = join(directory, `c${randomBytes(16).toString('hex')}`);
    try {
      await this.#copy(tenant, path);
      // The owner fetches packages when it needs them, so its directory can lack some.
      await this.#parts.cluster?.copyPackages(tenant, packagesBeside(path));
      // The file is one that this server serves: what an open checks is enough.
      await adopt(path, {tenant: as, replace: false, live}, 'structure');
    } finally {
      this.#underWay.delete(tenant);
      for (const left of [path, `${path}-wal`]) await rm(left, {force: true});
      await removeTree(packagesBeside(path));
    }
  }

  /** Copies the file and its log. Of a tenant that another host of the cluster serves, the log has all of the file. */
  async #copy(id: string, path: string): Promise<void> {
    const {placement, control, cluster} = this.#parts;
    await control.wake(id);
    const entry = placement.find(id);
    if (entry?.lifecycle.state === 'remote') {
      await cluster?.copy(id, path);
      return;
    }
    const worker = entry?.worker ?? null;
    if (entry === undefined || worker === null) throw ended(id);
    entry.busyUntilMs = Number.MAX_SAFE_INTEGER;
    try {
      const logBytes = await worker.holdFile();
      if (logBytes === null) throw ended(id);
      await this.#copyHeld(entry, worker, logBytes, path);
    } finally {
      entry.busyUntilMs = 0;
    }
  }

  async #copyHeld({id, generation}: TenantEntry, worker: Worker, logBytes: number, path: string): Promise<void> {
    const {files, log} = this.#parts;
    const directory = files.path(id, generation);
    const from = join(directory, TENANT_FILE);
    let failure: unknown = null;
    let isShared = false;
    try {
      isShared = await copyShared(from, path, null);
      if (logBytes > 0) await copyShared(`${from}-wal`, `${path}-wal`, logBytes);
      if (this.#parts.cluster === null) await copyPackages(directory, packagesBeside(path));
    } catch (caught) {
      failure = caught;
    }
    const isWhole = await worker.releaseFile();
    if (failure !== null) throw asServed(failure, id, log);
    if (isWhole === null) throw ended(id);
    if (!isWhole) throw new ServiceError('session.overloaded', tooLong(id));
    log.info('copied the file of a tenant', {tenant: id, isShared});
  }
}

function tooLong(id: string): string {
  return `copying the file of tenant ${id} took too long beside its writes; try again when there are fewer`;
}

function ended(id: string): ServiceError {
  return unavailable(`the worker of tenant ${id} ended while its file was copied; try again`);
}

/** An error of the file system concerns only this clone. */
function asServed(caught: unknown, id: string, log: Logger): ServiceError {
  if (caught instanceof ServiceError) return caught;
  if (isNoSpace(caught)) return new ServiceError('session.storage_full', 'the disk is full: free space and try again');
  log.error('the file of a tenant could not be copied', {tenant: id, error: caught});
  return unavailable(`the file of tenant ${id} could not be copied; the log says why`);
}
