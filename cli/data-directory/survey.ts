/**
 * Surveys a data directory for the commands that inspect one: the registry, the directories of tenants, and whether
 * they match. It only reads, and a server can be running: an apparent mismatch is checked twice, because a tenant can
 * be created or deleted between reading the registry and reading the directories.
 */
import {existsSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {RegistryUnusable, readRegistry, type StoredRow} from '../../supervisor/files/registry.ts';
import {type FoundDirectory, scanTenants} from '../../supervisor/files/tenant-files.ts';
import {planStart, type StartPlan} from '../../supervisor/start/start-plan.ts';

export type Survey = {
  registryPath: string;
  tenantsPath: string;
  /** What is wrong with the registry, as the end of a sentence that begins with its path; null: it can be read. */
  registryFinding: string | null;
  /** The registry is missing, empty or damaged, so a new one is needed. */
  isRegistryLost: boolean;
  /** The registry seems sound, but its server does not share it. */
  isRegistryBusy: boolean;
  rows: StoredRow[];
  lastGeneration: number;
  /** No server has used it since directories record whether their tenant was used: then an empty one was not. */
  isOld: boolean;
  found: FoundDirectory[];
  plan: StartPlan;
};

/** Null if it is not a data directory. */
export function surveyDataDirectory(data: string): Survey | null {
  const first = look(data);
  if (first === null || !isAmiss(first.plan)) return first;
  return look(data);
}

function isAmiss(plan: StartPlan): boolean {
  return plan.unknown.length > 0 || plan.tenants.some(({isMissing}) => isMissing);
}

function look(data: string): Survey | null {
  const registryPath = join(data, 'registry.sqlite');
  const tenantsPath = join(data, 'tenants');
  if (!existsSync(registryPath) && !existsSync(tenantsPath)) return null;
  const found = scanTenants(tenantsPath);
  const registry = readIfPossible(registryPath, found);
  const plan = planStart(registry.rows, found);
  return {registryPath, tenantsPath, found, plan, ...registry};
}

type Read = Pick<Survey, 'registryFinding' | 'isRegistryLost' | 'isRegistryBusy' | 'rows' | 'lastGeneration' | 'isOld'>;

function readIfPossible(path: string, found: FoundDirectory[]): Read {
  const hasTenants = found.some(({kind, content}) => kind === 'tenant' && content === 'used');
  const lost = (registryFinding: string): Read => ({
    ...{registryFinding, isRegistryLost: true, isRegistryBusy: false},
    ...{rows: [], lastGeneration: 0, isOld: false},
  });
  const size = statSync(path, {throwIfNoEntry: false})?.size;
  if (size === undefined) return lost('is missing');
  if (size === 0) return lost('is empty');
  try {
    const {version, ...read} = readRegistry(path);
    // A registry without any trace of the tenants that are here was not theirs: its log is lost.
    if (read.lastGeneration === 0 && hasTenants) return lost('is empty');
    return {registryFinding: null, isRegistryLost: false, isRegistryBusy: false, isOld: version === 1, ...read};
  } catch (caught) {
    if (!(caught instanceof RegistryUnusable)) throw caught;
    return {...lost(caught.message), isRegistryLost: caught.isLost, isRegistryBusy: caught.isBusy};
  }
}
