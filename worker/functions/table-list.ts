/** The tables of a tenant with how many documents each has. GET /api/tenants/{tenant_id}/tables */
import type Database from 'better-sqlite3';
import type {Catalog} from '../storage/catalog.ts';
import type {Connection} from '../storage/database.ts';

export class TableList {
  readonly #catalog: Catalog;
  readonly #count: Database.Statement<[number, number], number>;

  constructor(db: Connection, catalog: Catalog) {
    this.#catalog = catalog;
    this.#count = db
      .prepare<[number, number], number>('SELECT count(*) FROM documents WHERE doc BETWEEN ? AND ?')
      .pluck();
  }

  /** `{"tables": [{"name", "documents"}]}`, by name. A table that is empty and has no schema is not there. */
  text(): string {
    const tables = [];
    for (const {name, info, fields, deployed} of this.#catalog.tables()) {
      const documents = this.#count.get(info.lowDoc, info.highDoc)!;
      if (documents > 0 || fields !== null || deployed !== null) tables.push({name, documents});
    }
    return JSON.stringify({tables: tables.sort((a, b) => (a.name < b.name ? -1 : 1))});
  }
}
