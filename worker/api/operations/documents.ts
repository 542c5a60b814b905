/** Handlers for documents and queries of the native API. */
import {Buffer} from 'node:buffer';
import type {Fields} from '../../../engine/commit/commit.ts';
import {CHANGES, changesIn} from '../../../engine/commit/field-changes.ts';
import {
  deleteEffect,
  documentNotFound,
  insertEffect,
  patchEffect,
  putEffect,
  upsertByEffect,
} from '../../../engine/commit/mutation.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import {HAND_OVER, InlineReadBudget} from '../../../engine/reads/read-budget.ts';
import {runScan} from '../../../engine/reads/run.ts';
import type {RequestScan} from '../../../engine/reads/scan-message.ts';
import {
  type Condition,
  checkTableName,
  documentText,
  entityTag,
  isKnown,
  NO_CONDITION,
  parseTags,
} from '../../../engine/storage/document.ts';
import {bodyType, decodeBody} from '../../../engine/wire-type.ts';
import {invalid, unavailable} from '../../../shared/errors.ts';
import type {Operation} from '../../../shared/operations.ts';
import {InsertBody, PatchBody, PutBody, UpsertBody} from '../../../shared/protocol/documents.ts';
import {LiveQueryObject, PaginatedQueryBody, QueryBatch, QueryObject} from '../../../shared/protocol/queries.ts';
import type {Request} from '../../ipc/decode.ts';
import {EVENT_HEADERS} from '../follow/event-stream.ts';
import {queryInUrl, queryStreamLimit} from '../follow/parameters.ts';
import {done, type Handlers, Later, Streamed, written} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';

const insertBody = bodyType<'documents.insert'>(InsertBody);
const putBody = bodyType<'documents.put'>(PutBody);
const upsertBody = bodyType<'documents.upsert'>(UpsertBody);
const patchBody = bodyType<'documents.patch'>(PatchBody);
const queryBody = bodyType<'query.run'>(QueryObject);
const liveQueryBody = bodyType<'query.stream'>(LiveQueryObject);
const countBody = bodyType<'query.count'>(QueryObject);
const batchBody = bodyType<'query.batch'>(QueryBatch);
const paginatedQueryBody = bodyType<'query.paginated'>(PaginatedQueryBody);

export const documents: Handlers<Extract<Operation, `documents.${string}` | `query.${string}`>> = {
  'documents.insert': (request, tenant) => {
    const {table, fields} = decodeBody(insertBody, request.body);
    const insert = insertEffect(table, fields as Fields);
    return written(request, tenant, writer => `{"id":"${insert(writer)}"}`, true);
  },
  'documents.patch': (request, tenant) => {
    const changes = decodeBody(patchBody, request.body);
    if (!CHANGES.some(kind => changes[kind] !== undefined)) {
      throw invalid(`the body must have one or more of ${CHANGES.join(', ')}`);
    }
    const {table, document_id: id} = request.params;
    const change = patchEffect(table, id, changes, conditionOf(request));
    const run = (writer: Writer) => {
      const row = change(writer);
      return {json: idText(row.id), etag: entityTag(row)};
    };
    return written(request, tenant, run, true);
  },
  'documents.put': (request, tenant) => {
    const {fields} = decodeBody(putBody, request.body);
    const {table, document_id: id} = request.params;
    const put = putEffect(table, id, fields as Fields, conditionOf(request));
    return written(request, tenant, writer => {
      const {row, isNew} = put(writer);
      return {json: idText(row.id), etag: entityTag(row), ...(isNew ? {variant: 'created'} : {})};
    });
  },
  'documents.delete': (request, tenant) =>
    written(
      request,
      tenant,
      done(deleteEffect(request.params.table, request.params.document_id, conditionOf(request))),
      true,
    ),
  'documents.upsert': (request, tenant) => {
    const body = decodeBody(upsertBody, request.body);
    const upsert = upsertByEffect(body.table, body.by, body.fields as Fields, changesIn(body), conditionOf(request));
    return written(request, tenant, writer => {
      const {row, isNew} = upsert(writer);
      return {json: idText(row.id), etag: entityTag(row), ...(isNew ? {variant: 'created'} : {})};
    });
  },
  'documents.get': ({params, ifNoneMatch}, {reader}) => {
    const {table, document_id: id} = params;
    reader.inSnapshot();
    const info = reader.table(table);
    const row = info === undefined ? undefined : reader.documentById(id);
    if (info === undefined || row === undefined || row.doc < info.lowDoc || row.doc > info.highDoc) {
      checkTableName(table);
      throw documentNotFound(table, id);
    }
    const etag = entityTag(row);
    const known = parseTags('If-None-Match', ifNoneMatch);
    if (known !== null && isKnown(known, row)) return {json: '', etag, variant: 'not_modified'};
    return {json: `{"document":${documentText(row)}}`, etag, doc: row.doc};
  },
  'documents.list': ({params}, tenant) => {
    checkTableName(params.table);
    return scanned({kind: 'list', table: params.table}, tenant);
  },
  'query.run': ({body}, tenant) => scanned({kind: 'query', query: decodeBody(queryBody, body)}, tenant),
  'query.stream': ({body, query}, tenant) => followed(decodeBody(liveQueryBody, body), queryStreamLimit(query), tenant),
  'query.follow': ({query}, tenant) => {
    const {text, limit} = queryInUrl(query);
    return followed(decodeBody(liveQueryBody, Buffer.from(text)), limit, tenant);
  },
  'query.count': ({body}, tenant) => scanned({kind: 'count', query: decodeBody(countBody, body)}, tenant),
  'query.batch': ({body}, tenant) => scanned({kind: 'batch', batch: decodeBody(batchBody, body)}, tenant),
  'query.paginated': ({body}, tenant) => scanned({kind: 'page', page: decodeBody(paginatedQueryBody, body)}, tenant),
};

function conditionOf({ifMatch, ifNoneMatch}: Pick<Request, 'ifMatch' | 'ifNoneMatch'>): Condition {
  if (ifMatch === null && ifNoneMatch === null) return NO_CONDITION;
  return {ifMatch: parseTags('If-Match', ifMatch), ifNoneMatch: parseTags('If-None-Match', ifNoneMatch)};
}

function idText(id: string): string {
  return `{"id":${JSON.stringify(id)}}`;
}

function followed(query: LiveQueryObject, limit: number | null, {resultFollowers}: OpenTenant): Streamed {
  return new Streamed(to => {
    resultFollowers.follow(query, limit, () => to.start(EVENT_HEADERS));
    return undefined;
  });
}

/** Answers a query that reads little at once; a larger one goes to a scan thread. */
function scanned(scan: RequestScan, {reader, count, scans, groups}: OpenTenant): string | Later {
  reader.inSnapshot();
  try {
    return runScan(reader, scan, new InlineReadBudget(count));
  } catch (caught) {
    if (caught !== HAND_OVER) throw caught;
    return new Later(settle => {
      let isGivenUp = false;
      const answer: typeof settle = outcome => {
        if (!isGivenUp) settle(outcome);
      };
      // Its snapshot may contain a commit that is not yet durable.
      const giveUp = scans.run(scan, outcome => groups.whenDurable(() => answer(outcome)));
      return () => {
        isGivenUp = true;
        giveUp();
        settle(unavailable('the query was given up with its client'));
      };
    });
  }
}
