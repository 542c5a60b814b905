/** POST …/tables/{table}/rename: what was under the old name is under the new one, at once and with the same ids; the old name is free. */
import {PassThrough} from 'node:stream';
import {request} from 'undici';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import type {AuditPage} from '../../shared/protocol/audit.ts';
import {App} from '../functions/app.ts';
import {svc} from '../harness/command.ts';
import {follow, state} from '../harness/follower.ts';
import {bootstrap, checkChain, journalAfter} from '../harness/journal.ts';
import {isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {endedTask} from '../harness/tasks.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

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

const rename = (table: string, to: unknown, headers = {}) =>
  tenant.request('POST', `/tables/${table}/rename`, {to}, headers);
const renamed = async (table: string, to: string, headers = {}) => {
  const {status, text} = await rename(table, to, headers);
  expect([status, text]).toEqual([204, '']);
};
const refused = async (table: string, to: unknown, code = 'op.conflict', status = 409) =>
  expectError(await rename(table, to), status, code);
const tables = async () => ((await tenant.request('GET', '/tables')).body as {tables: object[]}).tables;
const ended = (id: string) => endedTask(tenant, id);
const drop = async (table: string) => {
  const {status, body} = await tenant.request('DELETE', `/tables/${table}`);
  expect(status).toBe(202);
  await ended((body as {id: string}).id);
};
const unique = [{name: 'by_n', fields: ['n'], unique: true}];
const number = [{name: 'n', field_type: 'number', required: true}];

test('documents, schema, indexes and count have the new name, also after kill -9, and a follower has them, too', async () => {
  await tenant.putSchema('cities', number, unique);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await tenant.insert('cities', {n}));
  await tenant.insert('other', {n: 1});
  const before = await tenant.list('cities');
  const query = {table: 'cities', filters: [], order: {field: 'n', direction: 'desc'}};
  const {next_cursor: after} = await tenant.page({query, page_size: 2});
  const cut = await bootstrap(tenant);

  await renamed('cities', 'towns', {'idempotency-key': 'once'});
  await renamed('cities', 'towns', {'idempotency-key': 'once'});
  await refused('cities', 'towns', 'op.not_found', 404);
  expect(await tables()).toEqual([
    {name: 'other', documents: 1},
    {name: 'towns', documents: 5},
  ]);
  const worker = await service.workerOf(tenant.id);
  process.kill(worker, 'SIGKILL');
  await until('its end', () => !isAlive(worker));

  const look = async () => {
    expect(await tenant.list('towns')).toEqual(before);
    expect(await tenant.list('cities')).toEqual([]);
    expect(await tenant.get('towns', ids[2]!)).toEqual(before[2]);
    expectError(await tenant.request('GET', `/documents/cities/${ids[2]}`), 404, 'op.not_found');
    expectError(await tenant.request('GET', '/schema/cities'), 404, 'op.not_found');
    const found = {table: 'towns', filters: [{field: 'n', op: 'eq', value: 3}]};
    const {body} = await tenant.request('POST', '/query', {...found, explain: true});
    expect(body).toMatchObject({data: [before[3]], explain: {reads: [{index: 'by_n'}]}});
    expect((await tenant.request('POST', '/query/count', {...found, filters: []})).body).toEqual({count: 5});
  };
  await look();
  const again = await tenant.request('POST', '/documents', {table: 'towns', fields: {n: 3}});
  expect(expectError(again, 409, 'op.unique_violation').detail).toEqual({table: 'towns', index: 'by_n', id: ids[3]});
  const {body: page} = await tenant.request('POST', '/query/paginated', {query, page_size: 2, after});
  expect(page).toEqual({data: [], next_cursor: null, has_more: false});

  // The old name is free, and what is made there is apart.
  const fresh = await tenant.insert('cities', {n: 'no number'});
  expectError(await tenant.request('GET', `/documents/towns/${fresh}`), 404, 'op.not_found');
  await refused('towns', 'cities');
  await drop('cities');
  await renamed('towns', 'cities');
  await renamed('cities', 'towns');
  await tenant.patch('towns', ids[0]!, {n: -1});
  await tenant.patch('towns', ids[0]!, {n: 0});
  before[0] = await tenant.get('towns', ids[0]!);
  await look();

  const now = await state(tenant);
  for (const from of [{...cut, snapshot: {...cut.snapshot}}, await bootstrap(tenant)]) {
    const {records} = await journalAfter(tenant, from.resume_after_sequence);
    expect(follow(from, records)).toEqual(now);
  }
  const {records, texts} = await journalAfter(tenant, 0);
  checkChain(texts);
  const event = {type: 'table.renamed', table: 'cities', to: 'towns'};
  expect(records.filter(({events}) => events.some(({type}) => type === 'table.renamed'))[0]).toMatchObject({
    events: [event],
    writes: [],
  });
  expect(await svc(['verify', '--data', service.data])).toMatchObject({code: 0});
  const {body: audited} = await service.get('/api/audit?limit=1000');
  const subjects = (audited as AuditPage).records.flatMap(record =>
    'operation' in record && record.operation === 'tables.rename' ? [record.subject] : [],
  );
  expect(subjects).toContainEqual({table: 'cities', to: 'towns'});
});

