/** What a tenant's file says about its newest commit, at the open: the capture begins there. */
import {storedCommitNumber} from '../storage/commit-number.ts';
import type {Connection} from '../storage/connection.ts';
import {tenantTimeline} from '../storage/identity.ts';
import type {FileState} from './capture.ts';

/** @param head of the journal. @param timeMs of the newest commit */
export function fileStateOf(db: Connection, {sequence}: {sequence: number}, timeMs: number): FileState {
  // NOOP moves nothing: it reports the frames of the log.
  const [found] = db.pragma('wal_checkpoint(NOOP)') as {log: number}[];
  return {
    timeline: tenantTimeline(db),
    pageBytes: db.pragma('page_size', {simple: true}) as number,
    pages: db.pragma('page_count', {simple: true}) as number,
    commit: storedCommitNumber(db),
    sequence,
    timeMs,
    logFrames: Math.max(0, found!.log),
  };
}
