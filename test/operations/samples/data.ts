/** Documents, queries, the journal, schemas, imports, exports and bulk tasks. */
import type {LiveQueryPage} from '../../../shared/protocol/live-list.ts';
import type {App} from '../../functions/app.ts';
import {EventReader} from '../../harness/event-reader.ts';
import {until} from '../../harness/until.ts';
import {expectStatus, INSERT, insertCity, MINUTES} from './filled.ts';
import {ANONYMOUS, samples} from './sample.ts';

/** One that stays open. */
async function liveQuery(app: App): Promise<string> {
  await EventReader.open(app.service, `/api/tenants/${app.tenant}/query/stream?query={"table":"cities","filters":[]}`);
  const {body} = await app.admin('GET', '/live-queries');
  return (body as LiveQueryPage).queries[0]!.id;
}

/** @param app one that is `filled` */
export function dataSamples(app: App) {
  const gone = {table: 'cities', document_id: 'none'};
  const query = {table: 'cities', filters: [{field: 'name', op: 'eq', value: 'Oslo'}]};
  const newTask = async (table = 'never') => {
    const made = {type: 'patch', query: {table, filters: []}, patch: {n: 1}};
    return {params: {task_id: ((await app.admin('POST', '/tasks', made)).body as {id: string}).id}};
  };
  const runningTask = async () => {
    const sent = {'content-type': 'application/x-ndjson'};
    await expectStatus(app.admin('POST', '/import?table=many', '{}\n'.repeat(20_000), sent), 200);
    return newTask('many');
  };
  const endedTask = async () => {
    const task = await newTask();
    await until('the task to have ended', async () => {
      const {body} = await app.admin('GET', `/tasks/${task.params.task_id}`);
      return (body as {task: {state: string}}).task.state !== 'running';
    });
    return task;
  };
  return samples({
    'documents.insert': {
      succeeds: [{body: {table: 'cities', fields: {name: 'Bergen', more: [1, {a: null}]}}}],
      refused: {body: {table: 'cities', fields: {}}, code: 'op.schema_violation'},
    },
    'documents.list': {
      succeeds: [{params: {table: 'cities'}}, {params: {table: 'never'}}],
      refused: {params: {table: '1'}, code: 'op.invalid_input'},
    },
    'documents.get': {
      succeeds: [
        async () => ({params: {table: 'cities', document_id: await insertCity(app)}}),
        async () => ({
          params: {table: 'cities', document_id: await insertCity(app)},
          headers: {'if-none-match': '*'},
          variant: 'not_modified',
        }),
      ],
      refused: {params: gone, code: 'op.not_found'},
    },
    'documents.put': {
      succeeds: [
        async () => ({
          params: {table: 'cities', document_id: await insertCity(app)},
          headers: {'if-match': '*'},
          body: {fields: {name: 'Kiruna'}},
        }),
        {params: {table: 'cities', document_id: 'mine'}, body: {fields: {name: 'Bodø'}}, variant: 'created'},
      ],
      refused: {
        params: {table: 'cities', document_id: 'other'},
        headers: {'if-match': '*'},
        body: {fields: {name: 'Luleå'}},
        code: 'op.precondition_failed',
      },
    },
    'documents.patch': {
      succeeds: [
        async () => ({params: {table: 'cities', document_id: await insertCity(app)}, body: {patch: {n: 5}}}),
        async () => ({
          params: {table: 'cities', document_id: await insertCity(app)},
          body: {patch: {n: 5}, unset: ['o'], increment: {m: 1}, append: {tags: ['a']}, remove: {marks: [null]}},
        }),
      ],
      refused: {params: gone, body: {patch: {}}, code: 'op.not_found'},
    },
    'documents.delete': {
      succeeds: [async () => ({params: {table: 'cities', document_id: await insertCity(app)}})],
      refused: {params: gone, code: 'op.not_found'},
    },
    'documents.upsert': {
      succeeds: [
        async () => {
          const indexes = [{name: 'by_email', fields: ['email'], unique: true}];
          await expectStatus(app.admin('PUT', '/schema/people', {table: 'people', fields: [], indexes}), 204);
          return {body: {table: 'people', by: 'by_email', fields: {email: 'a'}}, variant: 'created'};
        },
        {body: {table: 'people', by: 'by_email', fields: {email: 'a'}, increment: {n: 1}}},
      ],
      refused: {body: {table: 'people', by: 'none', fields: {email: 'a'}}, code: 'op.invalid_input'},
    },
    'transactions.run': {
      succeeds: [
        {
          body: {
            operations: [
              {type: 'insert', table: 'cities', fields: {name: 'Oslo'}},
              {type: 'patch', table: 'cities', id: {$ref: 0}, increment: {n: 1}},
              {type: 'upsert', table: 'cities', id: 'own', fields: {name: 'Bergen'}},
              {type: 'schedule', run_after_ms: MINUTES, mutation: INSERT},
              {type: 'delete', table: 'cities', id: {$ref: 0}},
            ],
          },
        },
        {body: {operations: [{type: 'insert', table: 'cities', fields: {name: 'Tromsø'}}], dry_run: true}},
      ],
      refused: {body: {operations: [{type: 'delete', table: 'cities', id: 'none'}]}, code: 'op.not_found'},
    },
    'imports.run': {
      succeeds: [
        {query: 'table=cities&mode=upsert&on_error=skip', headers: {'content-type': 'application/x-ndjson'}},
        {query: 'import_id=nightly', headers: {'content-type': 'application/x-ndjson; charset=utf-8'}},
      ],
      refused: {query: 'table=cities', headers: {'content-type': 'text/plain'}, code: 'op.unsupported_media_type'},
    },
    'exports.run': {
      succeeds: [
        {query: 'table=cities'},
        {},
        {query: 'for=restore'},
        {query: 'table=cities&format=csv&columns=_id,name'},
      ],
      refused: {query: 'table=1', code: 'op.invalid_input'},
    },
    'exports.file': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'tasks.create': {
      succeeds: [
        {body: {type: 'delete', query: {table: 'never', filters: []}}},
        {body: {type: 'patch', query, patch: {n: 1}, increment: {m: 1}, on_error: 'skip'}},
      ],
      refused: {body: {type: 'patch', query}, code: 'op.invalid_input'},
    },
    'tables.drop': {
      succeeds: [
        async () => {
          await expectStatus(app.admin('PUT', '/schema/dropped', {table: 'dropped', fields: []}), 204);
          return {params: {table: 'dropped'}};
        },
      ],
      refused: {params: {table: 'notes'}, code: 'op.conflict'},
    },
    'tables.rename': {
      succeeds: [
        async () => {
          await expectStatus(app.admin('PUT', '/schema/old_name', {table: 'old_name', fields: []}), 204);
          return {params: {table: 'old_name'}, body: {to: 'new_name'}};
        },
      ],
      refused: {params: {table: 'notes'}, body: {to: 'other'}, code: 'op.conflict'},
    },
    'tasks.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'tasks.get': {succeeds: [() => newTask()], refused: {params: {task_id: 'none'}, code: 'op.not_found'}},
    'tasks.cancel': {
      succeeds: [runningTask],
      refused: async () => ({...(await endedTask()), code: 'op.conflict'}),
    },
    'imports.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'imports.get': {
      succeeds: [
        async () => {
          const sent = {'content-type': 'application/x-ndjson'};
          await expectStatus(app.admin('POST', '/import?import_id=weekly&on_error=skip', '{}', sent), 200);
          return {params: {import_id: 'weekly'}};
        },
      ],
      refused: {params: {import_id: 'none'}, code: 'op.not_found'},
    },
    'query.run': {
      succeeds: [
        {body: query},
        {body: {table: 'cities', filters: [], order: {field: 'name', direction: 'desc'}, limit: 1}},
        {body: {...query, select: ['name'], explain: true}},
      ],
      refused: {body: {...query, table: '1'}, code: 'op.invalid_input'},
    },
    'query.count': {
      succeeds: [{body: query}, {body: {table: 'never', filters: []}}, {body: {...query, explain: true}}],
      refused: {body: {...query, offset: 1}, code: 'op.invalid_input'},
    },
    'query.batch': {
      succeeds: [{body: {queries: [query, {...query, count: true}, {...query, select: ['name'], explain: true}]}}],
      refused: {body: {queries: []}, code: 'op.invalid_input'},
    },
    'query.paginated': {
      succeeds: [{body: {query: {...query, explain: true}, page_size: 1}}, {body: {query, page_size: 1_000}}],
      refused: {body: {query, page_size: 1, after: 'none'}, code: 'op.invalid_input'},
    },
    'query.stream': {
      succeeds: [{body: query, query: 'limit=1'}],
      refused: {body: query, query: 'limits=1', code: 'op.invalid_input'},
    },
    'query.follow': {
      succeeds: [{query: `query=${encodeURIComponent(JSON.stringify(query))}&limit=1`}],
      refused: {query: 'query=none', code: 'op.invalid_input'},
    },
    'journal.stream': {
      succeeds: [{query: 'after=3&limit=2'}, {query: 'table=cities&limit=1'}],
      refused: {query: 'after=1000000', code: 'journal.cursor_expired'},
    },
    'journal.page': {
      // Without a limit it has imports of thousands of lines, and checking them blocks the test's connections for too long.
      succeeds: [{query: 'limit=20'}, {query: 'after=3&limit=2'}],
      refused: {query: 'after=1000000', code: 'journal.cursor_expired'},
    },
    'journal.counts': {succeeds: [{}, {query: 'buckets=3'}], refused: {query: 'buckets=0', code: 'op.invalid_input'}},
    'journal.bootstrap': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'schema.all': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'schema.indexes': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
    'schema.get': {
      succeeds: [{params: {table: 'cities'}}, {params: {table: 'notes'}}],
      refused: {params: {table: 'never'}, code: 'op.not_found'},
    },
    'live_queries.list': {succeeds: [{}, {query: 'limit=1'}], refused: {query: 'after=!', code: 'op.invalid_input'}},
    'live_queries.get': {
      succeeds: [async () => ({params: {live_query_id: await liveQuery(app)}})],
      refused: {params: {live_query_id: 'q0'}, code: 'op.not_found'},
    },
    'schema.put': {
      succeeds: [{params: {table: 'empty'}, body: {table: 'empty', fields: []}}],
      refused: {params: {table: 'empty'}, body: {table: 'other', fields: []}, code: 'op.invalid_input'},
    },
    'schema.delete': {
      succeeds: [
        async () => {
          await expectStatus(app.admin('PUT', '/schema/short', {table: 'short', fields: []}), 204);
          return {params: {table: 'short'}};
        },
      ],
      refused: {params: {table: 'never'}, code: 'op.not_found'},
    },
    'tables.list': {succeeds: [{}], refused: {headers: ANONYMOUS, code: 'auth.unauthorized'}},
  });
}
