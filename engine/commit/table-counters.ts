/**
 * How many documents each table has, and the newest number and creation time in it: kept in memory with each write, and written to the
 * table's row once a group. Documents that were there before counts were kept are counted in the background (`table-counts.ts`).
 */
import {assert} from '../../shared/assert.ts';
import type {CatalogTable} from '../storage/catalog.ts';
import type {Statements} from '../storage/statements.ts';

export class TableCounters {
  readonly #statements: Statements;
  readonly #onRollback: (undo: () => void) => void;
  /** Tables whose counters their row does not know yet. */
  #changed: CatalogTable[] = [];

  constructor(statements: Statements, onRollback: (undo: () => void) => void) {
    this.#statements = statements;
    this.#onRollback = onRollback;
  }

  /** Writes the counters that the group changed, once a table; the last thing before a commit. */
  write(): void {
    for (const table of this.#changed) {
      const {lastN, lastCreated, documents, countedTo} = table;
      assert(documents >= 0, `table ${table.name} counts ${documents} documents`);
      this.#statements.updateTableCounters.run(lastN, lastCreated, documents, countedTo, table.number);
      table.counted = false;
    }
    this.#changed = [];
  }

  /** After a roll-back of the whole group the counters stay as they are: numbers are skipped, never given twice. */
  change(table: CatalogTable): void {
    if (table.counted) return;
    table.counted = true;
    this.#changed.push(table);
  }

  /** The table is not there any more. */
  forget(table: CatalogTable): void {
    this.#changed = this.#changed.filter(changed => changed !== table);
  }

  /** One document more or less. One that is not counted yet will be, or will not be there then. */
  countDocument(table: CatalogTable, doc: number, by: 1 | -1): void {
    if (doc > table.countedTo) return;
    this.#add(table, by);
  }

  /** So many new documents, numbered from `first` on. */
  countNew(table: CatalogTable, first: number, documents: number): void {
    const counted = Math.min(documents, table.countedTo - first + 1);
    if (counted > 0) this.#add(table, counted);
  }

  /** Counts some more documents of a table whose count is not known yet. @param rows how many at most */
  countSome(table: CatalogTable, rows: number): void {
    const {countedTo} = table;
    const {lowDoc, highDoc} = table.info; // numbers of documents begin behind lowDoc
    const {documents, last} = this.#statements.countSome.get(Math.max(countedTo, lowDoc), highDoc, rows)!;
    this.#onRollback(() => {
      table.countedTo = countedTo;
    });
    table.countedTo = documents < rows ? highDoc : last!;
    this.#add(table, documents);
  }

  #add(table: CatalogTable, documents: number): void {
    table.documents += documents;
    this.#onRollback(() => {
      table.documents -= documents;
    });
    this.change(table);
  }
}
