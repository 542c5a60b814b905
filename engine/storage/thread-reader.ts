/**
 * Reads committed data in a thread: with a read-only connection, and a catalog that is reloaded when the writer has
 * changed it. Each `read` sees one snapshot, begun when it begins, which includes every acknowledged write. It can
 * include a write that is not durable yet, so the main thread holds back the result until it is
 * (`CommitGroups.whenDurable`).
 */
import {Catalog} from './catalog.ts';
import type {Connection} from './connection.ts';
import {openReader} from './database.ts';
import {Reader} from './reader.ts';

export class ThreadReader {
  readonly #db: Connection;
  readonly #reader: Reader;

  constructor(path: string) {
    this.#db = openReader(path);
    this.#reader = new Reader(this.#db, new Catalog(), {cachesRows: false, followsCatalog: true});
  }

  read<T>(run: (reader: Reader) => T): T {
    this.#reader.inSnapshot();
    try {
      return run(this.#reader);
    } finally {
      this.#reader.endSnapshot();
    }
  }

  close(): void {
    this.#db.close();
  }
}
