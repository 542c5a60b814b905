/** Handlers for work on many documents: imports, exports, tasks and drops of tables. */

import type {Writer} from '../../../engine/commit/writer.ts';
import {parseListParameters} from '../../../engine/scheduler/list-page.ts';
import {bodyType, decodeBody, wireType} from '../../../engine/wire-type.ts';
import {invalid} from '../../../shared/errors.ts';
import type {Operation} from '../../../shared/operations.ts';
import {ExportQuery} from '../../../shared/protocol/exports.ts';
import {ImportQuery} from '../../../shared/protocol/imports.ts';
import {TaskBody} from '../../../shared/protocol/tasks.ts';
import {causeOf, type Request} from '../../ipc/decode.ts';
import {namedColumns} from '../bulk/export/csv-text.ts';
import {type ExportRequest, exportChunks} from '../bulk/export/export.ts';
import {streamFile} from '../bulk/export/file-copy.ts';
import {filtersIn} from '../bulk/export/matching-rows.ts';
import type {ImportBody} from '../bulk/import/imports.ts';
import {type Handlers, json, Later, read, Streamed, type WriteRequest, written} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';
import {decodeQuery} from './query-string.ts';
import {fromSnapshot} from './snapshot-stream.ts';

const exportQuery = wireType(ExportQuery);
const taskBody = bodyType<'tasks.create'>(TaskBody);
const importQuery = wireType(ImportQuery);

export const bulk: Handlers<
  Extract<Operation, `imports.${string}` | `tasks.${string}` | 'exports.file' | 'exports.run' | 'tables.drop'>
> = {
  'imports.run': async (request, {imports}) => {
    if (request.key !== null) {
      const message =
        'an import takes no Idempotency-Key: one with an import_id is gone on with, and nothing of it is made twice';
      throw invalid(message);
    }
    return json<'imports.run'>(
      await imports.take(decodeQuery(importQuery, request.query), bodyOf(request), causeOf(request, 'import')),
    );
  },
  'exports.run': ({query}, tenant) => {
    const requested = exportRequest(query);
    let cut = 0;
    const make = () =>
      exportChunks(tenant.path, requested, sequence => {
        cut = sequence;
      });
    return fromSnapshot(tenant, make, () => [
      ['content-type', requested.format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson'],
      ['x-svc-sequence', String(cut)],
    ]);
  },
  'exports.file': (_, tenant) => new Streamed(to => streamFile(tenant, to)),
  'tasks.create': (request, tenant) => begun(request, tenant, tenant.tasks.made(decodeBody(taskBody, request.body))),
  'tables.drop': (request, tenant) => begun(request, tenant, tenant.tasks.madeDrop(request.params.table)),
  'tasks.list': read(({query}, {reader, tasks}) =>
    json<'tasks.list'>(tasks.list(reader.db, parseListParameters(query))),
  ),
  'tasks.get': read(({params}, {reader, tasks}) => json<'tasks.get'>({task: tasks.get(reader.db, params.task_id)})),
  'tasks.cancel': (request, tenant) => {
    const cancel = tenant.tasks.cancelled(request.params.task_id);
    return written(request, tenant, writer => json<'tasks.cancel'>({task: cancel(writer)}));
  },
  'imports.list': read((_, {imports}) => json<'imports.list'>(imports.list())),
  'imports.get': read(({params}, {imports}) => json<'imports.get'>({import: imports.get(params.import_id)})),
};

/** The task starts once it is on disk. */
function begun(request: WriteRequest, tenant: OpenTenant, make: (writer: Writer) => string): Later {
  const answer = written(request, tenant, writer => json<'tasks.create' | 'tables.drop'>({id: make(writer)}));
  return new Later(settle =>
    answer.begin(outcome => {
      settle(outcome);
      tenant.tasks.wake();
    }),
  );
}

/** @throws op.invalid_input 400 */
function exportRequest(query: string): ExportRequest {
  const {table, format = 'jsonl', columns, filters: json, for: purpose} = decodeQuery(exportQuery, query);
  if (json !== undefined && purpose !== undefined) throw invalid('an export for a restore has no filters');
  if (json !== undefined && table === undefined) throw invalid('filters are of one table: name it, like ?table=cities');
  const filters = json === undefined ? [] : filtersIn(table!, json);
  if (format === 'jsonl') {
    if (columns === undefined) return {format, table: table ?? null, filters, isForRestore: purpose === 'restore'};
    throw invalid('the parameter columns is of CSV: format=csv');
  }
  if (purpose !== undefined) throw invalid('for=restore is of JSON lines, not of CSV');
  if (table !== undefined)
    return {format, table, filters, columns: columns === undefined ? null : namedColumns(columns)};
  throw invalid('CSV has the documents of one table: name it, like ?format=csv&table=cities');
}

function bodyOf({contentType, incoming}: Pick<Request, 'contentType' | 'incoming'>): ImportBody {
  const [type = ''] = contentType.split(';');
  return {
    type: type.trim().toLowerCase(),
    chunks: incoming === null ? none() : incoming.chunks(),
    cancel: () => incoming?.cancel(),
  };
}

async function* none(): AsyncGenerator<never, void, void> {}
