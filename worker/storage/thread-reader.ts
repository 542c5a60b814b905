/**
 * Committed data, read by a thread of its own: a read-only connection, and a catalog that is read again when the writer has
 * changed it. What one `read` sees is one snapshot, begun when it begins: every write that was acknowledged before is in it.
 */
import type Database from 'better-sqlite3';
import {Catalog} from './catalog.ts';
import {type Connection, openReader} from './database.ts';
import {Reader} from './reader.ts';

export class ThreadReader {
  readonly #db: Connection;
  readonly #catalog: Catalog;
  readonly #version: Database.Statement<[], number>;
  readonly #reader: Reader;
  /** Null: not read in a snapshot yet. */
  #readVersion: number | null = null;

  constructor(path: string) {
    this.#db = openReader(path);
    this.#catalog = new Catalog();
    this.#version = this.#db.prepare<[], number>("SELECT value FROM meta WHERE key = 'catalog_version'").pluck();
    this.#reader = new Reader(this.#db, this.#catalog, {cachesRows: false});
  }

  read<T>(run: (reader: Reader) => T): T {
    this.#reader.inSnapshot();
    try {
      const version = this.#version.get() ?? 0;
      if (version !== this.#readVersion) this.#catalog.readAgain(this.#db);
      this.#readVersion = version;
      return run(this.#reader);
    } finally {
      this.#reader.endTurn();
    }
  }

  close(): void {
    this.#db.close();
  }
}
