/** Calls of query functions that the router answers without the worker. */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {IdentityProvider} from '../functions/auth/identity-provider.ts';
import {type Reply, Service} from '../harness/service.ts';
import {expectError} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let provider: IdentityProvider;
let app: App;
const files = (version: number) => ({
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({notes: defineTable({n: v.number()}).index('by_n', ['n'])});`,
  'auth.config.ts': `export default {providers: [{domain: ${JSON.stringify(provider.issuer)}, applicationID: 'app'}]};`,
  'notes.ts': `
    import {v} from 'svc/values';
    import {mutation, query} from './_generated/server';
    export const add = mutation({args: {n: v.number()}, handler: (ctx, note) => ctx.db.insert('notes', note)});
    export const of = query({args: {from: v.number(), to: v.number()}, handler: async (ctx, {from, to}) =>
      (await ctx.db.query('notes').withIndex('by_n', q => q.gte('n', from).lt('n', to)).collect()).map(({n}) => n)});
    export const page = query({args: {size: v.number()}, handler: async (ctx, {size}) =>
      (await ctx.db.query('notes').withIndex('by_n').order('desc').paginate({cursor: null, numItems: size})).page.map(({n}) => n)});
    export const missing = query({args: {}, handler: async ctx => (await ctx.db.query('later' as never).collect()).length});
    export const me = query({args: {}, handler: async ctx => (await ctx.auth.getUserIdentity())?.subject ?? 'anonymous'});
    export const variable = query({args: {}, handler: () => process.env.COLOUR ?? 'none'});
    export const version = query({args: {}, handler: () => ${version}});
    export const now = query({args: {}, handler: () => Date.now()});
    export const random = query({args: {}, handler: () => Math.random()});
    export const logs = query({args: {}, handler: () => { console.log('hello'); return 1; }});
    export const fails = query({args: {}, handler: () => { throw new Error('no'); }});
    export const infinite = query({args: {}, handler: () => [Infinity, -0]});`,
});

beforeAll(async () => {
  service = await Service.start({spares: 0, args: ['--metrics-port', '0']});
  provider = await IdentityProvider.start();
  app = await App.deploy(service, files(1));
  await setOrigins(null);
}, 120_000);
afterAll(async () => {
  await service.stop();
  await provider.stop();
});
beforeEach(() => service.showLogOnFailure());

type Headers = Record<string, string>;

async function setOrigins(origins: string[] | null): Promise<void> {
  const egress = {allow: [provider.issuer.slice('http://'.length)], deny: []};
  expect((await app.admin('PUT', '/settings', {egress, allowed_origins: origins})).status).toBe(204);
}

const call = (path: string, args: object = {}, more: object = {}, headers: Headers = {}) =>
  app.svc('POST', '/query', {path: `notes:${path}`, args, ...more}, headers);
const shown = ({body}: Reply) => (body as {value: unknown}).value;
const value = async (...args: Parameters<typeof call>) => shown(await call(...args));

async function answers(): Promise<number> {
  return Number(/^svc_router_cached_answers_total (\d+)$/m.exec((await service.get('/metrics')).text)?.[1]);
}

/** The reply, and whether the router made it. */
async function judged(act: () => Promise<Reply>): Promise<{reply: Reply; isFromRouter: boolean}> {
  const before = await answers();
  const reply = await act();
  return {reply, isFromRouter: (await answers()) > before};
}

/** A reply of the router. Each lease ends, and in its second half a call goes to the worker, so it is tried again. */
async function fromRouter(act: () => Promise<Reply>): Promise<Reply> {
  return await until('an answer of the router', async () => {
    const {reply, isFromRouter} = await judged(act);
    expect(reply.status).toBe(200);
    return isFromRouter ? reply : null;
  });
}

function comparable({status, text, headers}: Reply): unknown {
  const {date: _date, 'x-request-id': _id, ...others} = headers;
  return {status, text, headers: others};
}

describe('a call that was made twice is answered by the router', () => {
  test.each<[string, object, object, Headers]>([
    ['of', {from: 0, to: 5}, {}, {}],
    ['of', {from: 0, to: 5}, {}, {origin: 'https://a.example'}],
    ['page', {size: 2}, {}, {}],
    ['me', {}, {}, {}],
    ['infinite', {}, {}, {}],
    ['infinite', {}, {format: 'json'}, {}],
  ])('%s(%j) with %j and %j: as by the worker', async (path, args, more, headers) => {
    const byWorker = await call(path, args, more, headers);
    const byRouter = await fromRouter(() => call(path, args, more, headers));
    expect(comparable(byRouter)).toEqual(comparable(byWorker));
  });

  test('each is in the log with its own request id, and counts', async () => {
    const act = () => call('of', {from: 7, to: 8});
    const executions = async () =>
      Number(
        /svc_function_executions_total\{kind="query",outcome="success"\} (\d+)/.exec(
          (await service.get('/metrics')).text,
        )?.[1],
      );
    await fromRouter(act);
    await app.logs(); // the report of the calls before
    const [before, answered] = [await executions(), await answers()];
    const replies = await Promise.all(Array.from({length: 20}, act));
    expect(await answers()).toBeGreaterThan(answered);
    const ids = replies.map(({headers}) => String(headers['x-request-id']));
    const logged = (await app.logs()).filter(({request_id}) => ids.includes(request_id));
    expect(logged.map(({request_id}) => request_id).sort()).toEqual(ids.sort());
    for (const entry of logged) {
      expect(entry).toMatchObject({path: 'notes:of', kind: 'query', caller: 'client', outcome: 'success', lines: []});
      expect(Math.abs(entry.at - Date.now())).toBeLessThan(60_000);
    }
    expect((await executions()) - before).toBe(20);
  });

  test('also with the admin token, which makes no identity', async () => {
    const headers = {'x-svc-admin-token': service.adminToken};
    await fromRouter(() => call('me', {}, {}, headers));
    expectError(await call('me', {}, {}, {'x-svc-admin-token': 'wrong'}), 401, 'auth.unauthorized');
  });
});

test('a call with a token is answered by the worker, as its user', async () => {
  await fromRouter(() => call('me'));
  const token = await provider.token({iss: provider.issuer, sub: 'ada', aud: 'app', exp: Date.now() / 1000 + 600});
  for (let times = 0; times < 4; times++) {
    const as = await judged(() => call('me', {}, {}, {authorization: `Bearer ${token}`}));
    expect([shown(as.reply), as.isFromRouter]).toEqual(['ada', false]);
    expect(await value('me')).toBe('anonymous');
  }
  expect((await call('me', {}, {}, {authorization: 'Bearer nonsense'})).status).toBe(401);
});

test.each<[string, object]>([
  ['now', {}],
  ['random', {}],
  ['logs', {}],
  ['fails', {}],
  ['of', {version: true}],
])('%s with %j is never answered by the router', async (path, more) => {
  const args = path === 'of' ? {from: 100, to: 101} : {};
  for (let times = 0; times < 6; times++) {
    expect((await judged(() => call(path, args, more))).isFromRouter).toBe(false);
  }
});

test('a body that is too long, or not as it was', async () => {
  const args = {from: 200, to: 201};
  await fromRouter(() => call('of', args));
  const spaced = `${' '.repeat(5_000)}${JSON.stringify({path: 'notes:of', args})}`;
  for (let times = 0; times < 4; times++)
    expect((await judged(() => app.svc('POST', '/query', spaced))).isFromRouter).toBe(false);
  expect((await judged(() => app.svc('POST', '/query', {args, path: 'notes:of'}))).isFromRouter).toBe(false);
  expectError(await app.svc('POST', '/query', '{"path":"notes:of",'), 400, 'op.invalid_input');
  // The paths are those of two operations.
  expect((await app.svc('POST', '/query/paginated', {path: 'notes:of', args})).text).toContain('"status":"error"');
});

describe('a change is in the next answer', () => {
  test('a write into an empty range, at its bounds, and beside it', async () => {
    const args = {from: 1_000, to: 1_010};
    const seen: number[] = [];
    for (const n of [1_005, 1_010, 1_000, 999, 1_009]) {
      expect(shown(await fromRouter(() => call('of', args)))).toEqual(seen);
      await app.mutation('notes:add', {n});
      if (n >= 1_000 && n < 1_010) seen.push(n);
      seen.sort((a, b) => a - b);
      expect(await value('of', args)).toEqual(seen);
    }
  });

  test('a document that moves into a page, changes, and goes', async () => {
    const page = () => call('page', {size: 2});
    const {body} = await app.admin('POST', '/documents', {table: 'notes', fields: {n: 2_000}});
    const {id} = body as {id: string};
    for (const n of [5_001, 5_002, 1]) {
      await fromRouter(page);
      await app.admin('PATCH', `/documents/notes/${id}`, {patch: {n}});
      expect((shown(await page()) as number[]).includes(n)).toBe(n > 1);
    }
    const all = () => call('of', {from: 0, to: 10});
    expect(shown(await fromRouter(all))).toContain(1);
    await app.admin('DELETE', `/documents/notes/${id}`);
    expect(await value('of', {from: 0, to: 10})).not.toContain(1);
  });

  test('the first document of a table that was not there', async () => {
    expect(shown(await fromRouter(() => call('missing')))).toBe(0);
    await app.admin('POST', '/documents', {table: 'later', fields: {}});
    expect(await value('missing')).toBe(1);
  });

  test('a variable that is set and deleted', async () => {
    expect(shown(await fromRouter(() => call('variable')))).toBe('none');
    await app.admin('PUT', '/env/COLOUR', {value: 'red'});
    expect(await value('variable')).toBe('red');
    expect(shown(await fromRouter(() => call('variable')))).toBe('red');
    await app.admin('DELETE', '/env/COLOUR');
    expect(await value('variable')).toBe('none');
  });

  test('another deployment', async () => {
    for (const version of [1, 2, 3]) {
      await app.deploy(files(version));
      expect(await value('version')).toBe(version);
      expect(shown(await fromRouter(() => call('version')))).toBe(version);
    }
  });

  test('the origins that may read answers', async () => {
    const origin = {origin: 'https://a.example'};
    const act = () => call('of', {from: 300, to: 301}, {}, origin);
    expect((await fromRouter(act)).headers['access-control-allow-origin']).toBe('*');
    await setOrigins(['https://b.example']);
    expect((await act()).headers['access-control-allow-origin']).toBeUndefined();
    expect((await fromRouter(act)).headers['access-control-allow-origin']).toBeUndefined();
    await setOrigins(null);
    expect((await act()).headers['access-control-allow-origin']).toBe('*');
  });

  test('its tenant is deleted', async () => {
    const other = await App.deploy(service, files(1));
    const act = () => other.svc('POST', '/query', {path: 'notes:version', args: {}});
    await fromRouter(act);
    expect((await service.request('DELETE', `/api/tenants/${other.tenant}`)).status).toBe(204);
    expectError(await act(), 404, 'session.tenant_not_found');
  });
});
