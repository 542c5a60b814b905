/** What a realm asks of a query (QuerySpec), checked and made into a scan. */
import {createHash} from 'node:crypto';
import {parseDocument} from '../../documents/document.ts';
import type {DocumentRow, QueryReader, TableInfo} from '../../queries/reader.ts';
import type {QuerySpec} from '../realm/host-call.ts';
import {DatabaseFault} from './database-fault.ts';
import {compileFilter, type Filter} from './filter.ts';
import {type IndexRange, indexRange, isWithin} from './index-range.ts';
import {type Position, Scan} from './scan.ts';
import {idSegments, indexSegments, type Segment, tableSegments} from './segments.ts';

const TABLE_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const WHOLE: IndexRange = {fixed: [], lower: null, upper: null, except: null};

export class QueryPlan {
  readonly reverse: boolean;
  readonly byId: boolean;
  /** For the read set: the table, the index (null: the table itself), and the range as it was asked for. */
  readonly source: {table: string; index: string | null; range: unknown};
  readonly #reader: QueryReader;
  readonly #segments: readonly Segment[];
  readonly #filters: readonly Filter[];
  readonly #spec: QuerySpec;

  /** @throws DatabaseFault */
  constructor(reader: QueryReader, spec: QuerySpec) {
    const table = checkReadable(spec.table);
    this.#reader = reader;
    this.#spec = spec;
    this.reverse = spec.order === 'desc';
    this.byId = spec.index?.name === 'by_id';
    this.source = {table, index: spec.index?.name ?? null, range: spec.index?.range ?? []};
    this.#filters = spec.filters.map(compileFilter);
    const info = reader.table(table);
    const segments = segmentsOf(reader, info, spec);
    this.#segments = this.reverse ? segments.reverse() : segments;
  }

  get isFiltered(): boolean {
    return this.#filters.length > 0;
  }

  passes(row: DocumentRow): boolean {
    if (this.#filters.length === 0) return true;
    const document = parseDocument(row);
    return this.#filters.every(filter => filter(document));
  }

  /** @param wanted rows that the caller would take at most */
  scan(after: Position | null, wanted: number): Scan {
    return new Scan(this.#reader, this.#segments, this.reverse, after, this.isFiltered ? Math.max(wanted, 16) : wanted);
  }

  /** Tells this query from any other: cursors are bound to it. */
  fingerprint(): string {
    return createHash('sha256').update(JSON.stringify(this.#spec)).digest('base64url').slice(0, 16);
  }
}

/** @throws DatabaseFault */
function checkReadable(table: unknown): string {
  if (typeof table === 'string' && TABLE_NAME.test(table)) return table;
  const shown = JSON.stringify(table)?.slice(0, 100);
  if (String(table).startsWith('_')) throw new DatabaseFault(`${shown} is a system table, which cannot be queried`);
  throw new DatabaseFault(`Invalid table name ${shown}: a letter, then letters, digits and underscores, at most 64`);
}

function segmentsOf(
  reader: QueryReader,
  table: TableInfo | undefined,
  {table: name, index, ...spec}: QuerySpec,
): Segment[] {
  if (spec.order !== 'asc' && spec.order !== 'desc') throw new DatabaseFault("order must be 'asc' or 'desc'");
  if (index === null) return table === undefined ? [] : tableSegments(reader, table, WHOLE);
  const shown = `${name}.${index.name}`;
  if (index.name === 'by_creation_time') {
    const range = indexRange(shown, ['_creationTime'], index.range);
    return table === undefined ? [] : tableSegments(reader, table, range);
  }
  if (index.name === 'by_id') {
    const range = indexRange(shown, ['_id'], index.range);
    return table === undefined ? [] : idSegments(reader, table, range, id => isWithin(range, id));
  }
  const info = table?.indexes.find(({name: known}) => known === index.name);
  if (table === undefined || info === undefined) throw new DatabaseFault(`Index ${shown} not found.`);
  return indexSegments(reader, table, info, indexRange(shown, info.fields, index.range));
}

/** For positions in cursors: whether one is behind another in the order of the plan. */
export function isBehind(order: number, reverse: boolean): boolean {
  return reverse ? order < 0 : order > 0;
}
