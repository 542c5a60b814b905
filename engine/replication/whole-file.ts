/** A closed file of any origin as a base: one that no log has, or the newest commit of one that a log has in part. */
import {dirname} from 'node:path';
import type {Sink} from '../copies/bytes.ts';
import {CopyError} from '../copies/copy-error.ts';
import {fileStateOf} from '../copies/file-state.ts';
import {LogReader} from '../copies/log-reader.ts';
import type {Position} from '../copies/page-set.ts';
import {writeBase} from '../copies/whole-base.ts';
import {openReader} from '../storage/database.ts';
import {findLostLog, keepLogFiles} from '../storage/file-guard.ts';
import {findLogDamage} from '../storage/wal-log.ts';

/** @param path of the file, which no process has open. @returns its newest commit. @throws CopyError: it is damaged */
export function writeWholeFile(path: string, sink: Sink, nowMs: number): Position {
  const finding = findLostLog(dirname(path)) ?? findLogDamage(path)?.finding ?? null;
  if (finding !== null) throw new CopyError(finding);
  keepLogFiles(path);
  const db = openReader(path);
  let file: ReturnType<typeof fileStateOf>;
  try {
    const newest = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck().get();
    file = fileStateOf(db, {sequence: newest ?? 0}, nowMs);
  } finally {
    db.close();
  }
  const log = new LogReader(path);
  try {
    log.accept(log.take(Number.MAX_SAFE_INTEGER, 0, file.logFrames));
    return writeBase(log, file, sink);
  } finally {
    log.close();
  }
}
