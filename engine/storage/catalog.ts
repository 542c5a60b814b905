/**
 * The tenant's tables, schemas and indexes in memory, read once at open. The commit pipeline changes it inside a write
 * transaction, and undoes the changes on a rollback; between groups the catalog always shows the committed state.
 */
import {assert} from '../../shared/assert.ts';
import {invalid} from '../../shared/errors.ts';
import type {SchemaTable} from '../../shared/protocol/functions.ts';
import type {Duplicate, FieldEntry} from '../../shared/protocol/schema.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {compilePath, type FieldPath, valueAt} from '../../shared/values/paths.ts';
import {compileValidator, type IdCheck} from '../../shared/values/validate.ts';
import {INDEX_KEY_BYTES_MAX, TABLES_MAX} from '../limits.ts';
import type {Connection} from './connection.ts';
import {decodeId} from './ids.ts';
import {storedMeta} from './meta.ts';
import {checkedRowOf} from './row-checksum.ts';
import type {TableInfo} from './rows.ts';
import {type CompiledSchema, compileSchema} from './table-check.ts';
import {DOCS_PER_TABLE} from './tables.sql.ts';

/** A mark of the file: it contains documents whose ids another tenant made. */
export const OTHER_IDS = 'other_ids';
/** The table that ids of scheduled jobs belong to, by the name that validators use. */
const SCHEDULED_FUNCTIONS = '_scheduled_functions';

export type IndexState = 'building' | 'enabled' | 'failed' | 'dropping';

export type CatalogIndex = {
  readonly number: number;
  readonly name: string;
  readonly fields: string[];
  /** `fields`, parsed for reading values. */
  readonly paths: FieldPath[];
  state: IndexState;
  /** The highest doc that the back-fill has passed; only meaningful while building. */
  builtTo: number;
  /** No two documents have the same values in its fields, except those in which one is missing or null. */
  readonly isUnique: boolean;
  /** The first documents with equal values, found while building: the reason why the index failed. */
  duplicates: readonly Duplicate[];
};

/** A table of the active deployment's schema. `isChecked`: false when the schema switched validation off. */
export type DeployedTable = SchemaTable & {isChecked: boolean};

export type CatalogTable = {
  readonly number: number;
  name: string;
  lastN: number;
  lastCreated: number;
  /** Documents with a number up to `countedTo`, which are all of them once `isCounted`. */
  documents: number;
  countedTo: number;
  /** The counters above are newer than their row: the group writes them before it commits. */
  counted: boolean;
  /** Null: the table has no schema. */
  fields: FieldEntry[] | null;
  /** Set: the active deployment declares the table, and `fields` is null. */
  deployed: DeployedTable | null;
  compiled: CompiledSchema | null;
  /** All indexes, in order of their numbers; entries of failed and `dropping` ones are not maintained. */
  indexes: CatalogIndex[];
  /** The table as queries see it; rebuilt after a change of the indexes. */
  info: TableInfo;
  /** Running schema checks, which receive every document written in the meantime. */
  watchers: Set<Set<number>>;
};

type TableRow = {
  number: number;
  name: string;
  last_n: number;
  last_created: number;
  /** Undefined in a file of version 3. */
  documents?: number;
  counted_to?: number;
  fields: string | null;
  /** Undefined in a file of version 1. */
  deployed?: string | null;
  /** Undefined in a file of version 8. */
  checksum?: number | null;
};
type IndexRow = {
  number: number;
  table_number: number;
  name: string;
  fields: string;
  state: IndexState;
  built_to: number;
  checksum?: number | null;
  /** Undefined in a file of version 13. */
  is_unique?: 0 | 1;
  failure?: string | null;
};

export class Catalog {
  readonly #byName = new Map<string, CatalogTable>();
  readonly #byNumber = new Map<number, CatalogTable>();
  #lastTable = 0;
  #lastIndex = 0;
  #tableOfStoredId: (id: string) => number | undefined = () => undefined;
  /** Collects the ids that are looked up; null: they are not collected. */
  #lookedUp: Set<string> | null = null;
  readonly #checksDocuments: boolean;
  /** Ids in this service's format may have come with a restore, and contain the table numbers of another tenant. */
  holdsOtherIds = false;

