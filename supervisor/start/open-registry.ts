/**
 * Opens the registry at a start, or refuses: if it is missing, empty or damaged while tenants exist, a new registry
 * would lose track of them. In that case nothing is changed. The file is not even opened, because SQLite would remove a
 * log without its database.
 */
import {statSync} from 'node:fs';
import {tenantDirectoryName} from '../files/directory-name.ts';
import {Registry, RegistryUnusable, type TenantRow} from '../files/registry.ts';
import {StartError} from '../files/start-error.ts';
import {type FoundDirectory, noteUnused, type TenantFiles} from '../files/tenant-files.ts';
import {registryRefusal} from './start-refusal.ts';

/** @throws StartError */
export function openRegistry(path: string, files: TenantFiles): Registry {
  const found = files.scan();
  const used = found.filter(({kind, content}) => kind === 'tenant' && content === 'used');
  try {
    const finding = absence(path, used);
    if (finding !== null) throw new RegistryUnusable(finding, true);
    return new Registry(path, (from, rows) => {
      if (from === 0 && used.length > 0) throw new RegistryUnusable('is empty, and there are tenants:', true);
      const contents = new Map(found.map(({name, content}) => [name, content]));
      for (const row of rows) noteIfUnused(row, contents, files);
    });
  } catch (caught) {
    if (!(caught instanceof RegistryUnusable)) throw caught;
    if (caught.isLost) throw registryRefusal(path, caught.message, used, {cause: caught});
    throw new StartError(`the registry ${path} ${caught.message}`, {cause: caught});
  }
}

function absence(path: string, used: FoundDirectory[]): string | null {
  if (sizeOf(path) > 0) return null;
  const what = sizeOf(path) === 0 ? 'is empty' : 'is missing';
  if (used.length > 0) return `${what}, and there are tenants:`;
  return sizeOf(`${path}-wal`) > 0 ? `${what}, but its log is there` : null;
}

/** Negative: the file does not exist. */
function sizeOf(path: string): number {
  return statSync(path, {throwIfNoEntry: false})?.size ?? -1;
}

/** Before version 2 the directory of a tenant that was never used was empty. */
function noteIfUnused(
  {id, generation, created_ms}: TenantRow,
  contents: ReadonlyMap<string, FoundDirectory['content']>,
  files: TenantFiles,
): void {
  const content = contents.get(tenantDirectoryName(id, generation));
  if (content !== 'empty' && content !== 'torn') return;
  noteUnused(files.path(id, generation), {tenant: id, generation, created_ms});
}
