/**
 * A request's way through the worker: operation → decode by wire type → read at once or enter the turn's commit group. Every
 * throw becomes an envelope here. What is not a ServiceError is logged with its cause and shown as op.failed; an assertion
 * or a storage error is not caught: it ends the process.
 */
import {AssertionError, unreachable} from '../shared/assert.ts';
import {asServiceError, ServiceError} from '../shared/errors.ts';
import {preflightHeaders} from '../shared/ipc/cors.ts';
import type {RequestMeta} from '../shared/ipc/operations.ts';
import {BOOTSTRAPS_MAX, RESULT_BYTES_MAX} from '../shared/limits.ts';
import type {Logger} from '../shared/log.ts';
import {InsertBody, PatchBody} from '../shared/protocol/documents.ts';
import {PaginatedQueryBody, QueryObject} from '../shared/protocol/queries.ts';
import {CronBody, ScheduleBody} from '../shared/protocol/schedule.ts';
import {TableSchema} from '../shared/protocol/schema.ts';
import {parseJson} from '../shared/values/json.ts';
import type {Fields} from './commit/commit.ts';
import type {CommitGroups} from './commit/group.ts';
import {checkIdempotencyKey, once, requestDigest} from './commit/idempotency.ts';
import {deleteEffect, documentNotFound, type Effect, insertEffect, patchEffect} from './commit/mutation.ts';
import type {Writer} from './commit/writer.ts';
import {documentText} from './documents/document.ts';
import {checkTableName} from './documents/table-name.ts';
import type {FunctionGate} from './functions/gate.ts';
import type {TableList} from './functions/table-list.ts';
import type {IncomingBody} from './ipc/incoming-body.ts';
import {NO_CONTENT, type Reply} from './ipc/reply.ts';
import type {RouterLink} from './ipc/router-link.ts';
import {bootstrapPieces} from './journal/bootstrap.ts';
import {cutUp} from './journal/pieces.ts';
import {type JournalReader, parseJournalParameters} from './journal/read-page.ts';
import type {LiveQueries} from './live/live-queries.ts';
import type {WorkerMetrics} from './metrics.ts';
import {HAND_OVER, InlinePace} from './reads/pace.ts';
import {runScan} from './reads/run.ts';
import type {RequestScan} from './reads/scan-message.ts';
import type {ScanPool} from './reads/scan-pool.ts';
import {type CronReader, checkCronName, createCron, deleteCron, intervalOf} from './scheduler/crons.ts';
import {cancelJob, type JobReader, scheduleJob} from './scheduler/jobs.ts';
import {parseListParameters} from './scheduler/list-page.ts';
import {checkedMutation} from './scheduler/work.ts';
import type {SchemaChanges} from './schema/change.ts';
import {allSchemasText, schemaText} from './schema/read.ts';
import type {Catalog} from './storage/catalog.ts';
import {isEngineDamage, storageDamaged} from './storage/damage.ts';
import {storageFailure} from './storage/database.ts';
import type {Reader} from './storage/reader.ts';
import {checkWireType, decodeBody, wireType} from './wire-type.ts';

/** What dispatch needs of the open tenant. */
export type TenantStages = {
  path: string;
  catalog: Catalog;
  reader: Reader;
  scans: ScanPool;
  journal: JournalReader;
  groups: CommitGroups;
  schemas: SchemaChanges;
  live: LiveQueries;
  jobs: JobReader;
  crons: CronReader;
  tables: TableList;
  functions: FunctionGate;
  /** Epoch milliseconds. */
  clock: () => number;
  metrics: WorkerMetrics;
  log: Logger;
};

const OK = 200;

export class Dispatch {
  readonly #tenant: TenantStages;

  constructor(tenant: TenantStages) {
    this.#tenant = tenant;
  }

  handle(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer, incoming: IncomingBody | null): void {
    this.#tenant.metrics.operation(meta.op);
    try {
      this.#run(link, stream, meta, body, incoming);
    } catch (caught) {
      this.#fail(link, stream, meta, caught);
    }
  }

  /** A router holds a live query from now on. */
  subscribe(link: RouterLink, stream: number, body: Buffer): void {
    const {live} = this.#tenant;
    let query: QueryObject;
    try {
      query = checkWireType(queryBody, parseJson(body), 'query.');
    } catch (caught) {
      link.liveFailed(stream, asServiceError(caught));
      link.liveEnd(0);
      return;
    }
    live.subscribe(link, stream, query);
  }

