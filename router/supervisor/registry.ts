/**
 * Which tenants exist, which of them may have an open file, and when a sleeping one has work again: one small SQLite file,
 * `<data>/registry.sqlite`. Every change is on disk when the call returns.
 *
 *   id            the tenant's id, as the caller chose it
 *   generation    never used twice, so a tenant created again under an old id gets a directory of its own
 *   state         'ready', or 'deleting' from the moment a deletion is decided until the tenant's files are gone
 *   awake         1 from before a worker opens the tenant's file until one has closed it in order
 *   next_due_ms   when the tenant, asleep, has work to do; null: never. Of no meaning while awake is 1
 */
import Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';

export type TenantRow = {
  id: string;
  generation: number;
  state: 'ready' | 'deleting';
  awake: 0 | 1;
  next_due_ms: number | null;
  created_ms: number;
};

/** ASCII "svcR". */
const APPLICATION_ID = 0x73766352;

/** Migrations in order; `user_version` counts those applied. Never edit one that was released: append. */
const MIGRATIONS = [
  `CREATE TABLE tenants (
     id TEXT PRIMARY KEY,
     generation INTEGER NOT NULL UNIQUE,
     state TEXT NOT NULL CHECK (state IN ('ready', 'deleting')),
     awake INTEGER NOT NULL CHECK (awake IN (0, 1)),
     next_due_ms INTEGER,
     created_ms INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX tenants_due ON tenants (next_due_ms) WHERE next_due_ms IS NOT NULL AND awake = 0;
   CREATE TABLE generations (last INTEGER NOT NULL) STRICT;
   INSERT INTO generations VALUES (0);`,
];

export class Registry {
  readonly #db: Database.Database;
  readonly #rows: Database.Statement<[], TenantRow>;
  readonly #insert: Database.Statement<[string, number, number]>;
  readonly #setGeneration: Database.Statement<[number]>;
  readonly #markAwake: Database.Statement<[string]>;
  readonly #markAsleep: Database.Statement<[number | null, string]>;
  readonly #markDeleting: Database.Statement<[string]>;
  readonly #remove: Database.Statement<[string]>;
  readonly #due: Database.Statement<[number], string>;
  readonly #nextDue: Database.Statement<[], number | null>;

  constructor(path: string) {
    const db = new Database(path);
    this.#db = db;
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('fullfsync = ON');
    assert(db.pragma('journal_mode', {simple: true}) === 'wal', 'the registry is in WAL mode');
    assert(db.pragma('synchronous', {simple: true}) === 2, 'the registry writes with synchronous = FULL');
    migrate(db, path);
    this.#rows = db.prepare('SELECT id, generation, state, awake, next_due_ms, created_ms FROM tenants ORDER BY id');
    this.#insert = db.prepare("INSERT INTO tenants VALUES (?, ?, 'ready', 0, NULL, ?)");
    this.#setGeneration = db.prepare('UPDATE generations SET last = max(last, ?)');
    this.#markAwake = db.prepare('UPDATE tenants SET awake = 1 WHERE id = ?');
    this.#markAsleep = db.prepare('UPDATE tenants SET awake = 0, next_due_ms = ? WHERE id = ?');
    this.#markDeleting = db.prepare("UPDATE tenants SET state = 'deleting' WHERE id = ?");
    this.#remove = db.prepare('DELETE FROM tenants WHERE id = ?');
    this.#due = db
      .prepare<[number], string>(
        "SELECT id FROM tenants WHERE awake = 0 AND state = 'ready' AND next_due_ms IS NOT NULL AND next_due_ms <= ?",
      )
      .pluck();
    this.#nextDue = db
      .prepare<[], number | null>(
        "SELECT min(next_due_ms) FROM tenants WHERE awake = 0 AND state = 'ready' AND next_due_ms IS NOT NULL",
      )
      .pluck();
  }

  rows(): TenantRow[] {
    return this.#rows.all();
  }

  /** The highest generation any tenant ever had. */
  lastGeneration(): number {
    return this.#db.prepare<[], number>('SELECT last FROM generations').pluck().get()!;
  }

  create(id: string, generation: number, createdMs: number): void {
    this.#change(() => {
      this.#setGeneration.run(generation);
      this.#insert.run(id, generation, createdMs);
    });
  }

  markAwake(id: string): void {
    this.#change(() => this.#markAwake.run(id));
  }

  markAsleep(id: string, nextDueMs: number | null): void {
    this.#change(() => this.#markAsleep.run(nextDueMs, id));
  }

  markDeleting(id: string): void {
    this.#change(() => this.#markDeleting.run(id));
  }

  remove(id: string): void {
    this.#change(() => this.#remove.run(id));
  }

  /** Sleeping tenants whose time has come. */
  due(nowMs: number): string[] {
    return this.#due.all(nowMs);
  }

  /** When the next sleeping tenant is due; null: none. */
  nextDueMs(): number | null {
    return this.#nextDue.get() ?? null;
  }

  close(): void {
    this.#db.close();
  }

  /**
   * A full disk refuses a change and leaves what was. Any other failure of the storage ends the process (nobody catches
   * it), which starts again from what is on disk: an fsync that failed cannot be repeated.
   */
  #change(change: () => void): void {
    try {
      this.#db.transaction(change).immediate();
    } catch (caught) {
      if (!(caught instanceof Database.SqliteError) || !caught.code.startsWith('SQLITE_FULL')) throw caught;
      throw new ServiceError('session.storage_full', 'the disk is full: free space and try again', undefined, {
        cause: caught,
      });
    }
  }
}

function migrate(db: Database.Database, path: string): void {
  const id = db.pragma('application_id', {simple: true});
  if (id !== 0 && id !== APPLICATION_ID) throw new Error(`${path} is not a registry of tenants: application_id ${id}`);
  const version = db.pragma('user_version', {simple: true}) as number;
  if (version > MIGRATIONS.length) {
    throw new Error(
      `${path} was written by a newer svc: its version is ${version}, this one knows ${MIGRATIONS.length}`,
    );
  }
  for (let next = version; next < MIGRATIONS.length; next++) {
    db.transaction(() => {
      db.exec(MIGRATIONS[next]!);
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${next + 1}`);
    }).immediate();
  }
}
