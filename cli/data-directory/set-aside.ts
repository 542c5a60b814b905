/** `<data>/set-aside`: where files go that no start should meet. Nothing is ever removed from it by us. */
import {existsSync, renameSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {makeDirectory} from '../../supervisor/files/tenant-files.ts';

/** Moves a file or directory there, on disk when this resolves, under its own name or one with a number. @returns where */
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
