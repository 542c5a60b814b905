/**
 * Returns a tenant to the copy of its file from before an upgrade. The file in use goes to set-aside, so nothing is
 * lost.
 *
 *   newer file in place ─▶ newer file aside ─▶ its log aside ─▶ copy in place ─▶ the copy's note removed
 *
 * The file goes first and comes last: in between the tenant has no file, which every version of svc refuses as missing,
 * and running the command again goes on. A log beside another file than its own would be lost or applied to it.
 */
import {existsSync, renameSync} from 'node:fs';
import {basename, join} from 'node:path';
import {readWrittenBy} from '../../engine/storage/written-by.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {BEFORE_UPGRADE, LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {forgetCopies, type KeptCopy, removeCopy, tornNotes} from '../../supervisor/files/kept-copies.ts';
import {makeDirectory} from '../../supervisor/files/tenant-files.ts';

/** Each is about one change, so that a test can end the process between any two. */
export const GOING_STEPS = {rename: renameSync, syncDirectory, makeDirectory, removeCopy, forgetCopies};
export type GoingSteps = typeof GOING_STEPS;

const REST = [`${TENANT_FILE}-wal`, `${TENANT_FILE}-shm`, LOGGED_FILE];

/** @returns where the newer file is */
export async function goBack(
  data: string,
  directory: string,
  {name, note}: KeptCopy,
  steps: GoingSteps = GOING_STEPS,
): Promise<string> {
  const isBegun = !existsSync(join(directory, TENANT_FILE));
  const aside = placeFor(join(data, 'set-aside'), `${basename(directory)}.v${note.to}`, isBegun);
  await steps.makeDirectory(aside);
  for (const file of [TENANT_FILE, ...REST]) {
    if (!existsSync(join(directory, file))) continue;
    steps.rename(join(directory, file), join(aside, file));
    await steps.syncDirectory(aside);
    await steps.syncDirectory(directory);
  }
  const kept = join(directory, BEFORE_UPGRADE);
  steps.rename(join(kept, name, TENANT_FILE), join(directory, TENANT_FILE));
  await steps.syncDirectory(directory);
  await steps.syncDirectory(join(kept, name));
  steps.removeCopy(kept, name);
  steps.forgetCopies(directory, 0);
  return aside;
}

/** A way back was interrupted once the copy was in its place: another run would return to an older copy. */
export function isReturned(directory: string): boolean {
  const version = readWrittenBy(join(directory, TENANT_FILE))?.version;
  return tornNotes(directory).some(({from}) => from === version);
}

/** A name that is free or that an interrupted run has made; if that moved the file already, the one that has it. */
function placeFor(parent: string, name: string, isBegun: boolean): string {
  const path = (n: number) => join(parent, n === 1 ? name : `${name}.${n}`);
  let n = 1;
  while (existsSync(join(path(n), TENANT_FILE))) n++;
  return path(isBegun && n > 1 ? n - 1 : n);
}
