/** The server's own files in a repository: its keys, what was done with them, and which tenants it had. */
import {existsSync} from 'node:fs';
import {mkdir, readFile, rename, rm, stat, utimes} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Repository} from '../../copies/repository/repository.ts';
import type {RepositoryError} from '../../copies/repository/repository-error.ts';
import {SERVER} from '../../copies/repository/tenant-copies.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {TENANTS_LIST_MS} from '../limits.ts';
import {withScratch} from './scratch.ts';

export const AUDIT_FILE = 'audit.sqlite';
/** Files of a data directory. A repository can have others, which stay there. */
const FILES = ['keys.sqlite', AUDIT_FILE, 'refusals.sqlite'];
const TENANTS = 'tenants.json';

/** Which tenants the server had at a time. */
export type StoredTenants = {atMs: number; isPaused: ReadonlyMap<string, boolean>};

/**
 * Downloads them into a directory, in place of what it has.
 * @returns why they cannot be read, if it is their data key, which is no fault of a tenant: what the directory has stays.
 * @throws as Repository.copies
 */
export async function fetchServerState(
  repository: Repository,
  directory: string,
  names: readonly string[] = [...FILES, TENANTS],
): Promise<RepositoryError | null> {
  const next = `${directory}.new`;
  await rm(next, {recursive: true, force: true});
  await mkdir(next, {mode: 0o700});
  const fault = await repository.keyFault(SERVER);
  if (fault === null && (await repository.dataKey(SERVER)) !== null) {
    const {files} = await repository.copies(SERVER);
    const wanted = files.filter(({kind, name}) => kind === 'state' && names.includes(name));
    for (const item of wanted) {
      const path = join(next, item.name);
      await repository.fetch(SERVER, item, path);
      await utimes(path, item.timeMs / 1_000, item.timeMs / 1_000);
    }
  }
  if (fault !== null && existsSync(directory)) {
    await rm(next, {recursive: true});
    return fault;
  }
  await rm(directory, {recursive: true, force: true});
  await rename(next, directory);
  return fault;
}

/** Which tenants the server has that writes to a repository. Null: the repository does not say. */
export function serverTenants(repository: Repository): Promise<StoredTenants | null> {
  return withScratch(tmpdir(), async scratch => {
    const directory = join(scratch, 'state');
    await fetchServerState(repository, directory, [TENANTS]);
    return storedTenants(directory);
  });
}

/** Moves them into a data directory that does not have them. @returns the names of those that were moved */
export async function placeServerState(directory: string, data: string): Promise<string[]> {
  const moved = FILES.filter(name => existsSync(join(directory, name)) && !existsSync(join(data, name)));
  for (const name of moved) await rename(join(directory, name), join(data, name));
  await syncDirectory(data);
  return moved;
}

/** Null: the repository does not say which tenants the server had. */
export async function storedTenants(directory: string): Promise<StoredTenants | null> {
  const path = join(directory, TENANTS);
  if (!existsSync(path)) return null;
  const {tenants} = JSON.parse(await readFile(path, 'utf8')) as {tenants: {id: string; paused: string | null}[]};
  const {mtimeMs: atMs} = await stat(path);
  return {atMs, isPaused: new Map(tenants.map(({id, paused}) => [id, (paused ?? null) !== null]))};
}

/**
 * Whether the server had deleted the tenant, whose copies stay. A tenant that is younger than the list is not in it.
 * @param newestMs of its newest copy
 */
export function isDeleted(stored: StoredTenants | null, tenant: string, newestMs: number): boolean {
  return stored !== null && !stored.isPaused.has(tenant) && newestMs < stored.atMs - TENANTS_LIST_MS;
}
