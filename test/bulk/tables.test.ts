/** DELETE …/tables/{table}: documents, schema and indexes go, in slices, whatever happens to the process; nothing goes that was made later. */
import {cpSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, onTestFinished, test} from 'vitest';
import {App} from '../functions/app.ts';
import {svc} from '../harness/command.ts';
import {bootstrap, canonical, checkChain, journalAfter, replay} from '../harness/journal.ts';
import {nightly} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {endedTask, taskOf} from '../harness/tasks.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const DOCUMENTS = 3_000;

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

/** With an index and `n` from 0 on. */
const fill = async (table: string, documents = DOCUMENTS) => {
  expect((await tenant.request('PUT', `/schema/${table}`, schemaOf(table))).status).toBe(204);
  const lines = Array.from({length: documents}, (_, n) => JSON.stringify({n})).join('\n');
  const sent = {'content-type': 'application/x-ndjson'};
  expect((await tenant.request('POST', `/import?table=${table}`, lines, sent)).status).toBe(200);
};
const schemaOf = (table: string) => ({
  table,
  fields: [{name: 'n', field_type: 'number', required: true}],
  indexes: [{name: 'by_n', fields: ['n'], unique: true}],
});
const drop = async (table: string, headers = {}) => {
  const reply = await tenant.request('DELETE', `/tables/${table}`, undefined, headers);
  expect([reply.status, reply.text]).toEqual([202, expect.any(String)]);
  return (reply.body as {id: string}).id;
};
const look = (id: string) => taskOf(tenant, id);
const ended = (id: string) => endedTask(tenant, id);
const tables = async () => ((await tenant.request('GET', '/tables')).body as {tables: object[]}).tables;
const insert = async (table: string, fields: object) =>
  (await tenant.request('POST', '/documents', {table, fields})).status;
const expectVerified = async () => {
  const {code, stdout} = await svc(['verify', '--data', service.data]);
  expect({code, stdout}).toMatchObject({code: 0});
};

test('a dropped table is gone with its schema, and another one may take its name', async () => {
  await fill('cities', 500);
  await fill('other', 3);
  const id = await drop('cities', {'idempotency-key': 'once'});
  expect(await drop('cities', {'idempotency-key': 'once'})).toBe(id);
  const query = {table: 'cities', filters: []};
  expect(await ended(id)).toMatchObject({type: 'drop', query, state: 'completed', changed: 500, failed: 0, errors: []});
  expect(await tables()).toEqual([{name: 'other', documents: 3}]);
  expectError(await tenant.request('GET', '/schema/cities'), 404, 'op.not_found');
  expectError(await tenant.request('DELETE', '/tables/cities'), 404, 'op.not_found');
  expect(await insert('cities', {n: 'no number'})).toBe(201);
  expect(await insert('cities', {n: 'no number'})).toBe(201);
  expect(await tables()).toEqual([
    {name: 'cities', documents: 2},
    {name: 'other', documents: 3},
  ]);
  await expectVerified();
});

test('svc tables lists them, renames one, and waits for the end of a drop', async () => {
  await fill('cities', 300);
  const run = (...args: string[]) =>
    svc(['tables', ...args, '--url', service.url, '--data', service.data, '--tenant', tenant.id]);
  expect(await run('rename', 'cities', 'towns')).toEqual({code: 0, stdout: 'renamed cities to towns\n', stderr: ''});
  expect(await run('list')).toEqual({code: 0, stdout: 'towns: 300 documents\n', stderr: ''});
  expect(await run('drop', 'towns')).toEqual({code: 0, stdout: 'dropped towns: 300 documents\n', stderr: ''});
  const {code, stderr} = await run('drop', 'towns');
  expect({code, stderr}).toEqual({code: 1, stderr: expect.stringContaining('there is no table towns')});
});

test('a follower of the journal has the same documents and schemas, after a kill in the middle of it', async () => {
  await fill('other', 3);
  await fill('cities');
  const id = await drop('cities');
  await until('progress', async () => ((await look(id))?.changed ?? 0) > 0);
  const worker = await service.workerOf(tenant.id);
  process.kill(worker, 'SIGKILL');
  await until('its end', () => !isAlive(worker));
  expect(await ended(id)).toMatchObject({state: 'completed', changed: DOCUMENTS});
  const {records, texts} = await journalAfter(tenant, 0);
  checkChain(texts);
  const now = await bootstrap(tenant);
  const followed = replay({snapshot: {documents: {}}} as never, records);
  expect(canonical(Object.fromEntries(followed))).toBe(canonical(Object.fromEntries(replay(now, []))));
  expect(Object.keys((now.snapshot.schema as {tables: object}).tables)).toEqual(['other']);
  const schemas = records.flatMap(({events}) => events.filter(({type}) => type.startsWith('schema.')));
  expect(schemas.map(event => [event.type, (event as {table?: string}).table])).toEqual([
    ['schema.set', 'other'],
    ['schema.set', 'cities'],
    ['schema.deleted', 'cities'],
  ]);
  await expectVerified();
});