  #run(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer, incoming: IncomingBody | null): void {
    const {reader, catalog, schemas} = this.#tenant;
    const [first = '', second = ''] = meta.p ?? [];
    switch (meta.op) {
      case 'documents.get':
        link.reply(stream, OK, this.#document(first, second));
        return;
      case 'documents.insert': {
        const {table, fields} = decodeBody(insertBody, body);
        this.#write(link, stream, meta, body, created(insertEffect(table, fields as Fields)));
        return;
      }
      case 'documents.patch': {
        const {patch} = decodeBody(patchBody, body);
        this.#write(link, stream, meta, body, changed(patchEffect(first, second, patch as Fields)));
        return;
      }
      case 'documents.delete':
        this.#write(link, stream, meta, body, done(deleteEffect(first, second)));
        return;
      case 'documents.list':
        checkTableName(first);
        this.#query(link, stream, meta, {kind: 'list', table: first});
        return;
      case 'query.run':
        this.#query(link, stream, meta, {kind: 'query', query: decodeBody(queryBody, body)});
        return;
      case 'query.paginated':
        this.#query(link, stream, meta, {kind: 'page', page: decodeBody(paginatedQueryBody, body)});
        return;
      case 'journal.page': {
        const request = parseJournalParameters(meta.q ?? '');
        reader.inSnapshot();
        const page = this.#tenant.journal.page(request);
        // A page may be one record that is too long for a reply in one frame: a mutation's writes and what it scheduled.
        if (Buffer.byteLength(page) > RESULT_BYTES_MAX) startStream(link, stream, () => cutUp(page));
        else link.reply(stream, OK, page);
        return;
      }
      case 'journal.bootstrap':
        startStream(link, stream, () => bootstrapPieces(this.#tenant.path));
        return;
      case 'schema.all':
        link.reply(stream, OK, allSchemasText(catalog));
        return;
      case 'schema.get':
        link.reply(stream, OK, schemaText(catalog, first));
        return;
      case 'schema.put':
        this.#later(link, stream, meta, schemas.put(first, tableSchema(body)));
        return;
      case 'schema.delete':
        this.#later(link, stream, meta, schemas.delete(first));
        return;
      case 'schedule.create':
      case 'schedule.cancel':
      case 'crons.create':
      case 'crons.delete':
        this.#write(link, stream, meta, body, this.#scheduleChange(meta, body));
        return;
      case 'schedule.list':
        reader.inSnapshot();
        link.reply(stream, OK, this.#tenant.jobs.list(parseListParameters(meta.q ?? '')));
        return;
      case 'schedule.get':
        reader.inSnapshot();
        link.reply(stream, OK, this.#tenant.jobs.job(first));
        return;
      case 'schedule.result':
        reader.inSnapshot();
        link.reply(stream, OK, this.#tenant.jobs.result(first));
        return;
      case 'crons.list':
        reader.inSnapshot();
        link.reply(stream, OK, this.#tenant.crons.list(parseListParameters(meta.q ?? '')));
        return;
      case 'tables.list':
        this.#list(link, stream, meta);
        return;
      case 'functions.preflight':
        link.replyWith(stream, 204, preflightHeaders(meta.o, this.#tenant.functions.allowedOrigins), '');
        return;
      case 'deployments.create':
      case 'deployments.list':
      case 'deployments.activate':
      case 'functions.list':
      case 'functions.run':
      case 'env.list':
      case 'env.get':
      case 'env.set':
      case 'env.delete':
      case 'logs.read':
      case 'settings.get':
      case 'settings.put':
      case 'functions.query':
      case 'functions.paginated':
      case 'functions.mutation':
      case 'functions.action':
      case 'functions.http':
      case 'functions.schedule':
      case 'functions.unschedule':
        this.#functions(link, stream, meta, body, incoming);
        return;
      default:
        unreachable(meta.op);
    }
  }

  /** Operations of the function platform. */
  #functions(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer, incoming: IncomingBody | null): void {
    const {functions} = this.#tenant;
    this.#answerWith(functions, link, stream, meta, body, incoming).catch(caught =>
      this.#fail(link, stream, meta, caught),
    );
  }

  #answerWith(
    {platform, loaded}: FunctionGate,
    link: RouterLink,
    stream: number,
    meta: RequestMeta,
    body: Buffer,
    incoming: IncomingBody | null,
  ): Promise<void> {
    if (platform !== null) return platform.handle(link, stream, meta, body, incoming);
    const kept = Buffer.from(body); // It is the link's, for this turn only.
    return loaded().then(platform => platform.handle(link, stream, meta, kept, incoming));
  }

  #document(table: string, id: string): string {
    const {reader} = this.#tenant;
    reader.inSnapshot();
    const info = reader.table(table);
    const row = info === undefined ? undefined : reader.documentById(id);
    if (info === undefined || row === undefined || row.doc < info.lowDoc || row.doc > info.highDoc) {
      checkTableName(table);
      throw documentNotFound(table, id);
    }
    return `{"document":${documentText(row)}}`;
  }

  /** Answers at once a query that reads little; one that reads more is handed to a scan thread. */
  #query(link: RouterLink, stream: number, meta: RequestMeta, scan: RequestScan): void {
    const {reader, catalog, scans} = this.#tenant;
    reader.inSnapshot();
    try {
      const pace = new InlinePace(table => catalog.tableByNumber(table.number)?.documents ?? 0);
      link.reply(stream, OK, runScan(reader, scan, pace));
    } catch (caught) {
      if (caught !== HAND_OVER) throw caught;
      const giveUp = scans.run(scan, outcome => {
        link.forget(stream);
        if (outcome instanceof ServiceError) this.#fail(link, stream, meta, outcome);
        else link.replyBytes(stream, outcome);
      });
      link.onCancel(stream, () => {
        giveUp();
        link.fail(stream, new ServiceError('session.worker_unavailable', 'the query was given up with its client'));
      });
    }
  }

  #write(link: RouterLink, stream: number, meta: RequestMeta, body: Buffer, run: (writer: Writer) => Reply): void {
    let guarded = run;
    const {k: key} = meta;
    if (key !== undefined) {
      checkIdempotencyKey(key);
      const request = requestDigest(meta.op, meta.p ?? [], body);
      guarded = writer => once(writer, key, request, run);
    }
    this.#tenant.groups.submit<Reply>({
      run: guarded,
      settle: outcome => {
        if (outcome instanceof ServiceError) link.fail(stream, outcome);
        else link.reply(stream, outcome.status, outcome.body);
      },
    });
  }

