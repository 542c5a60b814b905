/**
 * Captures the commits of one file: reads them behind the durable end of its log, and puts page sets of them into the
 * spool.
 *
 *            ┌───────────── the log does not continue the spool, or the spool is damaged ─────────────┐
 *   start ───┤                                                                                        ▼
 *            └─ the log continues the spool ─▶ following ── a set does not fit: the spool is dropped ─▶ base due
 *                                                 ▲  │ durable commits: a set into the spool           │  │ durable
 *                                                 │  └───────────────────▶ following                   │  └ commits:
 *                                                 └───────────────── a base is written ────────────────┘    no set
 *
 * In each state the commits are read and accepted, so checkpoints go on while a base is due. A write never waits for the
 * receiver: it waits for a checkpoint at most, and the checkpoint for `take`.
 */
import {assert} from '../../shared/assert.ts';
import type {Sink} from './bytes.ts';
import {type CommitFacts, writeBase, writeSet} from './captured-set.ts';
import {CopyError} from './copy-error.ts';
import type {LogReader} from './log-reader.ts';
import type {Position} from './page-set.ts';
import type {Spool} from './spool.ts';

/** What the file itself says about its newest commit, which is durable. */
export type FileState = CommitFacts & Pick<Position, 'timeline' | 'pageBytes' | 'pages'>;

export class Capture {
  readonly #log: LogReader;
  readonly #spool: Spool;
  /** How far the log has been read. */
  #at: FileState;

  /** @param log of which nothing has been taken. @throws CopyError */
  constructor(log: LogReader, spool: Spool, file: FileState) {
    this.#log = log;
    this.#spool = spool;
    const commitsInLog = log.take(Number.MAX_SAFE_INTEGER, 0).commits;
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

  /** The commits up to this one are durable: they are in the spool afterwards, unless a base is due. @throws CopyError */
  take(to: CommitFacts): void {
    const commits = to.commit - this.#at.commit;
    if (commits <= 0) return;
    const taken = this.#log.take(commits);
    const before = this.#spool.position;
    assert(before === null || before.commit === this.#at.commit, 'the spool has what has been read');
    if (before !== null && !this.#spool.add(sink => writeSet(this.#log, before, taken, to, sink))) this.#spool.drop();
    this.#log.accept(taken);
    const {commit, sequence, timeMs} = to;
    this.#at = {...this.#at, commit, sequence, timeMs, pages: taken.pagesAfter ?? this.#at.pages};
  }

  /** Writes a base of what has been read. From now on the spool gets the sets after it. @throws CopyError: try again */
  writeBase(sink: Sink): void {
    this.#log.turn();
    const position = writeBase(this.#log, this.#at, sink);
    if (this.#log.turn()) throw new CopyError('the log began a new round while a base was written');
    this.#spool.begin(position);
  }
}

/** Whether the log has every commit after the position. @param beforeLog the newest commit that it lacks */
function continues(file: FileState, beforeLog: number, {timeline, commit, sequence, pages}: Position): boolean {
  if (timeline !== file.timeline || commit < beforeLog || commit > file.commit) return false;
  return commit < file.commit || (sequence === file.sequence && pages === file.pages);
}
