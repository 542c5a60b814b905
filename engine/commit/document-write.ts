/**
 * The parts of a write of one document: the check against the schema of its table, its keys in the indexes, unique
 * indexes, and the counters of the table. The checks come before anything is changed, so a function that catches the
 * error can continue.
 */
import {assert} from '../../shared/assert.ts';
import {conflict, invalid, ServiceError} from '../../shared/errors.ts';
import {valueAt} from '../../shared/values/paths.ts';
import {type CatalogIndex, type CatalogTable, indexKey, isMaintained} from '../storage/catalog.ts';
import {storageDamaged} from '../storage/damage.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Statements} from '../storage/statements.ts';
import type {Fields} from './commit.ts';

/** @throws op.schema_violation 400 */
export function checkSchema(table: CatalogTable, fields: Fields): void {
  const violation = table.compiled?.(fields as never) ?? null;
  if (violation === null) return;
  if ('message' in violation) {
    throw new ServiceError(
      'op.schema_violation',
      `the document does not match the schema of table ${table.name}: ${violation.message}`,
      {table: table.name, message: violation.message},
    );
  }
  const {field, expected, found} = violation;
  throw new ServiceError(
    'op.schema_violation',
    `table ${table.name}: field ${JSON.stringify(field)} must be ${expected}, found ${found}`,
    {table: table.name, field, expected, found},
  );
}

/* ── keys ── */

const NO_INDEXES: readonly CatalogIndex[] = [];
export const NO_KEYS: readonly Buffer[] = [];

/** The indexes that have entries of the table's documents. */
export function maintainedIndexes(table: CatalogTable): readonly CatalogIndex[] {
  return table.indexes.length === 0 ? NO_INDEXES : table.indexes.filter(isMaintained);
}

/** @throws op.invalid_input 400 when one is too long */
export function keysOf(indexes: readonly CatalogIndex[], fields: Fields): readonly Buffer[] {
  return indexes.length === 0 ? NO_KEYS : indexes.map(index => indexKey(index, fields));
}

/* ── unique indexes ──
 * No two documents of a table have the same values in the index's fields. A document does not count if
 * one of the fields is missing or null. Values are equal if they are equal in the order of all values
 * (values/key-encoding.ts).
 *
 * A write is checked before it changes anything, against the entries present at that moment. So each operation of a
 * transaction must satisfy the constraint, not only the final state. While an index is being built, documents that the
 * build has not reached have no entry. A conflicting write can pass then, and the build finds both documents
 * (schema/back-fill.ts). Once an index is `enabled`, it is unique.
 */

/** The data to check: the file as the open transaction sees it. */
type Entries = {
  readonly statements: Pick<Statements, 'otherEntry'>;
  documentByDoc(doc: number): DocumentRow | undefined;
};

/** No document has this number. */
const NO_DOCUMENT = -1;

/**
 * @param keys of the new state of the document, in each of `indexes`
 * @param own the existing document, with its keys; null: it is new
 * @throws op.unique_violation 409 that names the document with the same values
 */
export function checkUnique(
  entries: Entries,
  table: CatalogTable,
  indexes: readonly CatalogIndex[],
  keys: readonly Buffer[],
  fields: Fields,
  own: {readonly doc: number; readonly keys: readonly Buffer[]} | null,
): void {
  for (let i = 0; i < indexes.length; i++) {
    const index = indexes[i]!;
    if (!index.isUnique || own?.keys[i]?.equals(keys[i]!) === true || !hasValues(index, fields)) continue;
    const other = sameAs(entries, table, index, keys[i]!, own?.doc ?? NO_DOCUMENT);
    if (other === undefined) continue;
    throw new ServiceError(
      'op.unique_violation',
      `table ${table.name} has a document with the same ${index.fields.join(', ')}: ${JSON.stringify(other.id)}, ` +
        `and its index ${index.name} is unique`,
      {table: table.name, index: index.name, id: other.id},
    );
  }
}

/** Whether the key belongs to a document that counts. */
export function hasValues({paths}: CatalogIndex, fields: Fields): boolean {
  return paths.every(path => (valueAt(fields as never, path) ?? null) !== null);
}

