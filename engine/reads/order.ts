/**
 * The order of a query object: by the values of its fields, then by document number, which is creation order. Each
 * document has a key in the order, and keys compare as bytes. The reverse order reverses everything, including ties.
 *
 * Ties have the direction of the last field. A field with the other direction has the bytes of its value inverted in
 * the key, followed by 01. If one value's encoding is a prefix of another's, the longer one continues with 00 ff, which
 * is ff 00 inverted, so it still sorts correctly.
 */
import {Buffer} from 'node:buffer';
import {invalid} from '../../shared/errors.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {compilePath, type FieldPath, valueAt} from '../../shared/values/paths.ts';
import type {Value} from '../../shared/values/value.ts';
import type {Filter} from './filter.ts';
import {NO_KEY} from './position.ts';

export type OrderField = {readonly field: string; readonly path: FieldPath; readonly isInverted: boolean};
/** `fields` empty: creation order. */
export type Order = {readonly fields: readonly OrderField[]; readonly reverse: boolean};

/**
 * Fields that `eq` fixes do not affect the order and are left out. So are fields after the creation time or the id,
 * which are unique.
 *
 * @throws op.invalid_input 400
 */
export function orderOf({order}: QueryObject, filters: readonly Filter[]): Order {
  if (order === undefined) return {fields: [], reverse: false};
  if (!Array.isArray(order)) {
    const {field, direction} = order;
    const path = compilePath(field);
    const reverse = direction === 'desc';
    const ordersNothing = field === '_creationTime' || isFixed(field, filters);
    return {fields: ordersNothing ? [] : [{field, path, isInverted: false}], reverse};
  }
  const named = new Set<string>();
  const compiled = order.map(({field, direction}) => {
    if (named.has(field)) throw invalid(`order names ${JSON.stringify(field)} twice`);
    named.add(field);
    return {field, path: compilePath(field), isDescending: direction === 'desc'};
  });
  const unique = compiled.findIndex(({field}) => field === '_creationTime' || field === '_id');
  const meant = unique === -1 ? compiled : compiled.slice(0, unique + 1);
  const reverse = meant.at(-1)!.isDescending;
  const fields = meant
    .filter(({field}) => field !== '_creationTime' && !isFixed(field, filters))
    .map(({field, path, isDescending}) => ({field, path, isInverted: isDescending !== reverse}));
  return {fields, reverse};
}

function isFixed(field: string, filters: readonly Filter[]): boolean {
  for (const filter of filters) if (filter.op === 'eq' && filter.field === field) return true;
  return false;
}

/** The values of a document that the order uses. */
export function orderKey({fields}: Order, document: Readonly<Record<string, Value>>): Buffer {
  const [only] = fields;
  if (only === undefined) return NO_KEY;
  if (fields.length === 1 && !only.isInverted) return encodeKey([valueAt(document, only.path)]);
  return Buffer.concat(fields.map(field => keyPart(field, encodeKey([valueAt(document, field.path)]))));
}

const ONE = Buffer.from([1]);

/** The bytes that a field adds to the key. @param encoded its value */
export function keyPart({isInverted}: OrderField, encoded: Buffer): Buffer {
  return isInverted ? Buffer.concat([encoded.map(byte => ~byte & 0xff), ONE]) : encoded;
}
