import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {nightly, rounds} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {App} from '../app.ts';

const schema = (table: string) => `
  import {defineSchema, defineTable} from 'svc/server';
  import {v} from 'svc/values';
  export default defineSchema({${table}});`;
const FUNCTIONS = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const version = query({args: {}, handler: () => 'VERSION'});
  export const add = mutation({args: {n: v.any()}, handler: (ctx, {n}) => ctx.db.insert('items' as never, {n} as never)});
  export const count = query({args: {}, handler: async ctx => ((await ctx.db.query('items' as never).collect()) as unknown[]).length});
  export const find = query({args: {n: v.any()}, handler: async (ctx, {n}) =>
    ((await (ctx.db.query('items' as never) as any).withIndex('by_n', (q: any) => q.eq('n', n)).collect()) as unknown[]).length});`;
const version = (text: string) => FUNCTIONS.replace('VERSION', text);

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

describe('a deploy', () => {
  test('[67] that existing documents violate is refused and changes nothing', async () => {
    const app = await App.deploy(service, {'items.ts': version('one')});
    const id = await app.mutation('items:add', {n: 'text'});
    const refused = await app.tryDeploy({
      'items.ts': version('two'),
      'schema.ts': schema("items: defineTable({n: v.number()}).index('by_n', ['n'])"),
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(`Document with ID \\"${id}\\" in table \\"items\\" does not match the schema`);
    expect(await app.query('items:version', {})).toBe('one');
    expect((await app.admin('GET', '/schema')).body).toEqual({tables: {}});
    expect(await app.mutation('items:add', {n: 'more text'})).toEqual(expect.any(String));
    expect(await app.queryError('items:find', {n: 1})).toContain('Index items.by_n not found');
  });

  test('[68] that adds an index over many documents answers completely from its first query on', async () => {
    const app = await App.deploy(service, {'items.ts': version('one')});
    const lines = Array.from({length: 10_000}, (_, i) => `{"n":${i % 10}}`).join('\n');
    const imported = await app.admin('POST', '/import?table=items', lines, {'content-type': 'application/x-ndjson'});
    expect(imported.status).toBe(200);
    await app.deploy({
      'items.ts': version('two'),
      'schema.ts': schema("items: defineTable({n: v.number()}).index('by_n', ['n'])"),
    });
    expect(await app.query('items:find', {n: 3})).toBe(1_000);
  });

  test('that is wrong in several places gets all errors at once, with file and line', async () => {
    const app = await App.deploy(service, {'items.ts': version('one')});
    const refused = await app.tryDeploy({
      'one.ts': 'export const a = 1;\nthrow new Error("first fault");',
      'two.ts': 'export const b = 1;\n\nthrow new Error("second fault");',
      'items.ts': version('two'),
    });
    expect(refused.status).toBe(400);
    const errors = (refused.body as {error: {detail: {errors: unknown}}}).error.detail.errors as {
      message: string;
      file: string;
      line: number;
    }[];
    expect(errors).toMatchObject([
      {message: expect.stringContaining('first fault'), file: 'svc/one.ts', line: 2},
      {message: expect.stringContaining('second fault'), file: 'svc/two.ts', line: 3},
    ]);
    expect(await app.query('items:version', {})).toBe('one');
  });

  test('can be rolled back, and the history says what was active when', async () => {
    const app = await App.deploy(service, {'items.ts': version('one')});
    await app.deploy({'items.ts': version('two')});
    expect(await app.query('items:version', {})).toBe('two');
    const {deployments} = (await app.admin('GET', '/deployments')).body as {
      deployments: {id: number; active: boolean}[];
    };
    expect(deployments.map(({id, active}) => [id, active])).toEqual([
      [2, true],
      [1, false],
    ]);
    expect((await app.admin('POST', '/deployments/1/activate')).status).toBe(200);
    expect(await app.query('items:version', {})).toBe('one');
    expect((await app.admin('POST', '/deployments/99/activate')).status).toBe(404);
  });

  nightly.test('survives the death of everything', async () => {
    const app = await App.deploy(service, {'items.ts': version('one')});
    await app.mutation('items:add', {n: 1});
    await service.killAll();
    await service.run();
    expect(await app.query('items:version', {})).toBe('one');
    expect(await app.query('items:count', {})).toBe(1);
  });

  test('is not noticed: under load no request is refused and every answer is of one version', async () => {
    const app = await App.deploy(service, {'items.ts': version('0')});
    let isDeploying = true;
    const seen = new Set<string>();
    const load = Array.from({length: 8}, async () => {
      while (isDeploying) {
        seen.add((await app.query('items:version', {})) as string);
        await app.mutation('items:add', {n: 1});
      }
    });
    const deploys = rounds({commit: 2, nightly: 5});
    for (let i = 1; i <= deploys; i++) await app.deploy({'items.ts': version(String(i))});
    isDeploying = false;
    await Promise.all(load);
    for (const text of seen) expect(['0', '1', '2', '3', '4', '5']).toContain(text);
    expect(await app.query('items:version', {})).toBe(String(deploys));
  });

  test('owns the tables of its schema: natively they can be read and written by its rules, their schema cannot be changed', async () => {
    const app = await App.deploy(service, {
      'items.ts': version('one'),
      'schema.ts': schema("items: defineTable({n: v.number()}).index('by_n', ['n'])"),
    });
    const native = (method: string, path: string, body?: unknown) => app.admin(method, path, body);
    expect((await native('PUT', '/schema/items', {table: 'items', fields: [], indexes: []})).status).toBe(409);
    expect((await native('DELETE', '/schema/items')).status).toBe(409);
    expect((await native('POST', '/documents', {table: 'items', fields: {n: 'text'}})).text).toContain(
      'op.schema_violation',
    );
    expect((await native('POST', '/documents', {table: 'items', fields: {n: 5}})).status).toBe(201);
    expect(await app.query('items:find', {n: 5})).toBe(1);
    expect((await native('GET', '/schema/items')).body).toMatchObject({
      table: 'items',
      fields: [{name: 'n', field_type: 'number', required: true}],
      indexes: [{name: 'by_n', fields: ['n'], state: 'enabled'}],
    });
  });
});
