/** What one invocation of a function has read. It notes on the way, and works out the intervals only when they are asked for. */
import {ANY_TABLE, BY_ID, idPlace, type ReadSet} from './read-set.ts';
import {afterId} from './segments.ts';

export class ReadLog {
  readonly #ids = new Set<string>();
  readonly #queries: (() => ReadSet)[] = [];

  /** A document was looked up, whether it is there or not. */
  id(id: string): void {
    this.#ids.add(id);
  }

  /** @param readSet says how far the query has come */
  query(readSet: () => ReadSet): void {
    this.#queries.push(readSet);
  }

  readSet(): ReadSet {
    const sets = this.#queries.map(readSet => readSet());
    const intervals = sets.flatMap(set => set.intervals);
    for (const id of this.#ids) {
      intervals.push({table: ANY_TABLE, index: BY_ID, lower: idPlace(id), upper: idPlace(afterId(id))});
    }
    return {intervals, absentTables: [...new Set(sets.flatMap(set => set.absentTables))]};
  }
}
