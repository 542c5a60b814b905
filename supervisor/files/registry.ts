/**
 * Stores which tenants exist, which of them may have an open file, and when a sleeping one has work again: a small
 * SQLite file, `<data>/registry.sqlite`. Every change is on disk when the call returns.
 *
 * It is a cache of the tenants' directories (`start-plan.ts`), never the reason to remove one. So a lost or older
 * registry costs only a scan of the directories. A row that a damaged disk changed is detected by its checksum, or
 * because its directory does not exist.
 *
 *   id            the tenant's id, as the caller chose it
 *   generation    never used twice, so a tenant created again under an old id gets a directory of its own
 *   awake         1 from before a worker opens the tenant's file until one has closed it in order
 *   next_due_ms   when the tenant, asleep, has work to do; null: never. Of no meaning while awake is 1
 *   created_ms    epoch milliseconds
 *   file_ms       when the tenant's file was last changed, as of its last orderly close; null: it had none yet
 *   checksum      CRC-32 of the other columns
 */
import {statSync} from 'node:fs';
import {crc32} from 'node:zlib';
import Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {NO_EGRESS_SETTINGS} from '../../shared/egress/settings.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {EgressSettings} from '../../shared/ipc/egress.ts';
import type {AdoptNote} from '../../shared/tenant-directory.ts';
import {EGRESS, egressValues, readEgress} from './egress-rows.ts';
import {changeOwn, createMissing, damageOf} from './own-database.ts';
import {IS_NOT_PAUSED, PAUSED_TABLE, PausedTenants} from './paused-tenants.ts';

export type TenantRow = {
  id: string;
  generation: number;
  awake: 0 | 1;
  next_due_ms: number | null;
  created_ms: number;
  file_ms: number | null;
};
/** `isSound`: the checksum matches. */
export type StoredRow = TenantRow & {isSound: boolean};

/** The registry's file cannot be used. The message is a clause about it: "is damaged: …". */
export class RegistryUnusable extends Error {
  override name = 'RegistryUnusable';
  /**
   * A new registry would solve the problem; false: this one is intact, but not available now, or not for this version
   * of svc.
   */
  readonly isLost: boolean;

  constructor(clause: string, isLost: boolean, options?: ErrorOptions) {
    super(clause, options);
    this.isLost = isLost;
  }

  /** Another server has exclusive access to it, as servers that start on a full disk have. */
  get isBusy(): boolean {
    return this.cause instanceof Database.SqliteError && this.cause.code.startsWith('SQLITE_BUSY');
  }
}

/** ASCII "svcR". */
const APPLICATION_ID = 0x73766352;
export const REGISTRY_VERSION = 2;

const COLUMNS = 'id, generation, awake, next_due_ms, created_ms, file_ms';
const TABLES = `
  CREATE TABLE tenants (
    id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL UNIQUE,
    awake INTEGER NOT NULL CHECK (awake IN (0, 1)),
    next_due_ms INTEGER,
    created_ms INTEGER NOT NULL,
    file_ms INTEGER,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tenants_due ON tenants (next_due_ms) WHERE next_due_ms IS NOT NULL AND awake = 0;
`;
const GENERATIONS = `
  CREATE TABLE generations (last INTEGER NOT NULL) STRICT;
  INSERT INTO generations VALUES (0);
`;

/**
 * Tenants known to have no deployment. A row is ignored if it is damaged or belongs to an earlier tenant with the id.
 */
