/**
 * The query builder. `db.query(t)` can be used repeatedly, each use being a new query; every later step can be used
 * once:
 *
 *   initializer ──withIndex | order | filter──▶ query ──…──▶ query ──collect | take | first | unique | paginate──▶ closed
 *                                                 └──for await──▶ open ──end | break──▶ closed
 */
import {decodeValue} from '../../../shared/values/wire-value.ts';
import {filterExpression} from './filter-builder.ts';
import {type FilterExpression, HostOp, type QuerySpec} from './host-call.ts';
import {rangeOf} from './range-builder.ts';
import {hostText} from './state.ts';

/** Marks a query, so that the kernel recognises one that was returned instead of its results. */
const QUERY = Symbol.for('svc.query');
const OPERATORS_MAX = 256;
/** Documents per batch when all are wanted. */
const BATCH_DOCUMENTS = 512;
const ITERATION_DOCUMENTS = 16;

type Document = Record<string, unknown>;
type Batch = {handle: number; isDone: boolean; documents: Document[]};

export class QueryInitializer implements AsyncIterable<Document> {
  readonly [QUERY] = true;
  readonly #table: string;
  readonly #check: () => void;

  constructor(table: string, check: () => void) {
    this.#table = table;
    this.#check = check;
  }

  withIndex(name: unknown, range?: unknown): Query {
    this.#check();
    if (typeof name !== 'string') throw new TypeError("Must provide arg 1 'indexName' to 'withIndex', a string");
    return this.#query({name, range: range === undefined ? [] : rangeOf(range)});
  }
  withSearchIndex(): never {
    throw new Error('withSearchIndex is not supported');
  }
  fullTableScan(): Query {
    return this.#query(null);
  }
  filter(predicate: unknown): Query {
    return this.#query(null).filter(predicate);
  }
  order(order: unknown): Query {
    return this.#query(null).order(order);
  }
  async collect(): Promise<Document[]> {
    return this.#query(null).collect();
  }
  async take(n: unknown): Promise<Document[]> {
    return this.#query(null).take(n);
  }
  async first(): Promise<Document | null> {
    return this.#query(null).first();
  }
  async unique(): Promise<Document | null> {
    return this.#query(null).unique();
  }
  async paginate(options: unknown): Promise<unknown> {
    return this.#query(null).paginate(options);
  }
  [Symbol.asyncIterator](): AsyncIterator<Document> {
    return this.#query(null)[Symbol.asyncIterator]();
  }

  #query(index: QuerySpec['index']): Query {
    this.#check();
    return new Query({table: this.#table, index, order: null, filters: []}, this.#check);
  }
}

type Parts = Omit<QuerySpec, 'order'> & {order: 'asc' | 'desc' | null};

class Query implements AsyncIterable<Document> {
  readonly [QUERY] = true;
  readonly #parts: Parts;
  readonly #check: () => void;
  #state: 'fresh' | 'chained' | 'closed' = 'fresh';

  constructor(parts: Parts, check: () => void) {
    this.#parts = parts;
    this.#check = check;
  }

  withIndex(): never {
    throw new Error('withIndex comes first: db.query(table).withIndex(name, range)');
  }
  withSearchIndex(): never {
    throw new Error('withSearchIndex is not supported');
  }

