/** Makes the page set of each commit of a file that its writer has open, from the frames in its WAL. */
import {MemorySink} from '../copies/bytes.ts';
import {type CommitFacts, writeSet} from '../copies/captured-set.ts';
import type {LogReader} from '../copies/log-reader.ts';
import {PageHashes} from '../copies/page-digest.ts';
import type {Position} from '../copies/page-set.ts';
import {PAGE_HASHES_MAX} from '../limits.ts';

export class CommitPages {
  readonly #log: LogReader;
  readonly #hashes = new PageHashes(PAGE_HASHES_MAX);
  #at: Position;

  /** @param log of which the commits up to the position have been accepted */
  constructor(log: LogReader, at: Position) {
    this.#log = log;
    this.#at = at;
  }

  /** Where the newest page set leads. */
  get position(): Position {
    return this.#at;
  }

  /** @param to the newest commit, which is in the WAL and not in a set. @throws CopyError */
  next(to: CommitFacts): Buffer {
    const taken = this.#log.take(to.commit - this.#at.commit);
    const sink = new MemorySink();
    this.#at = writeSet(this.#log, this.#at, taken, to, sink, this.#hashes);
    this.#log.accept(taken);
    return sink.bytes;
  }
}
