/**
 * A small SQLite database of the supervisor (keys, the audit log) whose loss or damage must not keep the service from
 * running. Every change is on disk when its call returns. There is no separate log file that could be lost, and the
 * rollback journal keeps its space, so that small changes succeed when the disk is full.
 */
import {chmodSync} from 'node:fs';
import Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {storageRefusal} from './storage-refusal.ts';

/** `tables`: statements that create the tables. */
export type DatabaseForm = {applicationId: number; version: number; tables: string};

/** The file cannot be used. The message is a clause about it. */
export class DatabaseUnusable extends Error {
  override name = 'DatabaseUnusable';
}

/** Opens the database, or creates it. @throws DatabaseUnusable */
export function openOwnDatabase(path: string, form: DatabaseForm): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(path);
    chmodSync(path, 0o600);
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = PERSIST');
    db.pragma('synchronous = FULL');
    db.pragma('fullfsync = ON');
    makeTables(db, form);
    assert(db.pragma('synchronous', {simple: true}) === 2, 'it writes with synchronous = FULL');
    return db;
  } catch (caught) {
    db?.close();
    if (caught instanceof Database.SqliteError || (caught instanceof Error && 'syscall' in caught)) {
      throw new DatabaseUnusable(`cannot be used: ${caught.message}`, {cause: caught});
    }
    throw caught;
  }
}

function makeTables(db: Database.Database, {applicationId, version, tables}: DatabaseForm): void {
  const id = db.pragma('application_id', {simple: true}) as number;
  const found = db.pragma('user_version', {simple: true}) as number;
  const isEmpty = db.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (id === 0 && found === 0 && isEmpty) {
    db.transaction(() => {
      db.exec(tables);
      db.pragma(`application_id = ${applicationId}`);
      db.pragma(`user_version = ${version}`);
    }).immediate();
    return;
  }
  if (id !== applicationId) throw new DatabaseUnusable(`is another file: its application_id is ${id}`);
  if (found !== version) throw new DatabaseUnusable(`has version ${found}, and this svc knows ${version}`);
  const damage = damageOf(db);
  if (damage !== null) throw new DatabaseUnusable(`is damaged: ${damage}`);
  // Detects a damaged table definition: the same statements produce the same text.
  const model = new Database(':memory:');
  model.exec(tables);
  const isAlike = schemaOf(model) === schemaOf(db);
  model.close();
  if (!isAlike) throw new DatabaseUnusable('is damaged: its tables are not those that were made');
}

/** A database of which consistent copies can be made while it is in use. */
export type Copyable = {
  /** Grows with each change. */
  changes(): number;
  /** Makes a closed database. @throws errors of the file system, and of SQLite */
  copyTo(path: string): Promise<void>;
};

export function copyable(db: Database.Database): Copyable {
  const changes = db.prepare<[], number>('SELECT total_changes()').pluck();
  return {
    changes: () => changes.get()!,
    copyTo: async path => {
      await db.backup(path);
    },
  };
}

/** Checks every page. @returns findings; null: none */
export function damageOf(db: Database.Database): string | null {
  const findings = db.pragma('integrity_check(3)') as {integrity_check: string}[];
  const text = findings.map(row => row.integrity_check).join('; ');
  return text === 'ok' ? null : text;
}

function schemaOf(db: Database.Database): string {
  const text = db.prepare<[], string | null>(
    "SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_schema WHERE name <> 'spare' ORDER BY name)",
  );
  return text.pluck().get() ?? '';
}

/** Makes one change. @throws session.storage_full 507, session.storage_read_only 503: the disk refuses it */
export function changeOwn<T>(db: Database.Database, change: () => T): T {
  try {
    return db.transaction(change).immediate();
  } catch (caught) {
    throw storageRefusal(caught) ?? caught;
  }
}

/**
 * Keeps pages free inside the file, and as many in its rollback journal, for changes on a full disk. Best effort: if
 * there is no space now, a later change retries.
 */
export function keepSpare(db: Database.Database, bytes: number): void {
  const pageBytes = db.pragma('page_size', {simple: true}) as number;
  const free = (db.pragma('freelist_count', {simple: true}) as number) * pageBytes;
  if (free >= bytes / 2) return;
  try {
    db.transaction(() => {
      db.exec('CREATE TABLE IF NOT EXISTS spare (bytes BLOB)');
      db.prepare('INSERT INTO spare VALUES (zeroblob(?))').run(bytes);
    })();
    // With secure_delete, freed pages are overwritten through the journal, so the journal gets the space.
    db.pragma('secure_delete = ON');
    db.exec('DROP TABLE spare');
  } catch (caught) {
    if (storageRefusal(caught) === null) throw caught;
  } finally {
    db.pragma('secure_delete = OFF');
  }
}

/**
 * On a full disk, the table is in memory until the next start: what it would have held is unknown then.
 * @returns whether it is on disk
 */
export function createMissing(db: Database.Database, table: string): boolean {
  try {
    db.exec(table);
    return true;
  } catch (caught) {
    if (!(caught instanceof Database.SqliteError) || caught.code !== 'SQLITE_FULL') throw caught;
    db.pragma('temp_store = MEMORY');
    db.exec(table.replace('CREATE TABLE', 'CREATE TEMP TABLE'));
    return false;
  }
}
