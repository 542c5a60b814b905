/** The typed client of the native API, for the documents, queries, live queries and journal of one tenant. */
import {NATIVE_RETRIES, NATIVE_TIMEOUT_MS} from '../../shared/client-limits.ts';
import {SvcClientError} from './error.ts';
import {eventsOf} from './events.ts';
import {type LiveOptions, LiveQueries} from './live.ts';
import {LiveSocket, type WebSocketConstructor} from './socket.ts';
import {Transaction, type TransactionResult} from './transaction.ts';
import {type Answer, parsed, Transport} from './transport.ts';
import type {
  AnyTables,
  BatchQuery,
  BatchResult,
  CallOptions,
  Changes,
  ConditionOptions,
  Counted,
  Doc,
  JournalRecord,
  Put,
  Query,
  Shown,
  TableName,
  UniqueIndex,
  Written,
} from './types.ts';

export type ClientOptions = {
  /** Base URL of the service, for example `http://127.0.0.1:3210`. */
  readonly url: string;
  readonly tenant: string;
  /** A credential, or a function that returns one that is valid now; it is called before each request. */
  readonly key: string | (() => string | Promise<string>);
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /**
   * WebSocket class for live queries. Default: the global one. Null: no socket, so each live query is a stream of
   * events.
   */
  readonly webSocket?: WebSocketConstructor | null;
  /** Timeout of one attempt of a call, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number;
  /** Further attempts after a transient failure. Default: 3. */
  readonly retries?: number;
};

export type PutOptions = ConditionOptions & {
  /** Only create the document: rejects with `op.precondition_failed` if it exists. Default: false. */
  readonly ifAbsent?: boolean;
};

export type UpsertOptions<Fields> = ConditionOptions & {
  /** Applied to a document that exists. Default: it is replaced by `fields`. */
  readonly changes?: Changes<Fields>;
};

export type OperationOptions = CallOptions & {
  /** The request body, sent as JSON. */
  readonly body?: unknown;
  /**
   * For a write that supports it. With a key, the write is tried again after a transient failure. Default: none, and
   * the write is sent once.
   */
  readonly idempotencyKey?: string;
};