  #scheduleChange(meta: RequestMeta, body: Buffer): (writer: Writer) => Reply {
    const {clock} = this.#tenant;
    const [first = ''] = meta.p ?? [];
    switch (meta.op) {
      case 'schedule.create': {
        const {run_after_ms: runAfterMs, mutation} = decodeBody(scheduleBody, body);
        const work = checkedMutation(mutation);
        return writer => ({status: 201, body: `{"job_id":"${scheduleJob(writer, clock(), runAfterMs, work)}"}`});
      }
      case 'schedule.cancel':
        return done(writer => cancelJob(writer, first));
      case 'crons.create': {
        const {name, schedule, mutation} = decodeBody(cronBody, body);
        checkCronName(name);
        const intervalMs = intervalOf(schedule.seconds);
        const work = checkedMutation(mutation);
        return done(writer => createCron(writer, clock(), name, intervalMs, work), 201);
      }
      default:
        return done(writer => deleteCron(writer, first));
    }
  }

  #list(link: RouterLink, stream: number, meta: RequestMeta): void {
    this.#tenant.tables.text().then(
      text => link.reply(stream, OK, text),
      caught => this.#fail(link, stream, meta, caught),
    );
  }

  /** A change that takes more than one write. */
  #later(link: RouterLink, stream: number, meta: RequestMeta, change: Promise<void>): void {
    change.then(
      () => link.reply(stream, NO_CONTENT.status, NO_CONTENT.body),
      caught => this.#fail(link, stream, meta, caught),
    );
  }

  #fail(link: RouterLink, stream: number, meta: RequestMeta, caught: unknown): void {
    if (caught instanceof AssertionError || storageFailure(caught) === 'fatal') throw caught;
    const error = asServiceError(isEngineDamage(caught) ? storageDamaged({check: 'engine'}) : caught);
    if (error.cause !== undefined) {
      // What a client did wrong, a token that was refused for one, is the client's business: anybody could fill the log.
      const level = error.status !== null && error.status < 500 ? 'debug' : 'error';
      this.#tenant.log[level]('a request failed', {op: meta.op, request: meta.r, error: error.cause});
    }
    link.fail(stream, error, this.#tenant.functions.headersOf(meta));
  }
}

const insertBody = wireType(InsertBody);
const patchBody = wireType(PatchBody);
const queryBody = wireType(QueryObject);
const paginatedQueryBody = wireType(PaginatedQueryBody);
const tableSchemaBody = wireType(TableSchema);
const scheduleBody = wireType(ScheduleBody);
const cronBody = wireType(CronBody);

function tableSchema(body: Buffer): TableSchema {
  const {table, fields, indexes = []} = decodeBody(tableSchemaBody, body);
  return {table, fields, indexes};
}

/** @throws session.overloaded 503 */
function startStream(link: RouterLink, stream: number, pieces: () => Iterator<string, void, void>): void {
  if (link.streams >= BOOTSTRAPS_MAX) {
    throw new ServiceError('session.overloaded', `${BOOTSTRAPS_MAX} bootstraps are under way; try again later`);
  }
  link.stream(stream, pieces());
}

/* What a write answers. */

function created(effect: Effect): (writer: Writer) => Reply {
  return writer => ({status: 201, body: `{"id":"${effect(writer)}"}`});
}

function changed(effect: Effect): (writer: Writer) => Reply {
  return writer => ({status: OK, body: `{"id":${JSON.stringify(effect(writer))}}`});
}

/** Nothing but that it is done. */
function done(change: (writer: Writer) => unknown, status = NO_CONTENT.status): (writer: Writer) => Reply {
  return writer => {
    change(writer);
    return {status, body: ''};
  };
}
