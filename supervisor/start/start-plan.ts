/**
 * Decides what a start does with the registry's rows and the directories that it finds. It is a pure function, so that
 * every state that a crash or a damaged disk can leave is a row in a test.
 *
 *   directory of …        a row names it        no row names it
 *   t_, used              a tenant              refuse: the registry does not belong to these directories
 *   t_, new               a tenant              a tenant: the crash came between its note and its row
 *   t_, adopted           a tenant              a tenant, and the one that it replaces goes to set-aside/
 *   t_, empty or torn     a tenant that is      remove it (rmdir): its creation was never confirmed
 *                         missing its files
 *   t_, odd               a tenant that is      leave it unchanged, and report it
 *                         missing its files
 *   d_                    finish the deletion   finish the deletion
 *   none                  a tenant that is
 *                         missing its files
 *
 * A directory with a tenant's file is removed for one reason only: its name is `d_…`, which a deletion gave it.
 */

import type {AdoptNote} from '../../shared/tenant-directory.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {tenantDirectoryName} from '../files/directory-name.ts';
import type {StoredRow} from '../files/registry.ts';
import type {FoundDirectory} from '../files/tenant-files.ts';

/** A directory whose name identifies its tenant. */
export type TenantDirectory = FoundDirectory & {id: string; generation: number};

export type StartPlan = {
  tenants: {row: StoredRow; isMissing: boolean}[];
  /** Tenants without a row. */
  created: (TenantDirectory & {createdMs: number})[];
  /** Tenants that came as files, without a row. */
  adopted: AdoptNote[];
  /** To be removed: they contain at most part of a note. */
  interrupted: TenantDirectory[];
  deleted: TenantDirectory[];
  /** Directories without a row, with content that no creation leaves. */
  odd: TenantDirectory[];
  /** Rows that cannot belong to any tenant. */
  impossible: StoredRow[];
  /** If any exist, the start is refused: directories with a tenant's file that no row names. */
  unknown: TenantDirectory[];
};

export function planStart(rows: StoredRow[], found: FoundDirectory[]): StartPlan {
  const plan: StartPlan = {
    tenants: [],
    created: [],
    adopted: [],
    interrupted: [],
    odd: [],
    deleted: [],
    impossible: [],
    unknown: [],
  };
  const directories = new Map<string, TenantDirectory>();
  for (const directory of found) if (isTenants(directory)) directories.set(directory.name, directory);
  const deletedKeys = new Set<string>();
  for (const directory of directories.values()) {
    if (directory.kind === 'deleted' && !directories.has(nameOf(directory))) {
      plan.deleted.push(directory);
      deletedKeys.add(nameOf(directory));
    }
  }
  plan.adopted = adoptedIn(rows, directories);
  const replaced = new Set(plan.adopted.map(({tenant, replaces}) => tenantDirectoryName(tenant, replaces ?? 0)));
  const adopted = new Set(plan.adopted.map(({tenant, generation}) => tenantDirectoryName(tenant, generation)));
  const named = new Set<string>();
  const missing: StoredRow[] = [];
  const served = new Set<string>();
  for (const row of rows) {
    if (!isPossible(row)) plan.impossible.push(row);
    else if (deletedKeys.has(nameOf(row)) || replaced.has(nameOf(row))) continue;
    else if (directories.has(nameOf(row))) {
      named.add(nameOf(row));
      served.add(row.id);
      plan.tenants.push({row, isMissing: !['used', 'new'].includes(directories.get(nameOf(row))!.content)});
    } else missing.push(row);
  }
  for (const directory of directories.values()) {
    if (directory.kind !== 'tenant' || named.has(directory.name) || replaced.has(directory.name)) continue;
    if (adopted.has(directory.name)) {
      served.add(directory.id);
      continue;
    }
    if (directory.content === 'empty' || directory.content === 'torn') plan.interrupted.push(directory);
    else if (directory.content === 'odd') plan.odd.push(directory);
    else if (directory.content === 'new' && directory.createdMs !== null && !served.has(directory.id)) {
      served.add(directory.id);
      plan.created.push({...directory, createdMs: directory.createdMs});
    } else plan.unknown.push(directory);
  }
  // An older row of a tenant that was deleted and created again is not a second tenant.
  for (const row of missing) if (!served.has(row.id)) plan.tenants.push({row, isMissing: true});
  return plan;
}

/** Directories with a note and no row, of tenants that have no directory, or only the one that the note replaces. */
function adoptedIn(rows: StoredRow[], directories: ReadonlyMap<string, TenantDirectory>): AdoptNote[] {
  const known = rows.filter(row => isPossible(row) && directories.has(nameOf(row)));
  const names = new Set(known.map(nameOf));
  const adopted: AdoptNote[] = [];
  for (const {adopted: note, name, kind, id} of directories.values()) {
    if (note === null || kind !== 'tenant' || names.has(name)) continue;
    const others = known.filter(row => row.id === id && row.generation !== note.replaces);
    if (others.length === 0 && !adopted.some(({tenant}) => tenant === id)) adopted.push(note);
  }
  return adopted;
}

function isTenants(directory: FoundDirectory): directory is TenantDirectory {
  return directory.id !== null && directory.generation !== null;
}

function nameOf({id, generation}: {id: string; generation: number}): string {
  return tenantDirectoryName(id, generation);
}

function isPossible({id, generation}: StoredRow): boolean {
  return TENANT_ID.test(id) && Number.isSafeInteger(generation) && generation >= 1;
}
