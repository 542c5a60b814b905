/** What `svc cluster adopt` finds in a data directory: tenants of which the cluster gets all that they have, or why not. */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {findLostLog} from '../../engine/storage/file-guard.ts';
import {findLogDamage} from '../../engine/storage/wal-log.ts';
import {readWrittenBy} from '../../engine/storage/written-by.ts';
import {NEWEST_STORAGE_VERSION} from '../../shared/storage-version.ts';
import {ADOPT_FILE, DAMAGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import type {Adopting} from '../../supervisor/files/cluster-mark.ts';
import type {Registry, StoredRow} from '../../supervisor/files/registry.ts';
import {fileStateOf} from '../../supervisor/files/tenant-files.ts';
import {peekAt} from '../data-directory/peek.ts';
import type {Survey} from '../data-directory/survey.ts';

export type Adoptable = {
  readonly id: string;
  /** As its directory has it. */
  readonly generation: number;
  readonly directory: string;
  /** It was never used, and has no file. */
  readonly isNew: boolean;
  readonly createdMs: number;
  /** When it has work without a request, epoch milliseconds; 0: it has to be opened to find out; null: never. */
  readonly dueMs: number | null;
};

export type AdoptPlan = {
  readonly tenants: readonly Adoptable[];
  /** One sentence for each tenant that cannot be one of the cluster as it is. */
  readonly faults: readonly string[];
};

/** @param adopting of a run that ended; null: none of this directory is in a cluster */
export function planAdoption(
  {found, tenantsPath, rows}: Survey,
  registry: Pick<Registry, 'paused'>,
  adopting: Adopting | null,
): AdoptPlan {
  const tenants: Adoptable[] = [];
  const faults: string[] = [];
  for (const {kind, id, generation, name, content, createdMs} of found) {
    const isTenant = kind === 'tenant' && id !== null && generation !== null;
    if (!isTenant || (content !== 'used' && content !== 'new')) continue;
    const directory = join(tenantsPath, name);
    const row = rows.find(one => one.id === id && one.generation === generation);
    const isNew = content === 'new' || fileStateOf(directory).isNew;
    // A run that ended can have changed the file and not the directory.
    const generations = [generation, ...(adopting === null ? [] : [generation + adopting.added])];
    const peeks = generations.map(its => peekAt(directory, {id, generation: its}));
    const peek = peeks.find(({finding}) => finding === null) ?? peeks[0]!;
    const fault = isNew
      ? null
      : (peek.finding ??
        (registry.paused.modeOf(id, generation) === null ? null : 'it is paused: resume it') ??
        faultOf(directory));
    if (fault !== null) faults.push(`tenant ${id}: ${fault}`);
    const dueMs = isNew ? null : dueOf(directory, row);
    tenants.push({
      ...{id, generation, directory, isNew, dueMs},
      createdMs: peek.identity?.createdMs ?? createdMs ?? row?.created_ms ?? 0,
    });
  }
  return {tenants: tenants.sort((one, other) => (one.id < other.id ? -1 : 1)), faults};
}

function faultOf(directory: string): string | null {
  if (existsSync(join(directory, DAMAGED_FILE))) return `it is stopped by ${join(directory, DAMAGED_FILE)}`;
  if (existsSync(join(directory, ADOPT_FILE)))
    return 'it came as a file, and was not opened yet: start the server once';
  const path = join(directory, TENANT_FILE);
  const damage = findLostLog(directory) ?? findLogDamage(path)?.finding ?? null;
  if (damage !== null) return damage;
  const version = readWrittenBy(path)?.version;
  if (version === NEWEST_STORAGE_VERSION) return null;
  return `its file has storage version ${version}, and this svc ${NEWEST_STORAGE_VERSION}: start the server with this svc, and run svc upgrade`;
}

/** As the start of a server decides whether to open a tenant. */
function dueOf(directory: string, row: StoredRow | undefined): number | null {
  const {hasLog, fileMs} = fileStateOf(directory);
  const isKnown = row?.isSound === true && row.awake === 0 && !hasLog && row.file_ms === fileMs;
  return isKnown ? row.next_due_ms : 0;
}
