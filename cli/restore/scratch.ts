/**
 * Scratch directories of restores. Their names have the process id, so that the next run removes those of processes
 * that were killed.
 */
import {mkdtemp, readdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {isAlive} from '../../supervisor/files/run-directory.ts';
import {makeDirectory} from '../../supervisor/files/tenant-files.ts';

const NAME = /^svc-restore-(\d+)-\w+$/;

/** @param base a directory on a file system with space for the tenant */
export async function withScratch<T>(base: string, use: (directory: string) => Promise<T>): Promise<T> {
  await makeDirectory(base);
  await removeStale(base);
  const directory = await mkdtemp(join(base, `svc-restore-${process.pid}-`));
  try {
    return await use(directory);
  } finally {
    await rm(directory, {recursive: true, force: true});
  }
}

async function removeStale(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const pid = NAME.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(base, name), {recursive: true, force: true});
  }
}
