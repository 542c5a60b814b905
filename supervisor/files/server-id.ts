/**
 * The random id of a data directory, which the lease of its repository names, and the repository that it was the writer
 * of. So a server that comes back after another one has taken the lease differs from one that never had it.
 */
import {createHash, randomBytes} from 'node:crypto';
import {readFileSync, statSync} from 'node:fs';
import {open, rename} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {bootId} from '../../shared/owner-lock.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';

export type ServerIdentity = {
  server_id: string;
  repository_id: string | null;
  /** When a drill last began, and when one last proved all its tenants, epoch milliseconds; null: never. */
  drilled_at: number | null;
  proven_at: number | null;
  /** When the repository last had everything, as far as is known. */
  succeeded_at: number | null;
};

const ID = /^[0-9a-f]{32}$/;

/** A missing or damaged file is replaced: the lease of the id before ends by itself. */
export async function serverIdentity(data: string): Promise<ServerIdentity> {
  const found = stored(join(data, 'backup.json'));
  if (found !== null) return found;
  const never = {drilled_at: null, proven_at: null, succeeded_at: null};
  const made = {server_id: randomBytes(16).toString('hex'), repository_id: null, ...never};
  await storeIdentity(data, made);
  return made;
}

/**
 * Differs from that of a copy of the data directory, and of a machine that was cloned, which have the same id: the boot
 * of the machine, and device and inode of the directory.
 */
export function serverPlace(data: string): string {
  const {dev, ino} = statSync(data, {bigint: true});
  return createHash('sha256').update(`${bootId()} ${dev} ${ino}`).digest('hex').slice(0, 32);
}

export async function storeIdentity(data: string, identity: ServerIdentity): Promise<void> {
  const path = join(data, 'backup.json');
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(identity)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncDirectory(dirname(path));
}

function stored(path: string): ServerIdentity | null {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as ServerIdentity;
    const {server_id: id, repository_id: repository, drilled_at, proven_at, succeeded_at} = found;
    if (!ID.test(id) || !(repository === null || typeof repository === 'string')) return null;
    const times = {drilled_at: timeIn(drilled_at), proven_at: timeIn(proven_at), succeeded_at: timeIn(succeeded_at)};
    return {server_id: id, repository_id: repository, ...times};
  } catch (caught) {
    if (caught instanceof SyntaxError || (caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw caught;
  }
}

function timeIn(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}
