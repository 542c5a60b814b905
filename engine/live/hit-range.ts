/** Which of the key ranges that a live query watches a write has hit. */
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {compilePath, valueAt} from '../../shared/values/paths.ts';
import type {Change} from '../commit/commit.ts';
import {ANY_TABLE, BY_CREATION, BY_ID, oneByte, type PackedReadSet, placesIn} from '../reads/read-set.ts';
import {type HitRange, keptRange} from './live-figures.ts';
import type {FieldRange} from './live-index.ts';

/** Of a native query. */
export function hitOfValues(change: Change, ranges: readonly FieldRange[]): HitRange | null {
  const hit = ranges.length === 1 ? ranges[0] : ranges.find(range => isIn(change, range));
  return hit === undefined ? null : keptRange({index: null, ...hit});
}

function isIn({before, after}: Change, {fields, lower, upper}: FieldRange): boolean {
  const paths = fields.map(compilePath);
  return [before, after].some(side => {
    if (side === null) return false;
    const place = oneByte(encodeKey(paths.map(path => valueAt(side.document, path))));
    return lower <= place && place < upper;
  });
}

/** Of a function's query. */
export function hitOfReads(change: Change, {intervals}: PackedReadSet): HitRange | null {
  if (change.isDamaged) return null;
  const hit = intervals.find(({table, index, lower, upper}) => {
    if (table !== change.table.number && table !== ANY_TABLE) return false;
    return placesIn(index, change).some(place => lower <= place && place < upper);
  });
  if (hit === undefined) return null;
  const {index: number, lower, upper} = hit;
  if (number === BY_ID) return keptRange({index: 'by_id', fields: ['_id'], lower, upper});
  if (number === BY_CREATION) return keptRange({index: 'by_creation_time', fields: ['_creationTime'], lower, upper});
  const index = change.indexes.find(one => one.number === number);
  return index === undefined ? null : keptRange({index: index.name, fields: index.fields, lower, upper});
}
