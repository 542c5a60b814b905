/**
 * Applies page sets to a file. Each that is applied costs several syncs, so those of several records are applied as one. Only
 * of a copy: a file of a worker is compared commit by commit.
 */
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {mergePageSets} from '../../engine/copies/merge.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import type {LogPlace} from '../../engine/replication/appender.ts';
import type {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import {SETS_MERGED_BYTES, SETS_MERGED_MAX} from '../limits.ts';

export class MergedSets {
  readonly #file: ReplicatedFile;
  readonly #most: number;
  #sets: {set: PageSet; place: LogPlace}[] = [];
  #bytes = 0;

  /** @param most sets that are applied as one */
  constructor(file: ReplicatedFile, most = SETS_MERGED_MAX) {
    this.#file = file;
    this.#most = most;
  }

  /** The file has all that was added. */
  get isApplied(): boolean {
    return this.#sets.length === 0;
  }

  /** @param set whose bytes stay as they are. @throws CopyError; PageSetError */
  add(set: PageSet, place: LogPlace): void {
    // The place is older than the copy if a process ended between the two.
    const isThere = set.after.commit <= (this.#file.at?.commit ?? 0);
    if (isThere) this.#file.apply(set, place);
    else this.#sets.push({set, place});
    this.#bytes += set.source.length;
    const isFull = this.#sets.length >= this.#most || this.#bytes >= SETS_MERGED_BYTES;
    if (!this.#file.isCopy || isFull) this.apply();
  }

  /** Those that were added. @throws CopyError; PageSetError */
  apply(): void {
    const sets = this.#sets;
    [this.#sets, this.#bytes] = [[], 0];
    const last = sets.at(-1);
    if (last === undefined) return;
    this.#file.apply(sets.length === 1 ? last.set : merged(sets.map(({set}) => set)), last.place);
  }
}

function merged(sets: readonly PageSet[]): PageSet {
  const sink = new MemorySink();
  mergePageSets(sets, sink);
  return new PageSet(sourceOf(sink.bytes));
}
