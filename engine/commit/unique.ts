/**
 * Unique indexes: no two documents of a table have the same values in the index's fields. A document does not count if
 * one of the fields is missing or null. Values are equal if they are equal in the order of all values
 * (values/key-encoding.ts).
 *
 * A write is checked before it changes anything, against the entries present at that moment. So each operation of a
 * transaction must satisfy the constraint, not only the final state. While an index is being built, documents that the
 * build has not reached have no entry. A conflicting write can pass then, and the build finds both documents
 * (schema/back-fill.ts). Once an index is `enabled`, it is unique.
 */
import {ServiceError} from '../../shared/errors.ts';
import {valueAt} from '../../shared/values/paths.ts';
import type {CatalogIndex, CatalogTable} from '../storage/catalog.ts';
import {storageDamaged} from '../storage/damage.ts';
import {indexKey} from '../storage/index-key.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Statements} from '../storage/statements.ts';
import type {Fields} from './commit.ts';

/** The data to check: the file as the open transaction sees it. */
type Entries = {
  readonly statements: Pick<Statements, 'otherEntry'>;
  documentByDoc(doc: number): DocumentRow | undefined;
};

/** No document has this number. */
const NOBODY = -1;

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
    const other = sameAs(entries, table, index, keys[i]!, own?.doc ?? NOBODY);
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
  own = NOBODY,
): DocumentRow | undefined {
  const doc = entries.statements.otherEntry.get(index.number, key, own);
  if (doc === undefined) return undefined;
  const row = entries.documentByDoc(doc);
  if (row === undefined) {
    throw storageDamaged({check: 'entry', table: table.name, index: index.name, document: doc});
  }
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
    throw new ServiceError(
      'op.invalid_input',
      `table ${tableName} has no unique index ${JSON.stringify(name.slice(0, 64))}`,
    );
  }
  if (index.state !== 'enabled') {
    throw new ServiceError(
      'op.conflict',
      index.state === 'failed'
        ? `index ${name} could not be made unique, as GET of the schema of table ${tableName} says`
        : `index ${name} of table ${tableName} is being built; try again when it is enabled`,
      {index: name, state: index.state},
    );
  }
  if (!hasValues(index, fields)) {
    throw new ServiceError(
      'op.invalid_input',
      `fields must have a value, not null, for each field of index ${name}: ${index.fields.join(', ')}`,
    );
  }
  return sameAs(entries, table, index, indexKey(index, fields));
}