export type Page<Document> = {
  readonly data: Document[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
};

export type JournalOptions<Tables> = {
  readonly signal?: AbortSignal;
  /**
   * Start after this sequence, or with `'latest'` at the end of the journal. Default: the oldest record that is still
   * stored.
   */
  readonly after?: number | 'latest';
  /** The timeline (journal id) that `after` belongs to, as in a page of the journal or a bootstrap. */
  readonly timeline?: string;
  /** Only records that affect one of these tables. Default: all. */
  readonly tables?: readonly TableName<Tables>[];
  /** End after this number of records. Default: no end. */
  readonly limit?: number;
};

/** Creates a client for an app's tables: `createClient<{notes: {text: string}}>({url, tenant, key})`. */
export function createClient<Tables extends object = AnyTables>(options: ClientOptions): NativeClient<Tables> {
  return new NativeClient<Tables>(options);
}

export class NativeClient<Tables extends object = AnyTables> {
  readonly #transport: Transport;
  readonly #live: LiveQueries;

  constructor({
    url,
    tenant,
    key,
    fetch = globalThis.fetch,
    webSocket = (globalThis as {WebSocket?: WebSocketConstructor}).WebSocket ?? null,
    timeoutMs = NATIVE_TIMEOUT_MS,
    retries = NATIVE_RETRIES,
  }: ClientOptions) {
    this.#transport = new Transport({url, tenant, key, fetch: (...args) => fetch(...args), timeoutMs, retries});
    this.#live = new LiveQueries(this.#transport, new LiveSocket(this.#transport, webSocket));
  }

  /* ── documents ── */

  /**
   * Resolves with null if the document does not exist.
   * @throws SvcClientError `op.not_found` when the service has no such route, because the URL is wrong
   */
  async get<Table extends TableName<Tables>>(
    table: Table,
    id: string,
    options?: CallOptions,
  ): Promise<Doc<Tables[Table]> | null> {
    try {
      const found = await this.#transport.json<{document: Doc<Tables[Table]>}>('GET', pathOf(table, id), options);
      return found.document;
    } catch (caught) {
      if (!(caught instanceof SvcClientError) || caught.code !== 'op.not_found') throw caught;
      if (caught.detail.missing === 'route') throw caught;
      return null;
    }
  }

  /** All documents of a table, in order of creation. For long tables, use `pages` or `documents`. */
  async list<Table extends TableName<Tables>>(table: Table, options?: CallOptions): Promise<Doc<Tables[Table]>[]> {
    const {data} = await this.#transport.json<{data: Doc<Tables[Table]>[]}>('GET', pathOf(table), options);
    return data;
  }

  /** Resolves with the id of the new document. */
  async insert<Table extends TableName<Tables>>(
    table: Table,
    fields: Tables[Table],
    options?: CallOptions,
  ): Promise<string> {
    const {id} = await this.#transport.json<{id: string}>('POST', '/documents', {...options, body: {table, fields}});
    return id;
  }

  /** Creates a document with this id, or replaces the existing one. */
  async put<Table extends TableName<Tables>>(
    table: Table,
    id: string,
    fields: Tables[Table],
    options: PutOptions = {},
  ): Promise<Put> {
    const headers = {...matching(options), ...(options.ifAbsent === true ? {'if-none-match': '*'} : {})};
    const answer = await this.#transport.call('PUT', pathOf(table, id), {...options, body: {fields}, headers});
    return {...written(answer), created: answer.status === 201};
  }

  /**
   * Finds a document by the values that `fields` has in a unique index, and changes or replaces it. Creates it if there
   * is none.
   */
  async upsert<Table extends TableName<Tables>>(
    table: Table,
    {by}: UniqueIndex,
    fields: Tables[Table],
    {changes, ...options}: UpsertOptions<Tables[Table]> = {},
  ): Promise<Put> {
    const ask = {...options, body: {table, by, fields, ...changes}, headers: matching(options)};
    const answer = await this.#transport.call('POST', '/upsert', ask);
    return {...written(answer), created: answer.status === 201};
  }

  /** Changes fields of an existing document in one write. */
  async patch<Table extends TableName<Tables>>(
    table: Table,
    id: string,
    changes: Changes<Tables[Table]>,
    options: ConditionOptions = {},
  ): Promise<Written> {
    const ask = {...options, body: changes, headers: matching(options)};
    return written(await this.#transport.call('PATCH', pathOf(table, id), ask));
  }

  async delete(table: TableName<Tables>, id: string, options: ConditionOptions = {}): Promise<void> {
    await this.#transport.call('DELETE', pathOf(table, id), {...options, headers: matching(options)});
  }

  /* ── queries ── */

  async query<Table extends TableName<Tables>, const Requested extends Query<Tables[Table]> = Query<Tables[Table]>>(
    table: Table,
    query?: Requested,
    options?: CallOptions,
  ): Promise<Shown<Tables[Table], Requested>[]> {
    const ask = {...options, body: queryObject(table, query)};
    return (await this.#transport.json<{data: Shown<Tables[Table], Requested>[]}>('POST', '/query', ask)).data;
  }

  /**
   * Results of several queries, in their order, all of one version of the data. A query with `count: true` gives a
   * number.
   */
  async queries<const Requested extends readonly BatchQuery<Tables>[]>(
    queries: Requested,
    options?: CallOptions,
  ): Promise<{-readonly [At in keyof Requested]: BatchResult<Tables, Requested[At]>}> {
    const ask = {...options, body: {queries: queries.map(query => queryObject(query.table, query))}};
    type Answered = {results: ({data: unknown[]} | {count: number})[]};
    const {results} = await this.#transport.json<Answered>('POST', '/query/batch', ask);
    return results.map(result => ('data' in result ? result.data : result.count)) as never;
  }

  /** The number of matching documents, up to `limit`. */
  async count<Table extends TableName<Tables>>(
    table: Table,
    query?: Counted<Tables[Table]>,
    options?: CallOptions,
  ): Promise<number> {
    const ask = {...options, body: queryObject(table, query)};
    return (await this.#transport.json<{count: number}>('POST', '/query/count', ask)).count;
  }

  /**
   * Reads a query page by page, on demand. A document that exists throughout is returned exactly once. `pageSize` is
   * 100 by default; `after` is a `next_cursor` to continue from.
   */
  async *pages<Table extends TableName<Tables>, const Requested extends Query<Tables[Table]> = Query<Tables[Table]>>(
    table: Table,
    query?: Requested,
    {pageSize = 100, after = null, ...options}: CallOptions & {pageSize?: number; after?: string | null} = {},
  ): AsyncGenerator<Page<Shown<Tables[Table], Requested>>, void, void> {
    for (let cursor = after; ; ) {
      const body = {query: queryObject(table, query), page_size: pageSize, after: cursor};
      const page = await this.#transport.json<Page<Shown<Tables[Table], Requested>>>('POST', '/query/paginated', {
        ...options,
        body,
      });
      yield page;
      cursor = page.next_cursor;
      if (cursor === null) return;
    }
  }

  /** The documents of a query, read in pages. */
  async *documents<
    Table extends TableName<Tables>,
    const Requested extends Query<Tables[Table]> = Query<Tables[Table]>,
  >(
    table: Table,
    query?: Requested,
    options: CallOptions & {pageSize?: number} = {},
  ): AsyncGenerator<Shown<Tables[Table], Requested>, void, void> {
    for await (const {data} of this.pages(table, query, options)) yield* data;
  }

  /**
   * Calls `onResult` with the whole result now and after each change, and reconnects when the connection is lost.
   * @returns a function that ends the live query
   */
  live<Table extends TableName<Tables>, const Requested extends Query<Tables[Table]>>(
    table: Table,
    query: Requested,
    onResult: (documents: Shown<Tables[Table], Requested>[]) => void,
    options: LiveOptions = {},
  ): () => void {
    return this.#live.read(queryObject(table, query), onResult, options);
  }

  /**
   * Calls `onCount` with the number of matching documents now and after each change.
   * @returns a function that ends the live query
   */
  liveCount<Table extends TableName<Tables>>(
    table: Table,
    query: Counted<Tables[Table]>,
    onCount: (count: number) => void,
    options: LiveOptions = {},
  ): () => void {
    const requested = {...queryObject(table, query), count: true};
    return this.#live.read<{count: number}>(requested, ({count}) => onCount(count), options);
  }

  /* ── several writes at once ── */

  /**
   * Runs all operations that `write` adds, in one commit: either all of them or none. `dryRun: true` rolls them back.
   * @returns the outcomes, in the order of the operations. If one fails, the error has its position as
   * `detail.operation`
   */
  async transaction(
    write: (transaction: Transaction<Tables>) => void,
    {dryRun = false, ...options}: CallOptions & {dryRun?: boolean} = {},
  ): Promise<TransactionResult[]> {
    const {operations} = collected(new Transaction<Tables>(), write);
    const ask = {...options, body: {operations, ...(dryRun ? {dry_run: true} : {})}};
    return (await this.#transport.json<{results: TransactionResult[]}>('POST', '/transactions', ask)).results;
  }

  /* ── everything else ── */

  /**
   * Calls an operation of the service for which this client has no method, with the same credential, retries and
   * errors.
   * @param path below `/api/tenants/{tenant}`, with its query string: `/tasks?limit=10`
   * @returns the JSON of the response, or null if it has no body
   */
  async call<Result = unknown>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: `/${string}`,
    {idempotencyKey, ...ask}: OperationOptions = {},
  ): Promise<Result> {
    const answer = await this.#transport.call(method, path, {...ask, idempotencyKey: idempotencyKey ?? null});
    return answer.text === '' ? (null as Result) : parsed<Result>(answer);
  }

  /* ── the journal ── */

  /**
   * Every committed write, in order: the stored records, then new ones as they are committed. Reading continues at the
   * same position after the connection was lost.
   * @throws SvcClientError `journal.cursor_expired` when the next record is no longer stored or belongs to another
   * timeline
   */
  async *journal({
    after,
    timeline,
    tables = [],
    limit,
    signal,
  }: JournalOptions<Tables> = {}): AsyncGenerator<JournalRecord<Tables>, void, void> {
    const parameters = new URLSearchParams();
    for (const table of tables) parameters.append('table', table);
    for (const [name, value] of Object.entries({after, timeline})) {
      if (value !== undefined) parameters.set(name, String(value));
    }
    if (limit === 0) return;
    let left = limit;
    const stream = {
      method: 'GET',
      get path() {
        return `/journal/stream?${parameters}`;
      },
      signal,
    };
    for await (const {event, data} of eventsOf(this.#transport, stream)) {
      // A tenant that was restored or created again has another timeline, and sequences of different timelines are
      // unrelated.
      if (event === 'open') parameters.set('timeline', (JSON.parse(data) as {timeline: string}).timeline);
      if (event !== 'message') continue;
      yield JSON.parse(data) as JournalRecord<Tables>;
      if (left !== undefined && --left === 0) return;
    }
  }
}

function collected<Tables>(
  transaction: Transaction<Tables>,
  write: (transaction: Transaction<Tables>) => void,
): Transaction<Tables> {
  write(transaction);
  return transaction;
}

function pathOf(table: string, id?: string): string {
  const path = `/documents/${encodeURIComponent(table)}`;
  return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
}

function queryObject(table: string, query: object | undefined): object {
  return {table, filters: [], ...query};
}

function matching({ifVersion}: ConditionOptions): Record<string, string> {
  return ifVersion === undefined ? {} : {'if-match': `"${ifVersion}"`};
}

function written(answer: Answer): Written {
  const {id} = parsed<{id: string}>(answer);
  return {id, version: answer.headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '') ?? null};
}
