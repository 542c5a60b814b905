/**
 * Migrates the files of sleeping tenants, one after another: each is woken, which migrates its file, and put to sleep
 * again. Unlike an errand in the directory, a worker that serves also captures the migration for copies of the tenant,
 * and runs what is due.
 *
 * The version of a sleeping tenant is in its file and in the log of it, which are outside input: the tenant's user owns
 * them. A tenant that is awake has been migrated, whatever its file says. Copies from before migrations are removed here, too.
 */

import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {ServiceError} from '../../shared/errors.ts';
import type {UpgradeRequest} from '../../shared/ipc/upgrades.ts';
import {UPGRADE_FAILURES_SHOWN} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import type {UpgradeRun, UpgradeStatus} from '../../shared/protocol/upgrades.ts';
import {readUserVersion} from '../../shared/sqlite-header.ts';
import {NEWEST_STORAGE_VERSION} from '../../shared/storage-version.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {VERSION} from '../../shared/version.ts';
import type {Registry} from '../files/registry.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import {KeptCopySweep} from './kept-copy-sweep.ts';
import type {Placement} from './placement.ts';
import type {TenantControl} from './tenant-control.ts';

export type UpgradesParts = {
  tenants: Pick<Registry, 'rows'>;
  placement: Pick<Placement, 'find'>;
  files: Pick<TenantFiles, 'path'>;
  control: Pick<TenantControl, 'wake' | 'sleep'>;
  log: Logger;
};

export class Upgrades {
  readonly #parts: UpgradesParts;
  #run: UpgradeRun | null = null;

  constructor(parts: UpgradesParts) {
    this.#parts = parts;
    const {tenants, files, log} = parts;
    new KeptCopySweep(() => tenants.rows().map(({id, generation}) => files.path(id, generation)), log);
  }

  /** Answers once the run has begun, or with the one that is under way. */
  async perform({action}: UpgradeRequest): Promise<UpgradeStatus> {
    if (action === 'upgrade_start' && this.#run?.is_running !== true) {
      const run: UpgradeRun = {
        ...{is_running: true, started_at: Date.now(), finished_at: null},
        ...{tenants: 0, done: 0, paused: 0, failed: 0, failures: []},
      };
      this.#run = run;
      const older = (await this.#versions()).filter(
        ({version}) => version !== null && version < NEWEST_STORAGE_VERSION,
      );
      run.tenants = older.length;
      void this.#upgradeAll(
        older.map(({id}) => id),
        run,
      );
    }
    return await this.#status();
  }

  async #status(): Promise<UpgradeStatus> {
    const counts = new Map<number | null, number>();
    for (const {version} of await this.#versions()) counts.set(version, (counts.get(version) ?? 0) + 1);
    return {
      svc: VERSION,
      storage_version: NEWEST_STORAGE_VERSION,
      versions: [...counts]
        .sort(([a], [b]) => (b ?? 0) - (a ?? 0))
        .map(([version, tenants]) => ({storage_version: version, tenants})),
      run: this.#run,
    };
  }

  async #versions(): Promise<{id: string; version: number | null}[]> {
    const versions: {id: string; version: number | null}[] = [];
    for (const {id, generation} of this.#parts.tenants.rows()) {
      // A few system calls for each tenant, between which the supervisor does its work.
      await nextTurn();
      const isOpen = OPEN.has(this.#parts.placement.find(id)?.lifecycle.state ?? 'asleep');
      const path = join(this.#parts.files.path(id, generation), TENANT_FILE);
      versions.push({id, version: isOpen ? NEWEST_STORAGE_VERSION : readUserVersion(path)});
    }
    return versions;
  }

  async #upgradeAll(ids: readonly string[], run: UpgradeRun): Promise<void> {
    for (const id of ids) {
      try {
        await this.#upgrade(id, run);
      } catch (caught) {
        run.failed++;
        const message = caught instanceof ServiceError ? caught.message : 'an unexpected error; the log has it';
        if (run.failures.length < UPGRADE_FAILURES_SHOWN) run.failures.push({tenant: id, message});
        this.#parts.log.warn('a tenant could not be upgraded', {tenant: id, error: caught});
      }
    }
    run.is_running = false;
    run.finished_at = Date.now();
  }

  async #upgrade(id: string, run: UpgradeRun): Promise<void> {
    const {placement, control} = this.#parts;
    const state = placement.find(id)?.lifecycle.state;
    if (state === undefined || state === 'deleting') return; // deleted meanwhile
    if (state === 'paused' || state === 'pausing') {
      run.paused++;
      return;
    }
    await control.wake(id);
    run.done++;
    if (state !== 'asleep') return;
    try {
      await control.sleep(id);
    } catch (caught) {
      // It is in use by now.
      if (!(caught instanceof ServiceError) || caught.code !== 'op.conflict') throw caught;
    }
  }
}

/** A worker has the file open. */
const OPEN: ReadonlySet<string> = new Set(['awake', 'releasing', 'moving']);
