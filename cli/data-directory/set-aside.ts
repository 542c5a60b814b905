/** Manages `<data>/set-aside`: the place for files that no start should find. of it, svc removes only what a restore replaced. */
import {existsSync, renameSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {makeDirectory} from '../../supervisor/files/tenant-files.ts';

/**
 * Moves a file or directory there, under its own name or one with a number; on disk when this resolves. @returns the
 * new path
 */
export async function setAside(data: string, path: string): Promise<string> {
  const place = join(data, 'set-aside');
  await makeDirectory(place);
  let to = join(place, basename(path));
  for (let n = 2; existsSync(to); n++) to = join(place, `${basename(path)}.${n}`);
  renameSync(path, to);
  await syncDirectory(place);
  await syncDirectory(dirname(path));
  return to;
}
