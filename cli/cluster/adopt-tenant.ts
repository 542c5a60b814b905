/**
 * Makes one tenant of a stopped server a tenant of the cluster. A process that ends at any step is followed by one that does
 * the tenant again; from the entry on, hosts serve it.
 *
 *   another generation, if it needs one ──▶ the log begins with a base of the file ──▶ the place of the file
 *   ──▶ the packages of its deployments ──▶ the entry
 */
import {renameSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {HostPackages} from '../../cluster/host/host-packages.ts';
import {Owned} from '../../cluster/log/packages.ts';
import type {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {beginLog} from '../../cluster/owner/begin-log.ts';
import {encodePlace} from '../../cluster/owner/place.ts';
import {findEntry} from '../../cluster/ownership/claim.ts';
import type {TenantEntries} from '../../cluster/ownership/tenant-entries.ts';
import {newTenant} from '../../cluster/ownership/tenant-record.ts';
import {renumberFile} from '../../engine/adopt/renumber-file.ts';
import {sourceOfFile} from '../../engine/copies/bytes.ts';
import {DISK} from '../../engine/copies/disk.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import {savePlace} from '../../engine/replication/place-file.ts';
import {writeWholeFile} from '../../engine/replication/whole-file.ts';
import {ServiceError} from '../../shared/errors.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {NEW_TENANT_FILE, type NewTenant, TENANT_FILE} from '../../shared/tenant-directory.ts';
import type {Adopting} from '../../supervisor/files/cluster-mark.ts';
import {tenantDirectoryName} from '../../supervisor/files/directory-name.ts';
import type {Registry} from '../../supervisor/files/registry.ts';
import {CommandFailure} from '../failure.ts';
import type {Adoptable} from './adopt-plan.ts';

/** The note of its log before a host has opened it. It is not that of a host, so none is waited for. */
export const ADOPT_NOTE = 'adopt';

export type AdoptParts = {
  readonly replicated: Pick<ReplicatedLog, 'records' | 'tenant' | 'bases' | 'packages'>;
  readonly entries: Pick<TenantEntries, 'add'>;
  readonly registry: Pick<Registry, 'rows' | 'adopt'>;
  readonly adopting: Adopting;
  /** Path of a file that is made, and removed. */
  readonly scratch: string;
  readonly nowMs: number;
  readonly signal?: AbortSignal;
};

/** `there`: an earlier run has done it. */
export type Adopted = {
  readonly tenant: string;
  readonly generation: number;
  readonly bytes: number;
  readonly state: 'adopted' | 'there';
};

/** Of a tenant whose directory can have the generation that it had alone. */
export function generationIn({last, added}: Adopting, generation: number): number {
  return generation > last ? generation : generation + added;
}

/** @throws CommandFailure, CopyError, LogError, EngineError */
export async function adoptTenant(parts: AdoptParts, tenant: Adoptable): Promise<Adopted> {
  const {replicated, entries, adopting} = parts;
  const {id, isNew, createdMs, dueMs} = tenant;
  const generation = generationIn(adopting, tenant.generation);
  const found = await findEntry(replicated.records, id);
  if (found?.record.generation === generation) return {tenant: id, generation, bytes: 0, state: 'there'};
  const directory = await renumbered(parts, tenant, generation);
  const begun = isNew ? {epoch: 0, bytes: 0} : await begin(parts, {id, generation}, join(directory, TENANT_FILE));
  if (!isNew) await storePackages(parts, new Owned({id, generation}, begun.epoch), directory);
  const record = {...newTenant(generation, createdMs), epoch: begun.epoch, dueMs};
  const {kind} = await entries.add(id, record);
  if (kind === 'exists')
    throw new CommandFailure(`the cluster has got a tenant ${id} meanwhile: delete it there first`);
  if (kind !== 'stored') throw notTaken(id, kind);
  return {tenant: id, generation, bytes: begun.bytes, state: 'adopted'};
}

async function begin(
  {replicated, scratch, nowMs, signal}: AdoptParts,
  tenant: {id: string; generation: number},
  path: string,
): Promise<{epoch: number; bytes: number}> {
  const fd = DISK.open(scratch, 'w+');
  try {
    const at: Position = writeWholeFile(path, {write: bytes => DISK.write(fd, bytes, null)}, nowMs);
    const base = sourceOfFile(fd);
    const begun = await beginLog(replicated, tenant, {base, note: ADOPT_NOTE, aboveEpoch: 0, signal});
    if (begun.kind !== 'begun') throw notTaken(tenant.id, begun.kind);
    savePlace(path, {at, log: encodePlace(begun.position, ADOPT_NOTE)});
    return {epoch: begun.position.epoch, bytes: at.pages * at.pageBytes};
  } finally {
    DISK.close(fd);
    DISK.remove(scratch);
  }
}

/** @throws CommandFailure, LogError, EngineError */
async function storePackages({replicated, signal}: AdoptParts, owned: Owned, directory: string): Promise<void> {
  const packages = new HostPackages({
    ...{packages: replicated.packages, pathOf: () => null, freeBytes: () => null},
    report: sentence => process.stderr.write(`${sentence}\n`),
  });
  try {
    await packages.putAll(owned, directory, signal ?? new AbortController().signal);
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    throw new CommandFailure(`the cluster does not take tenant ${owned.tenant.id}: ${caught.message}`);
  }
}

/** Its file first, then its directory, then the registry, which is a cache of directories. @returns its directory */
async function renumbered({registry}: AdoptParts, tenant: Adoptable, generation: number): Promise<string> {
  const {id, isNew, createdMs, directory: before} = tenant;
  const parent = dirname(before);
  const directory = join(parent, tenantDirectoryName(id, generation));
  if (before !== directory) {
    if (!isNew) renumberFile(before, generation);
    else {
      const note: NewTenant = {tenant: id, generation, created_ms: createdMs};
      const path = join(before, NEW_TENANT_FILE);
      writeFileSync(`${path}.next`, `${JSON.stringify(note)}\n`, {mode: 0o600, flush: true});
      renameSync(`${path}.next`, path);
      await syncDirectory(before);
    }
    renameSync(before, directory);
    await syncDirectory(parent);
  }
  const isNoted = registry.rows().some(row => row.id === id && row.generation === generation);
  if (isNoted) return directory;
  const note = {tenant: id, generation, created_ms: createdMs, timeline: '', origin: null, replaces: null} as const;
  if (registry.adopt({...note, serve: 'all'})) return directory;
  throw new CommandFailure('the registry cannot be written: free space on the disk and run it again');
}

function notTaken(tenant: string, kind: 'there' | 'refused' | 'full' | 'abandoned' | 'missing'): CommandFailure {
  const why =
    kind === 'full'
      ? 'it has no space for it: make space and run it again'
      : kind === 'there'
        ? 'it has another log of it'
        : 'another process changes it as well: run it again';
  return new CommandFailure(`the cluster does not take tenant ${tenant}: ${why}`);
}
