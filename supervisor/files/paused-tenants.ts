/**
 * Which tenants an operator paused, and whether they answer reads meanwhile: a table of the registry. A lost registry forgets them, and their tenants run again.
 * A row of an earlier tenant with the id has another generation and means nothing.
 */
import type Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import type {PauseMode} from '../../shared/protocol/tenant-status.ts';

export const PAUSED_TABLE = `
  CREATE TABLE IF NOT EXISTS paused (
    id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;
/** A release without this column pauses such a tenant altogether. */
const MODE_COLUMN = "ALTER TABLE paused ADD COLUMN serves TEXT NOT NULL DEFAULT 'nothing'";
/** For a query of the table `tenants`: paused ones are not woken for their due work. */
export const IS_NOT_PAUSED =
  'NOT EXISTS (SELECT 1 FROM paused WHERE paused.id = tenants.id AND paused.generation = tenants.generation)';

export class PausedTenants {
  /** By id. */
  readonly #paused: Map<string, {generation: number; serves: PauseMode}>;
  readonly #change: (change: () => void) => void;
  readonly #isStored: boolean;
  readonly #write: Database.Statement<[string, number, PauseMode]>;
  readonly #remove: Database.Statement<[string]>;

  /**
   * @param isStored the table is on disk
   * @param change runs a change of the registry in a transaction
   */
  constructor(db: Database.Database, isStored: boolean, change: (change: () => void) => void) {
    this.#change = change;
    const columns = db.pragma('table_info(paused)') as {name: string}[];
    this.#isStored = (columns.some(({name}) => name === 'serves') || hasModesNow(db)) && isStored;
    this.#write = db.prepare('INSERT OR REPLACE INTO paused (id, generation, serves) VALUES (?, ?, ?)');
    this.#remove = db.prepare('DELETE FROM paused WHERE id = ?');
    const rows = db.prepare<[], {id: string; generation: number; serves: string}>('SELECT * FROM paused').all();
    this.#paused = new Map(
      rows.map(({id, generation, serves}) => [id, {generation, serves: serves === 'reads' ? 'reads' : 'nothing'}]),
    );
  }

  /** Null: it is not paused. */
  modeOf(id: string, generation: number): PauseMode | null {
    const paused = this.#paused.get(id);
    return paused?.generation === generation ? paused.serves : null;
  }

  /** It is on disk when this returns. @throws session.storage_full 507, session.storage_read_only 503 */
  add(id: string, generation: number, serves: PauseMode): void {
    if (!this.#isStored) {
      throw new ServiceError('session.storage_full', 'the disk was full when the server started: restart it to pause');
    }
    this.#change(() => this.#write.run(id, generation, serves));
    this.#paused.set(id, {generation, serves});
  }

  /** Within a change of the registry. @param serves null: it is not paused */
  put(id: string, generation: number, serves: PauseMode | null): void {
    this.#paused.delete(id);
    if (serves !== null) this.#paused.set(id, {generation, serves});
    if (serves === null) this.#remove.run(id);
    else this.#write.run(id, generation, serves);
  }

  /** As `add`. Also called for a tenant that is deleted. */
  remove(id: string): void {
    if (!this.#paused.has(id)) return;
    this.#change(() => this.#remove.run(id));
    this.#paused.delete(id);
  }
}

/** Adds the column to a table of an earlier release. @returns false: the disk is full, and the table is in memory */
function hasModesNow(db: Database.Database): boolean {
  try {
    db.exec(MODE_COLUMN);
    return true;
  } catch (caught) {
    if (!(caught instanceof Error && 'code' in caught) || caught.code !== 'SQLITE_FULL') throw caught;
    db.pragma('temp_store = MEMORY');
    db.exec(`
      CREATE TEMP TABLE paused (id TEXT PRIMARY KEY, generation INTEGER NOT NULL, serves TEXT NOT NULL) WITHOUT ROWID;
      INSERT INTO temp.paused SELECT id, generation, 'nothing' FROM main.paused;
    `);
    return false;
  }
}
