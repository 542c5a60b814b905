/**
 * Positions in the order of a query: a row's key in that order. They stay valid when the row is deleted, and rows
 * written later are correctly before or after them.
 */
import {Buffer} from 'node:buffer';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {compareUtf8} from '../../shared/values/order.ts';
import {compilePath, valueAt} from '../../shared/values/paths.ts';
import {parseFields} from '../storage/document.ts';
import type {DocumentRow, IndexInfo} from '../storage/rows.ts';

/**
 * Just after this row. `key`: the encoded values of the order's fields, empty for the order of creation or of ids. Ties
 * are in the order of document numbers.
 */
export type Position = {key: Buffer; doc: number; id: string};

export const NO_KEY = Buffer.alloc(0);

/** The values of a row in an index, in the form of its entry. */
export function entryKey(index: IndexInfo, row: DocumentRow): Buffer {
  const fields = parseFields(row);
  return encodeKey(index.fields.map(field => valueAt(fields, compilePath(field))));
}

/** In ascending order. @param byId rows are in id order */
export function comparePositions(a: Position, b: Position, byId: boolean): number {
  if (byId) return compareUtf8(a.id, b.id);
  return Buffer.compare(a.key, b.key) || a.doc - b.doc;
}
