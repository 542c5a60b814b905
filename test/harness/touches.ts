/** Whether a write concerns a read, worked out the slow way: every place of the document against every interval. */
import {Buffer} from 'node:buffer';
import {
  ANY_TABLE,
  BY_CREATION,
  BY_ID,
  creationPlace,
  entryPlace,
  idPlace,
  type ReadSet,
} from '../../engine/reads/read-set.ts';
import type {CatalogTable} from '../../engine/storage/catalog.ts';
import {parseFields} from '../../engine/storage/document.ts';
import type {DocumentRow} from '../../engine/storage/rows.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {valueAt} from '../../shared/values/paths.ts';

/** Whether the document, as it was before the write or is after it, lies in what was read. */
export function touches({intervals, absentTables}: ReadSet, table: CatalogTable, row: DocumentRow): boolean {
  if (absentTables.includes(table.name)) return true;
  const values = parseFields(row);
  const places = new Map<string, Buffer>([
    [`${ANY_TABLE} ${BY_ID}`, idPlace(row.id)],
    [`${table.number} ${BY_ID}`, idPlace(row.id)],
    [`${table.number} ${BY_CREATION}`, creationPlace(row.doc)],
  ]);
  for (const {number, paths} of table.indexes) {
    places.set(`${table.number} ${number}`, entryPlace(encodeKey(paths.map(path => valueAt(values, path))), row.doc));
  }
  return intervals.some(({table: number, index, lower, upper}) => {
    const place = places.get(`${number} ${index}`);
    return place !== undefined && Buffer.compare(lower, place) <= 0 && Buffer.compare(place, upper) < 0;
  });
}
