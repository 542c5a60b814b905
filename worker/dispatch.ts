/**
 * A request's way through the worker: operation → decode by wire type → read at once or enter the turn's commit group. Every
 * throw becomes an envelope here. What is not a ServiceError is logged with its cause and shown as op.failed; an assertion
 * or a storage error is not caught: it ends the process.
 */
import type Type from 'typebox';
import type {TSchema} from 'typebox';
import {Compile, type Validator} from 'typebox/compile';
import {AssertionError, unreachable} from '../shared/assert.ts';
import {asServiceError, ServiceError} from '../shared/errors.ts';
import {OPERATIONS, type RequestMeta} from '../shared/ipc/operations.ts';
import type {Logger} from '../shared/log.ts';
import {InsertBody, PatchBody} from '../shared/protocol/documents.ts';
import {PaginatedQueryBody, QueryObject} from '../shared/protocol/queries.ts';
import {TableSchema} from '../shared/protocol/schema.ts';
import {parseJson} from '../shared/values/json.ts';
import type {CommitGroups, Reply, Write} from './commit/group.ts';
import {checkIdempotencyKey, once, requestDigest} from './commit/idempotency.ts';
import {documentNotFound, prepareDelete, prepareInsert, preparePatch} from './commit/mutation.ts';
import type {Writer} from './commit/writer.ts';
import {documentText} from './documents/document.ts';
import {checkTableName} from './documents/table-name.ts';
import type {RouterLink} from './ipc/router-link.ts';
import {bootstrapPieces} from './journal/bootstrap.ts';
import {type JournalReader, parseJournalParameters} from './journal/read-page.ts';
import type {WorkerMetrics} from './metrics.ts';
import {listTable, runPage, runQuery} from './queries/run.ts';
import type {SchemaChanges} from './schema/change.ts';
import {allSchemasText, schemaText} from './schema/read.ts';
import type {Catalog} from './storage/catalog.ts';
import {storageFailure} from './storage/database.ts';
import type {Reader} from './storage/reader.ts';

/** What dispatch needs of the open tenant. */
export type TenantStages = {
  path: string;
  catalog: Catalog;
  reader: Reader;
  journal: JournalReader;
  groups: CommitGroups;
  schemas: SchemaChanges;
  metrics: WorkerMetrics;
  log: Logger;
};

const OK = 200;

export class Dispatch {
  readonly #tenant: TenantStages;
  /** Requests that are neither answered nor streaming. */
  #open = 0;

  constructor(tenant: TenantStages) {
    this.#tenant = tenant;
  }

  get openRequests(): number {
    return this.#open;
  }

  handle(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer): void {
    this.#tenant.metrics.operation(meta.op in OPERATIONS ? meta.op : 'unknown');
    try {
      this.#run(link, stream, meta, body);
    } catch (caught) {
      this.#fail(link, stream, meta, caught);
    }
  }

