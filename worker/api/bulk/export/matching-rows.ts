/**
 * The documents of a table that match filters, in one snapshot. With a filter on `_id` they are looked up, otherwise the
 * whole table is read in order of creation: an export has no limit on what it reads, and holds one batch.
 */
import {CHUNK_CHARS} from '../../../../engine/journal/chunks.ts';
import {tableRows} from '../../../../engine/journal/table-rows.ts';
import {compileFilters, type Filter, isTest, matches} from '../../../../engine/reads/filter.ts';
import type {Catalog, CatalogTable} from '../../../../engine/storage/catalog.ts';
import {checkedRow, type StoredRow} from '../../../../engine/storage/checksum.ts';
import type {Connection} from '../../../../engine/storage/connection.ts';
import {reading} from '../../../../engine/storage/damage.ts';
import {parseDocument} from '../../../../engine/storage/document.ts';
import {checkWireType, wireType} from '../../../../engine/wire-type.ts';
import {invalid, ServiceError} from '../../../../shared/errors.ts';
import {QueryObject} from '../../../../shared/protocol/queries.ts';
import {parseJson} from '../../../../shared/values/json.ts';

const queryObject = wireType(QueryObject);

/** @param json of the parameter. @throws op.invalid_input 400 */
export function filtersIn(table: string, json: string): Filter[] {
  return compileFilters(checkWireType(queryObject, {table, filters: parsed(json)}).filters);
}

function parsed(json: string): unknown {
  try {
    return parseJson(Buffer.from(json));
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    throw invalid('the parameter filters is not JSON, such as [{"field": "n", "op": "gt", "value": 1}]');
  }
}

/** @yields null after each batch that had few matches, so that the caller can let others work. @throws op.storage_damaged 503 */
export function* matchingRows(
  db: Connection,
  catalog: Catalog,
  table: CatalogTable,
  filters: readonly Filter[],
): Generator<StoredRow | null, void, void> {
  const passes = matches(filters);
  const rows = lookedUp(db, catalog, table, filters) ?? tableRows(db, catalog, table);
  let chars = 0;
  for (const row of rows) {
    chars += row.body.length;
    if (filters.length === 0 || passes(parseDocument(row))) yield row;
    if (chars < CHUNK_CHARS) continue;
    chars = 0;
    yield null;
  }
}

/** Null: no filter names the ids. */
function lookedUp(
  db: Connection,
  catalog: Catalog,
  {info: {lowDoc, highDoc}}: CatalogTable,
  filters: readonly Filter[],
): StoredRow[] | null {
  const byId = filters.find(filter => isTest(filter) && filter.field === '_id' && filter.op === 'in');
  if (byId === undefined || !isTest(byId)) return null;
  const row = db.prepare<[string], StoredRow>('SELECT * FROM documents WHERE id = ?');
  // A list can name an id twice.
  const found = [...new Set(byId.value as unknown[])].flatMap(id => {
    const stored =
      typeof id === 'string'
        ? checkedRow(
            reading(() => row.get(id)),
            catalog,
          )
        : undefined;
    return stored === undefined || stored.doc < lowDoc || stored.doc > highDoc ? [] : [stored];
  });
  return found.sort((a, b) => a.doc - b.doc);
}
