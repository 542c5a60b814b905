/** Lists the tables of a tenant with their numbers of documents. */
import type Database from 'better-sqlite3';
import {overloaded} from '../../shared/errors.ts';
import type {ListedTables} from '../../shared/protocol/schema.ts';
import type {TableCounts} from '../commit/table-counts.ts';
import type {Reader} from '../storage/reader.ts';
import {DOCS_PER_TABLE} from '../storage/tables.sql.ts';

/** The committed counters: those of the catalog are ahead of them. */
type CountedTable = {number: number; name: string; documents: number; counted_to: number; hasSchema: 0 | 1};

export class TableList {
  readonly #reader: Reader;
  readonly #counts: TableCounts;
  readonly #tables: Database.Statement<[], CountedTable>;

  constructor(reader: Reader, counts: TableCounts) {
    this.#reader = reader;
    this.#counts = counts;
    this.#tables = reader.db.prepare(
      `SELECT number, name, documents, counted_to, fields IS NOT NULL OR deployed IS NOT NULL AS hasSchema FROM tables`,
    );
  }

  /**
   * By name. An empty table without a schema is left out.
   * @throws session.overloaded 503 while the file of an older svc cannot be counted, for instance on a full disk
   */
  async read(): Promise<ListedTables['tables']> {
    await this.#counts.complete();
    this.#reader.inSnapshot();
    const tables: ListedTables['tables'] = [];
    for (const {number, name, documents, counted_to: countedTo, hasSchema} of this.#tables.all()) {
      if (countedTo < (number + 1) * DOCS_PER_TABLE - 1) {
        throw overloaded(`the documents of table ${name} are still being counted; try again`);
      }
      if (documents > 0 || hasSchema === 1) tables.push({name, documents});
    }
    return tables.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
