/** An export that is put back where the schema of a deployment checks references: the good ones hold, the wrong ones are refused. */
import {beforeAll, beforeEach, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const JSON_LINES = {'content-type': 'application/x-ndjson'};
const SCHEMA = `
  import {defineSchema, defineTable} from 'svc/server';
  import {v} from 'svc/values';
  export default defineSchema({
    users: defineTable({name: v.string()}),
    posts: defineTable({
      author: v.id('users'),
      readers: v.array(v.id('users')),
      answers: v.optional(v.id('posts')),
    }).index('by_author', ['author']),
  });`;
const POSTS = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const names = query({args: {author: v.id('users')}, handler: async (ctx, {author}) => {
    const posts = await ctx.db.query('posts').withIndex('by_author', q => q.eq('author', author)).collect();
    return Promise.all(posts.flatMap(post => post.readers).map(async id => (await ctx.db.get(id))?.name ?? null));
  }});
  export const add = mutation({args: {author: v.string()}, handler: (ctx, {author}) =>
    ctx.db.insert('posts', {author: author as never, readers: []})});`;
const FILES = {'schema.ts': SCHEMA, 'posts.ts': POSTS};
const STATUS = [{name: 'n', field_type: 'number', required: true}];

const service = await sharedService();
let lines: string[];
let [ada, bob, post] = ['', '', ''];
beforeAll(async () => {
  const source = Tenant.of(service, (await App.deploy(service, FILES)).tenant);
  ada = await source.insert('users', {name: 'Ada'});
  bob = await source.insert('users', {name: 'Bob'});
  post = await source.insert('posts', {author: ada, readers: [bob, ada]});
  await source.insert('posts', {author: ada, readers: [], answers: post});
  await source.request('PUT', '/documents/users/own-id', {fields: {name: 'Cleo'}});
  await source.insert('posts', {author: 'own-id', readers: ['own-id']});
  await source.putSchema('states', STATUS, [{name: 'by_n', fields: ['n'], unique: true}]);
  await source.insert('states', {n: 1});
  lines = await exported(source);
});
beforeEach(() => service.showLogOnFailure());

async function exported(tenant: Tenant): Promise<string[]> {
  const {text} = await tenant.request('GET', '/export?for=restore');
  return text.split('\n').filter(line => line !== '');
}

/** Tables get other numbers than they have where the export comes from. */
async function target(files: Record<string, string> | null): Promise<{app: App; tenant: Tenant}> {
  const app = await App.empty(service);
  const tenant = Tenant.of(service, app.tenant);
  for (const table of ['first', 'posts', 'states']) await tenant.delete(table, await tenant.insert(table, {n: 1}));
  if (files !== null) await app.deploy(files);
  return {app, tenant};
}

const put = (tenant: Tenant, some: readonly string[]) =>
  tenant.request('POST', '/import?mode=restore', `${some.join('\n')}\n`, JSON_LINES);

async function expectWhole({app, tenant}: {app: App; tenant: Tenant}): Promise<void> {
  expect((await exported(tenant)).sort()).toEqual(lines.toSorted());
  expect(await app.query('posts:names', {author: ada})).toEqual(['Bob', 'Ada']);
  expect(await app.query('posts:names', {author: 'own-id'})).toEqual(['Cleo']);
  expect(await app.queryError('posts:names', {author: post})).toMatch(/ArgumentValidationError|"posts"/);
  // Later writes are checked as ever, also against what was restored.
  expect(await app.mutation('posts:add', {author: bob})).toEqual(expect.any(String));
  expect(await app.mutationError('posts:add', {author: post})).toMatch(/author/);
  const insert = (author: string) =>
    tenant.request('POST', '/documents', {table: 'posts', fields: {author, readers: []}});
  expect((await insert(ada)).status).toBe(201);
  for (const wrong of [post, 'nobody']) expectError(await insert(wrong), 400, 'op.schema_violation');
}

test('references hold after it, in whichever order the tables come, and are checked from then on', async () => {
  const inOrder = await target(FILES);
  expect((await put(inOrder.tenant, lines)).body).toMatchObject({inserted: 7, failed: 0});
  await expectWhole(inOrder);
  // An id that was chosen says nothing of its table: its document is there before others name it.
  const isOf = (table: string) => (line: string) => line.startsWith(`{"table":"${table}"`);
  const posts = lines.filter(isOf('posts'));
  const rest = lines.filter(line => !posts.includes(line));
  const turned = await target(FILES);
  const early = expectError(await put(turned.tenant, [...posts, ...rest]), 400, 'op.schema_violation');
  expect(early.message).toMatch(/^line 3: [\s\S]*"own-id"/);
  expect(early.detail).toMatchObject({line: 3, import: {inserted: 2}});
  expect((await put(turned.tenant, [...rest, posts[2]!])).body).toMatchObject({inserted: 5});
  await expectWhole(turned);
});

test('a deployment after it takes what it finds, and refuses wrong references in it', async () => {
  const later = await target(null);
  expect((await put(later.tenant, lines)).body).toMatchObject({inserted: 7});
  await later.app.deploy(FILES);
  await expectWhole(later);
  const wrong = await target(null);
  const bad = lines.map(line => line.replaceAll(`"author":"${ada}"`, `"author":"${post}"`));
  expect((await put(wrong.tenant, bad)).body).toMatchObject({inserted: 7});
  const {status, text} = await wrong.app.tryDeploy(FILES);
  expect({status, text}).toEqual({status: 400, text: expect.stringContaining('author')});
});

test('a wrong reference is refused with its line', async () => {
  const {tenant} = await target(FILES);
  const users = lines.filter(line => line.includes('"table":"users"'));
  const posts = lines.filter(line => line.includes('"table":"posts"'));
  expect((await put(tenant, users)).body).toMatchObject({inserted: 3});
  const line = (fields: object) =>
    JSON.stringify({table: 'posts', document: {_id: 'p', _creationTime: 1, _updateTime: 1, readers: [], ...fields}});
  for (const [fields, why] of [
    [{author: ada, answers: ada}, /answers/],
    [{author: 'typed by hand'}, /author/],
    [{author: ada, readers: [ada, 5]}, /readers/],
    [{author: ada, more: 1}, /more/],
    [{}, /author/],
  ] as const) {
    const {message, detail} = expectError(await put(tenant, [line(fields)]), 400, 'op.schema_violation');
    expect(message).toMatch(/^line 1: /);
    expect(message).toMatch(why);
    expect(detail).toMatchObject({line: 1, import: {inserted: 0}});
  }
  expect((await put(tenant, posts)).body).toMatchObject({inserted: 3});
});
