import {beforeAll, describe, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const FILES = {
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({
      users: defineTable({name: v.string()}),
      posts: defineTable({title: v.string()}),
      keyed: defineTable({k: v.optional(v.any())}).index('by_k', ['k']),
    });`,
  'values.ts': `
    import {v} from 'svc/values';
    import {api} from './_generated/api';
    import {action, mutation, query} from './_generated/server';
    export const strict = query({args: {a: v.string()}, handler: (ctx, {a}) => { console.log('ran'); return a; }});
    export const optional = query({args: {a: v.optional(v.string())}, handler: () => 'ok'});
    export const unchecked = query({handler: (ctx, args) => Object.keys(args)});
    export const empty = query({args: {}, handler: () => 'ok'});
    export const mapInQuery = query({args: {}, handler: () => ({a: new Map()}) as never});
    export const dateInAction = action({args: {}, handler: async () => new Date(0) as never});
    export const nothing = query({handler: () => {}});
    export const returnsNull = query({returns: v.null(), handler: () => {}});
    export const wrongReturn = mutation({
      args: {},
      returns: v.object({a: v.number()}),
      handler: async ctx => {
        await ctx.db.insert('users', {name: 'kept?'});
        return {a: 1, b: 2} as never;
      },
    });
    export const users = query({args: {}, handler: ctx => ctx.db.query('users').collect()});
    export const takesUser = query({args: {id: v.id('users')}, handler: () => 'ok'});
    export const make = mutation({
      args: {},
      handler: async ctx => {
        const gone = await ctx.db.insert('users', {name: 'gone'});
        await ctx.db.delete(gone);
        return {user: await ctx.db.insert('users', {name: 'a'}), post: await ctx.db.insert('posts', {title: 'p'}), gone};
      },
    });
    export const insertSpecial = mutation({
      args: {},
      handler: ctx => ctx.db.insert('specials' as never, {x: NaN, y: -0, z: Infinity} as never),
    });
    export const special = query({args: {id: v.string()}, handler: (ctx, {id}) => ctx.db.get(id as never)});
    export const nested = query({
      args: {depth: v.number()},
      handler: (ctx, {depth}) => {
        let value: unknown = [];
        for (let i = 1; i < depth; i++) value = [value];
        return value as never;
      },
    });
    export const insertAny = mutation({
      args: {text: v.string()},
      handler: (ctx, {text}) => ctx.db.insert('uni' as never, JSON.parse(text) as never),
    });
    export const allOfAny = query({args: {}, handler: ctx => ctx.db.query('uni' as never).collect()});
    export const checkedAny = query({
      args: {id: v.string()},
      returns: v.any(),
      handler: (ctx, {id}) => ctx.db.get(id as never),
    });
    export const relay = action({
      args: {id: v.string()},
      handler: (ctx, {id}): Promise<unknown> => ctx.runQuery(api.values.checkedAny, {id}),
    });
    export const huge = query({args: {}, handler: () => 'x'.repeat(17 * 1024 * 1024)});
    export const insertKeys = mutation({
      args: {},
      handler: async ctx => {
        for (const k of [{}, [], 'é', 'a', false, NaN, -1, null, undefined]) await ctx.db.insert('keyed', {k});
      },
    });
    export const insertStrings = mutation({
      args: {},
      handler: async ctx => { for (const k of ['😀', '\\uFF5E']) await ctx.db.insert('keyed', {k}); },
    });
    export const byKey = query({
      args: {},
      handler: async ctx => (await ctx.db.query('keyed').withIndex('by_k').collect()).map(doc => ('k' in doc ? [doc.k] : [])),
    });
    export const clearKeys = mutation({
      args: {},
      handler: async ctx => { for await (const {_id} of ctx.db.query('keyed')) await ctx.db.delete(_id); },
    });`,
};

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

describe('values and validators', () => {
  test.each([[{a: 1}], [{}], [{a: 'x', b: 1}], ['x']])(
    '[1] arguments that do not fit are refused before the handler runs: %j',
    async args => {
      const reply = await app.reply('query', 'values:strict', args);
      expect(reply).toMatchObject({status: 'error', errorMessage: expect.stringContaining('ArgumentValidationError:')});
      expect(reply.logLines).toBeUndefined();
    },
  );

  test('[2] optional is not nullable', async () => {
    expect(await app.query('values:optional', {})).toBe('ok');
    expect(await app.query('values:optional', {a: undefined})).toBe('ok');
    expect(await app.queryError('values:optional', {a: null})).toContain('ArgumentValidationError:');
  });

  test('[3] without args anything goes; args: {} takes nothing', async () => {
    expect(await app.query('values:unchecked', {z: 1, y: [null]})).toEqual(['y', 'z']);
    expect(await app.query('values:empty', {})).toBe('ok');
    expect(await app.queryError('values:empty', {extra: 1})).toContain('extra');
  });

  test('[4] nothing returned is null', async () => {
    expect(await app.query('values:nothing', {})).toBeNull();
    expect(await app.query('values:returnsNull', {})).toBeNull();
  });

  test('[5] a return value that does not fit rolls the mutation back', async () => {
    expect(await app.mutationError('values:wrongReturn', {})).toContain('ReturnsValidationError:');
    const names = (await app.query('values:users', {})) as {name: string}[];
    expect(names.map(user => user.name)).not.toContain('kept?');
  });

  test('[6] v.id takes an id of its table, also of a deleted document', async () => {
    const {user, post, gone} = (await app.mutation('values:make', {})) as Record<string, string>;
    const wrongTable = await app.queryError('values:takesUser', {id: post});
    expect(wrongTable).toContain("'posts'");
    expect(wrongTable).toContain('v.id("users")');
    expect(await app.queryError('values:takesUser', {id: 'zzz'})).toContain('does not match');
    expect(await app.query('values:takesUser', {id: gone})).toBe('ok');
    expect(await app.query('values:takesUser', {id: user})).toBe('ok');
  });

  test('[7] NaN, -0 and Infinity come back as they were', async () => {
    const id = await app.mutation('values:insertSpecial', {});
    const {x, y, z} = (await app.query('values:special', {id})) as Record<string, number>;
    expect([Object.is(x, Number.NaN), Object.is(y, -0), z]).toEqual([true, true, Number.POSITIVE_INFINITY]);
  });

  test('[9] a return value nests 64 levels, not 65', async () => {
    expect((await app.reply('query', 'values:nested', {depth: 64})).status).toBe('success');
    expect(await app.queryError('values:nested', {depth: 65})).toMatch(/too nested/i);
  });

  test('what a document may hold can be returned to any caller', async () => {
    const documents = [
      {größe: 5},
      {long: Array(9_000).fill(0)},
      Object.fromEntries(Array.from({length: 1_100}, (_, i) => [`k${i}`, i])),
    ];
    const levels = JSON.parse(`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`) as object;
    const native = await app.admin('POST', '/documents', {table: 'uni', fields: {'schlüssel mit Leerzeichen': {ß: 1}}});
    expect(native.status).toBe(201);
    for (const document of documents) {
      const id = await app.mutation('values:insertAny', {text: JSON.stringify(document)});
      expect(await app.query('values:checkedAny', {id})).toMatchObject(document);
      expect(await app.action('values:relay', {id})).toMatchObject(document);
    }
    const all = (await app.query('values:allOfAny', {})) as object[];
    expect(all).toMatchObject([{'schlüssel mit Leerzeichen': {ß: 1}}, ...documents]);
    const deep = await app.mutation('values:insertAny', {text: JSON.stringify(levels)});
    expect(await app.query('values:checkedAny', {id: deep})).toMatchObject(levels);
  });

  test('a result that is too large is an error with the name of its function', async () => {
    expect(await app.queryError('values:huge', {})).toContain('Function values:huge return value is too large');
  });

  test('a result that is no value is an error with the name and the file of its function', async () => {
    expect(await app.queryError('values:mapInQuery', {})).toMatch(
      /Map is not a supported svc type \(present at path \.a in .*\); returned by values:mapInQuery \(svc\/values\.ts\)/,
    );
    expect(await app.actionError('values:dateInAction', {})).toMatch(
      /Date .* is not a supported svc type; returned by values:dateInAction \(svc\/values\.ts\)/,
    );
  });

  test('[10] an index holds every type in the one order', async () => {
    await app.mutation('values:insertKeys', {});
    const keys = (await app.query('values:byKey', {})) as unknown[][];
    expect(keys).toEqual([[], [null], [-1], [Number.NaN], [false], ['a'], ['é'], [[]], [{}]]);
    await app.mutation('values:clearKeys', {});
  });

  test('[11] strings are ordered by code point', async () => {
    await app.mutation('values:insertStrings', {});
    expect(await app.query('values:byKey', {})).toEqual([['～'], ['😀']]);
    await app.mutation('values:clearKeys', {});
  });

  test('[12] v.int64() fails the deploy by name, and what was deployed still serves', async () => {
    const refused = await app.tryDeploy({
      ...FILES,
      'schema.ts': `
        import {defineSchema, defineTable} from 'svc/server';
        import {v} from 'svc/values';
        export default defineSchema({users: defineTable({n: (v as any).int64()})});`,
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('v.int64() is not supported');
    expect(await app.query('values:optional', {})).toBe('ok');
  });
});
