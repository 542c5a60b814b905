/**
 * Fills indexes that are building and empties those that are dropped, in slices inside commit groups, so that neither reads
 * nor writes wait for more than one slice. Writes keep a building index from its first moment on; the back-fill adds the
 * documents that were there before, in doc order, and remembers how far it came. So a restart goes on where it stopped.
 *
 *   idle ──wake──▶ running ──nothing left──▶ idle
 *                   │  ▲
 *     the writer refuses│ it takes the slice       any ──stop──▶ stopped
 *                   ▼  │
 *                  parked: nobody waits for it any longer
 */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {assert} from '../../shared/assert.ts';
import {BACK_FILL_ENTRIES_AT_ONCE, BACK_FILL_ROWS_AT_ONCE, SLICE_MS} from '../../shared/limits.ts';
import type {BackgroundWrites} from '../commit/background.ts';
import type {Writer} from '../commit/writer.ts';
import {parseFields} from '../documents/document.ts';
import {type Catalog, type CatalogIndex, type CatalogTable, refreshInfo} from '../storage/catalog.ts';
import {indexKey} from '../storage/index-key.ts';

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

  /** The tenant is being closed: what is building stays so. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** The writer refuses the slice under way, the disk being full for instance; it is tried again. */
  get isParked(): boolean {
    return this.#background.isParked(KIND);
  }

  /** Starts working, if there is work and it has not started. */
  wake(): void {
    if (this.#running || this.#stopped) return;
    this.#running = true;
    void this.#run().finally(() => {
      this.#running = false;
      this.#answer();
    });
  }

  /** Ends after the slice under way; what is left goes on at the next open. */
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
          // While it waited, the index may have been dropped, and a roll-back may have put copies in the table.
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
  const before = {state: index.state, builtTo: index.builtTo};
  writer.onRollback(() => {
    Object.assign(index, before);
    refreshInfo(table);
  });
  const ends = performance.now() + SLICE_MS;
  let from = Math.max(index.builtTo, table.info.lowDoc);
  let complete = false;
  do {
    const rows = writer.documentsFrom(from, table.info.highDoc, BACK_FILL_ROWS_AT_ONCE);
    for (const row of rows) {
      writer.statements.insertEntry.run(index.number, indexKey(index, parseFields(row)), row.doc);
      from = row.doc;
    }
    complete = rows.length < BACK_FILL_ROWS_AT_ONCE;
  } while (!complete && performance.now() < ends);
  index.builtTo = from;
  if (complete) {
    index.state = 'enabled';
    writer.catalogChanged();
  }
  writer.statements.updateIndex.run(index.state, from, index.number);
  refreshInfo(table);
}

function dropSlice(writer: Writer, table: CatalogTable, index: CatalogIndex): void {
  const {changes} = writer.statements.deleteEntries.run(index.number, BACK_FILL_ENTRIES_AT_ONCE);
  if (changes === BACK_FILL_ENTRIES_AT_ONCE) return;
  writer.statements.deleteIndex.run(index.number);
  const before = table.indexes;
  writer.onRollback(() => {
    table.indexes = before;
  });
  table.indexes = table.indexes.filter(other => other !== index);
}
