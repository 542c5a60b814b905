/** A closed file of any origin as a base: one that no log has, or the newest commit of one that a log has in part. */
import type {Sink} from '../copies/bytes.ts';
import {LogReader} from '../copies/log-reader.ts';
import type {Position} from '../copies/page-set.ts';
import {writeBase} from '../copies/whole-base.ts';
import {closedFileState, refuseDamagedLog} from './closed-file.ts';

/** @param path of the file, which no process has open. @returns its newest commit. @throws CopyError: it is damaged */
export function writeWholeFile(path: string, sink: Sink, nowMs: number): Position {
  refuseDamagedLog(path);
  const file = closedFileState(path, nowMs);
  const log = new LogReader(path);
  try {
    log.accept(log.take(file.commitsInLog));
    return writeBase(log, file, sink);
  } finally {
    log.close();
  }
}
