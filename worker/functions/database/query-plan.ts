/** What a realm asks of a query (QuerySpec), checked and made into a scan. */
import {createHash} from 'node:crypto';
import type {QuerySpec} from '../../../isolate/host-call.ts';
import {parseDocument} from '../../documents/document.ts';
import type {FunctionReader} from '../../storage/function-reader.ts';
import type {DocumentRow, TableInfo} from '../../storage/rows.ts';
import {DatabaseFault} from './database-fault.ts';
import {compileFilters, type Filter} from './filter.ts';
import {type IndexRange, indexRange} from './index-range.ts';
import {type Position, positionOf} from './position.ts';
import {readQuerySpec} from './query-spec.ts';
import {Scan} from './scan.ts';
import {idSegments, indexSegments, type Segment, tableSegments} from './segments.ts';

const TABLE_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const WHOLE: IndexRange = {fixed: [], lower: null, upper: null, except: null};

export class QueryPlan {
  readonly table: string;
  readonly reverse: boolean;
  /** Rows are in the order of their ids. */
  readonly byId: boolean;
  /** In the order in which they are read; null: the table was never written. */
  readonly segments: readonly Segment[] | null;
  readonly #reader: FunctionReader;
  readonly #filters: readonly Filter[];
  readonly #shape: string;

  /** @param text JSON of a QuerySpec, from a realm. @throws DatabaseFault */
  constructor(reader: FunctionReader, text: string) {
    const spec = readQuerySpec(text);
    checkReadable(spec.table);
    this.table = spec.table;
    this.reverse = spec.order === 'desc';
    this.byId = spec.index?.name === 'by_id';
    this.#reader = reader;
    this.#filters = compileFilters(spec.filters);
    const table = reader.table(spec.table);
    const segments = segmentsOf(reader, table, spec);
    this.segments = table === undefined ? null : this.reverse ? segments.reverse() : segments;
    this.#shape = `${text}\n${JSON.stringify(indexOf(table, spec)?.fields ?? null)}`;
  }

  passes(row: DocumentRow): boolean {
    if (this.#filters.length === 0) return true;
    const document = parseDocument(row);
    return this.#filters.every(filter => filter(document));
  }

  /** @param after rows up to here are left out */
  scan(after: Position | null): Scan {
    return new Scan(this.#reader, this.segments ?? [], this.reverse, after, this.#filters.length > 0);
  }

  /** Where a row that a scan gave lies. */
  position(row: DocumentRow): Position {
    return positionOf(this.segments![0]!, row);
  }

  /** Tells this query from any other, of other tenants too, and its index from one of the same name with other fields. */
  fingerprint(): string {
    return createHash('sha256').update(`${this.#reader.timeline}\n${this.#shape}`).digest('base64url').slice(0, 16);
  }
}

/** @throws DatabaseFault */
function checkReadable(table: string): void {
  if (TABLE_NAME.test(table)) return;
  const shown = JSON.stringify(table).slice(0, 100);
  if (table.startsWith('_')) throw new DatabaseFault(`${shown} is a system table, which cannot be queried`);
  throw new DatabaseFault(`Invalid table name ${shown}: a letter, then letters, digits and underscores, at most 64`);
}

function segmentsOf(reader: FunctionReader, table: TableInfo | undefined, spec: QuerySpec): Segment[] {
  const {index} = spec;
  if (index === null) return table === undefined ? [] : tableSegments(reader, table, WHOLE);
  const shown = `${spec.table}.${index.name}`;
  if (index.name === 'by_creation_time') {
    const range = indexRange(shown, ['_creationTime'], ['_id'], index.range);
    return table === undefined ? [] : tableSegments(reader, table, range);
  }
  if (index.name === 'by_id') {
    const range = indexRange(shown, ['_id'], [], index.range);
    return table === undefined ? [] : idSegments(table, range);
  }
  const info = indexOf(table, spec);
  if (table !== undefined && info !== undefined) {
    return indexSegments(reader, table, info, indexRange(shown, info.fields, ['_creationTime', '_id'], index.range));
  }
  if (reader.isBuilding(spec.table, index.name)) {
    throw new DatabaseFault(`Index ${shown} is currently backfilling and not available to query yet.`);
  }
  throw new DatabaseFault(`Index ${shown} not found.`);
}

function indexOf(table: TableInfo | undefined, {index}: QuerySpec) {
  return index === null ? undefined : table?.indexes.find(({name}) => name === index.name);
}
