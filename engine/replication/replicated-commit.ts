/**
 * The log of a cluster as the second durability of a commit: its page set is appended as one record.
 *
 *   begin ─▶ page set ─▶ append ──┬─ committed ─▶ done
 *                                 ├─ unknown ─▶ undecided ──▶ decided: committed │ lost
 *                                 └─ refused, full ─▶ lost: the process ends, and the next open cuts the commit off
 */
import {hadSpace} from '../../shared/disk-errors.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {Durability, DurabilityEvents} from '../commit/durability.ts';
import {MemorySink} from '../copies/bytes.ts';
import type {FileState} from '../copies/capture.ts';
import type {CommitFacts} from '../copies/captured-set.ts';
import {CopyError} from '../copies/copy-error.ts';
import {LogReader} from '../copies/log-reader.ts';
import {writeBase} from '../copies/whole-base.ts';
import {PLACE_PAGES} from '../limits.ts';
import type {Appender, LogPlace} from './appender.ts';
import {CommitPages} from './commit-pages.ts';
import {removeLocalNote} from './local-note.ts';
import {removeMadeNote} from './made-note.ts';
import {type FilePlace, savePlace} from './place-file.ts';

export type ReplicatedCommitParts = {
  /** The tenant's file, which its writer has open. All of its WAL is on disk. */
  readonly path: string;
  /** What the file says about itself now. */
  readonly file: FileState;
  /** Up to where the log has it; null: the log has nothing of it. */
  readonly place: FilePlace | null;
  readonly appender: Appender;
  /** The place is saved again after so many. */
  readonly placePages?: number;
  /** The process must end: this commit will not be in the log, or nothing more is known of it. */
  readonly onLost: (reason: string, error?: unknown) => void;
};

export class ReplicatedCommit implements Durability {
  readonly #parts: ReplicatedCommitParts;
  readonly #log: LogReader;
  readonly #pages: CommitPages;
  /** Pages of the WAL, an estimate, since the place was saved. */
  #pagesSinceSaved = 0;
  #pagesOfNext = 0;
  /** Where the newest commit is in the log. */
  #appended: LogPlace | null = null;

  /** The log has what the file has: also what the open of the file has written. @throws Error: the log does not take it */
  static async begin(parts: ReplicatedCommitParts): Promise<ReplicatedCommit> {
    const {log, pages} = await appendFirst(parts);
    removeLocalNote(parts.path);
    removeMadeNote(parts.path);
    return new ReplicatedCommit(parts, log, pages);
  }

  private constructor(parts: ReplicatedCommitParts, log: LogReader, pages: CommitPages) {
    this.#parts = parts;
    this.#log = log;
    this.#pages = pages;
  }

  refusal(pages: number): ServiceError | null {
    this.#pagesOfNext = pages;
    return pages * this.#parts.file.pageBytes <= this.#parts.appender.freeBytes ? null : logFull();
  }

  begin(facts: CommitFacts, events: DurabilityEvents): void {
    this.#savePlace();
    this.#append(facts, events).catch((error: unknown) => {
      this.#parts.onLost(`commit ${facts.commit} could not be appended to the log`, error);
    });
  }

  /** Its commits up to here are known to be in the log: the next open compares only those behind. */
  beforeCheckpoint(): boolean {
    return hadSpace(() => this.#savePlace(0));
  }

  /**
   * Appends the last commit, which was made outside of groups, once it is on disk. Until it is decided.
   * @returns false: the log has not taken it, and the process ends without closing its log
   */
  async last(facts: CommitFacts): Promise<boolean> {
    if (facts.commit === this.#pages.position.commit) return true;
    const outcome = await this.#parts.appender.append(this.#pages.next(facts));
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (decision.kind !== 'committed') return false;
    this.#appended = decision.place;
    return true;
  }

  /**
   * Call it after every connection of its process was closed, and no commit is pending.
   * @param closed the record that closes the log, behind which the next open reads; null: there is none
   */
  close(closed: LogPlace | null = null): void {
    if (closed !== null) savePlace(this.#parts.path, {at: this.#pages.position, log: closed});
    this.#log.close();
  }

  async #append(facts: CommitFacts, {done, undecided}: DurabilityEvents): Promise<void> {
    const set = this.#pages.next(facts);
    const outcome = await this.#parts.appender.append(set);
    if (outcome.kind === 'unknown') undecided();
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (decision.kind !== 'committed') {
      this.#parts.onLost(`the log has ${decision.kind} commit ${facts.commit}`);
      return;
    }
    this.#appended = decision.place;
    this.#pagesSinceSaved += this.#pagesOfNext;
    done();
  }

  /**
   * Of the newest commit, once it is on disk as well: a place is never ahead of its file. One that is old costs the next
   * open the time to read the records since.
   */
  #savePlace(pages = this.#parts.placePages ?? PLACE_PAGES): void {
    if (this.#appended === null || this.#pagesSinceSaved < pages) return;
    savePlace(this.#parts.path, {at: this.#pages.position, log: this.#appended});
    this.#pagesSinceSaved = 0;
  }
}

export function logFull(): ServiceError {
  return new ServiceError('session.storage_full', "the cluster's log is full: nothing was written; free space in it");
}

/** Appends what the log lacks of the file. @throws Error: the log does not take it */
export async function appendFirst(parts: ReplicatedCommitParts): Promise<{log: LogReader; pages: CommitPages}> {
  const {path, file, appender} = parts;
  const log = new LogReader(path);
  try {
    const {set, pages} = firstSet(log, parts);
    if (set !== null) {
      const outcome = await appender.append(set);
      const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
      if (decision.kind !== 'committed') throw new Error(`the log has ${decision.kind} commit ${file.commit}`);
      savePlace(path, {at: pages.position, log: decision.place});
    }
    return {log, pages};
  } catch (caught) {
    log.close();
    throw caught;
  }
}

/** What the log lacks of the file: null if it has all of it. */
function firstSet(log: LogReader, {file, place}: ReplicatedCommitParts): {set: Buffer | null; pages: CommitPages} {
  const {timeline, pageBytes, commit, sequence, timeMs, logFrames} = file;
  const facts = {commit, sequence, timeMs};
  const inLog = log.take(Number.MAX_SAFE_INTEGER, 0, logFrames).commits;
  log.rewind();
  if (place === null) {
    log.accept(log.take(inLog));
    const sink = new MemorySink();
    const at = writeBase(log, {timeline, pageBytes, pages: file.pages, ...facts}, sink);
    return {set: sink.bytes, pages: new CommitPages(log, at)};
  }
  const {at} = place;
  const known = at.commit - (commit - inLog);
  if (at.timeline !== timeline || known < 0 || at.commit > commit) {
    throw new CopyError(`the file is at commit ${commit} of ${timeline}, its log at ${at.commit} of ${at.timeline}`);
  }
  log.accept(log.take(known));
  const pages = new CommitPages(log, at);
  return {set: at.commit === commit ? null : pages.next(facts), pages};
}
