/** What one invocation of a function has read. It notes on the way, and works out the intervals only when they are asked for. */
import {ANY_TABLE, BY_ID, idPlace, type PackedReadSet, packed, type ReadSet} from './read-set.ts';
import {afterId} from './segments.ts';

export class ReadLog {
  /** Ids that were looked up, and the numbers of the tables that they were found in. */
  readonly #ids = new Map<string, number>();
  readonly #queries: (() => ReadSet)[] = [];

  /** A document is looked up: if it is not there, it may come in any table. */
  id(id: string): void {
    if (!this.#ids.has(id)) this.#ids.set(id, ANY_TABLE);
  }

  /** It was found. It goes from there before it can come elsewhere. */
  found(id: string, table: number): void {
    this.#ids.set(id, table);
  }

  /** @param readSet says how far the query has come */
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

/** @param ids that were looked up in addition, whatever came of it */
export function withIds(readSet: PackedReadSet, ids: ReadonlySet<string>): PackedReadSet {
  if (ids.size === 0) return readSet;
  const log = new ReadLog();
  for (const id of ids) log.id(id);
  return {...readSet, intervals: [...readSet.intervals, ...packed(log.readSet()).intervals]};
}
