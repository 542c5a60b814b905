/**
 * The audit log on disk, `<data>/audit.sqlite`, and the log of refusals, `<data>/refusals.sqlite`: one row per record.
 * Rows are only appended, and the oldest are removed when there are too many. Each row contains the SHA-256 of the
 * previous digest, a line feed and its own text, as records of journals do.
 *
 * An unreadable log is moved aside, never removed, and the first record of the new log says so. Pages are kept free
 * inside the file, so that actions that free space on a full disk (deletions) can be recorded.
 */
import {hash} from 'node:crypto';
import {existsSync, renameSync} from 'node:fs';
import Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import {FIRST_PREVIOUS_DIGEST} from '../../shared/journal-chain.ts';
import type {Logger} from '../../shared/log.ts';
import type {AuditPage} from '../../shared/protocol/audit.ts';
import {
  type Copyable,
  changeOwn,
  copyable,
  DatabaseUnusable,
  keepSpare,
  openOwnDatabase,
} from '../files/own-database.ts';
import {AUDIT_RECORDS_MAX, AUDIT_SPARE_BYTES} from '../limits.ts';

export const AUDIT_VERSION = 1;

const FORM = {
  /** ASCII "svcA". */
  applicationId: 0x73766341,
  version: AUDIT_VERSION,
  tables: `
    CREATE TABLE records (sequence INTEGER PRIMARY KEY, record TEXT NOT NULL, digest TEXT NOT NULL) STRICT;
    CREATE TABLE floor (previous_digest TEXT NOT NULL) STRICT;
    INSERT INTO floor VALUES ('${FIRST_PREVIOUS_DIGEST}');
  `,
};
/** The share of the maximum number of records that is removed at once. */
const TRIM = 0.01;

type Row = {sequence: number; record: string; digest: string};

export class AuditStore {
  readonly #db: Database.Database;
  readonly #insert: Database.Statement<[number, string, string]>;
  readonly #page: Database.Statement<[number, number], Row>;
  readonly #digest: Database.Statement<[number], string>;
  readonly #first: Database.Statement<[], number | null>;
  readonly #recordsMax: number;
  #last: {sequence: number; digest: string};

  /** @throws DatabaseUnusable, a SqliteError if its tables cannot be read */
  constructor(path: string, recordsMax = AUDIT_RECORDS_MAX) {
    this.#recordsMax = recordsMax;
    const db = openOwnDatabase(path, FORM);
    this.#db = db;
    try {
      this.#insert = db.prepare('INSERT INTO records (sequence, record, digest) VALUES (?, ?, ?)');
      this.#page = db.prepare(
        'SELECT sequence, record, digest FROM records WHERE sequence > ? ORDER BY sequence LIMIT ? + 0',
      );
      this.#digest = db.prepare<[number], string>('SELECT digest FROM records WHERE sequence = ?').pluck();
      this.#first = db.prepare<[], number | null>('SELECT min(sequence) FROM records').pluck();
      const last = db.prepare<[], Row>('SELECT * FROM records ORDER BY sequence DESC LIMIT 1').get();
      this.#last = last ?? {sequence: 0, digest: this.#floorDigest()};
    } catch (caught) {
      db.close();
      throw caught;
    }
    keepSpare(db, AUDIT_SPARE_BYTES);
  }

  get lastSequence(): number {
    return this.#last.sequence;
  }

  /** Appends records in one change. @returns the sequence of the first. @throws session.storage_full 507 */
  append(records: readonly object[]): number {
    const first = this.#last.sequence + 1;
    let last = this.#last;
    changeOwn(this.#db, () => {
      for (const record of records) {
        const sequence = last.sequence + 1;
        const text = JSON.stringify({version: 1, sequence, ...record});
        last = {sequence, digest: hash('sha256', `${last.digest}\n${text}`, 'hex')};
        this.#insert.run(sequence, text, last.digest);
      }
      this.#trim(last.sequence);
    });
    this.#last = last;
    keepSpare(this.#db, AUDIT_SPARE_BYTES);
    return first;
  }

  /** A page as JSON. @param after null: from the oldest record */
  page(after: number | null, limit: number): string {
    const floor = this.#first.get() ?? this.#last.sequence + 1;
    const from = Math.max(after ?? 0, floor - 1);
    const rows = this.#page.all(from, limit);
    const next = rows.at(-1)?.sequence ?? from;
    const previous = this.#digest.get(from) ?? this.#floorDigest();
    const rest: Omit<AuditPage, 'records'> = {
      next_cursor: next,
      has_more: next < this.#last.sequence,
      latest_sequence: this.#last.sequence,
      cursor_floor: floor,
      previous_sha256: previous,
    };
    const records = rows.map(({record, digest}) => `${record.slice(0, -1)},"integrity_sha256":"${digest}"}`);
    return `{"records":[${records.join(',')}],${JSON.stringify(rest).slice(1)}`;
  }

  get copyable(): Copyable {
    return copyable(this.#db);
  }

  close(): void {
    this.#db.close();
  }

  #trim(last: number): void {
    const first = this.#first.get() ?? last;
    if (last - first < this.#recordsMax) return;
    const upTo = first + Math.ceil(this.#recordsMax * TRIM) - 1;
    this.#db.prepare('UPDATE floor SET previous_digest = ?').run(this.#digest.get(upTo));
    this.#db.prepare('DELETE FROM records WHERE sequence <= ?').run(upTo);
  }

  #floorDigest(): string {
    return this.#db.prepare<[], string>('SELECT previous_digest FROM floor').pluck().get() ?? FIRST_PREVIOUS_DIGEST;
  }
}

export type AuditStoreParts = {
  path: string;
  /** A name for people. */
  what: string;
  recordsMax?: number;
  /** Epoch milliseconds. */
  now: () => number;
  log: Logger;
};

/** Opens the log, or begins a new one. @throws if neither is possible */
export function openAuditStore({path, what, recordsMax, now, log}: AuditStoreParts): AuditStore {
  const wasThere = existsSync(path);
  let reason = 'there was none';
  let store: AuditStore;
  try {
    store = new AuditStore(path, recordsMax);
  } catch (caught) {
    const isOfStorage = caught instanceof DatabaseUnusable || caught instanceof Database.SqliteError;
    if (!wasThere || !isOfStorage) throw caught;
    const aside = putAside(path, now());
    reason = `the one before it could not be read and is ${aside}`;
    log.error(`${what} cannot be read: it is moved aside, and a new one begins`, {path, aside, error: caught});
    store = new AuditStore(path, recordsMax);
  }
  if (store.lastSequence > 0) return store;
  try {
    store.append([{at: now(), kind: 'begun', reason}]);
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    log.warn(`${what} cannot be written`, {path, error: caught}); // the next write reports the error
  }
  return store;
}

/** Keeps an unreadable file under another name. @returns its new path */
export function putAside(path: string, nowMs: number): string {
  const aside = `${path}.${new Date(nowMs).toISOString().replaceAll(':', '-')}`;
  renameSync(path, aside);
  const journal = `${path}-journal`;
  if (existsSync(journal)) renameSync(journal, `${aside}-journal`);
  return aside;
}
