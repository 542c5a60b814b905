/** Documents, journal records and code that are not what was written: requests for them are refused, and no others. */
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {journalAfter, journalPage} from '../harness/journal.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const FUNCTIONS = `
  import {v} from 'svc/values';
  import {action, mutation, query} from './_generated/server';
  const args = {id: v.string()};
  export const get = query({args, handler: async (ctx, {id}: any) => {
    try { return await ctx.db.get(id); } catch (error) { return 'caught ' + error; }
  }});
  export const all = query({args: {}, handler: ctx => ctx.db.query('plain' as never).collect()});
  export const touch = mutation({args, handler: async (ctx, {id}: any) => {
    await ctx.db.insert('touched' as never, {id} as never);
    try { await ctx.db.patch(id, {touched: true} as never); } catch {}
  }});
  export const getByAction = action({args, handler: (ctx, {id}: any) => ctx.runQuery('f:get' as never, {id} as never)});`;
const BROKEN = `
  import {action, query} from './_generated/server';
  export const one = query({args: {}, handler: () => 'the-only-one'});
  export const act = action({args: {}, handler: () => 'done'});`;
const BROKEN_HTTP = `
  import {httpRouter} from 'svc/server';
  import {httpAction} from './_generated/server';
  const http = httpRouter();
  http.route({path: '/one', method: 'GET', handler: httpAction(async () => new Response('the-only-route'))});
  export default http;`;

let service: Service;
let tenant: Tenant;
let app: App;
let broken: App;
let brokenHttp: App;
/** By what they are for. */
const id: Record<string, string> = {};
let sequence = 0;

function change(of: string, ...statements: [sql: string, ...parameters: unknown[]][]): void {
  const db = new Database(join(service.directoryOf(of)!, 'tenant.sqlite'));
  for (const [sql, ...parameters] of statements) expect(db.prepare(sql).run(...parameters).changes).toBe(1);
  db.close();
}

const damage = (name: string): [string, string] => [
  `UPDATE documents SET body = replace(body, '"text":"a', '"text":"b') WHERE id = ?`,
  id[name]!,
];

beforeAll(async () => {
  service = await Service.start();
  app = await App.deploy(service, {'f.ts': FUNCTIONS});
  broken = await App.deploy(service, {'f.ts': BROKEN});
  brokenHttp = await App.deploy(service, {'http.ts': BROKEN_HTTP});
  tenant = Tenant.of(service, app.tenant);
  await tenant.putSchema('indexed', [], [{name: 'by_n', fields: ['n']}]);
  for (const name of ['plain', 'time', 'deleted']) id[name] = await tenant.insert('plain', {n: 1, text: 'a'});
  id.sound = await tenant.insert('plain', {n: 2, text: 'a'});
  for (const [n, name] of ['first', 'indexed', 'second', 'removed'].entries()) {
    id[name] = await tenant.insert('indexed', {n, text: 'a'});
  }
  for (let n = 10; n < 20; n++) await tenant.insert('other', {n, text: 'a'});
  id.front = await tenant.insert('watched', {n: 0, text: 'a'});
  id.watched = await tenant.insert('watched', {n: 1, text: 'a'});
  id.beside = await tenant.insert('watched', {n: 2, text: 'a'});
  sequence = (await journalPage(tenant)).page.latest_sequence - 6;
  await service.end('SIGTERM');
  change(
    tenant.id,
    damage('plain'),
    damage('deleted'),
    damage('indexed'),
    damage('removed'),
    damage('watched'),
    ['UPDATE documents SET updated = updated + 1 WHERE id = ?', id.time],
    [`UPDATE journal SET record = replace(record, '"text":"a', '"text":"b') WHERE sequence = ?`, sequence],
  );
  change(broken.tenant, [
    `UPDATE code SET source = replace(source, 'the-only-one', 'another-one') WHERE source LIKE '%the-only-one%'`,
  ]);
  change(brokenHttp.tenant, [
    `UPDATE code SET source = replace(source, 'the-only-route', 'another-route') WHERE source LIKE '%the-only-route%'`,
  ]);
  await service.run();
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const path = (table: string, name: string) => `/documents/${table}/${id[name]}`;
const query = (body: object) => tenant.request('POST', '/query', body);
const texts = (docs: Doc[]) => docs.map(({n}) => n);

describe('a document that does not fit its checksum', () => {
  test.each([
    ['a body', 'plain'],
    ['a time', 'time'],
  ])('(%s) is 503 op.storage_damaged that names it; the log has one error line', async (_, name) => {
    const {detail} = expectError(await tenant.request('GET', path('plain', name)), 503, 'op.storage_damaged');
    expect(detail).toMatchObject({check: 'checksum', table: 'plain', id: id[name]});
    await tenant.request('GET', path('plain', name));
    const lines = () =>
      service.log.split('\n').filter(line => line.includes('stored data is damaged') && line.includes(id[name]!));
    await until('the error line', () => lines().length > 0);
    expect(lines()).toHaveLength(1);
    expect(JSON.parse(lines()[0]!)).toMatchObject({
      level: 'error',
      tenant: tenant.id,
      table: 'plain',
      check: 'checksum',
    });
  });

  test('refuses every read that would have to look at it, and no other', async () => {
    expect(await tenant.get('plain', id.sound!)).toMatchObject({n: 2, text: 'a'});
    expectError(await tenant.request('GET', '/documents/plain'), 503, 'op.storage_damaged');
    expectError(await query({table: 'plain', filters: []}), 503, 'op.storage_damaged');
    expect(texts(await tenant.list('other'))).toHaveLength(10);
    const byIndex = (n: number) => ({table: 'indexed', filters: [{field: 'n', op: 'eq', value: n}]});
    expect(texts(await tenant.query(byIndex(0)))).toEqual([0]);
    expectError(await query(byIndex(1)), 503, 'op.storage_damaged');
    const {page, status} = (await tenant.request('POST', '/query/paginated', {
      query: byIndex(1),
      page_size: 5,
    })) as never;
    expect({page, status}).toEqual({page: undefined, status: 503});
  });

  test('is not changed by a PATCH, and nothing of it is written', async () => {
    const before = (await journalPage(tenant, `?after=${sequence}`).catch(() => null))?.page.latest_sequence;
    expectError(await tenant.request('PATCH', path('plain', 'plain'), {patch: {n: 9}}), 503, 'op.storage_damaged');
    expectError(await tenant.request('GET', path('plain', 'plain')), 503, 'op.storage_damaged');
    expect((await journalPage(tenant, `?after=${sequence}`).catch(() => null))?.page.latest_sequence).toBe(before);
  });

  test('can be deleted, with its index entries; then its table is readable again', async () => {
    await tenant.delete('indexed', id.removed!);
    await tenant.insert('indexed', {n: 3, text: 'new'});
    expect(
      (await tenant.query({table: 'indexed', filters: [{field: 'n', op: 'eq', value: 3}]})).map(doc => doc.text),
    ).toEqual(['new']);
    await tenant.delete('plain', id.deleted!);
    expectError(await tenant.request('GET', path('plain', 'deleted')), 404, 'op.not_found');
  });

  test('fails the function that reads it, whatever its code catches; others run', async () => {
    const call = (kind: string, name: string, args: object) =>
      app.svc('POST', `/${kind}`, JSON.stringify({path: `f:${name}`, args}));
    expectError(await call('query', 'get', {id: id.plain}), 503, 'op.storage_damaged');
    expectError(await call('query', 'all', {}), 503, 'op.storage_damaged');
    expectError(await call('mutation', 'touch', {id: id.plain}), 503, 'op.storage_damaged');
    // What the mutation did before is taken back.
    expect(await tenant.list('touched')).toEqual([]);
    expect(await app.query('f:get', {id: id.sound})).toMatchObject({n: 2});
    expect(await app.actionError('f:getByAction', {id: id.plain})).toContain("couldn't be completed");
    await app.mutation('f:touch', {id: id.sound});
    expect(await tenant.list('touched')).toHaveLength(1);
  });

  test('ends a live query that would show it; others go on, and it can be deleted from under them', async () => {
    const socket = await Socket.established(service, tenant.id);
    socket.send({type: 'subscribe', request_id: 'all', query: {table: 'watched', filters: []}});
    expect(await socket.next()).toMatchObject({type: 'op.error', error: {detail: {code: 'op.storage_damaged'}}});
    socket.send({type: 'subscribe', request_id: 'first', query: {table: 'watched', filters: [], limit: 1}});
    expect(await socket.next()).toMatchObject({request_id: 'first', data: [{n: 0}]});
    const sound = {table: 'watched', filters: [{field: '_id', op: 'eq', value: id.beside}]};
    socket.send({type: 'subscribe', request_id: 'one', query: sound});
    expect(await socket.next()).toMatchObject({request_id: 'one', data: [{n: 2}]});
    // The damaged one moves up into the window of the first.
    await tenant.delete('watched', id.front!);
    expect(await socket.next()).toMatchObject({
      type: 'error',
      error: {code: 'session.subscription_error', detail: {code: 'op.storage_damaged', id: id.watched}},
    });
    await tenant.delete('watched', id.watched!);
    socket.send({type: 'subscribe', request_id: 'again', query: {table: 'watched', filters: []}});
    expect(await socket.nextThat(frame => frame.request_id === 'again')).toMatchObject({data: [{n: 2}]});
    socket.close();
  });

  test('cuts a bootstrap short instead of sending it', async () => {
    const reply = await tenant.request('GET', '/journal/bootstrap').catch((error: unknown) => error);
    expect(reply).toBeInstanceOf(Error);
    expect((await tenant.get('plain', id.sound!)).n).toBe(2);
  });

  test('is counted in the metrics', async () => {
    const {text} = await service.get('/metrics');
    expect(text).toMatch(/svc_storage_damage_total\{check="checksum"\} [1-9]/);
  });
});

describe('a journal record that does not fit its digest', () => {
  test('ends the page before it, and refuses the page that begins with it', async () => {
    const {page} = await journalPage(tenant);
    expect(page.records.at(-1)!.sequence).toBe(sequence - 1);
    expect(page.has_more).toBe(true);
    const {detail} = expectError(
      await tenant.request('GET', `/journal?after=${sequence - 1}`),
      503,
      'op.storage_damaged',
    );
    expect(detail).toEqual({check: 'chain', sequence});
    await tenant.insert('other', {n: 20});
    const {records} = await journalAfter(tenant, sequence);
    expect(records[0]!.sequence).toBe(sequence + 1);
  });
});

describe('deployed code that does not fit its digest', () => {
  test.each([
    ['query', 'one'],
    ['action', 'act'],
  ])('is not run: a call (%s) is refused', async (kind, name) => {
    const reply = await broken.svc('POST', `/${kind}`, JSON.stringify({path: `f:${name}`, args: {}}));
    const {detail} = expectError(reply, 503, 'op.storage_damaged');
    expect(detail).toMatchObject({check: 'code', path: 'f.js'});
  });

  test('is not run: an HTTP action is refused, and the log says why', async () => {
    const {detail} = expectError(await brokenHttp.svc('GET', '/http/one'), 503, 'op.storage_damaged');
    expect(detail).toMatchObject({check: 'code', path: 'http.js'});
    await until('the place in the log', () => service.log.includes('the deployed file http.js is damaged'));
  });
});
