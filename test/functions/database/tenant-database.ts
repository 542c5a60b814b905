/**
 * The database of functions without a service and without an isolate: the realm's side runs in Node, its host calls go
 * straight to a HostDatabase over a real file. Queries read over a connection of their own, mutations over the writer's, as
 * they do in a worker.
 */

import type {CatalogTable} from '../../../engine/storage/catalog.ts';
import {FLAG_FLOATS} from '../../../engine/storage/document.ts';
import {Reader} from '../../../engine/storage/reader.ts';
import type {Value} from '../../../shared/values/value.ts';
import {encodeDocument} from '../../../shared/values/wire-value.ts';
import {HostDatabase} from '../../../worker/runtime/database/host-database.ts';
import {databaseReader, databaseWriter} from '../../../worker/runtime/guest/database.ts';
import {state} from '../../../worker/runtime/guest/state.ts';
import {TenantParts} from '../../harness/tenant-parts.ts';

export type Doc = Record<string, Value> & {_id: string; _creationTime: number; _updateTime: number};
export type Page = {
  page: Doc[];
  isDone: boolean;
  continueCursor: string;
  splitCursor: string | null;
  pageStatus: string | null;
};
// The arguments are unknown on purpose: tests pass what the types of an app would refuse.
export type Range = (q: RangeBuilder) => unknown;
export type RangeBuilder = Record<
  'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte',
  (field: unknown, value?: unknown) => RangeBuilder
>;
export type FilterBuilder = Record<string, (...operands: unknown[]) => unknown>;
export type Query = AsyncIterable<Doc> & {
  withIndex(name: unknown, range?: unknown): Query;
  withSearchIndex(): never;
  order(order: unknown): Query;
  filter(predicate: unknown): Query;
  collect(): Promise<Doc[]>;
  take(n: unknown): Promise<Doc[]>;
  first(): Promise<Doc | null>;
  unique(): Promise<Doc | null>;
  paginate(options: unknown): Promise<Page>;
};
export type Db = {
  get(id?: unknown, second?: unknown): Promise<Doc | null>;
  query(table: unknown): Query;
  insert(table?: unknown, value?: unknown): Promise<string>;
  patch(id?: unknown, value?: unknown): Promise<null>;
  delete(id?: unknown): Promise<null>;
  readonly system: {query(): never};
  replace(): never;
  normalizeId(): never;
  table(): never;
};

export class TenantDatabase extends TenantParts {
  /** Of queries, and of mutations. */
  readonly reads = new HostDatabase(this.reader, null);
  readonly writes = new HostDatabase(new Reader(this.writerDb, this.catalog, {cachesRows: false}), this.writer);

  constructor() {
    super({cachesRows: false});
  }

  query<T>(handler: (db: Db) => T | Promise<T>, endCursor: string | null = null): Promise<T> {
    return this.#invoke('query', this.reads, () => handler(databaseReader() as Db), endCursor);
  }

  /** What fails is rolled back. */
  async mutation<T>(handler: (db: Db) => T | Promise<T>): Promise<T> {
    const {statements, changes} = this.writer;
    statements.begin.run();
    const mark = this.writer.mark();
    changes.defer();
    try {
      const result = await this.#invoke('mutation', this.writes, () => handler(databaseWriter() as Db), null);
      changes.endDeferring();
      changes.store();
      this.writer.appendRecord();
      this.writer.counters.write();
      statements.commit.run();
      return result;
    } catch (caught) {
      changes.endDeferring();
      statements.rollback.run();
      this.writer.returnTo(mark);
      throw caught;
    } finally {
      this.writer.endGroup();
    }
  }

  /** A document under an id of the caller's own, as native mutations may write it. */
  insertNative(table: CatalogTable, fields: Record<string, Value>, id?: string): string {
    const body = encodeDocument(fields);
    const flags = body.includes('$float') ? FLAG_FLOATS : 0;
    return this.write(writer => writer.insert(table, fields, body, id, flags));
  }

  async #invoke<T>(
    phase: 'query' | 'mutation',
    host: HostDatabase,
    handler: () => T | Promise<T>,
    endCursor: string | null,
  ): Promise<T> {
    state.invocation++;
    state.phase = phase;
    state.host = (op, a, b, c) => host.call(op, a, b as string, c as string);
    host.begin({endCursor});
    try {
      return await handler();
    } finally {
      host.end();
      state.phase = 'idle';
    }
  }
}

/** `Name: message` of what a call throws or rejects with. */
export async function errorOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (caught) {
    const {name, message} = caught as Error;
    return `${name}: ${message}`;
  }
  return 'no error';
}
