/** Documents and queries of the native API. */
import {ServiceError} from '../../shared/errors.ts';
import type {Operation} from '../../shared/operations.ts';
import {InsertBody, PatchBody} from '../../shared/protocol/documents.ts';
import {PaginatedQueryBody, QueryObject} from '../../shared/protocol/queries.ts';
import type {Fields} from '../commit/commit.ts';
import {deleteEffect, documentNotFound, insertEffect, patchEffect} from '../commit/mutation.ts';
import {documentText} from '../documents/document.ts';
import {checkTableName} from '../documents/table-name.ts';
import {HAND_OVER, InlinePace} from '../reads/pace.ts';
import {runScan} from '../reads/run.ts';
import type {RequestScan} from '../reads/scan-message.ts';
import {bodyType, decodeBody} from '../wire-type.ts';
import {type Handlers, Later} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';
import {done, written} from './written.ts';

const insertBody = bodyType<'documents.insert'>(InsertBody);
const patchBody = bodyType<'documents.patch'>(PatchBody);
const queryBody = bodyType<'query.run'>(QueryObject);
const paginatedQueryBody = bodyType<'query.paginated'>(PaginatedQueryBody);

export const documents: Handlers<Extract<Operation, `documents.${string}` | `query.${string}`>> = {
  'documents.insert': (request, tenant) => {
    const {table, fields} = decodeBody(insertBody, request.body);
    const insert = insertEffect(table, fields as Fields);
    return written(request, tenant, writer => `{"id":"${insert(writer)}"}`);
  },
  'documents.patch': (request, tenant) => {
    const {patch} = decodeBody(patchBody, request.body);
    const change = patchEffect(request.params.table, request.params.document_id, patch as Fields);
    return written(request, tenant, writer => `{"id":${JSON.stringify(change(writer))}}`);
  },
  'documents.delete': (request, tenant) =>
    written(request, tenant, done(deleteEffect(request.params.table, request.params.document_id))),
  'documents.get': ({params}, {reader}) => {
    const {table, document_id: id} = params;
    reader.inSnapshot();
    const info = reader.table(table);
    const row = info === undefined ? undefined : reader.documentById(id);
    if (info === undefined || row === undefined || row.doc < info.lowDoc || row.doc > info.highDoc) {
      checkTableName(table);
      throw documentNotFound(table, id);
    }
    return `{"document":${documentText(row)}}`;
  },
  'documents.list': ({params}, tenant) => {
    checkTableName(params.table);
    return scanned({kind: 'list', table: params.table}, tenant);
  },
  'query.run': ({body}, tenant) => scanned({kind: 'query', query: decodeBody(queryBody, body)}, tenant),
  'query.paginated': ({body}, tenant) => scanned({kind: 'page', page: decodeBody(paginatedQueryBody, body)}, tenant),
};

/** Answers at once a query that reads little; one that reads more is handed to a scan thread. */
function scanned(scan: RequestScan, {reader, count, scans, groups}: OpenTenant): string | Later {
  reader.inSnapshot();
  try {
    return runScan(reader, scan, new InlinePace(count));
  } catch (caught) {
    if (caught !== HAND_OVER) throw caught;
    return new Later(settle => {
      let isGivenUp = false;
      const answer: typeof settle = outcome => {
        if (!isGivenUp) settle(outcome);
      };
      // Its snapshot may hold a commit that is not durable yet.
      const giveUp = scans.run(scan, outcome => groups.whenDurable(() => answer(outcome)));
      return () => {
        isGivenUp = true;
        giveUp();
        settle(new ServiceError('session.worker_unavailable', 'the query was given up with its client'));
      };
    });
  }
}