  filter(predicate: unknown): Query {
    const filter: FilterExpression = filterExpression(predicate);
    if (this.#parts.filters.length + 1 > OPERATORS_MAX)
      throw new Error(`A query has at most ${OPERATORS_MAX} operators`);
    return this.#chained({...this.#parts, filters: [...this.#parts.filters, filter]});
  }

  order(order: unknown): Query {
    if (this.#parts.order !== null) throw new Error('Queries may only specify order at most once');
    if (order !== 'asc' && order !== 'desc')
      throw new Error(`Invalid argument 'order' for 'order': it is "asc" or "desc"`);
    return this.#chained({...this.#parts, order});
  }

  async collect(): Promise<Document[]> {
    const spec = this.#consumed();
    const all: Document[] = [];
    let batch = open(spec, BATCH_DOCUMENTS);
    for (;;) {
      for (const document of batch.documents) all.push(document);
      if (batch.isDone) return all;
      batch = next(batch.handle, BATCH_DOCUMENTS);
    }
  }

  async take(n: unknown): Promise<Document[]> {
    if (typeof n !== 'number' || !Number.isInteger(n) || n < 0) {
      throw new TypeError("Arg 1 'n' to 'take' must be a non-negative integer");
    }
    return this.#taken(n);
  }

  async first(): Promise<Document | null> {
    return this.#taken(1)[0] ?? null;
  }

  async unique(): Promise<Document | null> {
    const [one = null, two] = this.#taken(2);
    if (two === undefined) return one;
    throw new Error(
      `unique() query returned more than one result from table ${this.#parts.table}: [${one?._id}, ${two._id}, ...]`,
    );
  }

  async paginate(options: unknown): Promise<unknown> {
    if (typeof options !== 'object' || options === null) {
      throw new TypeError("Must provide arg 1 'options' to 'paginate', an object");
    }
    const spec = this.#consumed();
    const {numItems, cursor, endCursor, maximumRowsRead, maximumBytesRead} = options as Record<string, unknown>;
    if (typeof numItems !== 'number' || Number.isNaN(numItems))
      throw new Error('options.numItems must be a positive number');
    // JSON would turn Infinity into null.
    const items = Math.min(numItems, Number.MAX_VALUE);
    const requested = JSON.stringify({
      numItems: items,
      cursor: cursor ?? null,
      endCursor,
      maximumRowsRead,
      maximumBytesRead,
    });
    return decodeValue(hostText(HostOp.paginate, JSON.stringify(spec), requested));
  }

  [Symbol.asyncIterator](): AsyncIterator<Document> {
    return iterate(this.#consumed());
  }

  #taken(count: number): Document[] {
    const spec = this.#consumed();
    if (count === 0) return [];
    let batch = open(spec, count);
    const taken = batch.documents;
    while (!batch.isDone && taken.length < count) {
      batch = next(batch.handle, count - taken.length);
      for (const document of batch.documents) taken.push(document);
    }
    if (!batch.isDone) hostText(HostOp.queryClose, batch.handle);
    return taken;
  }

  #chained(parts: Parts): Query {
    this.#check();
    if (this.#state !== 'fresh') {
      throw new Error("A query can only be chained once and can't be chained after iteration begins");
    }
    this.#state = 'chained';
    return new Query(parts, this.#check);
  }

  /** The query's specification; marks it as used. */
  #consumed(): QuerySpec {
    this.#check();
    if (this.#state === 'closed') throw new Error("This query is closed and can't emit any more values");
    if (this.#state === 'chained') {
      throw new Error("This query has been chained with another operator and can't be reused");
    }
    this.#state = 'closed';
    return {...this.#parts, order: this.#parts.order ?? 'asc'};
  }
}

/** Reads only as far as the loop runs. */
function iterate(spec: QuerySpec): AsyncIterator<Document> {
  let batch: Batch | null = null;
  let at = 0;
  return {
    async next() {
      for (;;) {
        if (batch !== null && at < batch.documents.length) return {done: false, value: batch.documents[at++]!};
        if (batch?.isDone === true) return {done: true, value: undefined};
        batch = batch === null ? open(spec, ITERATION_DOCUMENTS) : next(batch.handle, BATCH_DOCUMENTS);
        at = 0;
      }
    },
    async return() {
      if (batch !== null && !batch.isDone) hostText(HostOp.queryClose, batch.handle);
      batch = {handle: 0, isDone: true, documents: []};
      at = 0;
      return {done: true, value: undefined};
    },
  };
}

function open(spec: QuerySpec, wanted: number): Batch {
  return batchOf(hostText(HostOp.queryOpen, JSON.stringify(spec), wanted));
}

function next(handle: number, wanted: number): Batch {
  return batchOf(hostText(HostOp.queryNext, handle, wanted));
}

/** Parses `handle,isDone` + newline + JSON array. */
function batchOf(text: string): Batch {
  const line = text.indexOf('\n');
  const comma = text.indexOf(',');
  const documents = decodeValue(text.slice(line + 1)) as unknown as Document[];
  return {handle: Number(text.slice(0, comma)), isDone: text.charCodeAt(comma + 1) === 0x31, documents};
}

/** Not reachable from any global. */
export const queryPrototypes: readonly object[] = [QueryInitializer.prototype, Query.prototype];
