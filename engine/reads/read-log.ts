/**
 * Records the reads of one function invocation. It only takes notes during the run, and computes the intervals on
 * request.
 */

import {afterId} from './range-scans.ts';
import {ANY_TABLE, BY_ID, idPlace, type PackedReadSet, packed, type ReadSet} from './read-set.ts';

export class ReadLog {
  /** Ids that were looked up, and the numbers of the tables in which they were found. */
  readonly #ids = new Map<string, number>();
  readonly #queries: (() => ReadSet)[] = [];

  /** A document is looked up: if it does not exist, it can be created in any table. */
  id(id: string): void {
    if (!this.#ids.has(id)) this.#ids.set(id, ANY_TABLE);
  }

  /** The document was found. It must be deleted from this table before it can appear in another. */
  found(id: string, table: number): void {
    this.#ids.set(id, table);
  }

  /** @param readSet returns the part that the query has read so far */
  query(readSet: () => ReadSet): void {
    this.#queries.push(readSet);
  }

  readSet(): ReadSet {
    const sets = this.#queries.map(readSet => readSet());
    const intervals = sets.flatMap(set => set.intervals);
    for (const [id, table] of this.#ids) {
      intervals.push({table, index: BY_ID, lower: idPlace(id), upper: idPlace(afterId(id))});
    }
    return {intervals, absentTables: [...new Set(sets.flatMap(set => set.absentTables))]};
  }
}

/** @param ids looked up in addition, found or not */
export function withIds(readSet: PackedReadSet, ids: ReadonlySet<string>): PackedReadSet {
  if (ids.size === 0) return readSet;
  const log = new ReadLog();
  for (const id of ids) log.id(id);
  return {...readSet, intervals: [...readSet.intervals, ...packed(log.readSet()).intervals]};
}
