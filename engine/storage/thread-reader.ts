/**
 * Committed data, read by a thread of its own: a read-only connection, and a catalog that is read again when the writer has
 * changed it. What one `read` sees is one snapshot, begun when it begins: every write that was acknowledged before is in it.
 * So may be one that is not durable yet: the main thread holds back what came of it until it is (`CommitGroups.whenDurable`).
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
