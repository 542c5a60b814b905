/** What a closed file of a worker says of itself. It comes from a process that runs code of its tenant. */
import {dirname} from 'node:path';
import type {FileState} from '../copies/capture.ts';
import {CopyError} from '../copies/copy-error.ts';
import {fileStateOf} from '../copies/file-state.ts';
import {openReader} from '../storage/database.ts';
import {findLostLog, keepLogFiles} from '../storage/file-guard.ts';
import {findLogDamage} from '../storage/wal-log.ts';

/** A file that lost its WAL during a checkpoint can have pages of several commits. @throws CopyError */
export function refuseDamagedLog(path: string): void {
  const finding = findLostLog(dirname(path)) ?? findLogDamage(path)?.finding ?? null;
  if (finding !== null) throw new CopyError(finding);
}

/** Its newest commit. The WAL stays, as the next process that opens the file needs it. */
export function closedFileState(path: string, nowMs: number): FileState {
  keepLogFiles(path);
  const db = openReader(path);
  try {
    const newest = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck().get();
    return fileStateOf(db, {sequence: newest ?? 0}, nowMs);
  } finally {
    db.close();
  }
}
