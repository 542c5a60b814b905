/**
 * Which tenants an operator paused: a table of the registry. A lost registry forgets them, and their tenants run again.
 * A row of an earlier tenant with the id has another generation and means nothing.
 */
import type Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';

export const PAUSED_TABLE = `
  CREATE TABLE IF NOT EXISTS paused (
    id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;
/** For a query of the table `tenants`: paused ones are not woken for their due work. */
export const IS_NOT_PAUSED =
  'NOT EXISTS (SELECT 1 FROM paused WHERE paused.id = tenants.id AND paused.generation = tenants.generation)';

export class PausedTenants {
  /** Generations by id. */
  readonly #paused: Map<string, number>;
  readonly #change: (change: () => void) => void;
  readonly #isStored: boolean;
  readonly #write: Database.Statement<[string, number]>;
  readonly #remove: Database.Statement<[string]>;

  /**
   * @param isStored the table is on disk
   * @param change runs a change of the registry in a transaction
   */
  constructor(db: Database.Database, isStored: boolean, change: (change: () => void) => void) {
    this.#change = change;
    this.#isStored = isStored;
    this.#write = db.prepare('INSERT OR REPLACE INTO paused (id, generation) VALUES (?, ?)');
    this.#remove = db.prepare('DELETE FROM paused WHERE id = ?');
    const rows = db.prepare<[], {id: string; generation: number}>('SELECT id, generation FROM paused').all();
    this.#paused = new Map(rows.map(({id, generation}) => [id, generation]));
  }

  has(id: string, generation: number): boolean {
    return this.#paused.get(id) === generation;
  }

  /** It is on disk when this returns. @throws session.storage_full 507, session.storage_read_only 503 */
  add(id: string, generation: number): void {
    if (!this.#isStored) {
      throw new ServiceError('session.storage_full', 'the disk was full when the server started: restart it to pause');
    }
    this.#change(() => this.#write.run(id, generation));
    this.#paused.set(id, generation);
  }

  /** As `add`. Also called for a tenant that is deleted. */
  remove(id: string): void {
    if (!this.#paused.has(id)) return;
    this.#change(() => this.#remove.run(id));
    this.#paused.delete(id);
  }
}
