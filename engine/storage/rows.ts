/** What queries need of the storage. All calls of one query happen in one turn and see one snapshot. */

export type DocumentRow = {doc: number; id: string; created: number; updated: number; body: string; flags: number};
export type IndexInfo = {number: number; name: string; fields: string[]};

/** A table's range of document numbers and its enabled indexes. Document order is creation order. */
export type TableInfo = {number: number; lowDoc: number; highDoc: number; indexes: IndexInfo[]};

/** An entry of an index. */
export type EntryPlace = {readonly key: Buffer; readonly doc: number};

export interface QueryReader {
  /** Tells this history of the tenant's data from every other: cursors are bound to it. */
  readonly timeline: string;
  /** Undefined: never written, so every answer is empty. */
  table(name: string): TableInfo | undefined;
  /** A document of any table; the caller compares `doc` with its table's range. */
  documentById(id: string): DocumentRow | undefined;
  /**
   * Rows with low ≤ doc ≤ high, ascending or descending, at most `limit`. Fewer, when the bodies of those together have
   * `chars` characters: the row that reaches it is the last.
   */
  documents(low: number, high: number, reverse: boolean, limit: number, chars?: number): DocumentRow[];
  /**
   * Entries of one index with lower ≤ key < upper (null: to the end), in (key, doc) order or its reverse, strictly beyond
   * `after` in that direction, at most `limit`, and `chars` as above. The keys themselves stay in the storage: a buffer a row would cost as much as
   * the rest of the row.
   */
  indexEntries(
    index: number,
    lower: Buffer,
    upper: Buffer | null,
    reverse: boolean,
    after: {key: Buffer; doc: number} | null,
    limit: number,
    chars?: number,
  ): DocumentRow[];
  /** Rows with from ≤ id < to and low ≤ doc ≤ high, in the order of their ids' bytes or its reverse; `limit`, `chars` as above. */
  documentsByIds(
    from: string,
    to: string,
    low: number,
    high: number,
    reverse: boolean,
    limit: number,
    chars?: number,
  ): DocumentRow[];
  /** How many documents the table has; null: nobody has counted them yet. */
  documentCount(table: TableInfo): number | null;
  /** How many entries of an index have lower ≤ key < upper, behind `after`, up to `most`. `last`: there may be more behind it. */
  countEntries(
    index: number,
    lower: Buffer,
    upper: Buffer,
    after: EntryPlace | null,
    most: number,
  ): {count: number; last: EntryPlace | null};
  /** Numbers of documents alone, ascending from `low` to `high`, both included. */
  documentNumbers(low: number, high: number, most: number): number[];
  /** The same of entries, in their order. Otherwise as `countEntries`. */
  entryNumbers(
    index: number,
    lower: Buffer,
    upper: Buffer,
    after: EntryPlace | null,
    most: number,
  ): {docs: number[]; last: EntryPlace | null};
}
