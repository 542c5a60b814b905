/**
 * Fills indexes that are building and empties dropped ones, in slices inside commit groups, so that neither reads nor
 * writes wait for more than one slice. Writes maintain a building index from its first moment on. The back-fill adds
 * the existing documents in doc order and stores its progress, so a restart continues where it stopped.
 *
 *   idle ──wake──▶ running ──nothing left──▶ idle
 *                   │  ▲
 *     the writer refuses│ it takes the slice       any ──stop──▶ stopped
 *                   ▼  │
 *                  parked: callers stop waiting for it
 *
 * The build of a unique index finds documents with equal values: it ends as `failed`, and the first of them are stored.
 */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {assert} from '../../shared/assert.ts';
import type {BackgroundWrites} from '../commit/background.ts';
import {hasValues, sameAs} from '../commit/document-write.ts';
import type {Writer} from '../commit/writer.ts';
import {BACK_FILL_ENTRIES_AT_ONCE, BACK_FILL_ROWS_AT_ONCE, SCHEMA_OFFENDERS_SHOWN, SLICE_MS} from '../limits.ts';
import {type Catalog, type CatalogIndex, type CatalogTable, indexKey, refreshInfo} from '../storage/catalog.ts';
import {parseFields} from '../storage/document.ts';
import {rowChecksum} from '../storage/row-checksum.ts';
import type {DocumentRow} from '../storage/rows.ts';
import {indexRow} from './install.ts';

const KIND = 'the build or removal of an index';

export class BackFill {
  readonly #catalog: Catalog;
  readonly #background: BackgroundWrites;
  #running = false;
  #stopped = false;
  #waiting: {table: string; resolve: () => void}[] = [];

  constructor(catalog: Catalog, background: BackgroundWrites) {
    this.#catalog = catalog;
    this.#background = background;
  }

  /** True while there is something to fill or empty. */
  get hasWork(): boolean {
    return this.#next() !== null;
  }

  /** The tenant is closing: building indexes keep their state. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** The writer refuses the current slice, for instance because the disk is full; it is retried. */
  get isParked(): boolean {
    return this.#background.isParked(KIND);
  }

  /** Starts working, if there is work and it is not running. */
  wake(): void {
    if (this.#running || this.#stopped) return;
    this.#running = true;
    void this.#run().finally(() => {
      this.#running = false;
      this.#answer();
    });
  }

  /** Stops after the current slice; the next open continues. */
  stop(): void {
    this.#stopped = true;
    this.#answer();
  }

  /** Resolves when no index of this table is building, or when the work stops or is parked. */
  done(table: string): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push({table, resolve});
      this.#answer();
    });
  }

  async #run(): Promise<void> {
    for (let work = this.#next(); work !== null && !this.#stopped; work = this.#next()) {
      const {table, index} = work;
      await this.#background.perform(
        KIND,
        writer => {
          // In the meantime the index may have been dropped, and a rollback may have replaced the table's index
          // objects.
          const now = table.indexes.find(({number}) => number === index.number);
          if (now?.state === 'building') fillSlice(writer, table, now);
          else if (now?.state === 'dropping') dropSlice(writer, table, now);
        },
        () => this.#answer(),
      );
      this.#answer();
      await nextTurn();
    }
  }

  #next(): {table: CatalogTable; index: CatalogIndex} | null {
    let dropping: {table: CatalogTable; index: CatalogIndex} | null = null;
    for (const table of this.#catalog.tables()) {
      for (const index of table.indexes) {
        if (index.state === 'building') return {table, index};
        if (index.state === 'dropping') dropping ??= {table, index};
      }
    }
    return dropping;
  }

  #answer(): void {
    this.#waiting = this.#waiting.filter(({table, resolve}) => {
      const building = this.#catalog.table(table)?.indexes.some(index => index.state === 'building') ?? false;
      if (building && this.#running && !this.#stopped && !this.isParked) return true;
      resolve();
      return false;
    });
  }
}

function fillSlice(writer: Writer, table: CatalogTable, index: CatalogIndex): void {
  assert(index.state === 'building', `index ${index.number} is ${index.state}`);
  const {state, builtTo, duplicates} = index;
  writer.onRollback(() => {
    Object.assign(index, {state, builtTo, duplicates});
    refreshInfo(table);
  });
  const ends = performance.now() + SLICE_MS;
  let from = Math.max(index.builtTo, table.info.lowDoc);
  let complete = false;
  do {
    const rows = writer.documentsFrom(from, table.info.highDoc, BACK_FILL_ROWS_AT_ONCE);
    for (const row of rows) {
      addEntry(writer, table, index, row);
      from = row.doc;
    }
    complete = rows.length < BACK_FILL_ROWS_AT_ONCE || index.duplicates.length >= SCHEMA_OFFENDERS_SHOWN;
  } while (!complete && performance.now() < ends);
  assert(from >= builtTo, `the build of index ${index.number} only moves forward`);
  index.builtTo = from;
  if (complete) {
    index.state = index.duplicates.length === 0 ? 'enabled' : 'failed';
    writer.catalogChanged();
  }
  const {changes} = writer.statements.updateIndex.run(index.state, from, index.number);
  assert(changes === 1, `index ${index.number} has a row`);
  if (index.duplicates !== duplicates) {
    const failure = JSON.stringify(index.duplicates);
    writer.statements.setFailure.run(
      failure,
      rowChecksum('indexes', {...indexRow(table, index), failure}),
      index.number,
    );
  }
  refreshInfo(table);
}

/** For a unique index the conflict is stored, and the build continues: the first few such documents are reported. */
function addEntry(writer: Writer, table: CatalogTable, index: CatalogIndex, row: DocumentRow): void {
  const fields = parseFields(row);
  const key = indexKey(index, fields);
  const same = index.isUnique && hasValues(index, fields) ? sameAs(writer, table, index, key, row.doc) : undefined;
  // Of two existing documents, each would find the other.
  const isNew = same !== undefined && !index.duplicates.some(({id, same_as}) => id === same.id && same_as === row.id);
  if (isNew) index.duplicates = [...index.duplicates, {id: row.id, same_as: same.id}].slice(0, SCHEMA_OFFENDERS_SHOWN);
  writer.statements.insertEntry.run(index.number, key, row.doc);
}

function dropSlice(writer: Writer, table: CatalogTable, index: CatalogIndex): void {
  assert(index.state === 'dropping', `index ${index.number} is ${index.state}`);
  const {changes} = writer.statements.deleteEntries.run(index.number, BACK_FILL_ENTRIES_AT_ONCE);
  if (changes === BACK_FILL_ENTRIES_AT_ONCE) return;
  const deleted = writer.statements.deleteIndex.run(index.number);
  assert(deleted.changes === 1, `index ${index.number} is dropped once`);
  const before = table.indexes;
  writer.onRollback(() => {
    table.indexes = before;
  });
  table.indexes = table.indexes.filter(other => other !== index);
}
