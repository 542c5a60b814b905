/**
 * Directories that backups make in the data directory. Only what svc makes in them is removed: a directory of the same
 * name can have been there before, with something else in it.
 */
import {lstat, readdir, rm, rmdir} from 'node:fs/promises';
import {join} from 'node:path';
import {LOG_SPOOLS_DIRECTORY, SCRATCH_COPIES_DIRECTORY, STATE_DIRECTORY} from '../../shared/ipc/copier.ts';

/** Copies that a drill restores. */
export const DRILL_SCRATCH = 'scratch';

const DRILLS = /^drill-\d+$/;
const MERGED = /^compact-\w{6}$/;
/** As `spoolOf` names it. */
const LOG_SPOOL = /^.+_\d+$/;
const STATE = /^(?:(?:keys|audit|refusals)\.sqlite|tenants\.json)(?:\.new)?$/;

/** Of a server that makes no backups. @param data the data directory */
export async function removeBackupLeftovers(data: string): Promise<void> {
  await removeDrillScratch(join(data, DRILL_SCRATCH));
  await removeMade(join(data, SCRATCH_COPIES_DIRECTORY), MERGED);
  await removeMade(join(data, STATE_DIRECTORY), STATE);
  await removeMade(join(data, LOG_SPOOLS_DIRECTORY), LOG_SPOOL);
}

export async function removeDrillScratch(scratch: string): Promise<void> {
  await removeMade(scratch, DRILLS);
}

/** A link is not followed: svc makes none. @param made names that svc gives in the directory */
async function removeMade(directory: string, made: RegExp): Promise<void> {
  const isThere = await lstat(directory).then(
    stat => stat.isDirectory(),
    () => false, // as in most data directories
  );
  if (!isThere) return;
  const names = await readdir(directory);
  const ours = names.filter(name => made.test(name));
  for (const name of ours) await rm(join(directory, name), {recursive: true, force: true});
  if (ours.length === names.length) await rmdir(directory);
}
