/** Rows that are neither documents nor journal records, and are not what was written: refused, never run, and found by verify. */
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {openSession, sessionOf} from '../control/sandbox-client.ts';
import {App} from '../functions/app.ts';
import {svc} from '../harness/command.ts';
import {FunctionSocket} from '../harness/function-socket.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const DAY_MS = 86_400_000;
const FUNCTIONS = `
  import {mutation, query} from './_generated/server';
  export const note = mutation(async (ctx, {id}) => { await ctx.db.insert('notes', {id}); return 'note ' + id; });
  export const notes = query(async ctx => (await ctx.db.query('notes').collect()).map(({id}) => id));`;
const INSERT = {type: 'insert', table: 'later', fields: {a: 1}};

let service: Service;
let tenant: Tenant;
let changed: Tenant;
let mutated: App;
let due: string;
let ran: string;
let ticking: Tenant;
let bulk: Tenant;
const tasks: string[] = [];
const sessions: string[] = [];

/** A mutation of the one client, for the first time or again. */
async function resend(id: number): Promise<unknown> {
  const socket = await FunctionSocket.established(service, mutated.tenant, {client_id: 'the-client-of-this-test'});
  const result = await socket.result(socket.sendMutation('f:note', {id}, id));
  socket.close();
  return result;
}

const schedule = async (runAfterMs: number): Promise<string> => {
  const reply = await tenant.request('POST', '/schedule', {run_after_ms: runAfterMs, mutation: INSERT});
  expect(reply.status).toBe(201);
  return (reply.body as {job_id: string}).job_id;
};
const result = (job: string) => tenant.request('GET', `/schedule/history/${job}`);

function change(of: Tenant, ...statements: [sql: string, ...parameters: unknown[]][]): void {
  const db = new Database(join(service.directoryOf(of.id)!, 'tenant.sqlite'));
  for (const [sql, ...parameters] of statements) expect(db.prepare(sql).run(...parameters).changes).toBe(1);
  db.close();
}

const imported = (id: string) =>
  bulk.request('POST', `/import?table=lines&import_id=${id}`, '{"n":1}', {'content-type': 'application/x-ndjson'});
async function endedTask(): Promise<string> {
  const reply = await bulk.request('POST', '/tasks', {type: 'delete', query: {table: 'none', filters: []}});
  const {id} = reply.body as {id: string};
  await until('the task to end', async () => (await bulk.request('GET', `/tasks/${id}`)).text.includes('completed'));
  return id;
}

beforeAll(async () => {
  service = await Service.start();
  tenant = await Tenant.make(service);
  changed = await Tenant.make(service);
  await changed.putSchema('t', [], [{name: 'by_n', fields: ['n']}]);
  await tenant.insert('t', {n: 1}, {'idempotency-key': 'once'});
  mutated = await App.deploy(service, {'f.ts': FUNCTIONS});
  for (const id of [1, 2]) await resend(id);
  ran = await schedule(0);
  await until('the job to run', async () => (await result(ran)).status === 200);
  due = await schedule(DAY_MS);
  const cron = {name: 'daily', schedule: {type: 'interval', seconds: 86_400}, mutation: INSERT};
  expect((await tenant.request('POST', '/crons', cron)).status).toBe(201);
  expect((await tenant.request('PUT', '/env/WORD', {value: 'right'})).status).toBe(204);
  for (const ttl_ms of [60_000, 70_000]) {
    sessions.push((await openSession(service, {tenant: tenant.id, ttl_ms, metadata: {ttl_ms}})).id);
  }
  ticking = await Tenant.make(service);
  expect((await ticking.request('POST', '/crons', cron)).status).toBe(201);
  expect((await ticking.request('POST', '/crons/daily/run')).status).toBe(200);
  bulk = await Tenant.make(service);
  for (const id of ['one', 'two']) expect((await imported(id)).status).toBe(200);
  for (let n = 0; n < 2; n++) tasks.push(await endedTask());
  await service.end('SIGTERM');
  change(ticking, [`UPDATE crons SET mutation = replace(mutation, 'later', 'earlier')`]);
  change(
    bulk,
    [`UPDATE bulk_records SET record = replace(record, '"inserted":1', '"inserted":2') WHERE id = 'one'`],
    [`UPDATE bulk_records SET record = replace(record, 'completed', 'running') WHERE id = ?`, tasks[0]],
  );
  change(
    tenant,
    [`UPDATE control_records SET record = replace(record, '60000', '90000') WHERE id = ?`, sessions[0]],
    [`UPDATE jobs SET run_at = 0, mutation = replace(mutation, 'later', 'lates') WHERE id = ?`, due],
    [`UPDATE job_results SET mutation = replace(mutation, 'later', 'lates') WHERE id = ?`, ran],
    [`UPDATE crons SET next_run = 0, mutation = replace(mutation, 'later', 'lates')`],
    [`UPDATE environment SET value = 'wrong'`],
    [`UPDATE idempotency SET body = replace(body, '"id"', '"ie"')`],
  );
  change(Tenant.of(service, mutated.tenant), [
    `UPDATE client_mutations SET value = replace(value, 'note', 'nose') WHERE request_id = 1`,
  ]);
  change(changed, [`UPDATE indexes SET fields = '["m"]' WHERE name = 'by_n'`]);
  await service.run();
});
afterAll(() => service.stop());

test('a job, a result, a cron, a variable and a stored reply are refused to all callers', async () => {
  service.showLogOnFailure();
  expectError(await tenant.request('GET', '/schedule'), 503, 'op.storage_damaged');
  expectError(await result(ran), 503, 'op.storage_damaged');
  expectError(await tenant.request('GET', '/crons'), 503, 'op.storage_damaged');
  expectError(await tenant.request('GET', '/env'), 503, 'op.storage_damaged');
  const again = tenant.request('POST', '/documents', {table: 't', fields: {n: 1}}, {'idempotency-key': 'once'});
  expectError(await again, 503, 'op.storage_damaged');
  expect(await tenant.list('t')).toMatchObject([{n: 1}]);
});

