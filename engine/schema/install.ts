/** Installs a table's schema and index rows, in file and memory; a rollback of the group undoes both. */
import {assert} from '../../shared/assert.ts';
import type {FieldEntry, IndexEntry} from '../../shared/protocol/schema.ts';
import type {Writer} from '../commit/writer.ts';
import {
  type CatalogIndex,
  type CatalogTable,
  catalogIndex,
  type DeployedTable,
  isMaintained,
  refreshInfo,
} from '../storage/catalog.ts';
import {rowChecksum} from '../storage/row-checksum.ts';

/** @param wanted all indexes of the table from now on: others are dropped, and existing ones stay as they are */
export function install(
  writer: Writer,
  table: CatalogTable,
  {fields, deployed}: {fields: FieldEntry[] | null; deployed: DeployedTable | null},
  wanted: readonly IndexEntry[],
): void {
  const before = {fields: table.fields, deployed: table.deployed, compiled: table.compiled};
  writer.onRollback(() => Object.assign(table, before));
  writer.catalog.setSchema(table, fields, deployed);
  const row = {number: table.number, name: table.name, fields: textOf(fields), deployed: textOf(deployed)};
  const {changes} = writer.statements.updateTableSchema.run(
    row.fields,
    row.deployed,
    rowChecksum('tables', row),
    table.number,
  );
  assert(changes === 1, `table ${table.name} has a row`);
  const missing = missingIndexes(table, wanted);
  dropIndexes(writer, table, index => index.state === 'failed' || !wanted.some(entry => isSame(index, entry)));
  addIndexes(writer, table, missing);
  writer.catalogChanged();
}

/** The indexes of `wanted` that the table lacks; a failed one is built again. */
export function missingIndexes(table: CatalogTable, wanted: readonly IndexEntry[]): IndexEntry[] {
  return wanted.filter(entry => !table.indexes.some(index => isMaintained(index) && isSame(index, entry)));
}

/** New indexes start as `building` (empty tables: `enabled`) and are filled by `back-fill.ts`. */
export function addIndexes(writer: Writer, table: CatalogTable, entries: readonly IndexEntry[]): void {
  if (entries.length === 0) return;
  restoreOnRollback(writer, table);
  const state = table.lastN === 0 ? 'enabled' : 'building';
  const added = entries.map(({name, fields, unique}) =>
    catalogIndex(writer.catalog.nextIndexNumber(), name, fields, state, 0, unique),
  );
  for (const index of added) {
    const {number, name} = index;
    const row = indexRow(table, index);
    const checksum = rowChecksum('indexes', row);
    writer.statements.insertIndex.run(number, table.number, name, row.fields, state, 0, row.is_unique, checksum);
  }
  table.indexes = [...table.indexes, ...added];
  refreshInfo(table);
  writer.catalogChanged();
}

/** The values that the checksum of an index row covers, see row-checksum.ts. */
export function indexRow({number: tableNumber}: CatalogTable, {number, name, fields, isUnique}: CatalogIndex) {
  const isUniqueBit: 0 | 1 = isUnique ? 1 : 0;
  return {number, table_number: tableNumber, name, fields: JSON.stringify(fields), is_unique: isUniqueBit};
}

/** They become `dropping` and are emptied by `back-fill.ts`. */
export function dropIndexes(writer: Writer, table: CatalogTable, isUnwanted: (index: CatalogIndex) => boolean): void {
  restoreOnRollback(writer, table);
  for (const index of table.indexes) {
    if (index.state === 'dropping' || !isUnwanted(index)) continue;
    index.state = 'dropping';
    const {changes} = writer.statements.updateIndex.run('dropping', 0, index.number);
    assert(changes === 1, `index ${index.number} has a row`);
  }
  refreshInfo(table);
  writer.catalogChanged();
}

function restoreOnRollback(writer: Writer, table: CatalogTable): void {
  const indexes = table.indexes.map(index => ({...index}));
  writer.onRollback(() => {
    table.indexes = indexes;
    refreshInfo(table);
  });
}

/** New indexes, to check whether a document's values fit them. */
export function probes(indexes: readonly IndexEntry[]): CatalogIndex[] {
  return indexes.map(({name, fields, unique}) => catalogIndex(0, name, fields, 'building', 0, unique));
}

export function isSame(index: CatalogIndex, {name, fields, unique = false}: IndexEntry): boolean {
  return index.name === name && index.fields.join('\n') === fields.join('\n') && index.isUnique === unique;
}

function textOf(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