test('what is made after it was asked for stays, with the schema; a cancelled one leaves the schema', async () => {
  await fill('first', 10_000);
  await fill('cities', 500);
  await drop('first'); // which the other waits for
  const id = await drop('cities');
  expect(await insert('cities', {n: -1})).toBe(201);
  const failed = await ended(id);
  expect(failed).toMatchObject({state: 'failed', changed: 500, errors: [{code: 'op.conflict'}]});
  expect(await tables()).toEqual([{name: 'cities', documents: 1}]);
  expectError(await tenant.request('POST', '/documents', {table: 'cities', fields: {}}), 400, 'op.schema_violation');

  await fill('behind', 10_000);
  const running = await drop('behind');
  const again = expectError(await tenant.request('DELETE', '/tables/behind'), 409, 'op.conflict');
  expect(again.detail).toEqual({task: running});
  const overtaken = await drop('cities');
  expect((await tenant.request('PUT', '/schema/cities', schemaOf('cities'))).status).toBe(204);
  expect(await look(overtaken)).toMatchObject({state: 'failed', changed: 0, errors: [{code: 'op.conflict'}]});
  const waiting = await drop('cities');
  expect((await tenant.request('POST', `/tasks/${waiting}/cancel`)).body).toMatchObject({task: {state: 'cancelled'}});
  expect((await tenant.request('GET', '/schema/cities')).status).toBe(200);
});

test('live queries, functions and cursors see it go; imports, tasks and new documents meanwhile have what they made', async () => {
  const app = await App.deploy(service, {
    'read.ts': `import {queryGeneric as query} from 'svc/server';
export const some = query(async ({db}, {table}) => (await db.query(table).take(5)).length);
`,
  });
  tenant = Tenant.of(service, app.tenant);
  const some = async () => (await app.reply('query', 'read:some', {table: 'cities'})).value;
  await fill('front');
  await fill('cities', 300);
  const query = {table: 'cities', filters: []};
  const {next_cursor: after} = await tenant.page({query, page_size: 100});
  expect(await some()).toBe(5);
  const socket = await Socket.established(service, tenant.id);
  socket.send({type: 'subscribe', request_id: 'all', query});
  expect((await socket.nextThat(({type}) => type === 'subscription_result')).data).toHaveLength(300);

  await drop('front'); // which the other one waits for
  const id = await drop('cities');
  const lines = Array.from({length: 50}, (_, n) => JSON.stringify({n: 1_000 + n})).join('\n');
  const sent = {'content-type': 'application/x-ndjson'};
  expect((await tenant.request('POST', '/import?table=cities', lines, sent)).body).toMatchObject({inserted: 50});
  const body = {type: 'patch', query: {...query, filters: [{field: 'n', op: 'gte', value: 1_010}]}, increment: {n: 1}};
  expectError(await tenant.request('POST', '/tasks', {...body, query: {table: 'cities'}}), 400, 'op.invalid_input');
  // They are changed in order, and n is unique: each has its value taken by the one behind it.
  const patched = await tenant.request('POST', '/tasks', {...body, on_error: 'skip'});
  expect(await ended(id)).toMatchObject({state: 'failed', changed: 300, errors: [{code: 'op.conflict'}]});
  expect(await ended((patched.body as {id: string}).id)).toMatchObject({changed: 1, failed: 39});
  expect(await tables()).toEqual([{name: 'cities', documents: 50}]);
  expect(await insert('cities', {n: 1_000})).toBe(409);
  expect(await insert('cities', {n: 0})).toBe(201);
  expect(await tenant.page({query, page_size: 100, after})).toMatchObject({next_cursor: null, data: {length: 51}});

  await ended(await drop('cities'));
  await socket.nextThat(({data}) => data?.length === 0);
  expect([await some(), await tables()]).toEqual([0, []]);
  socket.close();
});

test('names that are no table are refused', async () => {
  expectError(await tenant.request('DELETE', '/tables/1'), 400, 'op.invalid_input');
  expectError(await tenant.request('DELETE', '/tables/never'), 404, 'op.not_found');
});

test('a key needs both scopes, and the table', async () => {
  await fill('cities', 1);
  const as = async (scopes: string[], limited: string[]) => {
    const made = await service.post('/api/keys', {name: scopes.join('-') + limited.join('-'), scopes, tables: limited});
    const {secret} = made.body as {secret: string};
    return tenant.request('DELETE', '/tables/cities', undefined, {authorization: `Bearer ${secret}`});
  };
  const detail = (scope: string) => ({body: {error: {detail: {scope}}}});
  expect(await as(['schema'], ['cities'])).toMatchObject({status: 403, ...detail('data:write')});
  expect(await as(['data:write'], ['cities'])).toMatchObject({status: 403, ...detail('schema')});
  expectError(await as(['data:write', 'schema'], ['other']), 403, 'auth.forbidden');
  expect(await as(['data:write', 'schema'], ['cities'])).toMatchObject({status: 202});
});

// The last one: it ends the service.
nightly.test('a copy of the files in the middle of it is whole, and goes on with it', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'svc-copy-'));
  await fill('cities');
  const id = await drop('cities');
  await until('progress', async () => ((await look(id))?.changed ?? 0) > 0);
  await service.end('SIGKILL');
  cpSync(service.data, copy, {recursive: true});
  expect(await svc(['verify', '--data', copy])).toMatchObject({code: 0});
  const restored = await Service.start({data: copy});
  onTestFinished(async () => {
    await restored.stop();
    rmSync(copy, {recursive: true, force: true});
  });
  tenant = Tenant.of(restored, tenant.id);
  expect(await ended(id)).toMatchObject({state: 'completed', changed: DOCUMENTS});
  expect(await tables()).toEqual([]);
});