/** Another document with this key in the index. @throws op.storage_damaged 503 */
export function sameAs(
  entries: Entries,
  table: CatalogTable,
  index: CatalogIndex,
  key: Buffer,
  own = NO_DOCUMENT,
): DocumentRow | undefined {
  const doc = entries.statements.otherEntry.get(index.number, key, own);
  if (doc === undefined) return undefined;
  const row = entries.documentByDoc(doc);
  if (row === undefined) throw storageDamaged({check: 'entry', table: table.name, index: index.name, document: doc});
  return row;
}

/**
 * The document that has the values of `fields` in a unique index; undefined: none.
 * @throws op.invalid_input 400 when there is no such index, or a value is missing; op.conflict 409 while it is being
 *   built
 */
export function documentByUnique(
  entries: Entries,
  table: CatalogTable | undefined,
  tableName: string,
  name: string,
  fields: Fields,
): DocumentRow | undefined {
  const index = table?.indexes.find(other => other.name === name && other.isUnique && other.state !== 'dropping');
  if (table === undefined || index === undefined) {
    throw invalid(`table ${tableName} has no unique index ${JSON.stringify(name.slice(0, 64))}`);
  }
  if (index.state !== 'enabled') {
    throw conflict(
      index.state === 'failed'
        ? `index ${name} could not be made unique, as GET of the schema of table ${tableName} says`
        : `index ${name} of table ${tableName} is being built; try again when it is enabled`,
      {index: name, state: index.state},
    );
  }
  if (!hasValues(index, fields)) {
    throw invalid(`fields must have a value, not null, for each field of index ${name}: ${index.fields.join(', ')}`);
  }
  return sameAs(entries, table, index, indexKey(index, fields));
}

/* ── counters ── */

/**
 * The number of documents of each table, and its newest number and creation time. They are updated in memory with each
 * write, and written to the table's row once per group. Files from before counts were kept are counted in the
 * background (`table-counts.ts`).
 */

export class TableCounters {
  readonly #statements: Statements;
  readonly #onRollback: (undo: () => void) => void;
  /** Tables whose counters are newer than their row. */
  #changed: CatalogTable[] = [];

  constructor(statements: Statements, onRollback: (undo: () => void) => void) {
    this.#statements = statements;
    this.#onRollback = onRollback;
  }

  /** Writes the counters that the group changed, once per table; runs last before a commit. */
  write(): void {
    for (const table of this.#changed) {
      const {lastN, lastCreated, documents, countedTo} = table;
      assert(documents >= 0, `table ${table.name} counts ${documents} documents`);
      this.#statements.updateTableCounters.run(lastN, lastCreated, documents, countedTo, table.number);
      table.counted = false;
    }
    this.#changed = [];
  }

  /** After a rollback of the whole group the counters stay as they are: numbers are skipped, and never reused. */
  change(table: CatalogTable): void {
    if (table.counted) return;
    table.counted = true;
    this.#changed.push(table);
  }

  /** The table no longer exists. */
  forget(table: CatalogTable): void {
    this.#changed = this.#changed.filter(changed => changed !== table);
  }

  /** One document more or less. If the count has not reached its number yet, the count will see the change itself. */
  countDocument(table: CatalogTable, doc: number, by: 1 | -1): void {
    if (doc > table.countedTo) return;
    this.#add(table, by);
  }

  /** Adds `count` new documents, numbered from `first` on. */
  countNew(table: CatalogTable, first: number, documents: number): void {
    const counted = Math.min(documents, table.countedTo - first + 1);
    if (counted > 0) this.#add(table, counted);
  }

  /** Counts some more documents of a table whose count is incomplete. @param rows maximum number */
  countSome(table: CatalogTable, rows: number): void {
    const {countedTo} = table;
    const {lowDoc, highDoc} = table.info; // numbers of documents are above lowDoc
    const {documents, last} = this.#statements.countSome.get(Math.max(countedTo, lowDoc), highDoc, rows)!;
    this.#onRollback(() => {
      table.countedTo = countedTo;
    });
    table.countedTo = documents < rows ? highDoc : last!;
    this.#add(table, documents);
  }

  #add(table: CatalogTable, documents: number): void {
    table.documents += documents;
    this.#onRollback(() => {
      table.documents -= documents;
    });
    this.change(table);
  }
}