const WITHOUT_CODE = `
  CREATE TABLE IF NOT EXISTS without_code (
    id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

type Values = [string, number, 0 | 1, number | null, number, number | null, number];

export class Registry {
  readonly #db: Database.Database;
  readonly #rows: Map<string, StoredRow>;
  readonly #write: Database.Statement<Values>;
  readonly #setGeneration: Database.Statement<[number]>;
  readonly #remove: Database.Statement<[string]>;
  readonly #egress: Map<string, {generation: number; settings: EgressSettings}>;
  readonly #writeEgress: Database.Statement<[string, number, string, number]>;
  readonly #removeEgress: Database.Statement<[string]>;
  /** Generations of the tenants without code. */
  readonly #withoutCode: Map<string, number>;
  readonly #writeWithoutCode: Database.Statement<[string, number, number]>;
  readonly #removeWithoutCode: Database.Statement<[string]>;
  readonly paused: PausedTenants;
  readonly #due: Database.Statement<[number], string>;
  readonly #nextDue: Database.Statement<[], number | null>;
  /** The last change failed although the disk is not full. */
  isUnwritable = false;

  /**
   * Opens the file, creates it if it is missing, and upgrades it to the current version.
   * @param beforeUpgrade called with the tenants before an upgrade from an older version (0: the file is empty)
   * @throws RegistryUnusable
   */
  constructor(path: string, beforeUpgrade: (from: number, rows: TenantRow[]) => void = () => undefined) {
    const db = openDatabase(path);
    this.#db = db;
    try {
      const version = checkedVersion(db);
      if (version < REGISTRY_VERSION) {
        beforeUpgrade(version, version === 1 ? rowsOfVersion1(db) : []);
        upgrade(db, version);
      }
      this.#rows = new Map(readRows(db).map(row => [row.id, row]));
      readLastGeneration(db);
      // Tables that early versions lack: without them, the policies, and which tenants have code, are unknown.
      // A policy must be on disk before it is in force, so its table cannot be in memory.
      db.exec(EGRESS);
      createMissing(db, WITHOUT_CODE);
      this.paused = new PausedTenants(db, createMissing(db, PAUSED_TABLE), change => this.#change(change));
      this.#withoutCode = readWithoutCode(db);
      this.#writeWithoutCode = db.prepare(
        'INSERT OR REPLACE INTO without_code (id, generation, checksum) VALUES (?, ?, ?)',
      );
      this.#removeWithoutCode = db.prepare('DELETE FROM without_code WHERE id = ?');
      this.#egress = readEgress(db);
      this.#writeEgress = db.prepare(
        'INSERT OR REPLACE INTO egress (id, generation, settings, checksum) VALUES (?, ?, ?, ?)',
      );
      this.#removeEgress = db.prepare('DELETE FROM egress WHERE id = ?');
      this.#write = db.prepare(`INSERT OR REPLACE INTO tenants (${COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)`);
      this.#setGeneration = db.prepare('UPDATE generations SET last = max(last, ?)');
      this.#remove = db.prepare('DELETE FROM tenants WHERE id = ?');
      this.#due = db
        .prepare<[number], string>(
          `SELECT id FROM tenants WHERE awake = 0 AND next_due_ms IS NOT NULL AND next_due_ms <= ? AND ${IS_NOT_PAUSED}`,
        )
        .pluck();
      this.#nextDue = db
        .prepare<[], number | null>(
          `SELECT min(next_due_ms) FROM tenants WHERE awake = 0 AND next_due_ms IS NOT NULL AND ${IS_NOT_PAUSED}`,
        )
        .pluck();
    } catch (caught) {
      db.close();
      throw asUnusable(caught);
    }
  }

  rows(): StoredRow[] {
    return [...this.#rows.values()];
  }

  /** The highest generation that any tenant ever had, as far as the registry knows. */
  lastGeneration(): number {
    return readLastGeneration(this.#db);
  }

  /** Replaces the row of an earlier tenant with this id, if it could not be removed. */
  create(id: string, generation: number, createdMs: number): void {
    this.#store(newRow(id, generation, createdMs), () => {
      this.#setGeneration.run(generation);
      this.#writeEgress.run(...egressValues(id, generation, NO_EGRESS_SETTINGS));
      this.#writeWithoutCode.run(id, generation, codeChecksum(id, generation));
    });
    this.#withoutCode.set(id, generation);
    this.#egress.set(id, {generation, settings: NO_EGRESS_SETTINGS});
  }

  /** The egress policy in force; null: the registry does not know it. */
  egressOf(id: string, generation: number): EgressSettings | null {
    const known = this.#egress.get(id);
    return known?.generation === generation ? known.settings : null;
  }

  /** Sets the egress policy in force. @throws session.storage_full 507, session.storage_read_only 503 */
  setEgress(id: string, generation: number, settings: EgressSettings): void {
    this.#change(() => this.#writeEgress.run(...egressValues(id, generation, settings)));
    this.#egress.set(id, {generation, settings});
  }

  /** False: the tenant is known to have no deployment. */
  hasCode(id: string, generation: number): boolean {
    return this.#withoutCode.get(id) !== generation;
  }

  /** Number of tenants that are not known to have no deployment. */
  get tenantsWithCode(): number {
    return this.#rows.size - this.#withoutCode.size;
  }

  /** @throws session.storage_full 507, session.storage_read_only 503 */
  setHasCode(id: string, generation: number, hasCode: boolean): void {
    // Memory is updated even if the disk refuses the change, because the value is true.
    if (hasCode) this.#withoutCode.delete(id);
    else this.#withoutCode.set(id, generation);
    this.#change(() => {
      if (hasCode) this.#removeWithoutCode.run(id);
      else this.#writeWithoutCode.run(id, generation, codeChecksum(id, generation));
    });
  }

  /**
   * Adds a tenant whose directory exists. False: the disk is full; the row is written with the tenant's next change.
   */
  record(id: string, generation: number, createdMs: number): boolean {
    try {
      this.create(id, generation, createdMs);
      return true;
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#rows.set(id, {...newRow(id, generation, createdMs), isSound: true});
      return false;
    }
  }

  /**
   * Adds a tenant that came as a file, in place of an earlier one with this id. It counts as awake, because its due time
   * is not known. False: it could not be written; the row is written with the tenant's next change.
   */
  adopt({tenant: id, generation, created_ms: createdMs, serve}: AdoptNote): boolean {
    const row: TenantRow = {...newRow(id, generation, createdMs), awake: 1};
    this.#egress.delete(id);
    this.#withoutCode.delete(id);
    try {
      this.#store(row, () => {
        this.#setGeneration.run(generation);
        this.#removeEgress.run(id);
        this.#removeWithoutCode.run(id);
        this.paused.put(id, generation, serve === 'reads' ? 'reads' : null);
      });
      return true;
    } catch (caught) {
      if (!(caught instanceof ServiceError || caught instanceof Database.SqliteError)) throw caught;
      this.#rows.set(id, {...row, isSound: true});
      return false;
    }
  }

  markAwake(id: string): void {
    this.#store({...this.#row(id), awake: 1});
  }

  markAsleep(id: string, nextDueMs: number | null, fileMs: number | null): void {
    this.#store({...this.#row(id), awake: 0, next_due_ms: nextDueMs, file_ms: fileMs});
  }

  /** Removes the tenant, unless the id belongs to one created later. */
  remove(id: string, generation: number): void {
    if (this.#rows.get(id)?.generation !== generation) return;
    this.paused.remove(id);
    this.#change(() => {
      this.#remove.run(id);
      this.#removeEgress.run(id);
      this.#removeWithoutCode.run(id);
    });
    this.#withoutCode.delete(id);
    this.#rows.delete(id);
    this.#egress.delete(id);
  }

  /** Sleeping tenants that are due. */
  due(nowMs: number): string[] {
    return this.#due.all(nowMs);
  }

  /** The newest time of this server's clock that rows contain. */
  newestMs(): number {
    return this.rows().reduce((newest, row) => Math.max(newest, row.created_ms, row.file_ms ?? 0), 0);
  }

  /** When the next sleeping tenant is due; null: none. */
  nextDueMs(): number | null {
    return this.#nextDue.get() ?? null;
  }

  close(): void {
    this.#db.close();
  }

  #row(id: string): TenantRow {
    const row = this.#rows.get(id);
    assert(row !== undefined, `tenant ${id} has a row in the registry`);
    return row;
  }

  #store(row: TenantRow, also: () => void = () => undefined): void {
    this.#change(() => {
      also();
      this.#write.run(...valuesOf(row));
    });
    this.#rows.set(row.id, {...row, isSound: true});
  }

  /** Converts errors of a full or read-only disk. @throws ServiceError */
  #change(change: () => void): void {
    try {
      changeOwn(this.#db, change);
      this.isUnwritable = false;
    } catch (caught) {
      this.isUnwritable = caught instanceof ServiceError && caught.code === 'session.storage_read_only';
      throw caught;
    }
  }
}

/**
 * Reads the rows of a registry that another process may be using, without changing it.
 * @throws RegistryUnusable
 */
export function readRegistry(path: string): {version: number; rows: StoredRow[]; lastGeneration: number} {
  let db: Database.Database;
  try {
    db = new Database(path, {readonly: true, fileMustExist: true});
  } catch (caught) {
    throw asUnusable(caught);
  }
  try {
    const version = checkedVersion(db);
    if (version === 0) return {version, rows: [], lastGeneration: 0};
    const rows = version === 1 ? rowsOfVersion1(db).map(row => ({...row, isSound: true})) : readRows(db);
    return {version, rows, lastGeneration: readLastGeneration(db)};
  } catch (caught) {
    throw asUnusable(caught);
  } finally {
    db.close();
  }
}

/** Creates a registry with these tenants. It is on disk and closed when this returns. */
export function writeRegistry(path: string, rows: TenantRow[], lastGeneration: number): void {
  assert(statSync(path, {throwIfNoEntry: false}) === undefined, `${path} is not there yet`);
  const db = openDatabase(path);
  upgrade(db, 0);
  const write = db.prepare<Values>(`INSERT INTO tenants (${COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)`);
  db.transaction(() => {
    for (const row of rows) write.run(...valuesOf(row));
    db.prepare('UPDATE generations SET last = ?').run(lastGeneration);
  }).immediate();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

function openDatabase(path: string): Database.Database {
  try {
    return openDatabaseWith(path, 'NORMAL');
  } catch (caught) {
    // The index of the log needs a file of 32 KiB, for which a full disk has no space. With exclusive access, it can be
    // in memory.
    if (!(caught instanceof Database.SqliteError) || !/^SQLITE_(IOERR_SHM|FULL|CANTOPEN)/.test(caught.code)) {
      throw asUnusable(caught);
    }
  }
  try {
    return openDatabaseWith(path, 'EXCLUSIVE');
  } catch (caught) {
    throw asUnusable(caught);
  }
}

function openDatabaseWith(path: string, lockingMode: 'NORMAL' | 'EXCLUSIVE'): Database.Database {
  const db = new Database(path);
  try {
    db.pragma(`locking_mode = ${lockingMode}`);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('fullfsync = ON');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    assert(db.pragma('journal_mode', {simple: true}) === 'wal', 'the registry is in WAL mode');
    assert(db.pragma('synchronous', {simple: true}) === 2, 'the registry writes with synchronous = FULL');
    return db;
  } catch (caught) {
    db.close();
    throw caught;
  }
}

/** 0: the file is empty. Checks every page, because the file is small and important. */
function checkedVersion(db: Database.Database): number {
  const id = db.pragma('application_id', {simple: true}) as number;
  const version = db.pragma('user_version', {simple: true}) as number;
  const tables = db.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get()!;
  if (id === 0 && version === 0 && tables === 0) return 0;
  if (id !== APPLICATION_ID)
    throw new RegistryUnusable(`is not a registry of tenants: its application_id is ${id}`, true);
  if (version > REGISTRY_VERSION) {
    const clause = `was written by a newer svc: its version is ${version}, this one knows ${REGISTRY_VERSION}`;
    throw new RegistryUnusable(clause, false);
  }
  const damage = damageOf(db);
  if (damage !== null) throw new RegistryUnusable(`is damaged: ${damage}`, true);
  return version;
}

function upgrade(db: Database.Database, from: number): void {
  db.transaction(() => {
    const rows = from === 1 ? rowsOfVersion1(db) : [];
    db.exec(from === 1 ? 'DROP TABLE tenants' : GENERATIONS);
    db.exec(TABLES);
    const write = db.prepare<Values>(`INSERT INTO tenants (${COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)`);
    for (const row of rows) write.run(...valuesOf(row));
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${REGISTRY_VERSION}`);
  }).immediate();
}

