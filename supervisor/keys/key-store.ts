/**
 * The keys on disk, `<data>/keys.sqlite`, and the sessions of the dashboard, `<data>/sessions.sqlite`: one row each,
 * with a checksum. A damaged row is not a valid key, and no key is valid if the file is lost or damaged. The admin
 * credentials are stored elsewhere and keep working.
 *
 *   keys   id, the record as JSON, CRC-32 of both
 *   uses   id, when the key was last used, epoch milliseconds; written from time to time
 */
import {crc32} from 'node:zlib';
import type Database from 'better-sqlite3';
import {type Copyable, changeOwn, copyable, keepSpare, openOwnDatabase} from '../files/own-database.ts';

/** ASCII "svcK" and "svcS". */
export const KEYS_FILE = 0x7376634b;
export const SESSIONS_FILE = 0x73766353;

export const KEYS_VERSION = 1;

const FORM = {
  version: KEYS_VERSION,
  tables: `
    CREATE TABLE keys (id TEXT PRIMARY KEY, record TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE uses (id TEXT PRIMARY KEY, used_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
};

/** Allows keys to be revoked on a full disk. */
const SPARE_BYTES = 65_536;

type Stored<R> = {
  records: R[];
  /** Ids of damaged rows. */
  damaged: string[];
  usedMs: Map<string, number>;
};

export class KeyStore<R extends {readonly id: string}> {
  readonly #db: Database.Database;
  readonly #put: Database.Statement<[string, string, number]>;
  readonly #remove: Database.Statement<[string]>;
  readonly #forget: Database.Statement<[string]>;
  readonly #use: Database.Statement<[string, number]>;

  /** @throws DatabaseUnusable */
  constructor(path: string, applicationId: typeof KEYS_FILE | typeof SESSIONS_FILE) {
    this.#db = openOwnDatabase(path, {...FORM, applicationId});
    const db = this.#db;
    this.#put = db.prepare('INSERT OR REPLACE INTO keys (id, record, checksum) VALUES (?, ?, ?)');
    this.#remove = db.prepare('DELETE FROM keys WHERE id = ?');
    this.#forget = db.prepare('DELETE FROM uses WHERE id = ?');
    this.#use = db.prepare('INSERT OR REPLACE INTO uses (id, used_ms) VALUES (?, ?)');
    keepSpare(db, SPARE_BYTES);
  }

  read(): Stored<R> {
    type Row = {id: string; record: string; checksum: number};
    const records: R[] = [];
    const damaged: string[] = [];
    for (const {id, record, checksum} of this.#db.prepare<[], Row>('SELECT id, record, checksum FROM keys').all()) {
      if (checksumOf(id, record) === checksum) records.push(JSON.parse(record) as R);
      else damaged.push(id);
    }
    const uses = this.#db.prepare<[], {id: string; used_ms: number}>('SELECT id, used_ms FROM uses').all();
    return {records, damaged, usedMs: new Map(uses.map(({id, used_ms}) => [id, used_ms]))};
  }

  /** @param gone keys that are removed in the same change. @throws session.storage_full 507 */
  put(record: R, gone: readonly string[] = []): void {
    const text = JSON.stringify(record);
    changeOwn(this.#db, () => {
      for (const id of gone) this.#removeOne(id);
      this.#put.run(record.id, text, checksumOf(record.id, text));
    });
  }

  /** @throws session.storage_full 507 */
  remove(id: string): void {
    changeOwn(this.#db, () => this.#removeOne(id));
  }

  /** @throws session.storage_full 507 */
  used(uses: ReadonlyMap<string, number>): void {
    changeOwn(this.#db, () => {
      for (const [id, ms] of uses) this.#use.run(id, ms);
    });
  }

  get copyable(): Copyable {
    return copyable(this.#db);
  }

  close(): void {
    this.#db.close();
  }

  #removeOne(id: string): void {
    this.#remove.run(id);
    this.#forget.run(id);
  }
}

function checksumOf(id: string, record: string): number {
  return crc32(JSON.stringify([id, record]));
}
