/**
 * Scratch directories of restores, in a place that other users and other process namespaces can share. Each has a lock,
 * which the operating system drops when its process ends, so that the next run removes those of processes that were
 * killed, and no others. One that another user made is never entered.
 */
import {lstatSync, type Stats} from 'node:fs';
import {mkdtemp, readdir, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Command} from 'commander';
import {acquireOwnerLock} from '../../shared/owner-lock.ts';
import {makeDirectory} from '../../supervisor/files/tenant-files.ts';

const NAME = /^svc-restore-\w+$/;
const LOCK = 'lock';
/** A directory of this age without a lock was left by a process that ended before it had one. */
const UNLOCKED_MS_MAX = 3_600_000;

/** The option of a verb that needs a scratch directory. */
export function addScratchOption(command: Command): Command {
  return command.option(
    '--scratch <directory>',
    'where scratch files are; it needs space for the largest tenant ($TMPDIR)',
    tmpdir(),
  );
}

/** @param base a directory on a file system with space for the tenant */
export async function withScratch<T>(base: string, use: (directory: string) => Promise<T>): Promise<T> {
  await makeDirectory(base);
  await removeStale(base);
  const directory = await mkdtemp(join(base, 'svc-restore-'));
  const lock = await acquireOwnerLock(join(directory, LOCK));
  try {
    return await use(directory);
  } finally {
    lock.release();
    await rm(directory, {recursive: true, force: true});
  }
}

async function removeStale(base: string): Promise<void> {
  const directories = (await readdir(base)).filter(name => NAME.test(name)).map(name => join(base, name));
  for (const directory of directories.filter(isOwn)) {
    if (await isStale(directory)) await rm(directory, {recursive: true, force: true});
  }
}

/** Only this user can change what is in it. */
function isOwn(directory: string): boolean {
  const stat = statOf(directory);
  return stat?.isDirectory() === true && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0;
}

async function isStale(directory: string): Promise<boolean> {
  if (statOf(join(directory, `${LOCK}.lock`)) === undefined) {
    const {mtimeMs} = statOf(directory) ?? {mtimeMs: Date.now()};
    return Date.now() - mtimeMs > UNLOCKED_MS_MAX;
  }
  try {
    (await acquireOwnerLock(join(directory, LOCK))).release();
    return true;
  } catch {
    return false; // it is in use, or no lock can be taken there
  }
}

/** Of the name itself. */
function statOf(path: string): Stats | undefined {
  return lstatSync(path, {throwIfNoEntry: false});
}
