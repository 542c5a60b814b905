/** For every operation requests that succeed and one that is refused, made against a tenant that has something of everything. */
import {createHash} from 'node:crypto';
import type {ErrorCode} from '../../shared/errors.ts';
import type {Operation, RouterOperation} from '../../shared/operations.ts';
import type {LiveQueryPage} from '../../shared/protocol/live-list.ts';
import {NODE_VERSION} from '../control/service-client.ts';
import {type App, uploadOf} from '../functions/app.ts';
import {Dashboard} from '../harness/dashboard.ts';
import {EventReader} from '../harness/event-reader.ts';
import {until} from '../harness/until.ts';

/** One request of an operation. What is not said is what its row says, and the tenant. */
export type Ask = {
  method?: string;
  /** Of the path, by name. */
  params?: Readonly<Record<string, string>>;
  /** The literal that stands for the operation's parameter, of several routes. */
  parameter?: string;
  query?: string;
  body?: unknown;
  headers?: Readonly<Record<string, string | undefined>>;
  /** Which kind of success is expected; absent: the usual one. */
  variant?: string;
  /** Of an app's own response. */
  status?: number;
};
export type Refused = Ask & {code: ErrorCode};
/** Thunks, where something has to be made first. */
type Made<T> = T | (() => T | Promise<T>);
export type Sample = {succeeds: Made<Ask>[]; refused: Made<Refused>};
export type Samples = Readonly<Record<Operation | RouterOperation, Sample>>;