  #run(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer): void {
    const {reader, catalog, schemas} = this.#tenant;
    const [first = '', second = ''] = meta.p ?? [];
    switch (meta.op) {
      case 'documents.get':
        link.reply(stream, OK, this.#document(first, second));
        return;
      case 'documents.insert': {
        const {table, fields} = decode(insertBody(), body);
        this.#write(link, stream, meta, body, prepareInsert(table, fields as Record<string, unknown>));
        return;
      }
      case 'documents.patch': {
        const {patch} = decode(patchBody(), body);
        this.#write(link, stream, meta, body, preparePatch(first, second, patch as Record<string, unknown>));
        return;
      }
      case 'documents.delete':
        this.#write(link, stream, meta, body, prepareDelete(first, second));
        return;
      case 'documents.list':
        checkTableName(first);
        reader.inSnapshot();
        link.reply(stream, OK, listTable(reader, first));
        return;
      case 'query.run': {
        const query = decode(queryBody(), body);
        reader.inSnapshot();
        link.reply(stream, OK, runQuery(reader, query));
        return;
      }
      case 'query.paginated': {
        const page = decode(paginatedQueryBody(), body);
        reader.inSnapshot();
        link.reply(stream, OK, runPage(reader, page));
        return;
      }
      case 'journal.page': {
        const {after, limit} = parseJournalParameters(meta.q ?? '');
        reader.inSnapshot();
        link.reply(stream, OK, this.#tenant.journal.page(after, limit));
        return;
      }
      case 'journal.bootstrap':
        link.stream(stream, bootstrapPieces(this.#tenant.path));
        return;
      case 'schema.all':
        link.reply(stream, OK, allSchemasText(catalog));
        return;
      case 'schema.get':
        link.reply(stream, OK, schemaText(catalog, first));
        return;
      case 'schema.put':
        this.#later(link, stream, meta, schemas.put(first, decode(tableSchemaBody(), body)));
        return;
      case 'schema.delete':
        this.#later(link, stream, meta, schemas.delete(first));
        return;
      default:
        unreachable(meta.op);
    }
  }

  #document(table: string, id: string): string {
    const {reader} = this.#tenant;
    reader.inSnapshot();
    const info = reader.table(table);
    const row = info === undefined ? undefined : reader.documentById(id);
    if (info === undefined || row === undefined || row.doc < info.lowDoc || row.doc > info.highDoc) {
      throw documentNotFound(table, id);
    }
    return `{"document":${documentText(row)}}`;
  }

  #write(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer, run: (writer: Writer) => Reply): void {
    let guarded = run;
    const {k: key} = meta;
    if (key !== undefined) {
      checkIdempotencyKey(key);
      const request = requestDigest(meta.op, meta.p ?? [], body);
      guarded = writer => once(writer, key, request, run);
    }
    this.#open++;
    const write: Write = {
      run: guarded,
      settle: outcome => {
        this.#open--;
        if (outcome instanceof ServiceError) link.fail(stream, outcome);
        else link.reply(stream, outcome.status, outcome.body);
      },
    };
    this.#tenant.groups.submit(write);
  }

  #later(link: RouterLink, stream: number, meta: RequestMeta, outcome: Promise<Reply>): void {
    this.#open++;
    outcome
      .then(
        reply => link.reply(stream, reply.status, reply.body),
        caught => this.#fail(link, stream, meta, caught),
      )
      .finally(() => {
        this.#open--;
        link.flush();
      });
  }

  #fail(link: RouterLink, stream: number, meta: RequestMeta, caught: unknown): void {
    if (caught instanceof AssertionError || storageFailure(caught) === 'fatal') throw caught;
    const error = asServiceError(caught);
    if (error.cause !== undefined) {
      this.#tenant.log.error('a request failed', {op: meta.op, request: meta.r, error: error.cause});
    }
    link.fail(stream, error);
  }
}

/* Wire types are compiled when first used: that costs a millisecond each, which a tenant's start need not pay. */
const insertBody = lazily(InsertBody);
const patchBody = lazily(PatchBody);
const queryBody = lazily(QueryObject);
const paginatedQueryBody = lazily(PaginatedQueryBody);
const tableSchemaBody = lazily(TableSchema);

function lazily<T extends TSchema>(schema: T): () => Validator<Record<never, never>, T> {
  let compiled: Validator<Record<never, never>, T> | undefined;
  return () => {
    compiled ??= Compile(schema);
    return compiled;
  };
}

/** The body as its wire type. @throws op.invalid_input 400 that names the first field at fault */
function decode<T extends TSchema>(type: Validator<Record<never, never>, T>, body: Buffer): Type.Static<T> {
  const value = parseJson(body);
  if (type.Check(value)) return value as Type.Static<T>;
  const [error] = type.Errors(value);
  const at =
    error === undefined || error.instancePath === '' ? 'the body' : error.instancePath.slice(1).replaceAll('/', '.');
  throw new ServiceError('op.invalid_input', `${at} ${error?.message ?? 'is not what this route takes'}`);
}
