/**
 * `svc restore --all`: the tenants of a lost host, and its keys and audit log, into an empty data directory. A run that
 * was interrupted goes on: a marker in the directory says which repository it is restored from.
 */
import {existsSync} from 'node:fs';
import {readFile, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Repository} from '../../copies/repository/repository.ts';
import {RepositoryError} from '../../copies/repository/repository-error.ts';
import {SERVER} from '../../copies/repository/tenant-copies.ts';
import {RestoreError} from '../../copies/restore/restore-error.ts';
import {StoreError} from '../../copies/store/store-error.ts';
import type {BackupGap} from '../../shared/protocol/backups.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {RESTORE_FILE} from '../../supervisor/start/unfinished-restore.ts';
import {CommandFailure} from '../failure.ts';
import type {Wanted} from './make-file.ts';
import {type OwnedDirectory, placeTenant} from './place.ts';
import {fetchServerState, isDeleted, placeServerState, storedTenants} from './server-state.ts';

export type RestoredHost = {
  restored: string[];
  /** They had no copy at that time. */
  without: string[];
  /** The server had deleted them; their copies stay. */
  deleted: string[];
  failed: {tenant: string; reason: string}[];
  /** They are restored, and may be older than what was stored. */
  older: {tenant: string; gap: BackupGap}[];
  /** Files of the server that were restored. */
  state: string[];
};

/** @param onTenant called before each one. @throws CommandFailure */
export async function restoreAll(
  owned: OwnedDirectory,
  repository: Repository,
  {target, depth, live}: Pick<Wanted, 'target' | 'depth'> & {live: boolean},
  onTenant: (tenant: string, done: number, total: number) => void,
): Promise<RestoredHost> {
  const marker = join(owned.data, RESTORE_FILE);
  await begin(owned, repository, marker);
  const stateDirectory = join(owned.data, 'restore-state');
  const fault = await fetchServerState(repository, stateDirectory);
  const stored = await storedTenants(stateDirectory);
  const state = await placeServerState(stateDirectory, owned.data);
  const host: RestoredHost = {restored: [], without: [], deleted: [], failed: [], older: [], state};
  if (fault !== null) host.failed.push({tenant: 'files of the server', reason: fault.message});
  for (const [tenant, {message}] of await repository.lostKeys()) {
    if (tenant !== SERVER) host.failed.push({tenant, reason: message});
  }
  const there = new Set(owned.registry.rows().map(({id}) => id));
  const tenants = await repository.tenants();
  for (const [done, tenant] of tenants.entries()) {
    onTenant(tenant, done, tenants.length);
    try {
      if (!there.has(tenant)) {
        const newestMs = (await repository.newest(tenant))?.timeMs ?? 0;
        if (isDeleted(stored, tenant, newestMs)) {
          host.deleted.push(tenant);
          continue;
        }
        const isLive = live && stored?.isPaused.get(tenant) !== true;
        const placing = {as: tenant, replace: false, live: isLive};
        const {gap} = await placeTenant(owned, {repository, tenant, target, depth}, placing);
        if (gap !== null) host.older.push({tenant, gap});
      }
      host.restored.push(tenant);
    } catch (caught) {
      if (caught instanceof RepositoryError && caught.code === 'no_copies') host.without.push(tenant);
      else host.failed.push({tenant, reason: reasonOf(caught)});
    }
  }
  await rm(stateDirectory, {recursive: true});
  if (host.failed.length === 0) await rm(marker);
  return host;
}

/** @throws CommandFailure: the directory has tenants that an earlier run did not restore */
async function begin({data, registry}: OwnedDirectory, {id}: Repository, marker: string): Promise<void> {
  const begun = existsSync(marker) ? await readFile(marker, 'utf8') : null;
  const text = `${JSON.stringify({repository: id})}\n`;
  if (begun === text) return;
  if (begun !== null) throw new CommandFailure(`${data} is being restored from another repository: ${begun.trim()}`);
  if (registry.rows().length > 0) throw new CommandFailure(`${data} has tenants: --all needs an empty data directory`);
  await writeFile(marker, text, {mode: 0o600, flush: true});
  await syncDirectory(data);
}

/** Errors that concern one tenant; others end the command. */
function reasonOf(caught: unknown): string {
  const isIts = caught instanceof RestoreError || caught instanceof RepositoryError || caught instanceof StoreError;
  if (isIts) return caught.message;
  throw caught;
}
