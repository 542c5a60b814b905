/**
 * Committed data, read on a connection of its own. All reads of one event-loop turn share a read transaction: `inSnapshot`
 * opens it on first use and `endTurn` closes it, so that no snapshot outlives a turn and pins the WAL.
 */
import type Database from 'better-sqlite3';
import type {DocumentRow, QueryReader, TableInfo} from '../queries/reader.ts';
import type {Catalog} from './catalog.ts';
import type {Connection} from './database.ts';

const DOCUMENT = 'doc, id, created, updated, body, flags';
const JOINED = 'd.doc AS doc, d.id AS id, d.created AS created, d.updated AS updated, d.body AS body, d.flags AS flags';
const ENTRIES = `SELECT ${JOINED} FROM index_entries e CROSS JOIN documents d ON d.doc = e.doc WHERE e.index_number = ?`;

export class Reader implements QueryReader {
  readonly #catalog: Catalog;
  readonly #begin: Database.Statement<[]>;
  readonly #end: Database.Statement<[]>;
  readonly #byId: Database.Statement<[string], DocumentRow>;
  readonly #forward: Database.Statement<[number, number, number], DocumentRow>;
  readonly #backward: Database.Statement<[number, number, number], DocumentRow>;
  readonly #entries: Record<string, Database.Statement<unknown[], DocumentRow>> = {};
  readonly #db: Connection;
  #inSnapshot = false;

  constructor(db: Connection, catalog: Catalog) {
    this.#db = db;
    this.#catalog = catalog;
    this.#begin = db.prepare('BEGIN');
    this.#end = db.prepare('COMMIT');
    this.#byId = db.prepare(`SELECT ${DOCUMENT} FROM documents WHERE id = ?`);
    this.#forward = db.prepare(`SELECT ${DOCUMENT} FROM documents WHERE doc >= ? AND doc <= ? ORDER BY doc LIMIT ?`);
    this.#backward = db.prepare(
      `SELECT ${DOCUMENT} FROM documents WHERE doc >= ? AND doc <= ? ORDER BY doc DESC LIMIT ?`,
    );
  }

  /** Makes what is read until `endTurn` one snapshot. */
  inSnapshot(): void {
    if (this.#inSnapshot) return;
    this.#begin.run();
    this.#inSnapshot = true;
  }

  endTurn(): void {
    if (!this.#inSnapshot) return;
    this.#inSnapshot = false;
    this.#end.run();
  }

  table(name: string): TableInfo | undefined {
    return this.#catalog.table(name)?.info;
  }

  documentById(id: string): DocumentRow | undefined {
    return this.#byId.get(id);
  }

  documents(low: number, high: number, reverse: boolean, limit: number): DocumentRow[] {
    return (reverse ? this.#backward : this.#forward).all(low, high, limit);
  }

  indexEntries(
    index: number,
    lower: Buffer,
    upper: Buffer | null,
    reverse: boolean,
    after: {key: Buffer; doc: number} | null,
    limit: number,
  ): DocumentRow[] {
    const bounds: unknown[] = [index, lower];
    if (upper !== null) bounds.push(upper);
    if (after !== null) bounds.push(after.key, after.doc);
    return this.#entriesStatement(upper !== null, after !== null, reverse).all(...bounds, limit);
  }

  /** One statement for each shape of range, prepared when first used. */
  #entriesStatement(
    hasUpper: boolean,
    hasAfter: boolean,
    reverse: boolean,
  ): Database.Statement<unknown[], DocumentRow> {
    const shape = `${hasUpper}${hasAfter}${reverse}`;
    const upper = hasUpper ? ' AND e.key < ?' : '';
    const after = hasAfter ? ` AND (e.key, e.doc) ${reverse ? '<' : '>'} (?, ?)` : '';
    const order = reverse ? 'e.key DESC, e.doc DESC' : 'e.key, e.doc';
    this.#entries[shape] ??= this.#db.prepare(`${ENTRIES} AND e.key >= ?${upper}${after} ORDER BY ${order} LIMIT ?`);
    return this.#entries[shape];
  }
}
