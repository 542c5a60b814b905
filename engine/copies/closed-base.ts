/**
 * Writes a base of a tenant that sleeps into its spool. The tenant's next worker goes on from there. A process that ends
 * at any step leaves a spool without a position, or the base.
 */
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import {ServiceError} from '../../shared/errors.ts';
import {SPOOL_DIRECTORY, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {openReader, storageFullError} from '../storage/database.ts';
import {findLostLog, keepLogFiles} from '../storage/file-guard.ts';
import {damagedError} from '../storage/identity.ts';
import {STORAGE_VERSION} from '../storage/migrations.ts';
import {Capture, type FileState} from './capture.ts';
import {fileStateOf} from './file-state.ts';
import {LogReader} from './log-reader.ts';
import {Spool} from './spool.ts';

/**
 * @param directory of the tenant; no process has its file open
 * @returns the commit of the base; null: the file has another storage version
 * @throws session.storage_full 507; op.storage_damaged 503
 */
export async function writeClosedBase(directory: string, nowMs: number): Promise<number | null> {
  const path = join(directory, TENANT_FILE);
  const lost = findLostLog(directory);
  if (lost !== null) throw damagedError(lost);
  keepLogFiles(path);
  const file = closedState(path, nowMs);
  if (file === null) return null;
  const log = new LogReader(path);
  try {
    const spool = new Spool(join(directory, SPOOL_DIRECTORY), 0);
    const capture = new Capture(log, spool, file);
    const finding = capture.beginBase();
    if (finding !== null) throw new ServiceError('session.storage_full', `no space for a base: ${finding}`);
    // The supervisor ends a process that does not answer for long.
    for (let isComplete = false; !isComplete; await setImmediate()) {
      if (!capture.isBaseUnderWay) throw storageFullError();
      isComplete = capture.makeBase();
    }
    return capture.commit;
  } finally {
    log.close();
  }
}

function closedState(path: string, nowMs: number): FileState | null {
  const db = openReader(path);
  try {
    if (db.pragma('user_version', {simple: true}) !== STORAGE_VERSION) return null;
    const newest = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck().get();
    return {...fileStateOf(db, {sequence: newest ?? 0}, nowMs), logFrames: undefined};
  } finally {
    db.close();
  }
}