const FUNCTIONS = {
  'm.ts': `
    import {v} from 'svc/values';
    import {action, internalMutation, mutation, paginatedQuery, query} from './_generated/server';
    export const all = query({args: {table: v.optional(v.string())}, returns: v.array(v.any()),
      handler: ctx => ctx.db.query('notes').collect()});
    export const page = paginatedQuery((ctx, args) => ctx.db.query('notes').paginate(args.paginationOpts));
    export const add = mutation({
      args: {text: v.union(v.string(), v.literal(7)), by: v.optional(v.id('notes')), tags: v.optional(v.array(v.boolean()))},
      handler: async (ctx, {text}) => { console.log('adding'); return await ctx.db.insert('notes', {text: String(text)}); },
    });
    export const boom = query({args: {}, handler: () => { throw new Error('boom'); }});
    export const shout = action({args: {}, handler: async () => 'HEY'});
    export const note = internalMutation({args: {}, handler: async ctx => { await ctx.db.insert('notes', {text: 'later'}); }});`,
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({notes: defineTable({text: v.string()}).index('by_text', ['text'])});`,
  'http.ts': `
    import {httpRouter} from 'svc/server';
    import {httpAction} from './_generated/server';
    const http = httpRouter();
    http.route({path: '/tea', method: 'POST', handler: httpAction(async (_, request) =>
      new Response(await request.text(), {status: 418, headers: {'content-type': 'text/tea'}}))});
    http.route({path: '/', method: 'GET', handler: httpAction(async () => new Response('root'))});
    export default http;`,
};

const SETTINGS = {egress: {allow: ['a.example'], deny: []}, allowed_origins: ['https://app.example']};
const INSERT = {type: 'insert', table: 'cities', fields: {name: 'job'}};
const FAILS = {type: 'delete', table: 'cities', id: 'none'};
const MINUTES = 600_000;
const NOTHING = {files: [], modules: [], schema: null, authConfig: null, modifiedMs: 0, message: null, dryRun: true};

async function expectStatus(reply: Promise<{status: number; text: string}>, status: number): Promise<void> {
  const {status: got, text} = await reply;
  if (got !== status) throw new Error(`expected ${status}: ${got} ${text}`);
}

/** Makes something of everything: the journal has every event, and lists have entries with and without what may be null. */
export async function filled(app: App): Promise<void> {
  await expectStatus(app.admin('PUT', '/env/KEY', {value: 'secret'}), 204);
  await expectStatus(app.admin('PUT', '/env/GONE', {value: ''}), 204);
  await expectStatus(app.admin('DELETE', '/env/GONE'), 204);
  await expectStatus(app.admin('PUT', '/settings', SETTINGS), 204);
  await app.deploy(FUNCTIONS);
  await app.deploy({
    ...FUNCTIONS,
    'more.ts': `import {query} from './_generated/server'; export default query(() => 1);`,
  });
  const city = await insertCity(app);
  await expectStatus(app.admin('PATCH', `/documents/cities/${city}`, {patch: {n: 2}}), 200);
  await expectStatus(app.admin('DELETE', `/documents/cities/${await insertCity(app)}`), 204);
  const fields = [{name: 'name', field_type: 'string', required: true}];
  const indexes = [{name: 'by_name', fields: ['name']}];
  await expectStatus(app.admin('PUT', '/schema/cities', {table: 'cities', fields, indexes}), 204);
  await expectStatus(app.admin('PUT', '/schema/gone', {table: 'gone', fields}), 204);
  await expectStatus(app.admin('DELETE', '/schema/gone'), 204);
  await expectStatus(app.admin('DELETE', `/schedule/${await schedule(app, MINUTES)}`), 204);
  await schedule(app, MINUTES);
  await finished(app, await schedule(app, 0));
  await finished(app, await schedule(app, 0, FAILS));
  await expectStatus(app.admin('POST', '/functions/run', {path: 'm:add', args: {text: 'a'}}), 200);
  await expectStatus(app.svc('POST', '/schedule/run_after', {path: 'm:add', args: {text: 'b'}, delayMs: MINUTES}), 200);
  for (const [name, mutation] of [
    ['gone', INSERT],
    ['good', INSERT],
    ['bad', FAILS],
  ] as const) {
    await expectStatus(app.admin('POST', '/crons', {name, schedule: {type: 'interval', seconds: 1}, mutation}), 201);
  }
  await expectStatus(app.admin('DELETE', '/crons/gone'), 204);
  await until('the crons to have run', async () => {
    const {crons} = (await app.admin('GET', '/crons')).body as {crons: {last_run: number | null}[]};
    return crons.every(cron => cron.last_run !== null);
  });
  await expectStatus(app.admin('POST', '/crons', cron('later')), 201);
}

export async function insertCity(app: App): Promise<string> {
  return ((await app.admin('POST', '/documents', {table: 'cities', fields: {name: 'Oslo'}})).body as {id: string}).id;
}

async function schedule(app: App, runAfterMs: number, mutation: object = INSERT): Promise<string> {
  const {body} = await app.admin('POST', '/schedule', {run_after_ms: runAfterMs, mutation});
  return (body as {job_id: string}).job_id;
}

async function finished(app: App, job: string): Promise<string> {
  await until('the job to have run', async () => (await app.admin('GET', `/schedule/history/${job}`)).status === 200);
  return job;
}

function cron(name: string) {
  return {name, schedule: {type: 'interval', seconds: MINUTES}, mutation: INSERT};
}

/** One that stays open. */
async function liveQuery(app: App): Promise<string> {
  await EventReader.open(app.service, `/api/tenants/${app.tenant}/query/stream?query={"table":"cities","filters":[]}`);
  const {body} = await app.admin('GET', '/live-queries');
  return (body as LiveQueryPage).queries[0]!.id;
}

/** @param app one that is `filled` */
export async function samplesOf(app: App): Promise<Samples> {
  const {service} = app;
  const upload = await uploadOf(FUNCTIONS);
  const gone = {table: 'cities', document_id: 'none'};
  const call = (path: string, args: object) => ({body: {path, args}});
  const anonymous: Ask['headers'] = {authorization: undefined};
  const badToken = {headers: {authorization: 'Bearer none'}, code: 'auth.unauthorized'} as const;
  const query = {table: 'cities', filters: [{field: 'name', op: 'eq', value: 'Oslo'}]};
  const unknownJob = {params: {job_id: 'none'}, code: 'op.not_found'} as const;
  const unknownCron = {params: {name: 'none'}, code: 'op.not_found'} as const;
  const newSandbox = async () => {
    const {sandbox} = (await app.admin('POST', '/sandboxes', {})).body as {sandbox: {id: string}};
    return {params: {sandbox_id: sandbox.id}};
  };
  const noSandbox = {params: {sandbox_id: 'none'}, code: 'op.not_found'} as const;
  const inline = {type: 'inline', code: 'export default async () => {};'};
  const atRest = {source: inline, node_version: '22', autostart: false};
  let services = 0;
  const newService = async () => {
    const {service: made}: {service: {name: string}} = (
      await app.admin('POST', '/services', {name: `s${++services}`, ...atRest})
    ).body;
    return {params: {service_name: made.name}};
  };
  const noService = {params: {service_name: 'none'}, code: 'op.not_found'} as const;
  const newSession = async () => {
    const {session}: {session: {id: string}} = (await service.post('/api/sessions', {tenant: app.tenant})).body;
    return {params: {session_id: session.id}};
  };
  const noSession = {params: {session_id: 'none'}, code: 'op.not_found'} as const;
  const noKey = {params: {key_id: 'none'}, code: 'op.not_found'} as const;
  const newKey = async () => {
    const body = {name: `k${++services}`, scopes: ['logs']};
    const {key}: {key: {id: string}} = (await service.post('/api/keys', body)).body;
    return {params: {key_id: key.id}};
  };
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
  return {
    health: {succeeds: [{headers: anonymous}], refused: {method: 'POST', code: 'op.method_not_allowed'}},
    metrics: {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    openapi: {
      succeeds: [{headers: anonymous}, {headers: {...anonymous, 'if-none-match': '*'}, variant: 'not_modified'}],
      refused: {method: 'POST', code: 'op.method_not_allowed'},
    },
    'docs.page': {
      succeeds: [{headers: anonymous}, {headers: {...anonymous, 'if-none-match': '*'}, variant: 'not_modified'}],
      refused: {headers: {origin: 'https://elsewhere.example'}, code: 'auth.origin_forbidden'},
    },
    'docs.file': {
      succeeds: [
        {params: {file: 'page.js'}, headers: anonymous},
        {params: {file: 'swagger-ui.css'}, headers: {...anonymous, 'if-none-match': '*'}, variant: 'not_modified'},
      ],
      refused: {params: {file: 'none.js'}, code: 'op.not_found'},
    },
    socket: {
      succeeds: [
        {query: `tenant_id=${app.tenant}`, headers: {upgrade: 'websocket', 'sec-websocket-protocol': 'svc.v2'}},
      ],
      refused: {code: 'op.invalid_input'},
    },
    'functions.socket': {
      succeeds: [
        {
          params: {tenant_id: app.tenant},
          headers: {upgrade: 'websocket', 'sec-websocket-protocol': 'svc.functions.v1'},
        },
      ],
      refused: {params: {tenant_id: app.tenant}, code: 'op.invalid_input'},
    },
    'tenants.create': {
      succeeds: [{body: {id: 'made'}}],
      refused: {body: {id: app.tenant}, code: 'session.tenant_exists'},
    },
    'tenants.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'tenants.delete': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.overview': {
      succeeds: [{}, {query: `search=${app.tenant.toUpperCase()}&state=awake&order=requests&limit=1`}],
      refused: {query: 'order=size', code: 'op.invalid_input'},
    },
    'tenants.status': {
      succeeds: [{params: {tenant_id: app.tenant}}],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'server.status': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'figures.server': {
      succeeds: [{}, {query: 'from=0&to=60000'}],
      refused: {query: 'step=7', code: 'op.invalid_input'},
    },
    'figures.tenant': {
      succeeds: [{params: {tenant_id: app.tenant}, query: 'step=300'}],
      refused: {params: {tenant_id: app.tenant}, query: 'from=2&to=1', code: 'op.invalid_input'},
    },
    'figures.functions': {
      succeeds: [{params: {tenant_id: app.tenant}}, {params: {tenant_id: app.tenant}, query: 'function=m:all'}],
      refused: {params: {tenant_id: app.tenant}, query: 'from=0', code: 'op.invalid_input'},
    },
    'tenants.wake': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.sleep': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.pause': {
      succeeds: [async () => ({params: {tenant_id: await service.tenant()}})],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'tenants.resume': {
      succeeds: [{params: {tenant_id: app.tenant}}],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
    'audit.page': {
      succeeds: [{}, {query: 'after=1&limit=2'}],
      refused: {query: 'after=none', code: 'op.invalid_input'},
    },
    'audit.refusals': {
      succeeds: [{query: 'limit=2'}],
      refused: {query: 'limit=0', code: 'op.invalid_input'},
    },
    whoami: {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'keys.create': {
      succeeds: [
        {
          body: {
            ...{name: 'app', scopes: ['data:read'], tenants: ['acme'], tables: ['cities'], expires_in_seconds: 60},
            rate_limit: {requests_per_second: 10, burst: 20},
          },
        },
        {body: {name: 'taken', scopes: ['data:read', 'metrics'], tenants: null, tables: null}},
      ],
      refused: {body: {name: 'taken', scopes: ['logs']}, code: 'op.conflict'},
    },
    'keys.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'keys.get': {succeeds: [newKey], refused: noKey},
    'keys.rotate': {
      succeeds: [async () => ({...(await newKey()), body: {overlap_seconds: 60}})],
      refused: {...noKey, body: {overlap_seconds: 0}},
    },
    'keys.revoke': {succeeds: [newKey], refused: noKey},
    'dashboard.code': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'dashboard.sessions': {
      succeeds: [
        async () => {
          await Dashboard.signedIn(service);
          return {};
        },
      ],
      refused: {headers: anonymous, code: 'auth.unauthorized'},
    },
    'dashboard.end': {
      succeeds: [
        async () => {
          const {body} = await (await Dashboard.signedIn(service)).get('/_dashboard/session');
          return {params: {session_id: (body as {id: string}).id}};
        },
      ],
      refused: {params: {session_id: 'none'}, code: 'op.not_found'},
    },
    'dashboard.end_all': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},

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
    'tasks.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'tasks.get': {succeeds: [() => newTask()], refused: {params: {task_id: 'none'}, code: 'op.not_found'}},
    'tasks.cancel': {
      succeeds: [runningTask],
      refused: async () => ({...(await endedTask()), code: 'op.conflict'}),
    },
    'imports.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
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
      // Without a limit it has imports of thousands of lines: whoever checks all that leaves its connections alone for too long.
      succeeds: [{query: 'limit=20'}, {query: 'after=3&limit=2'}],
      refused: {query: 'after=1000000', code: 'journal.cursor_expired'},
    },
    'journal.bootstrap': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'schema.all': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
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
    'schedule.create': {
      succeeds: [{body: {run_after_ms: MINUTES, mutation: INSERT}}],
      refused: {body: {run_after_ms: 0, mutation: {type: 'delete', table: '1', id: 'x'}}, code: 'op.invalid_input'},
    },
    'schedule.list': {
      succeeds: [{}, {query: 'limit=1'}, {query: 'limit=1000'}],
      refused: {query: 'limit=0', code: 'op.invalid_input'},
    },
    'schedule.get': {
      succeeds: [async () => ({params: {job_id: await schedule(app, MINUTES)}})],
      refused: unknownJob,
    },
    'schedule.cancel': {
      succeeds: [async () => ({params: {job_id: await schedule(app, MINUTES)}})],
      refused: unknownJob,
    },
    'schedule.result': {
      succeeds: [
        async () => ({params: {job_id: await finished(app, await schedule(app, 0))}}),
        async () => ({
          params: {job_id: await finished(app, await schedule(app, 0, FAILS))},
        }),
      ],
      refused: unknownJob,
    },
    'schedule.all': {succeeds: [{}, {query: 'limit=1'}], refused: {query: 'after=!', code: 'op.invalid_input'}},
    'schedule.history': {succeeds: [{}, {query: 'limit=1'}], refused: {query: 'after=!', code: 'op.invalid_input'}},
    'crons.create': {succeeds: [{body: cron('new')}], refused: {body: cron('good'), code: 'op.conflict'}},
    'crons.list': {succeeds: [{}, {query: 'limit=1'}], refused: {query: 'after=!', code: 'op.invalid_input'}},
    'crons.get': {succeeds: [{params: {name: 'good'}}], refused: unknownCron},
    'crons.patch': {
      succeeds: [
        {params: {name: 'good'}, body: {enabled: false}},
        {
          params: {name: 'good'},
          body: {
            schedule: {type: 'cron', expression: '0 4 * * 1', time_zone: 'Europe/Oslo'},
            mutation: INSERT,
            enabled: true,
          },
        },
      ],
      refused: {...unknownCron, body: {enabled: true}},
    },
    'crons.run': {succeeds: [{params: {name: 'good'}}], refused: unknownCron},
    'crons.history': {
      succeeds: [{params: {name: 'good'}}, {params: {name: 'good'}, query: 'limit=1'}],
      refused: unknownCron,
    },
    'crons.delete': {
      succeeds: [{params: {name: 'later'}}],
      refused: {params: {name: 'none'}, code: 'op.not_found'},
    },

    'deployments.create': {
      succeeds: [{body: upload}, {body: {...upload, dryRun: true}, variant: 'dry_run'}],
      refused: {body: {...NOTHING, modules: ['none']}, code: 'op.invalid_input'},
    },
    'packages.missing': {
      succeeds: [{body: {packages: []}}, {body: {packages: ['0'.repeat(128)]}}],
      refused: {body: {packages: ['0']}, code: 'op.invalid_input'},
    },
    'packages.put': {
      // Of nothing.
      succeeds: [{params: {sha512: createHash('sha512').digest('hex')}}],
      refused: {params: {sha512: '0'.repeat(128)}, code: 'op.invalid_input'},
    },
    'deployments.progress': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'deployments.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'deployments.files': {
      succeeds: [{params: {deployment_id: '2'}}],
      refused: {params: {deployment_id: '999'}, code: 'op.not_found'},
    },
    'deployments.file': {
      succeeds: [{params: {deployment_id: '2', file_path: 'm.js'}}],
      refused: {params: {deployment_id: '2', file_path: '.svc/sources/m.ts'}, code: 'op.not_found'},
    },
    'deployments.diff': {
      succeeds: [{params: {deployment_id: '1', other_id: '2'}}],
      refused: {params: {deployment_id: '2', other_id: 'x'}, code: 'op.not_found'},
    },
    'deployments.activate': {
      succeeds: [{params: {deployment_id: '2'}}],
      refused: {params: {deployment_id: '999'}, code: 'op.not_found'},
    },
    'functions.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'functions.run': {
      succeeds: [call('m:note', {}), call('m:boom', {}), {body: {path: 'm:all', identity: {subject: 'ada'}}}],
      refused: {body: {path: 'm:all', identity: 7}, code: 'op.invalid_input'},
    },
    'env.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'env.get': {succeeds: [{params: {name: 'KEY'}}], refused: {params: {name: 'NONE'}, code: 'op.not_found'}},
    'env.set': {
      succeeds: [{params: {name: 'NEW'}, body: {value: 'x'}}],
      refused: {params: {name: '1'}, body: {value: 'x'}, code: 'op.invalid_input'},
    },
    'env.delete': {
      succeeds: [
        async () => {
          await expectStatus(app.admin('PUT', '/env/SHORT', {value: 'x'}), 204);
          return {params: {name: 'SHORT'}};
        },
      ],
      refused: {params: {name: 'NONE'}, code: 'op.not_found'},
    },
    'logs.read': {
      succeeds: [{}, {query: 'history=2'}, {query: 'history=2&outcome=error&path=m:boom'}],
      refused: {query: 'history=-1', code: 'op.invalid_input'},
    },
    'settings.get': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'settings.put': {
      succeeds: [{body: SETTINGS}],
      refused: {body: {...SETTINGS, allowed_origins: ['*']}, code: 'op.invalid_input'},
    },
    'tables.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},

    'services.create': {
      succeeds: [
        {body: {name: 'made', ...atRest}},
        {body: {name: 'full', ...atRest, env: {A: 'b'}, memory_mb: 32, restart: 'on_failure'}},
      ],
      refused: {body: {name: 'no module', source: inline}, code: 'op.invalid_input'},
    },
    'services.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'services.get': {succeeds: [newService], refused: noService},
    'services.update': {
      succeeds: [async () => ({...(await newService()), body: {...atRest, restart: 'never'}})],
      refused: {...noService, body: atRest},
    },
    'services.delete': {succeeds: [newService], refused: noService},
    'services.start': {succeeds: [newService], refused: noService},
    'services.stop': {succeeds: [newService], refused: noService},
    'services.restart': {succeeds: [newService], refused: noService},
    'services.logs': {
      succeeds: [
        async () => {
          const made = await newService();
          await app.admin('POST', `/services/${made.params.service_name}/start`);
          await app.admin('POST', `/services/${made.params.service_name}/stop`);
          return {...made, query: 'history=10&follow=false'};
        },
      ],
      refused: async () => ({...(await newService()), query: 'history=-1', code: 'op.invalid_input'}),
    },

    'sandboxes.create': {
      succeeds: [
        {body: {}},
        {body: {memory_mb: 8, env: {A: 'b'}, network: true}},
        {body: {runtime: 'node', node_version: NODE_VERSION}},
      ],
      refused: {body: {runtime: 'bun'}, code: 'op.invalid_input'},
    },
    'sandboxes.list': {succeeds: [{}], refused: {headers: anonymous, code: 'auth.unauthorized'}},
    'sandboxes.get': {succeeds: [newSandbox], refused: noSandbox},
    'sandboxes.stop': {succeeds: [newSandbox], refused: noSandbox},
    'sandboxes.execute': {
      succeeds: [
        async () => ({...(await newSandbox()), body: {code: 'console.log(1); return args', args: {a: 1}}}),
        async () => ({...(await newSandbox()), body: {code: 'return null', timeout_ms: 1_000}}),
      ],
      refused: async () => ({
        ...(await newSandbox()),
        body: {code: 'throw new Error("no")'},
        code: 'sandbox.execution_failed',
      }),
    },
    'sessions.create': {
      succeeds: [{body: {tenant: app.tenant}}, {body: {tenant: app.tenant, ttl_ms: 5_000, metadata: {a: [1]}}}],
      refused: {body: {tenant: 'none'}, code: 'session.tenant_not_found'},
    },
    'sessions.list': {
      succeeds: [{query: `tenant=${app.tenant}`}],
      refused: {query: 'tenant=none', code: 'session.tenant_not_found'},
    },
    'sessions.get': {succeeds: [newSession], refused: noSession},
    'sessions.close': {succeeds: [newSession], refused: noSession},
    'sessions.execute': {
      succeeds: [async () => ({...(await newSession()), body: {code: 'return 1'}})],
      refused: {...noSession, body: {code: '1'}},
    },

    'functions.query': {
      succeeds: [call('m:all', {}), call('m:boom', {}), call('m:none', {})],
      refused: {...call('m:all', {}), ...badToken},
    },
    'functions.paginated': {
      succeeds: [call('m:page', {paginationOpts: {numItems: 1, cursor: null}})],
      refused: {...call('m:page', {}), ...badToken},
    },
    'functions.mutation': {succeeds: [call('m:add', {text: 'c'})], refused: {...call('m:add', {}), ...badToken}},
    'functions.action': {succeeds: [call('m:shout', {})], refused: {...call('m:shout', {}), ...badToken}},
    'functions.schedule': {
      succeeds: [
        {parameter: 'run_after', body: {path: 'm:add', args: {text: 'd'}, delayMs: MINUTES}},
        {parameter: 'run_at', body: {path: 'm:add', args: {text: 'd'}, timestampMs: Date.now() + MINUTES}},
      ],
      refused: {parameter: 'run_after', body: {path: 'm:none', delayMs: 0}, code: 'op.invalid_input'},
    },
    'functions.unschedule': {
      succeeds: [
        async () => {
          const body = {path: 'm:add', args: {text: 'e'}, delayMs: MINUTES};
          return {
            params: {job_id: ((await app.svc('POST', '/schedule/run_after', body)).body as {jobId: string}).jobId},
          };
        },
      ],
      refused: unknownJob,
    },
    'functions.http': {
      succeeds: [
        {parameter: '/', method: 'GET'},
        {params: {path: '/tea'}, method: 'POST', body: 'leaves', status: 418},
      ],
      refused: {params: {path: '/none'}, method: 'POST', code: 'op.not_found'},
    },
    'functions.preflight': {
      succeeds: [{headers: {...anonymous, origin: 'https://app.example', 'access-control-request-method': 'POST'}}],
      refused: {params: {tenant_id: 'none'}, code: 'session.tenant_not_found'},
    },
  };
}