/**
 * Does not finish a deletion that version 1 had begun, because a row alone is not sufficient evidence: its directory is
 * left to the operator.
 */
function rowsOfVersion1(db: Database.Database): TenantRow[] {
  return db
    .prepare<[], TenantRow>(
      "SELECT id, generation, awake, next_due_ms, created_ms, NULL AS file_ms FROM tenants WHERE state = 'ready'",
    )
    .all();
}

function readRows(db: Database.Database): StoredRow[] {
  const stored = db.prepare<[], TenantRow & {checksum: number}>(`SELECT ${COLUMNS}, checksum FROM tenants ORDER BY id`);
  return stored.all().map(({checksum, ...row}) => ({...row, isSound: checksumOf(row) === checksum}));
}

function readWithoutCode(db: Database.Database): Map<string, number> {
  type Row = {id: string; generation: number; checksum: number};
  const rows = db.prepare<[], Row>(
    'SELECT id, generation, c.checksum FROM without_code AS c JOIN tenants USING (id, generation)',
  );
  const sound = rows.all().filter(({id, generation, checksum}) => codeChecksum(id, generation) === checksum);
  return new Map(sound.map(({id, generation}) => [id, generation]));
}

function codeChecksum(id: string, generation: number): number {
  return crc32(JSON.stringify([id, generation, 'without code']));
}

