import {type CatalogIndex, type CatalogTable, isKept} from '../storage/catalog.ts';
import {indexKey} from '../storage/index-key.ts';
import type {Fields} from './commit.ts';

const NO_INDEXES: readonly CatalogIndex[] = [];
export const NO_KEYS: readonly Buffer[] = [];

/** The indexes that have entries of the table's documents. */
export function keptIndexes(table: CatalogTable): readonly CatalogIndex[] {
  return table.indexes.length === 0 ? NO_INDEXES : table.indexes.filter(isKept);
}

/** @throws op.invalid_input 400 when one is too long */
export function keysOf(indexes: readonly CatalogIndex[], fields: Fields): readonly Buffer[] {
  return indexes.length === 0 ? NO_KEYS : indexes.map(index => indexKey(index, fields));
}
