/**
 * A directory with a file and the note `tenant.adopt` becomes a tenant. The order is safe against a crash at any point;
 * `start-plan.ts` decides what a start makes of what it finds.
 *
 *   on disk so far                                  a crash now leaves, and the next start
 *   1  the directory in incoming/                   nothing: empties incoming/
 *   2  … renamed to t_                              the tenant: goes on from here (its client got no answer)
 *   3  … the tenant that it replaces in set-aside/  the tenant: goes on from here
 *   4  … and a row → served → 201                   the tenant
 *
 * The note stays until the first worker has opened the tenant.
 */
import {existsSync} from 'node:fs';
import {mkdir, open, readdir, rename} from 'node:fs/promises';
import {join} from 'node:path';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {ADOPT_FILE, type AdoptNote, PACKAGES_DIRECTORY, TENANT_FILE} from '../../shared/tenant-directory.ts';
import type {Registry} from './registry.ts';
import {removeTree, type TenantFiles} from './tenant-files.ts';

/** Where packages of the file's deployments can wait for it. */
export function packagesBeside(path: string): string {
  return `${path}.packages`;
}

/**
 * Moves a complete file, and the log and the packages beside it if there are any, into a directory of its own, with its
 * note; durable when it resolves.
 */
export async function prepareAdoption(path: string, note: AdoptNote): Promise<string> {
  const directory = `${path}.adopted`;
  await mkdir(directory, {mode: 0o700});
  await rename(path, join(directory, TENANT_FILE));
  if (existsSync(`${path}-wal`)) await rename(`${path}-wal`, join(directory, `${TENANT_FILE}-wal`));
  if (existsSync(packagesBeside(path))) await rename(packagesBeside(path), join(directory, PACKAGES_DIRECTORY));
  const handle = await open(join(directory, ADOPT_FILE), 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(note)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await syncDirectory(directory);
  return directory;
}

/**
 * Steps 2 to 4. No worker may use the tenant that is replaced. On a disk that fails, the file is the tenant when this
 * returns, and nothing has changed when it throws.
 * @param directory that `prepareAdoption` made, on the file system of the tenants' directories
 * @returns the error of a change after which the file could not be taken back; null: none
 */
export async function placeAdopted(
  files: TenantFiles,
  registry: Registry,
  note: AdoptNote,
  directory: string,
  nowMs: number,
): Promise<unknown> {
  let fault: unknown = null;
  try {
    await files.place(directory, note);
    await setAsideReplaced(files, note, nowMs);
  } catch (caught) {
    if (await files.takeBack(directory, note)) throw caught;
    fault = caught;
  }
  registry.adopt(note);
  return fault;
}

/** Steps 3 and 4. @returns false: the disk refuses it; the row is written with the tenant's next change */
export async function finishAdoption(
  files: TenantFiles,
  registry: Registry,
  note: AdoptNote,
  nowMs: number,
): Promise<boolean> {
  await setAsideReplaced(files, note, nowMs);
  return registry.adopt(note);
}

async function setAsideReplaced(files: TenantFiles, {tenant, replaces}: AdoptNote, nowMs: number): Promise<void> {
  if (replaces !== null) await files.setAside(tenant, replaces, nowMs);
}

/** Removes what an earlier server left in `<data>/incoming`, and makes the directory. */
export async function emptyIncoming(directory: string): Promise<void> {
  await mkdir(directory, {recursive: true, mode: 0o700});
  for (const name of await readdir(directory)) await removeTree(join(directory, name));
}
