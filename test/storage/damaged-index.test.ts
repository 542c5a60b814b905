/**
 * A broken page of the index entries, in a tenant that is too large to be looked at whole before it serves: a caller that reads or
 * writes by the index is refused, everything else of the tenant goes on, and its worker lives.
 */
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {SCRUB_FIRST_DOCUMENTS_MAX} from '../../engine/limits.ts';
import {metaRow, SET_META} from '../../engine/storage/meta.ts';
import {App} from '../functions/app.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const DOCUMENTS = SCRUB_FIRST_DOCUMENTS_MAX + 100;
const APP = {
  'f.ts': `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  const first = (ctx: any) => ctx.db.query('indexed').withIndex('by_n', (q: any) => q.gte('n', 7)).first();
  export const byIndex = query({args: {}, handler: ctx => first(ctx)});
  export const byId = query({args: {id: v.string()}, handler: (ctx, {id}: any) => ctx.db.get(id)});
  export const write = mutation({args: {}, handler: async (ctx: any) => {
    await ctx.db.insert('other', {});
    try { await first(ctx); } catch {}
  }});`,
  'http.ts': `
  import {httpRouter} from 'svc/server';
  import {httpAction} from './_generated/server';
  const http = httpRouter();
  const handler = httpAction(async (ctx: any) => Response.json(await ctx.runQuery('f:byIndex', {})));
  http.route({path: '/first', method: 'GET', handler});
  export default http;`,
};

let service: Service;
let tenant: Tenant;
let app: App;
let id: string;

/** As if a pass had just ended: none begins before a day is over. */
function putScrubOff(db: Database.Database): void {
  const now = Date.now();
  const state = {position: {phase: 'done'}, sinceMs: now, completedMs: now, findings: 0};
  db.prepare(SET_META).run(...metaRow('scrub', JSON.stringify(state)));
}

/** Every leaf of the B-tree begins with a byte that says of no page what it is. */
function breakLeaves(path: string, tree: string): void {
  const db = new Database(path);
  putScrubOff(db);
  const leaves = db
    .prepare<[string], number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'")
    .pluck()
    .all(tree);
  const pageBytes = db.pragma('page_size', {simple: true}) as number;
  db.close();
  expect(leaves.length).toBeGreaterThan(1);
  const bytes = readFileSync(path);
  for (const page of leaves) bytes[(page - 1) * pageBytes] = 1;
  writeFileSync(path, bytes);
}

beforeAll(async () => {
  service = await Service.start();
  app = await App.deploy(service, APP);
  tenant = Tenant.of(service, app.tenant);
  await tenant.putSchema('indexed', [], [{name: 'by_n', fields: ['n']}]);
  await tenant.insertAll(
    'indexed',
    Array.from({length: DOCUMENTS}, (_, n) => ({n})),
  );
  id = await tenant.insert('other', {n: 1});
  await service.end('SIGTERM');
  breakLeaves(join(service.directoryOf(tenant.id)!, 'tenant.sqlite'), 'index_entries');
  await service.run();
}, 120_000);
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const call = (kind: string, name: string, args: object = {}) =>
  app.svc('POST', `/${kind}`, JSON.stringify({path: `f:${name}`, args}));
const byIndex = {table: 'indexed', filters: [{field: 'n', op: 'gte', value: 7}], order: {field: 'n', direction: 'asc'}};

test.each([
  ['a query', () => tenant.request('POST', '/query', {...byIndex, limit: 1})],
  ['a query on a scan thread', () => tenant.request('POST', '/query', byIndex)],
  ['a page', () => tenant.request('POST', '/query/paginated', {query: byIndex, page_size: 3})],
  ['a query function', () => call('query', 'byIndex')],
  ['a mutation that catches it', () => call('mutation', 'write')],
  ['an HTTP action', () => app.svc('GET', '/http/first')],
  ['an insert', () => tenant.request('POST', '/documents', {table: 'indexed', fields: {n: 7.5}})],
])('%s that needs the broken index is 503 op.storage_damaged, each time', async (_, request) => {
  for (let i = 0; i < 2; i++) expectError(await request(), 503, 'op.storage_damaged');
});

test('a live query by the broken index is refused', async () => {
  const socket = await Socket.established(service, tenant.id);
  socket.send({type: 'subscribe', request_id: 'live', query: byIndex});
  expect(await socket.next()).toMatchObject({type: 'op.error', error: {detail: {code: 'op.storage_damaged'}}});
  socket.close();
});

test('writes that share their commit with one that is refused are done, each once', async () => {
  const replies = await Promise.all(
    Array.from({length: 24}, (_, n) =>
      tenant.request('POST', '/documents', {table: n % 3 === 0 ? 'indexed' : 'beside', fields: {n}}),
    ),
  );
  expect(replies.map(({status}) => status)).toEqual(replies.map((_, n) => (n % 3 === 0 ? 503 : 201)));
  const written = (await tenant.list('beside')).map(({n}) => n).sort((a, b) => Number(a) - Number(b));
  expect(written).toEqual(replies.map((_, n) => n).filter(n => n % 3 !== 0));
});

test('everything else goes on, in the same worker', async () => {
  expect(await tenant.list('other')).toHaveLength(1);
  const many = await Promise.all([...Array(8)].flatMap(() => [call('query', 'byIndex'), call('query', 'byId', {id})]));
  expect(many.map(({status}) => status)).toEqual(many.map((_, i) => (i % 2 === 0 ? 503 : 200)));
  expect(await tenant.list('indexed')).toHaveLength(DOCUMENTS);
  await tenant.insert('other', {n: 2});
  expect(await tenant.list('other')).toHaveLength(2);
  expect(service.log).not.toContain('ended unexpectedly');
  expect(existsSync(join(service.directoryOf(tenant.id)!, 'damaged.txt'))).toBe(false);
  await service.end('SIGTERM');
  await service.run();
  expect(await tenant.list('other')).toHaveLength(2);
});