test('the outcome of a mutation of a client is refused to it, and the mutation is not run again; other clients get theirs', async () => {
  service.showLogOnFailure();
  expect(await resend(1)).toMatchObject({ok: false, code: 'op.storage_damaged'});
  expect(await resend(2)).toMatchObject({ok: true, value: 'note 2'});
  expect(await mutated.query('f:notes', {})).toEqual([1, 2]);
  const {stdout} = await svc(['verify', '--data', service.data, '--tenant', mutated.tenant]);
  expect(stdout).toContain('the outcome of a mutation of client "the-client-of-this-test" is damaged in the file');
});

test('once the file is repaired it is still not run again, and its client gets the error that the outcome is lost', async () => {
  service.showLogOnFailure();
  await service.end('SIGTERM');
  const {code, stdout} = await svc(['recover', '--data', service.data, '--repair', mutated.tenant]);
  expect(stdout).toContain('its result is lost: a repeated request gets an error and is not run again');
  expect(code).toBe(0);
  expect((await svc(['verify', '--data', service.data, '--tenant', mutated.tenant])).stdout).toContain(': ok');
  await service.run();
  expect(await resend(1)).toMatchObject({
    ok: false,
    code: 'op.storage_damaged',
    error: expect.stringContaining('lost'),
  });
  expect(await resend(2)).toMatchObject({ok: true, value: 'note 2'});
  expect(await mutated.query('f:notes', {})).toEqual([1, 2]);
});

test('a session is refused, as is the list of them; another one is served', async () => {
  expectError(await service.get(`/api/sessions/${sessions[0]}`), 503, 'op.storage_damaged');
  expectError(await service.get(`/api/sessions?tenant=${tenant.id}`), 503, 'op.storage_damaged');
  expect(await sessionOf(service, sessions[1]!)).toMatchObject({metadata: {ttl_ms: 70_000}});
});

test('they are never run, hold up no other work, and can be deleted', async () => {
  service.showLogOnFailure();
  const next = await schedule(0);
  await until('the sound job to run', async () => (await result(next)).status === 200);
  expect(await tenant.list('lates')).toEqual([]);
  expect(await tenant.list('later')).toHaveLength(2);
  expect((await tenant.request('DELETE', `/schedule/${due}`)).status).toBe(204);
  expect((await tenant.request('DELETE', '/crons/daily')).status).toBe(204);
  expect((await tenant.request('PUT', '/env/WORD', {value: 'again'})).status).toBe(204);
  expect((await tenant.request('GET', '/schedule')).text).toBe('{"jobs":[]}');
  expect((await tenant.request('GET', '/crons')).text).toBe('{"crons":[]}');
  expect((await tenant.request('GET', '/env')).text).toBe('{"env":{"WORD":"again"}}');
});

test('what a cron does is not in its history either', async () => {
  expectError(await ticking.request('GET', '/scheduled/history'), 503, 'op.storage_damaged');
  expectError(await ticking.request('GET', '/scheduled'), 503, 'op.storage_damaged');
});

test('an import or a task is refused alone: lists name it beside the others, and others can be made', async () => {
  service.showLogOnFailure();
  expectError(await bulk.request('GET', '/import/one'), 503, 'op.storage_damaged');
  expectError(await bulk.request('GET', `/tasks/${tasks[0]}`), 503, 'op.storage_damaged');
  expectError(await imported('one'), 503, 'op.storage_damaged');
  expect((await imported('three')).body).toMatchObject({inserted: 1});
  const third = await endedTask();
  expect((await bulk.request('GET', '/import')).body).toMatchObject({
    imports: [{import_id: 'three'}, {import_id: 'two'}],
    damaged: ['one'],
  });
  expect((await bulk.request('GET', '/tasks')).body).toMatchObject({
    tasks: [{id: third}, {id: tasks[1]}],
    damaged: [tasks[0]],
  });
  expect(await bulk.list('lines')).toHaveLength(3);
});

test('svc verify names them, and a repair takes them away, or puts back one bit', async () => {
  service.showLogOnFailure();
  await service.end('SIGTERM');
  const found = await svc(['verify', '--data', service.data, '--tenant', bulk.id]);
  for (const id of ['one', tasks[0]])
    expect(found.stdout).toContain(`the import or task "${id}" is damaged in the file`);
  expect(found.code).toBe(1);
  const {code, stdout} = await svc(['recover', '--data', service.data, '--repair', bulk.id]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/the import or task .*; it was taken away/)]);
  expect((await svc(['verify', '--data', service.data, '--tenant', bulk.id])).stdout).toContain(': ok');
  const repaired = await svc(['recover', '--data', service.data, '--repair', ticking.id]);
  expect(repaired.stdout).toMatch(/the cron "daily".*; it was taken away/);
  await service.run();
  expect((await ticking.request('GET', '/scheduled/history')).body).toEqual({runs: [], next_cursor: null});
  expect((await bulk.request('GET', `/tasks/${tasks[0]}`)).status).toBe(404);
  expect((await bulk.request('GET', '/tasks')).body).not.toHaveProperty('damaged');
});

test('a changed index definition is not served, and verify says what is damaged', async () => {
  service.showLogOnFailure();
  expect((await changed.request('GET', '/schema')).status).toBe(503);
  const {code, stdout} = await svc(['verify', '--data', service.data]);
  expect(code).toBe(1);
  expect(stdout).toContain('the index "by_n" is damaged in the file');
  expect(stdout).toContain(`the result of job "${ran}" is damaged in the file`);
});
