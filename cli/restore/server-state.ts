/** The server's own files in a repository: its keys, what was done with them, and which tenants it had. */
import {existsSync} from 'node:fs';
import {mkdir, readFile, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import type {Repository} from '../../copies/repository/repository.ts';
import {SERVER} from '../../copies/repository/tenant-copies.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';

/** Files of a data directory. A repository can have others, which stay there. */
const FILES = ['keys.sqlite', 'audit.sqlite', 'refusals.sqlite'];
const TENANTS = 'tenants.json';

/** By id. */
export type StoredTenants = ReadonlyMap<string, {isPaused: boolean}>;

/** Downloads them into a directory, in place of what it has. */
export async function fetchServerState(repository: Repository, directory: string): Promise<void> {
  const next = `${directory}.new`;
  await rm(next, {recursive: true, force: true});
  await mkdir(next, {mode: 0o700});
  if ((await repository.dataKey(SERVER)) !== null) {
    const {files} = await repository.copies(SERVER);
    const wanted = files.filter(({kind, name}) => kind === 'state' && [...FILES, TENANTS].includes(name));
    for (const item of wanted) await repository.fetch(SERVER, item, join(next, item.name));
  }
  await rm(directory, {recursive: true, force: true});
  await rename(next, directory);
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
  type Stored = {tenants: {id: string; paused: string | null}[]};
  const {tenants} = JSON.parse(await readFile(path, 'utf8')) as Stored;
  return new Map(tenants.map(({id, paused}) => [id, {isPaused: (paused ?? null) !== null}]));
}
