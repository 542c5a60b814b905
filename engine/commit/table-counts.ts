/**
 * Counts the documents of tables from before counts were kept. The writer updates the counts with every write. An older
 * table is counted once, in slices that leave room for other work, and its progress is stored.
 */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {COUNT_ROWS_AT_ONCE, SLICE_MS} from '../limits.ts';
import {type Catalog, type CatalogTable, isCounted} from '../storage/catalog.ts';
import type {BackgroundWrites} from './background.ts';
import type {Writer} from './writer.ts';

const KIND = 'counting documents';

export class TableCounts {
  readonly #catalog: Catalog;
  readonly #background: BackgroundWrites;
  #running = false;
  #stopped = false;
  #waiting: (() => void)[] = [];

  constructor(catalog: Catalog, background: BackgroundWrites) {
    this.#catalog = catalog;
    this.#background = background;
  }

  /** Counts the tables that are not counted yet. Resolves when all are, or when counting is postponed or stopped. */
  complete(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      if (!this.#running) void this.#run();
      else if (this.#background.isParked(KIND)) this.#answer();
    });
  }

  /** Stops after the current slice; the next open continues from there. */
  stop(): void {
    this.#stopped = true;
    this.#answer();
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let table = this.#next(); table !== undefined && !this.#stopped; table = this.#next()) {
      const uncounted = table;
      const countSlice = (writer: Writer) => {
        const ends = performance.now() + SLICE_MS;
        do writer.counters.countSome(uncounted, COUNT_ROWS_AT_ONCE);
        while (!isCounted(uncounted) && performance.now() < ends);
      };
      await this.#background.perform(KIND, countSlice, () => this.#answer());
      await nextTurn();
    }
    this.#running = false;
    this.#answer();
  }

  #answer(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #next(): CatalogTable | undefined {
    for (const table of this.#catalog.tables()) if (!isCounted(table)) return table;
    return undefined;
  }
}