/** @throws RegistryUnusable */
function readLastGeneration(db: Database.Database): number {
  const last = db.prepare<[], number>('SELECT last FROM generations').pluck().get();
  if (last !== undefined && Number.isSafeInteger(last) && last >= 0) return last;
  throw new RegistryUnusable(`is damaged: its last generation is ${last}`, true);
}

function newRow(id: string, generation: number, createdMs: number): TenantRow {
  return {id, generation, awake: 0, next_due_ms: null, created_ms: createdMs, file_ms: null};
}

function valuesOf(row: TenantRow): Values {
  const {id, generation, awake, next_due_ms, created_ms, file_ms} = row;
  return [id, generation, awake, next_due_ms, created_ms, file_ms, checksumOf(row)];
}

function checksumOf({id, generation, awake, next_due_ms, created_ms, file_ms}: TenantRow): number {
  return crc32(JSON.stringify([id, generation, awake, next_due_ms, created_ms, file_ms]));
}

function asUnusable(caught: unknown): unknown {
  if (!(caught instanceof Database.SqliteError)) return caught;
  const options = {cause: caught};
  // Our statements do not fit the tables: a definition is damaged.
  if (/^SQLITE_(CORRUPT|NOTADB|ERROR)/.test(caught.code)) {
    return new RegistryUnusable(`is damaged: ${caught.message}`, true, options);
  }
  if (caught.code.startsWith('SQLITE_FULL'))
    return new RegistryUnusable('cannot be written: the disk is full', false, options);
  return new RegistryUnusable(`cannot be opened: ${caught.message}`, false, options);
}