  /** @param checksDocuments false: schemas are not compiled, because nothing is written through this catalog */
  constructor(checksDocuments = false) {
    this.#checksDocuments = checksDocuments;
  }

  static read(db: Connection): Catalog {
    const catalog = new Catalog(true);
    catalog.readAgain(db);
    return catalog;
  }

  /** Drops its state and reads the file again: for a thread whose connection sees another version. */
  readAgain(db: Connection): void {
    this.#byName.clear();
    this.#byNumber.clear();
    const tableOfId = db
      .prepare<[string], number>(`SELECT doc / ${DOCS_PER_TABLE} FROM documents WHERE id = ?`)
      .pluck();
    this.#tableOfStoredId = id => tableOfId.get(id);
    this.holdsOtherIds = storedMeta(db, OTHER_IDS) === 1;
    for (const row of db.prepare('SELECT * FROM tables ORDER BY number').all() as TableRow[]) {
      checkedRowOf('tables', {deployed: null, ...row});
      const fields = row.fields === null ? null : (JSON.parse(row.fields) as FieldEntry[]);
      const table = newTable(row.number, row.name, row.last_n, row.last_created);
      table.documents = row.documents ?? 0;
      table.countedTo = row.counted_to ?? 0;
      this.#put(table);
      this.setSchema(table, fields, JSON.parse(row.deployed ?? 'null') as DeployedTable | null);
    }
    for (const row of db.prepare('SELECT * FROM indexes ORDER BY number').all() as IndexRow[]) {
      checkedRowOf('indexes', row);
      const table = this.#byNumber.get(row.table_number);
      assert(table !== undefined, `index ${row.number} belongs to no table`);
      const fields = JSON.parse(row.fields) as string[];
      const index = catalogIndex(row.number, row.name, fields, row.state, row.built_to, row.is_unique === 1);
      index.duplicates = JSON.parse(row.failure ?? '[]') as Duplicate[];
      table.indexes.push(index);
      this.#lastIndex = row.number;
    }
    for (const table of this.#byName.values()) refreshInfo(table);
  }

  /** In memory only. At most one of the two is not null. */
  setSchema(table: CatalogTable, fields: FieldEntry[] | null, deployed: DeployedTable | null): void {
    table.fields = fields;
    table.deployed = deployed;
    if (!this.#checksDocuments) return;
    table.compiled = fields === null ? this.compileDeployed(deployed) : compileSchema({fields});
  }

  compileDeployed(deployed: DeployedTable | null): CompiledSchema | null {
    if (deployed === null || !deployed.isChecked) return null;
    const check = compileValidator(deployed.document, this.idCheck);
    return fields => {
      const message = check(fields);
      return message === null ? null : {message};
    };
  }

  /**
   * Checks which table an id belongs to. An id made by this tenant contains its table. An id that a client chose or
   * another tenant made is looked up. If another tenant may have made it and there is no such document (yet), the table
   * is unknown.
   */
  readonly idCheck: IdCheck = (id, table) => {
    const encoded = decodeId(id)?.tableNumber;
    const isSure = encoded === 0 || (encoded !== undefined && !this.holdsOtherIds);
    if (!isSure) this.#lookedUp?.add(id);
    const number = isSure ? encoded : this.#tableOfStoredId(id);
    if (number === undefined && encoded !== undefined) return 'ok';
    if (number === 0) return table === SCHEDULED_FUNCTIONS ? 'ok' : {table: SCHEDULED_FUNCTIONS};
    const found = number === undefined ? undefined : this.#byNumber.get(number);
    if (found === undefined) return 'undecodable';
    return found.name === table ? 'ok' : {table: found.name};
  };

  /** @param ids receives the ids that `act` looked up: their results are only valid while those documents stay */
  notingIds<T>(ids: Set<string>, act: () => T): T {
    const before = this.#lookedUp;
    this.#lookedUp = ids;
    try {
      return act();
    } finally {
      this.#lookedUp = before;
    }
  }

  tableByNumber(number: number): CatalogTable | undefined {
    return this.#byNumber.get(number);
  }

  /** Of all tables; of one that is still being counted, those counted so far. */
  get documents(): number {
    let documents = 0;
    for (const table of this.#byNumber.values()) documents += table.documents;
    return documents;
  }

  /** Tables that were ever made: dropped ones keep their numbers. */
  get tablesMade(): number {
    return this.#lastTable;
  }

  /** Tables by name, in order of first use. */
  tables(): IterableIterator<CatalogTable> {
    return this.#byNumber.values();
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

  /** A new table, in memory only: the caller writes its row, and calls `remove` if that is rolled back. */
  add(name: string): CatalogTable {
    if (this.#lastTable >= TABLES_MAX) throw invalid(`a tenant has at most ${TABLES_MAX} tables`);
    const table = newTable(this.#lastTable + 1, name, 0, 0);
    this.#put(table);
    return table;
  }

  /** In memory only. If another table has the name, it gets this one's. */
  rename(table: CatalogTable, to: string): void {
    const other = this.#byName.get(to);
    assert(this.#byName.get(table.name) === table, `table ${table.name} is found by its name`);
    this.#byName.delete(table.name);
    if (other !== undefined) {
      other.name = table.name;
      this.#byName.set(other.name, other);
    }
    table.name = to;
    this.#byName.set(to, table);
  }

  remove(table: CatalogTable): void {
    assert(table.number === this.#lastTable, 'tables are taken back in reverse order');
    this.#byName.delete(table.name);
    this.#byNumber.delete(table.number);
    this.#lastTable--;
  }

  /** Numbers are not used again, even if the change that took one is rolled back. */
  nextIndexNumber(): number {
    return ++this.#lastIndex;
  }

  #put(table: CatalogTable): void {
    this.#byName.set(table.name, table);
    this.#byNumber.set(table.number, table);
    this.#lastTable = Math.max(this.#lastTable, table.number);
  }
}

function newTable(number: number, name: string, lastN: number, lastCreated: number): CatalogTable {
  const lowDoc = number * DOCS_PER_TABLE;
  return {
    number,
    name,
    lastN,
    lastCreated,
    documents: 0,
    countedTo: lowDoc + DOCS_PER_TABLE - 1,
    counted: false,
    fields: null,
    deployed: null,
    compiled: null,
    indexes: [],
    info: {number, lowDoc, highDoc: lowDoc + DOCS_PER_TABLE - 1, indexes: []},
    watchers: new Set(),
  };
}

/** `documents` is the table's count. */
export function isCounted({countedTo, info}: CatalogTable): boolean {
  return countedTo >= info.highDoc;
}

export function catalogIndex(
  number: number,
  name: string,
  fields: string[],
  state: IndexState,
  builtTo: number,
  isUnique = false,
): CatalogIndex {
  return {number, name, fields, paths: fields.map(compilePath), state, builtTo, isUnique, duplicates: []};
}

/** Writes maintain its entries. */
export function isMaintained({state}: CatalogIndex): boolean {
  return state === 'building' || state === 'enabled';
}

/** The entry key of a document. A client's document whose values are too long for one is refused. */
export function indexKey(index: CatalogIndex, fields: Record<string, unknown>): Buffer {
  const key = encodeKey(index.paths.map(path => valueAt(fields as never, path)));
  if (key.length > INDEX_KEY_BYTES_MAX) {
    throw invalid(
      `the indexed values of index ${index.name} take ${key.length} bytes; the limit is ${INDEX_KEY_BYTES_MAX}`,
      {index: index.name},
    );
  }
  return key;
}

/** Call it after any change of a table's indexes. */
export function refreshInfo(table: CatalogTable): void {
  table.info = {...table.info, indexes: table.indexes.filter(index => index.state === 'enabled')};
}
