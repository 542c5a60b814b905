import {beforeAll, describe, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

/** Each check's code is a function of its own, so that a failure shows the code beside the expectation. */
const FILES = {
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({
      things: defineTable({a: v.optional(v.any()), b: v.optional(v.any()), o: v.optional(v.any())})
        .index('by_a', ['a'])
        .index('by_a_b', ['a', 'b']),
      strict: defineTable({n: v.number()}),
      counters: defineTable({n: v.number()}),
      people: defineTable({age: v.optional(v.number())}),
      pages: defineTable({n: v.number()}),
      three: defineTable({n: v.number()}),
      neq: defineTable({a: v.optional(v.number())}).index('by_a', ['a']),
    });`,
  'db.ts': `
    import {v} from 'svc/values';
    import {paginationOptsValidator} from 'svc/server';
    import {internal} from './_generated/api';
    import {internalMutation, mutation, query} from './_generated/server';
    const any = {args: {}} as const;
    const texts = async (...runs: (() => unknown)[]) => {
      const found: string[] = [];
      for (const run of runs) {
        try { await run(); found.push('ok'); } catch (error) { found.push((error as Error).name + ': ' + (error as Error).message); }
      }
      return found;
    };
    export const five = mutation({...any, handler: async ctx => { for (let n = 0; n < 5; n++) await ctx.db.insert('ordered' as never, {n} as never); }});
    export const times = mutation({...any, handler: async ctx => {
      const table = 'times' as never;
      const ids: string[] = [];
      for (let n = 0; n < 200; n++) ids.push(await ctx.db.insert(table, {n} as never) as string);
      for (const id of ids) await ctx.db.patch(id as never, {patched: true} as never);
      const rows = await Promise.all(ids.map(async id => (await ctx.db.get(id as never)) as any));
      return {now: Date.now(), created: rows.map(row => row._creationTime), updated: rows.map(row => row._updateTime)};
    }});
    export const ordered = query({...any, handler: ctx => ctx.db.query('ordered' as never).collect()});
    export const sees = mutation({...any, handler: async ctx => {
      const one = await ctx.db.insert('things', {a: 'sees', b: 1});
      await ctx.db.insert('things', {a: 'sees', b: 3});
      await ctx.db.insert('things', {a: 'sees', b: 2});
      const read = async () => (await ctx.db.query('things').withIndex('by_a_b', q => q.eq('a', 'sees')).collect()).map(d => d.b);
      const before = await read();
      await ctx.db.delete(one);
      return [before, await read()];
    }});
    export const patched = mutation({...any, handler: async ctx => {
      const id = await ctx.db.insert('things', {a: 1, o: {x: 1}});
      await ctx.db.patch(id, {a: undefined, o: {y: 2}});
      const {_id, _creationTime, _updateTime, ...rest} = (await ctx.db.get(id))!;
      return rest;
    }});
    export const newThing = mutation({...any, handler: ctx => ctx.db.insert('things', {a: 1})});
    export const patchWhole = mutation({args: {id: v.id('things')}, handler: async (ctx, {id}) => {
      const before = (await ctx.db.get(id))!;
      await ctx.db.patch(id, {...before, a: 2});
      return [before, (await ctx.db.get(id))!];
    }});
    export const badInserts = mutation({...any, handler: ctx => texts(
      () => ctx.db.insert('things', {_creationTime: 5} as never),
      () => ctx.db.insert('things', {_x: 1} as never),
      () => ctx.db.insert('_t' as never, {} as never),
    )});
    export const deletedWrites = mutation({...any, handler: async ctx => {
      const id = await ctx.db.insert('things', {});
      await ctx.db.delete(id);
      return [id, ...(await texts(() => ctx.db.patch(id, {a: 1}), () => ctx.db.delete(id)))];
    }});
    export const badGets = mutation({...any, handler: async ctx => {
      const id = await ctx.db.insert('things', {});
      await ctx.db.delete(id);
      const errors = await texts(() => ctx.db.get(undefined as never), () => ctx.db.get(7 as never), () => ctx.db.get('zzz' as never));
      return [...errors, await ctx.db.get(id)];
    }});
    export const insertThenThrow = mutation({...any, handler: async ctx => {
      await ctx.db.insert('strict', {n: 25});
      await ctx.scheduler.runAfter(0, internal.db.mark, {n: 26});
      throw new Error('check 25');
    }});
    export const scheduleMark = mutation({args: {n: v.number()}, handler: (ctx, {n}) =>
      ctx.scheduler.runAfter(0, internal.db.mark, {n})});
    export const mark = internalMutation({args: {n: v.number()}, handler: async (ctx, {n}) => { await ctx.db.insert('strict', {n}); }});
    export const caught = mutation({...any, handler: async ctx => {
      const [error] = await texts(() => ctx.db.insert('strict', {n: 'no' as never}));
      await ctx.db.insert('strict', {n: 260});
      return error;
    }});
    export const strictNumbers = query({...any, handler: async ctx => (await ctx.db.query('strict').collect()).map(d => d.n)});
    export const newCounter = mutation({...any, handler: ctx => ctx.db.insert('counters', {n: 0})});
    export const increment = mutation({args: {id: v.id('counters')}, handler: async (ctx, {id}) => {
      const {n} = (await ctx.db.get(id))!;
      await ctx.db.patch(id, {n: n + 1});
    }});
    export const counter = query({args: {id: v.id('counters')}, handler: async (ctx, {id}) => (await ctx.db.get(id))!.n});
    export const uniques = mutation({...any, handler: async ctx => {
      const find = () => ctx.db.query('things').withIndex('by_a', q => q.eq('a', 'unique')).unique();
      const none = await find();
      const id = await ctx.db.insert('things', {a: 'unique'});
      const one = await find();
      const second = await ctx.db.insert('things', {a: 'unique'});
      const [two] = await texts(find);
      return {none, one: one!._id === id, two, ids: [id, second]};
    }});
    export const misuse = query({...any, handler: async ctx => {
      const filtered = ctx.db.query('things').filter(q => q.eq(q.field('a'), 1));
      await filtered.collect();
      return await texts(
        () => (ctx.db.query('things').order('asc') as any).order('desc'),
        () => filtered.collect(),
        () => ctx.db.query('things').take(1.5),
      );
    }});
    export const ranges = query({...any, handler: ctx => {
      const run = (range: (q: any) => any) => () => ctx.db.query('things').withIndex('by_a_b', range as never).collect();
      return texts(
        run(q => q.gt('a', 1).lt('b', 2)),
        run(q => q.eq('b', 1)),
        run(q => q.eq('c', 1)),
        run(q => q.gt('a', 1).gte('a', 2)),
        run(q => q.eq('a', 1).eq('a', 2)),
      );
    }});
    export const missing = mutation({...any, handler: async ctx => {
      for (const b of [undefined, null, 0]) await ctx.db.insert('things', {a: 31, b});
      const read = async (range: (q: any) => any) =>
        (await ctx.db.query('things').withIndex('by_a_b', range as never).collect()).map(d => ('b' in d ? [d.b] : []));
      return [
        await read(q => q.eq('a', 31).eq('b', undefined)),
        await read(q => q.eq('a', 31).eq('b', null)),
        await read(q => q.eq('a', 31).gt('b', undefined)),
      ];
    }});
    export const fillNeq = mutation({...any, handler: async ctx => { for (const a of [undefined, 1, 2, 3]) await ctx.db.insert('neq', {a}); }});
    export const neq = query({args: {order: v.union(v.literal('asc'), v.literal('desc'))}, handler: async (ctx, {order}) =>
      (await ctx.db.query('neq').withIndex('by_a', q => q.neq('a', 2)).order(order).collect()).map(d => d.a ?? 'missing')});
    export const neqPage = query({args: {opts: paginationOptsValidator, order: v.union(v.literal('asc'), v.literal('desc'))}, handler: async (ctx, {opts, order}) => {
      const result = await ctx.db.query('neq').withIndex('by_a', q => q.neq('a', 2)).order(order).paginate(opts);
      return {...result, page: result.page.map(d => d.a ?? 'missing')};
    }});
    export const ages = mutation({...any, handler: async ctx => {
      for (const age of [undefined, 5, 50]) await ctx.db.insert('people', {age});
      return (await ctx.db.query('people').filter(q => q.lt(q.field('age'), 10)).collect()).map(d => d.age ?? 'missing');
    }});
    export const ageSum = query({...any, handler: ctx => ctx.db.query('people').filter(q => q.gt(q.add(q.field('age'), 1), 0)).collect()});
    export const fillPages = mutation({...any, handler: async ctx => { for (const n of [1, 2]) await ctx.db.insert('pages', {n}); }});
    export const page = query({args: {opts: paginationOptsValidator, order: v.optional(v.union(v.literal('asc'), v.literal('desc')))}, handler: async (ctx, {opts, order}) => {
      const result = await ctx.db.query('pages').order(order ?? 'asc').paginate(opts);
      return {...result, page: result.page.map(d => d.n)};
    }});
    export const twoPages = query({...any, handler: async ctx => {
      const opts = {numItems: 1, cursor: null};
      await ctx.db.query('pages').paginate(opts);
      await ctx.db.query('pages').paginate(opts);
    }});
    export const fillThree = mutation({...any, handler: async ctx => { for (const n of [1, 2, 3]) await ctx.db.insert('three', {n}); }});
    export const threePage = query({args: {opts: paginationOptsValidator}, handler: (ctx, {opts}) => ctx.db.query('three').paginate(opts)});
  `,
};

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

type Doc = {_id: string; _creationTime: number; _updateTime: number; [field: string]: unknown};

describe('the database', () => {
  test('[18] time stands still in a mutation for its documents, too', async () => {
    for (let round = 0; round < 2; round++) {
      const {now, created, updated} = (await app.mutation('db:times', {})) as Record<string, number[]> & {now: number};
      expect(created![0]).toBe(now);
      expect(created).toEqual(created!.map((_, n) => now + n / 1024));
      // The clock stands still, and each change moves its document on.
      expect(updated).toEqual(created!.map(time => time + 1 / 1024));
    }
  });

  test('[18] documents come in the order of their insertion, at ever later times', async () => {
    await app.mutation('db:five', {});
    const documents = (await app.query('db:ordered', {})) as Doc[];
    expect(documents.map(document => document.n)).toEqual([0, 1, 2, 3, 4]);
    for (const [i, {_creationTime}] of documents.entries()) {
      if (i > 0) expect(_creationTime).toBeGreaterThan(documents[i - 1]!._creationTime);
    }
  });

  test('[19] a mutation sees its own writes where its index puts them', async () => {
    expect(await app.mutation('db:sees', {})).toEqual([
      [1, 2, 3],
      [2, 3],
    ]);
  });

  test('[20] a patch removes what is undefined and replaces whole values', async () => {
    expect(await app.mutation('db:patched', {})).toEqual({o: {y: 2}});
  });

  test('[21] a patch may hold the whole document', async () => {
    const id = await app.mutation('db:newThing', {});
    const madeBy = Date.now();
    await until('the clock to go on', async () => (Date.now() > madeBy ? true : null));
    const [before, after] = (await app.mutation('db:patchWhole', {id})) as [Doc, Doc];
    expect(after).toMatchObject({a: 2, _creationTime: before._creationTime});
    expect(after._updateTime).toBeGreaterThan(before._updateTime);
  });

  test('[22] system fields and tables are not an app’s to write', async () => {
    const [creation, underscore, table] = (await app.mutation('db:badInserts', {})) as string[];
    expect(creation).toContain('creation time');
    expect(underscore).toContain("Field '_x' starts with an underscore");
    expect(table).toContain('System tables (prefixed with _) are read-only');
  });

  test('[23] writing to a document that is gone', async () => {
    const [id, update, remove] = (await app.mutation('db:deletedWrites', {})) as string[];
    expect(update).toContain(`Update on nonexistent document ID ${id}`);
    expect(remove).toContain(`Delete on nonexistent document ID ${id}`);
  });

  test('[24] reading by what is no id', async () => {
    const [missing, number, garbage, deleted] = (await app.mutation('db:badGets', {})) as string[];
    expect(missing).toContain("TypeError: Must provide arg 1 'id' to 'get'");
    expect(number).toContain("expected string but got 'number'");
    expect(garbage).toContain('Unable to decode ID');
    expect(deleted).toBeNull();
  });

  test('[25] what a failed mutation wrote and scheduled does not exist', async () => {
    expect(await app.mutationError('db:insertThenThrow', {})).toContain('check 25');
    // Jobs run in the order of their times: what was scheduled before this one would have run by the time it has.
    const fence = (await app.mutation('db:scheduleMark', {n: 251})) as string;
    await until('the job behind it to have run', async () => {
      const {status} = await app.admin('GET', `/schedule/history/${fence}`);
      return status === 200 ? true : null;
    });
    const numbers = await app.query('db:strictNumbers', {});
    expect(numbers).toContain(251);
    expect(numbers).not.toContain(25);
    expect(numbers).not.toContain(26);
    expect((await app.admin('GET', '/schedule')).body).toEqual({jobs: []});
  });

  test('[26] a failure that was caught takes back its own write alone', async () => {
    expect(await app.mutation('db:caught', {})).toContain('does not match the schema');
    const numbers = await app.query('db:strictNumbers', {});
    expect(numbers).toContain(260);
    expect(numbers).not.toContain('no');
  });

  test('[27] mutations that read and write never conflict', async () => {
    const id = await app.mutation('db:newCounter', {});
    const clients = [0, 1].map(async () => {
      for (let i = 0; i < 25; i++) await app.mutation('db:increment', {id});
    });
    await Promise.all(clients);
    expect(await app.query('db:counter', {id})).toBe(50);
  });

  test('[28] unique is none, one, or an error', async () => {
    const {none, one, two, ids} = (await app.mutation('db:uniques', {})) as {
      none: null;
      one: boolean;
      two: string;
      ids: string[];
    };
    expect({none, one}).toEqual({none: null, one: true});
    expect(two).toContain('unique() query returned more than one result from table things');
    for (const id of ids) expect(two).toContain(id);
  });

  test('[29] a query object is used once', async () => {
    const [twice, reused, fraction] = (await app.query('db:misuse', {})) as string[];
    expect(twice).toContain('Queries may only specify order at most once');
    expect(reused).toMatch(/closed|reused/);
    expect(fraction).toContain("TypeError: Arg 1 'n' to 'take' must be a non-negative integer");
  });

  test('[30] each wrong range says what is wrong with it', async () => {
    const errors = (await app.query('db:ranges', {})) as string[];
    expect(errors[0]).toContain('Upper and lower bounds in range can only be applied to a single index field.');
    expect(errors[1]).toContain("didn't use the index fields in order");
    expect(errors[2]).toContain("doesn't index this field");
    expect(errors[3]).toContain('Already defined lower bound in index range');
    expect(errors[4]).toContain('Already defined equality bound in index range');
    expect(new Set(errors).size).toBe(5);
  });

  test('[31] missing, null and everything else are distinguished', async () => {
    expect(await app.mutation('db:missing', {})).toEqual([[[]], [[null]], [[null], [0]]]);
  });

  test('[32] neq leaves one value out, whichever way it is read', async () => {
    await app.mutation('db:fillNeq', {});
    const expected = {asc: ['missing', 1, 3], desc: [3, 1, 'missing']};
    for (const order of ['asc', 'desc'] as const) {
      expect(await app.query('db:neq', {order})).toEqual(expected[order]);
      const paged: unknown[] = [];
      let cursor: string | null = null;
      for (let isDone = false; !isDone; ) {
        const result = (await app.query('db:neqPage', {order, opts: {numItems: 1, cursor}})) as PageReply;
        paged.push(...result.page);
        cursor = result.continueCursor;
        isDone = result.isDone;
      }
      expect(paged).toEqual(expected[order]);
    }
  });

  test('[33] comparisons take missing fields, arithmetic does not', async () => {
    expect(await app.mutation('db:ages', {})).toEqual(['missing', 5]);
    expect(await app.queryError('db:ageSum', {})).toContain('Cannot add');
  });

  test('[34] a page is done when the scan ran off the end, not before', async () => {
    await app.mutation('db:fillPages', {});
    const pages: PageReply[] = [];
    for (let i = 0; i < 3; i++) {
      const cursor: string | null = pages.at(-1)?.continueCursor ?? null;
      pages.push((await app.query('db:page', {opts: {numItems: 1, cursor}})) as PageReply);
    }
    expect(pages.map(({page, isDone}) => ({page, isDone}))).toEqual([
      {page: [1], isDone: false},
      {page: [2], isDone: false},
      {page: [], isDone: true},
    ]);
  });

  test('[35] a cursor belongs to its query', async () => {
    const {continueCursor} = (await app.query('db:page', {opts: {numItems: 1, cursor: null}})) as PageReply;
    const error = await app.queryError('db:page', {order: 'desc', opts: {numItems: 1, cursor: continueCursor}});
    expect(error).toContain('InvalidCursor');
  });

  test('[36] one paginated query a function', async () => {
    expect(await app.queryError('db:twoPages', {})).toContain('Only a single paginated query is supported');
  });

  test('[37] a row budget splits pages', async () => {
    await app.mutation('db:fillThree', {});
    const page = (maximumRowsRead: number) =>
      app.query('db:threePage', {opts: {numItems: 3, cursor: null, maximumRowsRead}}) as Promise<PageReply>;
    const full = await page(3);
    expect([full.page.length, full.pageStatus]).toEqual([3, 'SplitRecommended']);
    const cut = await page(2);
    expect([cut.page.length, cut.pageStatus]).toEqual([2, 'SplitRequired']);
  });
});

type PageReply = {page: unknown[]; isDone: boolean; continueCursor: string; pageStatus: string | null};
