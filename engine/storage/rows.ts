/** The storage that queries need. All calls of one query happen in one turn and see one snapshot. */

export type DocumentRow = {doc: number; id: string; created: number; updated: number; body: string; flags: number};
export type IndexInfo = {number: number; name: string; fields: string[]};

/** A table's range of document numbers and its enabled indexes. Document order is creation order. */
export type TableInfo = {number: number; lowDoc: number; highDoc: number; indexes: IndexInfo[]};

/** An entry of an index. */
export type EntryPlace = {readonly key: Buffer; readonly doc: number};

export interface QueryReader {
  /** Distinguishes this history of the tenant's data from every other: cursors are bound to it. */
  readonly timeline: string;
  /** Undefined: never written, so every result is empty. */
  table(name: string): TableInfo | undefined;
  /** A document of any table; the caller compares `doc` with its table's range. */
  documentById(id: string): DocumentRow | undefined;
  /**
   * Rows with low ≤ doc ≤ high, ascending or descending, at most `limit`. There are fewer if their bodies together
   * reach `chars` characters: the row that reaches it is the last.
   */
  documents(low: number, high: number, reverse: boolean, limit: number, chars?: number): DocumentRow[];
  /**
   * Entries of one index with lower ≤ key < upper (null: to the end), in (key, doc) order or its reverse, strictly
   * after `after` in that direction, at most `limit`, and `chars` as above. The keys stay in the storage, because one
   * buffer per row would double the cost of a row.
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
  /**
   * Rows with from ≤ id < to and low ≤ doc ≤ high, in the byte order of their ids or its reverse; `limit`, `chars` as
   * above.
   */
  documentsByIds(
    from: string,
    to: string,
    low: number,
    high: number,
    reverse: boolean,
    limit: number,
    chars?: number,
  ): DocumentRow[];
  /** Number of documents in the table; null: they have not been counted yet. */
  documentCount(table: TableInfo): number | null;
  /**
   * Number of index entries with lower ≤ key < upper, after `after`, up to `most`. `last`: there may be more after it.
   */
  countEntries(
    index: number,
    lower: Buffer,
    upper: Buffer,
    after: EntryPlace | null,
    most: number,
  ): {count: number; last: EntryPlace | null};
  /** Numbers of documents alone, ascending from `low` to `high`, both included. */
  documentNumbers(low: number, high: number, most: number): number[];
  /** The same for entries, in their order. Otherwise as `countEntries`. */
  entryNumbers(
    index: number,
    lower: Buffer,
    upper: Buffer,
    after: EntryPlace | null,
    most: number,
  ): {docs: number[]; last: EntryPlace | null};
}
