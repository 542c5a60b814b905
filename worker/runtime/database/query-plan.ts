/** Checks a realm's query (QuerySpec) and turns it into an access path. */

import {bindingOf} from '../../../engine/reads/cursor.ts';
import type {Predicate} from '../../../engine/reads/filter.ts';
import type {Position} from '../../../engine/reads/position.ts';
import {WHOLE} from '../../../engine/reads/range.ts';
import {idScans, indexScans, type RangeScan, tableScans} from '../../../engine/reads/range-scans.ts';
import type {ReadPath} from '../../../engine/reads/read-path.ts';
import {Scan} from '../../../engine/reads/scan.ts';
import {isTableName, parseDocument} from '../../../engine/storage/document.ts';
import type {FunctionReader} from '../../../engine/storage/function-reader.ts';
import type {DocumentRow, TableInfo} from '../../../engine/storage/rows.ts';
import type {QuerySpec} from '../guest/host-call.ts';
import {DatabaseFault} from './database-fault.ts';
import {compileExpressions} from './filter-expressions.ts';
import {indexRange} from './index-range.ts';
import {readQuerySpec} from './query-spec.ts';

export class QueryPlan {
  readonly path: ReadPath;
  /** Rows are in the order of their ids. */
  readonly byId: boolean;
  readonly #reader: FunctionReader;
  readonly #filters: readonly Predicate[];
  readonly #shape: string;

  /** @param text JSON of a QuerySpec, from a realm. @throws DatabaseFault */
  constructor(reader: FunctionReader, text: string) {
    const spec = readQuerySpec(text);
    checkReadable(spec.table);
    this.byId = spec.index?.name === 'by_id';
    this.#reader = reader;
    this.#filters = compileExpressions(spec.filters);
    const table = reader.table(spec.table);
    const rangeScans = rangeScansOf(reader, table, spec);
    const reverse = spec.order === 'desc';
    this.path = {
      name: spec.table,
      table: table ?? null,
      rangeScans: reverse ? rangeScans.reverse() : rangeScans,
      reverse,
    };
    this.#shape = `${text}\n${JSON.stringify(indexOf(table, spec)?.fields ?? null)}`;
  }

  passes(row: DocumentRow): boolean {
    if (this.#filters.length === 0) return true;
    const document = parseDocument(row);
    return this.#filters.every(filter => filter(document));
  }

  /** @param after the position after which rows start */
  scan(after: Position | null): Scan {
    return new Scan(this.#reader, this.path, {after, isFiltered: this.#filters.length > 0});
  }

  /** The binding of its cursors: this query, and its index with its current fields. */
  binding(): string {
    return bindingOf(this.#reader.timeline, this.#shape);
  }
}

/** @throws DatabaseFault */
function checkReadable(table: string): void {
  if (isTableName(table)) return;
  const shown = JSON.stringify(table).slice(0, 100);
  if (table.startsWith('_')) throw new DatabaseFault(`${shown} is a system table, which cannot be queried`);
  throw new DatabaseFault(`Invalid table name ${shown}: a letter, then letters, digits and underscores, at most 64`);
}

function rangeScansOf(reader: FunctionReader, table: TableInfo | undefined, spec: QuerySpec): RangeScan[] {
  const {index} = spec;
  if (index === null) return table === undefined ? [] : tableScans(reader, table, WHOLE);
  const shown = `${spec.table}.${index.name}`;
  if (index.name === 'by_creation_time') {
    const range = indexRange(shown, ['_creationTime'], ['_id'], index.range);
    return table === undefined ? [] : tableScans(reader, table, range);
  }
  if (index.name === 'by_id') {
    const range = indexRange(shown, ['_id'], [], index.range);
    return table === undefined ? [] : idScans(table, range);
  }
  const info = indexOf(table, spec);
  if (table !== undefined && info !== undefined) {
    return indexScans(reader, table, info, indexRange(shown, info.fields, ['_creationTime', '_id'], index.range));
  }
  if (reader.isBuilding(spec.table, index.name)) {
    throw new DatabaseFault(`Index ${shown} is currently backfilling and not available to query yet.`);
  }
  throw new DatabaseFault(`Index ${shown} not found.`);
}

function indexOf(table: TableInfo | undefined, {index}: QuerySpec) {
  return index === null ? undefined : table?.indexes.find(({name}) => name === index.name);
}
