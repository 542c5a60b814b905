/** Mends a tenant's damaged file in its directory: first a copy in `<data>/set-aside`, then the file, then a look at what is left. */
import {cpSync, existsSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {basename, join} from 'node:path';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {DAMAGED_FILE, LOGGED_FILE, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {makeDirectory} from '../../supervisor/tenant-files.ts';
import {findLostLog} from '../../worker/storage/log-note.ts';
import {findLogDamage} from '../../worker/storage/wal-log.ts';
import {BeyondRepair, repairFile} from '../../worker/verify/repair-file.ts';
import {verifyFile} from '../../worker/verify/verify-file.ts';
import {CommandFailure} from '../failure.ts';

/** `left`: findings of svc verify afterwards. The tenant is let in again when SQLite finds its file whole. */
export type Repaired = {copy: string; done: string[]; left: string[]};

export async function repairTenant(
  data: string,
  directory: string,
  {id, generation}: {id: string; generation: number},
): Promise<Repaired> {
  const path = join(directory, TENANT_FILE);
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
  // Closing the file has moved its log into it; one that was gone before is given up, as the copy still tells.
  if (lost !== null) rmSync(join(directory, LOGGED_FILE));
  const left = verifyFile(path, {tenant: id, generation}).findings;
  const note = join(directory, DAMAGED_FILE);
  if (existsSync(note) && !left.some(finding => finding.startsWith('file: '))) {
    done.push(`the tenant is let in again; what had stopped it: ${readFileSync(note, 'utf8').trimEnd()}`);
    rmSync(note);
  }
  return {copy, done, left};
}

/** The tenant's files, on disk when this resolves. @returns where */
async function keepCopy(data: string, directory: string): Promise<string> {
  const place = join(data, 'set-aside');
  await makeDirectory(place);
  const name = `${basename(directory)}.damaged`;
  let to = join(place, name);
  for (let n = 2; existsSync(to); n++) to = join(place, `${name}.${n}`);
  await makeDirectory(to);
  for (const file of readdirSync(directory)) {
    if (file.startsWith(TENANT_FILE) || file === DAMAGED_FILE || file === LOGGED_FILE)
      cpSync(join(directory, file), join(to, file));
  }
  await syncDirectory(to);
  await syncDirectory(place);
  return to;
}
