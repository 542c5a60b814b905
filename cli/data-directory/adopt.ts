/**
 * Makes a registry from the tenants' directories, to replace a lost one.
 *
 *   the new one beside the old → the old one to set-aside/ → the new one in its place
 *
 * If it is interrupted in between, there is no registry, which a start refuses, and the command can be run again.
 * Deleted tenants do not come back: their directories are gone or called `d_…`. Every tenant is marked awake, so that
 * the next start opens each once and learns when it has work.
 */
import {existsSync, renameSync, rmSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {type TenantRow, writeRegistry} from '../../supervisor/files/registry.ts';
import {planStart, type TenantDirectory} from '../../supervisor/start/start-plan.ts';
import {CommandFailure} from '../failure.ts';
import {peekAt} from './peek.ts';
import {setAside} from './set-aside.ts';
import type {Survey} from './survey.ts';

export type Adopted = {
  tenants: string[];
  /**
   * Named by the old registry but without a directory: they stay, and are 503 until the directory is restored or they
   * are deleted.
   */
  missing: string[];
  /** The new location of the old registry. */
  oldRegistry: string[];
};

/** Nothing to do: the registry matches the directories. */
export function isWhole({registryFinding, rows, plan}: Survey): boolean {
  return registryFinding === null && plan.unknown.length === 0 && rows.every(row => row.isSound);
}

/**
 * @throws CommandFailure if two directories belong to one tenant, or one contains another tenant's file; nothing was
 * changed then
 */
export async function adopt(data: string, survey: Survey): Promise<Adopted> {
  const {registryPath, tenantsPath, found} = survey;
  const directories = planStart(
    [],
    found.map(directory => ({...directory, adopted: null})),
  );
  const ours = [...directories.unknown, ...directories.created];
  refuseTwice(ours);
  const rows = ours.map(directory => rowOf(directory, tenantsPath, survey.rows));
  const ids = new Set(ours.map(({id}) => id));
  const isDeleted = (row: TenantRow) =>
    directories.deleted.some(({id, generation}) => id === row.id && generation === row.generation);
  const missing = survey.plan.tenants
    .filter(({row, isMissing}) => isMissing && row.isSound && !ids.has(row.id) && !isDeleted(row))
    .map(({row: {isSound: _, ...row}}) => row);
  const generations = [...found, ...survey.rows].map(({generation}) => generation ?? 0);
  const last = Math.max(survey.lastGeneration, 0, ...generations.filter(Number.isSafeInteger));
  const made = `${registryPath}.new`;
  for (const end of ['', '-wal', '-shm']) rmSync(made + end, {force: true});
  writeRegistry(made, [...rows, ...missing], last);
  const oldRegistry: string[] = [];
  for (const end of ['', '-wal', '-shm']) {
    if (existsSync(registryPath + end)) oldRegistry.push(await setAside(data, registryPath + end));
  }
  renameSync(made, registryPath);
  await syncDirectory(dirname(registryPath));
  return {tenants: [...ids].sort(), missing: missing.map(({id}) => id), oldRegistry};
}

function refuseTwice(directories: TenantDirectory[]): void {
  const byId = Map.groupBy(directories, ({id}) => id);
  const twice = [...byId].filter(([, its]) => its.length > 1);
  if (twice.length === 0) return;
  const lines = twice.map(([id, its]) => `  tenant ${id}: ${its.map(({name}) => name).join(', ')}`);
  throw new CommandFailure(
    `more than one directory says it is the same tenant's; move all but one aside with --move-aside NAME:\n${lines.join('\n')}`,
  );
}

function rowOf({id, generation, name, createdMs}: TenantDirectory, tenantsPath: string, rows: TenantRow[]): TenantRow {
  const directory = join(tenantsPath, name);
  const {identity, finding, lastWriteMs} = peekAt(directory, {id, generation});
  if (identity !== null && finding !== null) {
    throw new CommandFailure(`${directory}: ${finding}; put the right file there, or use --move-aside ${name}`);
  }
  const known = rows.find(row => row.id === id && row.generation === generation);
  return {
    id,
    generation,
    awake: createdMs === null ? 1 : 0,
    next_due_ms: null,
    created_ms: identity?.createdMs ?? createdMs ?? known?.created_ms ?? lastWriteMs ?? 0,
    file_ms: null,
  };
}
