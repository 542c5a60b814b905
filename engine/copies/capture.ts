/**
 * Captures the commits of one file: reads them behind the durable end of its log, and puts page sets of them into the
 * spool.
 *
 *            ┌───────────── the log does not continue the spool, or the spool is damaged ─────────────┐
 *   start ───┤                                                                                        ▼
 *            └─ the log continues the spool ─▶ following ── a set does not fit: the spool is dropped ─▶ base due
 *                                                 ▲  │ durable commits: a set into the spool           │  │ durable
 *                                                 │  └───────────────────▶ following                   │  └ commits:
 *                                                 └───────── wanted: all pages are copied ─────────────┘    no set
 *
 * In each state the commits are read and accepted, so checkpoints go on while a base is due. A write never waits for the
 * receiver: it waits for a checkpoint at most, and the checkpoint for `take`. A base is made in steps, between which
 * commits are taken (`base-copy.ts`).
 */
import {assert} from '../../shared/assert.ts';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {BASE_BYTES_FACTOR, PAGE_HASHES_MAX} from '../limits.ts';
import {BaseCopy, type DatabaseState} from './base-copy.ts';
import {type CommitFacts, writeSet} from './captured-set.ts';
import {DISK, type Disk} from './disk.ts';
import type {LogReader} from './log-reader.ts';
import {PageHashes} from './page-digest.ts';
import type {Position} from './page-set.ts';
import type {Spool} from './spool.ts';

/** What the file itself says about its newest commit, which is durable. `logFrames`: of the commits up to it. */
export type FileState = DatabaseState & {readonly logFrames?: number | undefined};

export type CaptureOptions = {
  disk?: Disk | undefined;
  /** Called between reading the log and using what was read. Throws if the log may have changed. */
  checkLog?: () => void;
};

export class Capture {
  readonly #log: LogReader;
  readonly #spool: Spool;
  readonly #disk: Disk;
  readonly #checkLog: () => void;
  /** How far the log has been read. */
  #at: DatabaseState;
  readonly #hashes = new PageHashes(PAGE_HASHES_MAX);
  #base: BaseCopy | null = null;

  /** @param log of which nothing has been taken. @throws CopyError */
  constructor(log: LogReader, spool: Spool, {logFrames, ...file}: FileState, options: CaptureOptions = {}) {
    const {disk = DISK, checkLog = () => undefined} = options;
    this.#log = log;
    this.#spool = spool;
    this.#disk = disk;
    this.#checkLog = checkLog;
    const commitsInLog = log.take(Number.MAX_SAFE_INTEGER, 0, logFrames).commits;
    log.rewind();
    const beforeLog = file.commit - commitsInLog;
    if (spool.position !== null && !continues(file, beforeLog, spool.position)) spool.drop();
    const from = spool.position;
    const skipped = (from?.commit ?? file.commit) - beforeLog;
    log.accept(log.take(skipped));
    this.#at = from === null ? file : {...file, ...from};
    this.take(file);
  }

  get isBaseDue(): boolean {
    return this.#spool.position === null;
  }

  /** The newest commit that was taken. */
  get commit(): number {
    return this.#at.commit;
  }

  /** The commits up to this one are durable: they are in the spool afterwards, unless a base is due. @throws CopyError */
  take(to: CommitFacts): void {
    const commits = to.commit - this.#at.commit;
    if (commits <= 0) return;
    const taken = this.#log.take(commits);
    const before = this.#spool.position;
    assert(before === null || before.commit === this.#at.commit, 'the spool has what has been read');
    const write = (at: Position) =>
      this.#spool.add(sink => {
        const after = writeSet(this.#log, at, taken, to, sink, this.#hashes);
        this.#checkLog();
        return after;
      });
    if (before !== null && !write(before)) this.#drop();
    this.#log.accept(taken);
    const {commit, sequence, timeMs} = to;
    this.#at = {...this.#at, commit, sequence, timeMs, pages: taken.pagesAfter ?? this.#at.pages};
    if (this.#base?.hasBegun === false) this.#onDisk(base => base.took(this.#log, taken));
  }

  get isBaseUnderWay(): boolean {
    return this.#base !== null;
  }

  /**
   * Begins a base of what has been read. What waits in the spool is dropped: the receiver cannot use it.
   * @returns a sentence if the disk has no space for it; null: it has begun, unless the disk is full
   */
  beginBase(): string | null {
    this.#drop();
    const {pages, pageBytes} = this.#at;
    const finding = this.#spool.spaceFinding(pages * pageBytes * BASE_BYTES_FACTOR);
    if (finding !== null) return finding;
    this.#onDisk(() => {
      this.#base = new BaseCopy(this.#disk, this.#spool.basePaths, pageBytes);
    });
    return null;
  }

  /** Makes a part of the base. @returns whether it is complete */
  makeBase(): boolean {
    let isComplete = false;
    this.#onDisk(base => {
      if (!base.hasBegun) {
        if (!base.copySome(this.#log, this.#at.pages)) return;
        const position = base.begin(this.#at);
        this.#checkLog();
        this.#spool.begin(position);
      } else if (base.writeSome()) {
        this.#spool.baseWritten();
        this.#endBase();
        isComplete = true;
      }
    });
    return isComplete;
  }

  /** On a full disk the base is given up, and what was made of it is removed. */
  #onDisk(act: (base: BaseCopy) => void): void {
    try {
      act(this.#base!);
    } catch (caught) {
      if (!isNoSpace(caught)) throw caught;
      this.#drop();
    }
  }

  #drop(): void {
    this.#hashes.clear();
    this.#endBase();
    this.#spool.drop();
  }

  #endBase(): void {
    this.#base?.close();
    this.#base = null;
  }
}

/** Whether the log has every commit after the position. @param beforeLog the newest commit that it lacks */
function continues(file: DatabaseState, beforeLog: number, {timeline, commit, sequence, pages}: Position): boolean {
  if (timeline !== file.timeline || commit < beforeLog || commit > file.commit) return false;
  return commit < file.commit || (sequence === file.sequence && pages === file.pages);
}
