/**
 * The tenant's tables, schemas and indexes in memory, read once at open. Changes are made inside a write transaction by the
 * commit pipeline, which takes them back when it rolls back; between groups the catalog always says what is committed.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {TABLES_MAX} from '../../shared/limits.ts';
import type {FieldEntry} from '../../shared/protocol/schema.ts';
import {compilePath, type FieldPath} from '../queries/paths.ts';
import type {TableInfo} from '../queries/reader.ts';
import {type CompiledSchema, compileSchema} from '../schema/validate.ts';
import type {Connection} from './database.ts';
import {DOCS_PER_TABLE} from './tables.sql.ts';

export type IndexState = 'building' | 'enabled' | 'dropping';

export type CatalogIndex = {
  readonly number: number;
  readonly name: string;
  readonly fields: string[];
  /** `fields`, ready for reading values. */
  readonly paths: FieldPath[];
  state: IndexState;
  /** The highest doc the back-fill has passed; of meaning while building. */
  builtTo: number;
};

export type CatalogTable = {
  readonly number: number;
  readonly name: string;
  lastN: number;
  lastCreated: number;
  /** lastN or lastCreated are newer than their row: the group writes them before it commits. */
  counted: boolean;
  /** Null: the table has no schema. */
  fields: FieldEntry[] | null;
  compiled: CompiledSchema | null;
  /** All of them, in order of their numbers; `dropping` ones are kept by nobody. */
  indexes: CatalogIndex[];
  /** What queries see; made anew after a change of the indexes. */
  info: TableInfo;
  /** Schema checks under way want to hear of every document written meanwhile. */
  watchers: Set<Set<number>>;
};

type TableRow = {number: number; name: string; last_n: number; last_created: number; fields: string | null};
type IndexRow = {
  number: number;
  table_number: number;
  name: string;
  fields: string;
  state: IndexState;
  built_to: number;
};

export class Catalog {
  readonly #byName = new Map<string, CatalogTable>();
  readonly #byNumber = new Map<number, CatalogTable>();
  #lastTable = 0;
  #lastIndex = 0;

  static read(db: Connection): Catalog {
    const catalog = new Catalog();
    for (const row of db.prepare('SELECT * FROM tables ORDER BY number').all() as TableRow[]) {
      const fields = row.fields === null ? null : (JSON.parse(row.fields) as FieldEntry[]);
      catalog.#put(newTable(row.number, row.name, row.last_n, row.last_created, fields));
    }
    for (const row of db.prepare('SELECT * FROM indexes ORDER BY number').all() as IndexRow[]) {
      const table = catalog.#byNumber.get(row.table_number);
      assert(table !== undefined, `index ${row.number} belongs to no table`);
      const fields = JSON.parse(row.fields) as string[];
      table.indexes.push(catalogIndex(row.number, row.name, fields, row.state, row.built_to));
      catalog.#lastIndex = row.number;
    }
    for (const table of catalog.#byName.values()) refreshInfo(table);
    return catalog;
  }

  /** Tables by name; the order is that of first use. */
  tables(): IterableIterator<CatalogTable> {
    return this.#byName.values();
  }

  table(name: string): CatalogTable | undefined {
    return this.#byName.get(name);
  }

  /** The table a document number belongs to. */
  tableOfDoc(doc: number): CatalogTable {
    const table = this.#byNumber.get(Math.floor(doc / DOCS_PER_TABLE));
    assert(table !== undefined, `document ${doc} belongs to no table`);
    return table;
  }

  /** A new table, in memory only: the caller writes its row, and calls `remove` when that is rolled back. */
  add(name: string): CatalogTable {
    if (this.#lastTable >= TABLES_MAX) {
      throw new ServiceError('op.invalid_input', `a tenant has at most ${TABLES_MAX} tables`);
    }
    const table = newTable(this.#lastTable + 1, name, 0, 0, null);
    this.#put(table);
    return table;
  }

  remove(table: CatalogTable): void {
    assert(table.number === this.#lastTable, 'tables are taken back in reverse order');
    this.#byName.delete(table.name);
    this.#byNumber.delete(table.number);
    this.#lastTable--;
  }

  /** Numbers are not used again even when the change that took one is rolled back. */
  nextIndexNumber(): number {
    return ++this.#lastIndex;
  }

  #put(table: CatalogTable): void {
    this.#byName.set(table.name, table);
    this.#byNumber.set(table.number, table);
    this.#lastTable = Math.max(this.#lastTable, table.number);
  }
}

function newTable(
  number: number,
  name: string,
  lastN: number,
  lastCreated: number,
  fields: FieldEntry[] | null,
): CatalogTable {
  const lowDoc = number * DOCS_PER_TABLE;
  return {
    number,
    name,
    lastN,
    lastCreated,
    counted: false,
    fields,
    compiled: fields === null ? null : compileSchema({fields}),
    indexes: [],
    info: {number, lowDoc, highDoc: lowDoc + DOCS_PER_TABLE - 1, indexes: []},
    watchers: new Set(),
  };
}

export function catalogIndex(
  number: number,
  name: string,
  fields: string[],
  state: IndexState,
  builtTo: number,
): CatalogIndex {
  return {number, name, fields, paths: fields.map(compilePath), state, builtTo};
}

/** To be called after any change of a table's indexes. */
export function refreshInfo(table: CatalogTable): void {
  table.info = {...table.info, indexes: table.indexes.filter(index => index.state === 'enabled')};
}
