/**
 * Repairs a tenant's damaged file in its directory: makes a copy in `<data>/set-aside`, repairs the file, then verifies
 * it.
 */
import {cpSync, existsSync, readdirSync, rmSync} from 'node:fs';
import {basename, join} from 'node:path';
import {findLostLog} from '../../engine/storage/file-guard.ts';
import {findLogDamage} from '../../engine/storage/wal-log.ts';
import {BeyondRepair, repairFile} from '../../engine/verify/repair-file.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {irregularFiles, readNote, statFile} from '../../shared/regular-file.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {DAMAGED_FILE, LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {makeDirectory} from '../../supervisor/files/tenant-files.ts';
import {CommandFailure} from '../failure.ts';

/** `left`: findings of svc verify afterwards. The tenant is served again once SQLite finds no fault in its file. */
export type Repaired = {copy: string; done: string[]; left: string[]};

export async function repairTenant(
  data: string,
  directory: string,
  {id, generation}: {id: string; generation: number},
): Promise<Repaired> {
  const path = join(directory, TENANT_FILE);
  const [odd] = irregularFiles(directory, 'tenant.');
  if (odd !== undefined) throw new CommandFailure(`in ${directory} ${odd}: move it away first`);
  const log = findLogDamage(path);
  if (log !== null) throw new CommandFailure(`${log.finding}; see "A damaged log" in docs/operating.md`);
  const copy = await keepCopy(data, directory);
  let done: string[];
  try {
    done = repairFile(path);
  } catch (caught) {
    if (!(caught instanceof BeyondRepair)) throw caught;
    throw new CommandFailure(
      `${path} cannot be mended: ${caught.message}; nothing was changed. A copy from before is what helps`,
    );
  }
  const lost = findLostLog(directory);
  // Closing the file has moved its log into it. A log that was lost before is given up; the copy still shows it.
  if (lost !== null) rmSync(join(directory, LOGGED_FILE));
  const left = verifyFile(path, {tenant: id, generation}).findings;
  const note = join(directory, DAMAGED_FILE);
  const stopped = readNote(note);
  if (stopped.is !== 'missing' && !left.some(finding => finding.startsWith('file: '))) {
    const what = stopped.is === 'file' ? stopped.text.trimEnd() : `${DAMAGED_FILE}, though ${stopped.why}`;
    done.push(`the tenant is let in again; what had stopped it: ${what}`);
    rmSync(note, {recursive: true});
  }
  return {copy, done, left};
}

/** Copies the tenant's files; they are on disk when this resolves. @returns the copy's path */
async function keepCopy(data: string, directory: string): Promise<string> {
  const place = join(data, 'set-aside');
  await makeDirectory(place);
  const name = `${basename(directory)}.damaged`;
  let to = join(place, name);
  for (let n = 2; existsSync(to); n++) to = join(place, `${name}.${n}`);
  await makeDirectory(to);
  for (const file of readdirSync(directory)) {
    const isOurs = file.startsWith(TENANT_FILE) || file === DAMAGED_FILE || file === LOGGED_FILE;
    if (isOurs && statFile(join(directory, file)) !== undefined) cpSync(join(directory, file), join(to, file));
  }
  await syncDirectory(to);
  await syncDirectory(place);
  return to;
}
