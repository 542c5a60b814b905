/** POST …/tasks: what a query finds is deleted or patched, each document once, whatever happens to the process. */
import {beforeAll, beforeEach, expect, test} from 'vitest';
import type {Task} from '../../shared/protocol/tasks.ts';
import {canonical, checkChain, journalAfter, replay} from '../harness/journal.ts';
import {isAlive} from '../harness/processes.ts';
import {sharedService} from '../harness/shared-service.ts';
import {endedTask, taskOf} from '../harness/tasks.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const DOCUMENTS = 4_000;

const service = await sharedService();
let tenant: Tenant;
/** A table of its own for each test, with `n` from 0 on. */
let t = '';
let tables = 0;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => service.showLogOnFailure());
const fill = async () => {
  t = `t${++tables}`;
  const lines = Array.from({length: DOCUMENTS}, (_, n) => JSON.stringify({n, even: n % 2 === 0})).join('\n');
  const sent = {'content-type': 'application/x-ndjson'};
  expect((await tenant.request('POST', `/import?table=${t}`, lines, sent)).status).toBe(200);
};

const start = async (body: object, headers = {}) => {
  const reply = await tenant.request('POST', '/tasks', body, headers);
  expect([reply.status, reply.text]).toEqual([202, expect.any(String)]);
  return (reply.body as {id: string}).id;
};
const look = (id: string) => taskOf(tenant, id);
const ended = (id: string) => endedTask(tenant, id);
const all = async () => {
  const {body} = await tenant.request('POST', '/query', {table: t, filters: [], limit: 2 * DOCUMENTS});
  return (body as {data: Doc[]}).data;
};
const even = {field: 'even', op: 'eq', value: true};

test('deletes what passes the filters, and is listed', async () => {
  await fill();
  const body = {type: 'delete', query: {table: t, filters: [even]}};
  const id = await start(body, {'idempotency-key': 'once'});
  expect(await start(body, {'idempotency-key': 'once'})).toBe(id);
  expect(await ended(id)).toMatchObject({id, type: 'delete', state: 'completed', changed: DOCUMENTS / 2, failed: 0});
  expect((await all()).map(({n}) => n)).toEqual(Array.from({length: DOCUMENTS / 2}, (_, i) => 2 * i + 1));
  const {tasks} = (await tenant.request('GET', '/tasks')).body as {tasks: Task[]};
  expect(tasks.map(task => task.id)).toEqual([id]);
  expectError(await tenant.request('POST', `/tasks/${id}/cancel`), 409, 'op.conflict');
});

test('patches each document once, also where its patch makes it pass again, and its worker is killed', async () => {
  await fill();
  const indexes = [{name: 'by_n', fields: ['n']}];
  expect((await tenant.request('PUT', `/schema/${t}`, {table: t, fields: [], indexes})).status).toBe(204);
  const filters = [{or: [even, {field: 'n', op: 'gte', value: 0}]}];
  const id = await start({type: 'patch', query: {table: t, filters}, increment: {n: 1_000_000}});
  for (let kills = 0; kills < 2; kills++) {
    const before = (await look(id))?.changed ?? 0;
    await until(
      'progress',
      async () => ((await look(id))?.changed ?? 0) > before || (await look(id))?.state !== 'running',
    );
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGKILL');
    await until('its end', () => !isAlive(worker));
  }
  expect(await ended(id)).toMatchObject({state: 'completed', changed: DOCUMENTS});
  expect((await all()).map(({n}) => n)).toEqual(Array.from({length: DOCUMENTS}, (_, n) => 1_000_000 + n));
  const {records, texts} = await journalAfter(tenant, 0);
  checkChain(texts);
  const replayed = replay({snapshot: {documents: {}}} as never, records);
  expect(canonical(replayed.get(t))).toBe(canonical(await all()));
});

test('ends at a document that refuses its patch, or passes over it; a cancelled one stops', async () => {
  await fill();
  const fields = [{name: 'n', field_type: 'number', required: true}];
  expect((await tenant.request('PUT', `/schema/${t}`, {table: t, fields})).status).toBe(204);
  const query = {table: t, filters: [{field: 'n', op: 'lt', value: 300}]};
  const failing = await ended(await start({type: 'patch', query, patch: {n: 'text'}}));
  expect(failing).toMatchObject({state: 'failed', changed: 0, errors: [{code: 'op.schema_violation'}]});
  const skipping = await ended(await start({type: 'patch', query, patch: {n: 'text'}, on_error: 'skip'}));
  expect(skipping).toMatchObject({state: 'completed', changed: 0, failed: 300});
  expect(skipping.errors).toHaveLength(20);
  await start({type: 'patch', query: {table: t, filters: []}, patch: {m: 1}});
  const waiting = await start({type: 'delete', query: {table: t, filters: []}});
  expect((await tenant.request('POST', `/tasks/${waiting}/cancel`)).body).toMatchObject({task: {state: 'cancelled'}});
  expect(await all()).toHaveLength(DOCUMENTS);
});

test.each([
  [{type: 'remove', query: {table: 't', filters: []}}, /type must be one of "delete", "patch"/],
  [{type: 'delete', query: {table: '1', filters: []}}, /cannot be a table/],
  [{type: 'delete', query: {table: 't'}}, /filters/],
  [{type: 'delete', query: {table: 't', filters: [], limit: 5}}, /query.limit is not a member/],
  [{type: 'delete', query: {table: 't', filters: []}, patch: {a: 1}}, /no changes/],
  [{type: 'patch', query: {table: 't', filters: []}}, /one or more of patch/],
  [{type: 'patch', query: {table: 't', filters: []}, patch: {_a: 1}}, /underscore/],
  [{type: 'patch', query: {table: 't', filters: []}, pacth: {a: 1}}, /pacth is not a member/],
])('%j is refused', async (body, message) => {
  const reply = await tenant.request('POST', '/tasks', body);
  expectError(reply, 400, 'op.invalid_input');
  expect((reply.body as {error: {message: string}}).error.message).toMatch(message);
});
