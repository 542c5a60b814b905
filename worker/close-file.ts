/** The last steps of a tenant's file, after its last commit group. */
import type {CleanMark} from '../engine/commit/clean-mark.ts';
import type {CommitGroups} from '../engine/commit/group.ts';
import type {Writer} from '../engine/commit/writer.ts';
import type {TenantCopies} from '../engine/copies/tenant-copies.ts';
import type {Scrub} from '../engine/scrub/scrub.ts';
import type {Connection} from '../engine/storage/connection.ts';
import {storageFailure, syncEachCommit} from '../engine/storage/database.ts';
import {type FileGuard, keepLogFiles} from '../engine/storage/file-guard.ts';
import {endJournal} from '../engine/storage/journal-timeline.ts';
import type {OwnerLock} from '../shared/owner-lock.ts';
import type {TenantReplication} from './replication/tenant-replication.ts';

export type ClosingFile = {
  path: string;
  db: Connection;
  writer: Writer;
  groups: Pick<CommitGroups, 'isPaused'>;
  files: FileGuard;
  /** Null: the file was opened for reading only. */
  lock: OwnerLock | null;
  scrub: Scrub;
  clean: CleanMark;
  copies: TenantCopies | null;
  replication: TenantReplication | null;
};

/** @throws Error: the process must end without closing the file */
export async function closeFile(file: ClosingFile): Promise<void> {
  const {path, db, writer, files, lock, copies, replication} = file;
  if (lock === null) {
    db.close();
    return;
  }
  files.check(); // what follows writes to the log
  unlessFull(() => markClean(file));
  const facts = {lastSequence: writer.head.sequence, committedMs: writer.nowMs()};
  const {newest: commit} = writer.numbers;
  copies?.close(commit, facts);
  const last = {commit, sequence: facts.lastSequence, timeMs: facts.committedMs};
  // A commit that the log lacks stays in the WAL, where the next open finds it. Closing would move it into the file.
  if (replication !== null && !(await replication.last(last))) {
    throw new Error(`the log has not taken commit ${commit}, the last one`);
  }
  if (replication?.durability.beforeCheckpoint() !== false) unlessFull(() => emptyLog(file));
  files.noteIfLogged();
  db.close();
  // Closing also empties the WAL, if the obstacle of a moment ago is gone.
  files.noteIfLogged();
  keepLogFiles(path);
  await replication?.close();
  lock.release();
}

function markClean({db, writer, groups, scrub, clean, replication}: ClosingFile): void {
  syncEachCommit(db);
  if (groups.isPaused) return;
  writer.numbers.alone(() => {
    scrub.remember();
    clean.set();
    if (replication !== null) endJournal(db);
  });
}

/**
 * Without disk space, or while a stream that is being cut still reads, the WAL stays as it is, complete, for the next
 * open. Waiting for the reader would exceed the time that a close can take.
 */
function emptyLog({db, files}: ClosingFile): void {
  db.pragma('busy_timeout = 0');
  files.check();
  files.removeNote();
  db.pragma('wal_checkpoint(TRUNCATE)');
}

function unlessFull(act: () => void): void {
  try {
    act();
  } catch (caught) {
    if (storageFailure(caught) !== 'full') throw caught;
  }
}
