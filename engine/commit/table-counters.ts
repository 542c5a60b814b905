/**
 * The number of documents of each table, and its newest number and creation time. They are updated in memory with each
 * write, and written to the table's row once per group. Files from before counts were kept are counted in the
 * background (`table-counts.ts`).
 */
import {assert} from '../../shared/assert.ts';
import type {CatalogTable} from '../storage/catalog.ts';
import type {Statements} from '../storage/statements.ts';

export class TableCounters {
  readonly #statements: Statements;
  readonly #onRollback: (undo: () => void) => void;
  /** Tables whose counters are newer than their row. */
  #changed: CatalogTable[] = [];

  constructor(statements: Statements, onRollback: (undo: () => void) => void) {
    this.#statements = statements;
    this.#onRollback = onRollback;
  }

  /** Writes the counters that the group changed, once per table; runs last before a commit. */
  write(): void {
    for (const table of this.#changed) {
      const {lastN, lastCreated, documents, countedTo} = table;
      assert(documents >= 0, `table ${table.name} counts ${documents} documents`);
      this.#statements.updateTableCounters.run(lastN, lastCreated, documents, countedTo, table.number);
      table.counted = false;
    }
    this.#changed = [];
  }

  /** After a rollback of the whole group the counters stay as they are: numbers are skipped, and never reused. */
  change(table: CatalogTable): void {
    if (table.counted) return;
    table.counted = true;
    this.#changed.push(table);
  }

  /** The table no longer exists. */
  forget(table: CatalogTable): void {
    this.#changed = this.#changed.filter(changed => changed !== table);
  }

  /** One document more or less. If the count has not reached its number yet, the count will see the change itself. */
  countDocument(table: CatalogTable, doc: number, by: 1 | -1): void {
    if (doc > table.countedTo) return;
    this.#add(table, by);
  }

  /** Adds `count` new documents, numbered from `first` on. */
  countNew(table: CatalogTable, first: number, documents: number): void {
    const counted = Math.min(documents, table.countedTo - first + 1);
    if (counted > 0) this.#add(table, counted);
  }

  /** Counts some more documents of a table whose count is incomplete. @param rows maximum number */
  countSome(table: CatalogTable, rows: number): void {
    const {countedTo} = table;
    const {lowDoc, highDoc} = table.info; // numbers of documents are above lowDoc
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