test('live queries and functions of both names see it', async () => {
  const app = await App.deploy(service, {
    'read.ts': `import {queryGeneric as query} from 'svc/server';
export const count = query(async ({db}, {table}) => (await db.query(table).collect()).length);
`,
  });
  tenant = Tenant.of(service, app.tenant);
  await tenant.insert('old', {n: 1});
  await tenant.insert('old', {n: 2});
  const count = async (table: string) => (await app.reply('query', 'read:count', {table})).value;
  expect([await count('old'), await count('new')]).toEqual([2, 0]);
  const socket = await Socket.established(service, tenant.id);
  const shown = new Map<string, number>();
  const [ids, names] = [new Map<number, string>(), ['old', 'new', 'old limited', 'other']];
  for (const name of names) {
    const [table, isLimited] = name.split(' ');
    const query = {table, filters: [], ...(isLimited === undefined ? {} : {limit: 1})};
    socket.send({type: 'subscribe', request_id: name, query});
  }
  const next = async () => {
    const frame = await socket.next();
    expect(frame.type).toBe('subscription_result');
    if (frame.request_id !== undefined) ids.set(frame.subscription_id!, frame.request_id);
    shown.set(ids.get(frame.subscription_id!)!, frame.data!.length);
  };
  while (shown.size < names.length) await next();
  expect([...shown.values()]).toEqual([2, 0, 1, 0]);
  await renamed('old', 'new');
  for (let frames = 0; frames < 3; frames++) await next();
  expect(Object.fromEntries(shown)).toEqual({old: 0, new: 2, 'old limited': 0, other: 0});
  expect([await count('old'), await count('new')]).toEqual([0, 2]);
  await tenant.insert('new', {n: 3});
  await next();
  await tenant.insert('old', {n: 4});
  for (let frames = 0; frames < 2; frames++) await next();
  expect(Object.fromEntries(shown)).toEqual({old: 1, new: 3, 'old limited': 1, other: 0});
  expect([await count('old'), await count('new')]).toEqual([1, 3]);
  await socket.close();
});

test('is refused while something else would not follow, and changes nothing then', async () => {
  const schema = (tablesOf: string) => ({
    'schema.ts': `import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';
export default defineSchema({${tablesOf}});
export const used = [defineTable, v];
`,
  });
  const app = await App.deploy(service, schema('declared: defineTable({of: v.optional(v.array(v.id("pointed")))})'));
  tenant = Tenant.of(service, app.tenant);
  for (const table of ['a', 'pointed']) await tenant.insert(table, {n: 1});
  await tenant.putSchema('empty', []);
  await refused('never', 'b', 'op.not_found', 404);
  await refused('a', 'a', 'op.invalid_input', 400);
  await refused('a', 'no table', 'op.invalid_input', 400);
  await refused('a', undefined, 'op.invalid_input', 400);
  expectError(await tenant.request('POST', '/tables/a/rename', {to: 'b', too: 1}), 400, 'op.invalid_input');
  for (const [table, to] of [
    ['a', 'pointed'],
    ['a', 'empty'],
    ['a', 'declared'],
    ['declared', 'b'],
    ['pointed', 'b'],
  ] as const) {
    await refused(table, to);
  }
  await app.deploy(schema(''));
  await renamed('pointed', 'c');

  const mutation = {type: 'insert', table: 'a', fields: {}};
  const cron = {name: 'c', schedule: {type: 'interval', seconds: 3600}, mutation};
  expect((await tenant.request('POST', '/crons', cron)).status).toBe(201);
  expect((await refused('a', 'b')).detail).toEqual({cron: 'c'});
  await tenant.request('DELETE', '/crons/c');
  const {body: scheduled} = await tenant.request('POST', '/schedule', {run_after_ms: 3_600_000, mutation});
  const {job_id: job} = scheduled as {job_id: string};
  expect((await refused('a', 'b')).detail).toEqual({job});
  await tenant.request('DELETE', `/schedule/${job}`);

  for (const [table, query, line] of [
    ['b', '?table=b', '{"n":1}'],
    ['e', '', '{"table":"e","document":{"n":1}}'],
  ]) {
    const lines = new PassThrough();
    const imported = request(`${service.url}/api/tenants/${tenant.id}/import${query}`, {
      method: 'POST',
      headers: {authorization: `Bearer ${service.accessToken}`, 'content-type': 'application/x-ndjson'},
      body: lines,
    });
    lines.write(`${line}\n`.repeat(2_000));
    await until('lines to be in', async () => (await tenant.list(table!)).length > 0);
    await refused(table!, 'd');
    lines.end();
    expect((await imported).statusCode).toBe(200);
  }
  const {body: begun} = await tenant.request('POST', '/tasks', {type: 'delete', query: {table: 'b', filters: []}});
  const {id: task} = begun as {id: string};
  expect((await refused('a', 'b')).detail).toEqual({task});
  await ended(task);
  await renamed('a', 'b');

  const as = async (scopes: string[], limited: string[] | null) => {
    const name = `${scopes.join('-')} ${limited?.join('-')}`;
    const {body} = await service.post('/api/keys', {name, scopes, tables: limited});
    return rename('b', 'a', {authorization: `Bearer ${(body as {secret: string}).secret}`});
  };
  for (const scope of ['schema', 'data:write']) expectError(await as([scope], null), 403, 'auth.forbidden');
  for (const one of ['a', 'b']) expectError(await as(['schema', 'data:write'], [one]), 403, 'auth.forbidden');
  expect((await as(['schema', 'data:write'], ['a', 'b'])).status).toBe(204);
});
