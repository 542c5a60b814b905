/** Each journal record names what caused its write. */
import {beforeAll, expect, test} from 'vitest';
import type {JournalPage, JournalRecord} from '../../../shared/protocol/journal.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const FILES = {
  'notes.ts': `
    import {v} from 'svc/values';
    import {action, mutation} from './_generated/server';
    export const add = mutation({args: {text: v.string()}, handler: (ctx, {text}) => ctx.db.insert('notes' as never, {text} as never)});
    export const plan = mutation({args: {}, handler: (ctx): Promise<string> => ctx.scheduler.runAfter(0, 'notes:add' as never, {text: 'later'} as never)});
    export const fail = mutation({args: {}, handler: () => { throw new Error('no'); }});
    export const act = action({args: {}, handler: async ctx => {
      await ctx.runMutation('notes:add' as never, {text: 'nested'} as never);
      await ctx.scheduler.runAfter(3_600_000, 'notes:add' as never, {text: 'much later'} as never);
    }});`,
};

const service = await sharedService();
let app: App;
let key: {id: string; secret: string};
beforeAll(async () => {
  app = await App.deploy(service, FILES);
  const scopes = ['data:read', 'data:write', 'schema', 'schedule', 'functions:run'];
  const made = await service.request('POST', '/api/keys', {name: 'writer', scopes, tenants: [app.tenant]});
  const {key: record, secret} = made.body as {key: {id: string}; secret: string};
  key = {id: record.id, secret};
});

let sent = 0;
/** A request with an id of its own, which is returned once it is answered. */
async function send(method: string, path: string, body?: unknown, headers = {}): Promise<[id: string, reply: never]> {
  const id = `cause-"${++sent}"`;
  const reply = await app.admin(method, path, body, {'x-request-id': id, ...headers});
  expect([reply.status, reply.text]).toEqual([expect.toSatisfy(status => status < 300), reply.text]);
  return [id, reply.body as never];
}

async function records(query: Record<string, string>): Promise<JournalRecord[]> {
  const reply = await app.admin('GET', `/journal?${new URLSearchParams(query).toString()}`);
  expect(reply.status).toBe(200);
  return (reply.body as JournalPage).records;
}

async function causesOf(requestId: string): Promise<unknown[]> {
  return (await records({request_id: requestId})).map(({cause}) => cause);
}

test.each([
  ['POST', '/documents', {table: 'notes', fields: {}}],
  ['PUT', '/documents/notes/n1', {fields: {n: 1}}],
  ['PATCH', '/documents/notes/n1', {patch: {n: 2}}],
  ['POST', '/transactions', {operations: [{type: 'patch', table: 'notes', id: 'n1', patch: {n: 3}}]}],
  ['DELETE', '/documents/notes/n1', undefined],
  ['PUT', '/schema/items', {table: 'items', fields: [], indexes: [{name: 'by_n', fields: ['n'], unique: true}]}],
  ['POST', '/upsert', {table: 'items', by: 'by_n', fields: {n: 1}}],
  ['POST', '/tables/items/rename', {to: 'things'}],
  ['DELETE', '/schema/things', undefined],
  ['PUT', '/env/NAME', {value: '1'}],
  ['DELETE', '/env/NAME', undefined],
  ['PUT', '/settings', {allowed_origins: ['https://app.example']}],
  ['POST', '/schedule', {run_after_ms: 3_600_000, mutation: {type: 'insert', table: 'notes', fields: {}}}],
  ['POST', '/crons', cron('hourly')],
  ['PATCH', '/crons/hourly', {enabled: false}],
  ['DELETE', '/crons/hourly', undefined],
  ['POST', '/deployments/1/activate', undefined],
])('%s %s: the request', async (method, path, body) => {
  const [id] = await send(method, path, body);
  expect(await causesOf(id)).toEqual([{kind: 'api', request_id: id}]);
});

test('a key is named, also of a function that it runs', async () => {
  const headers = {authorization: `Bearer ${key.secret}`};
  const by = {key_id: key.id};
  const [write] = await send('POST', '/documents', {table: 'notes', fields: {}}, headers);
  expect(await causesOf(write)).toEqual([{kind: 'api', request_id: write, ...by}]);
  const [run] = await send('POST', '/functions/run', {path: 'notes:act', args: {}}, headers);
  expect(await causesOf(run)).toEqual([
    {kind: 'function', request_id: run, ...by, function: 'notes:add'},
    {kind: 'function', request_id: run, ...by, function: 'notes:act'},
  ]);
});

test('a mutation of a client', async () => {
  await app.svc('POST', '/mutation', {path: 'notes:add', args: {text: 'hi'}}, {'x-request-id': 'from-client'});
  expect(await causesOf('from-client')).toEqual([{kind: 'function', request_id: 'from-client', function: 'notes:add'}]);
});

test('a job with its function, also one that fails, and a cron that is run by a request', async () => {
  const job = (await app.mutation('notes:plan', {})) as string;
  const [ran] = await until('the run of the job', async () => {
    const found = (await records({request_id: job})).map(({cause}) => cause);
    return found.length > 0 ? found : null;
  });
  expect(ran).toEqual({kind: 'job', job_id: job, function: 'notes:add'});
  const failing = await app.svc('POST', '/schedule/run_after', {path: 'notes:fail', args: {}, delayMs: 0});
  const {jobId} = failing.body as {jobId: string};
  await until('its end', async () => ((await causesOf(jobId)).length > 0 ? true : null));
  expect(await causesOf(jobId)).toEqual([{kind: 'job', job_id: jobId, function: 'notes:fail'}]);

  await send('POST', '/crons', cron('now'));
  const [run] = await send('POST', '/crons/now/run');
  expect(await causesOf(run)).toEqual([{kind: 'cron', request_id: run, cron: 'now'}]);
  expect(await causesOf('now')).toEqual(await causesOf(run));
});

test('a task and an import with the request that made them', async () => {
  const [load] = await send('POST', '/import?table=bulk&import_id=first', '{"n":1}\n{"n":2}\n', {
    'content-type': 'application/x-ndjson',
  });
  expect(await causesOf(load)).toEqual([{kind: 'import', request_id: load, import_id: 'first'}]);
  const [made, {id: task}] = (await send('POST', '/tasks', {
    type: 'patch',
    query: {table: 'bulk', filters: []},
    patch: {n: 3},
  })) as [string, {id: string}];
  const causes = await until('the writes of the task', async () => {
    const found = await causesOf(made);
    return found.length > 0 ? found : null;
  });
  expect(causes).toEqual([{kind: 'task', request_id: made, task_id: task}]);
});

test('a request id in a document is no cause, and other filters hold too', async () => {
  const [id] = await send('POST', '/documents', {table: 'decoys', fields: {request_id: 'decoy', cron: 'decoy'}});
  expect(await causesOf('decoy')).toEqual([]);
  expect(await records({request_id: id, table: 'notes'})).toEqual([]);
  expect(await records({request_id: id, kind: 'insert', table: 'decoys'})).toHaveLength(1);
});

function cron(name: string): object {
  return {
    name,
    schedule: {type: 'interval', seconds: 3_600},
    mutation: {type: 'insert', table: 'notes', fields: {by: name}},
  };
}
