/**
 * Results of queries are kept between calls, which nobody can tell but by the metrics: whatever is written, a call is answered as a run
 * at that moment would be. Asked with a `nonce` that no call had before, a query is always run.
 */
import fc from 'fast-check';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {rounds} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const FILES = {
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({
      notes: defineTable({channel: v.string(), n: v.number()}).index('by_channel', ['channel', 'n']).index('by_n', ['n']),
      flags: defineTable({isPrivate: v.boolean()}),
    });`,
  'notes.ts': `
    import {v} from 'svc/values';
    import {mutation, query} from './_generated/server';
    const nonce = {nonce: v.optional(v.number())};
    export const add = mutation({args: {channel: v.string(), n: v.number()}, handler: (ctx, note) => ctx.db.insert('notes', note)});
    export const change = mutation({args: {id: v.id('notes'), channel: v.optional(v.string()), n: v.optional(v.number())}, handler: async (ctx, {id, ...fields}) => {
      if (await ctx.db.get(id) !== null) await ctx.db.patch(id, fields);
    }});
    export const remove = mutation({args: {id: v.id('notes')}, handler: async (ctx, {id}) => {
      if (await ctx.db.get(id) !== null) await ctx.db.delete(id);
    }});
    export const flag = mutation({args: {isPrivate: v.boolean()}, handler: (ctx, flags) => ctx.db.insert('flags', flags)});
    export const later = mutation({args: {}, handler: ctx => ctx.db.insert('later' as never, {} as never)});

    export const of = query({args: {channel: v.string(), from: v.number(), to: v.number(), ...nonce}, handler: (ctx, {channel, from, to}) =>
      ctx.db.query('notes').withIndex('by_channel', q => q.eq('channel', channel).gte('n', from).lt('n', to)).collect()});
    export const last = query({args: {count: v.number(), ...nonce}, handler: (ctx, {count}) =>
      ctx.db.query('notes').withIndex('by_n').order('desc').take(count)});
    export const even = query({args: nonce, handler: async ctx => (await ctx.db.query('notes').collect()).filter(note => note.n % 2 === 0)});
    export const one = query({args: {id: v.id('notes'), ...nonce}, handler: (ctx, {id}) => ctx.db.get(id)});
    export const page = query({args: {cursor: v.union(v.string(), v.null()), size: v.number(), ...nonce}, handler: (ctx, {cursor, size}) =>
      ctx.db.query('notes').withIndex('by_n').paginate({cursor, numItems: size})});
    export const missing = query({args: nonce, handler: async ctx => (await ctx.db.query('later' as never).collect()).length});
    export const secret = query({args: nonce, handler: async ctx => {
      const flag = await ctx.db.query('flags').order('desc').first();
      return flag?.isPrivate ? ((await ctx.auth.getUserIdentity())?.subject ?? 'nobody') : 'public';
    }});
    export const named = query({args: nonce, returns: v.id('notes'), handler: () => 'my-own' as never});
    export const variable = query({args: {}, handler: () => process.env.COLOUR ?? 'none'});
    export const now = query({args: {}, handler: () => Date.now()});
    export const today = query({args: {}, handler: () => new Date().toISOString()});
    export const random = query({args: {}, handler: () => [Math.random(), crypto.randomUUID()]});
    export const logs = query({args: {}, handler: () => { console.log('hello'); return 1; }});
    export const fails = query({args: {}, handler: () => { throw new Error('no'); }});
    export const digest = query({args: {}, handler: async () => [...new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(3)))].length});
    export const sealed = query({args: {}, handler: async () => {
      const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'AES-GCM', false, ['encrypt']);
      return (await crypto.subtle.encrypt({name: 'AES-GCM', iv: new Uint8Array(12)}, key, new Uint8Array(3))).byteLength;
    }});`,
};

const service = await sharedService();
let app: App;
let nonce = 0;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
}, 120_000);
beforeEach(() => service.showLogOnFailure());

/** Calls answered by kept results so far, in the worker or in a router. */
async function hits(): Promise<number> {
  const {text} = await service.get('/metrics');
  const counted = (name: string) =>
    Number(
      text
        .split('\n')
        .find(line => line.startsWith(`${name} `))
        ?.slice(name.length) ?? 0,
    );
  return counted('svc_function_results_total{how="hit"}') + counted('svc_router_cached_answers_total');
}

/** Whether the second of two equal calls is answered by what the first one left. */
async function isCached(path: string, args: Record<string, unknown> = {}): Promise<boolean> {
  await app.query(path, args);
  const before = await hits();
  await app.query(path, args);
  return (await hits()) > before;
}

/** As it is answered, and as a run answers. */
async function both(path: string, args: Record<string, unknown>): Promise<[unknown, unknown]> {
  return [await app.query(path, args), await app.query(path, {...args, nonce: ++nonce})];
}

describe('a result is kept', () => {
  test.each<[string, Record<string, unknown>, boolean]>([
    ['notes:of', {channel: 'kept', from: 0, to: 5}, true],
    ['notes:last', {count: 2}, true],
    ['notes:page', {cursor: null, size: 3}, true],
    ['notes:secret', {}, true],
    ['notes:variable', {}, true],
    ['notes:digest', {}, true],
    ['notes:now', {}, false],
    ['notes:today', {}, false],
    ['notes:random', {}, false],
    ['notes:sealed', {}, false],
    ['notes:logs', {}, false],
  ])('of %s(%j): %s', async (path, args, cached) => {
    expect(await isCached(path, args)).toBe(cached);
  });

  test('until a document comes or goes under an id that it returns', async () => {
    const isGood = async (args: object) =>
      (await app.svc('POST', '/query', {path: 'notes:named', args})).text.includes('"status":"success"');
    const fields = {channel: 'named', n: 1};
    for (const expected of [false, true, false, true]) {
      if (expected) await app.admin('PUT', '/documents/notes/my-own', {fields});
      else await app.admin('DELETE', '/documents/notes/my-own');
      expect([await isGood({}), await isGood({}), await isGood({nonce: ++nonce})]).toEqual([
        expected,
        expected,
        expected,
      ]);
    }
    expect(await isCached('notes:named')).toBe(true);
    await app.admin('DELETE', '/documents/notes/my-own');
  });

  test('not of one that fails', async () => {
    await app.queryError('notes:fails', {});
    const before = await hits();
    expect(await app.queryError('notes:fails', {})).toContain('no');
    expect(await hits()).toBe(before);
  });

  test('lines are sent each time', async () => {
    for (let n = 0; n < 2; n++) {
      expect(await app.reply('query', 'notes:logs', {})).toMatchObject({value: 1, logLines: ["[LOG] 'hello'"]});
    }
  });

  test('time and random numbers are those of each call', async () => {
    const values = await Promise.all(Array.from({length: 4}, () => app.query('notes:random', {})));
    expect(new Set(values.map(value => JSON.stringify(value))).size).toBe(4);
    const before = Date.now();
    expect(await app.query('notes:now', {})).toBeGreaterThanOrEqual(before);
  });
});

describe('a writer finds what it has written', () => {
  const of = {channel: 'x', from: 10, to: 20};
  const add = (n: number, channel = 'x') => app.mutation('notes:add', {channel, n});

  test('an insert into a range, one beside it, a move in and out, a delete', async () => {
    const seen = async () => ((await app.query('notes:of', of)) as {n: number}[]).map(({n}) => n);
    expect(await seen()).toEqual([]);
    const id = await add(12);
    expect(await seen()).toEqual([12]);
    // A commit of svc itself, such as the end of an index build, can drop a result at any time, so this is tried again.
    await expect
      .poll(async () => {
        await seen();
        await add(20);
        await add(12, 'y');
        const before = await hits();
        expect(await seen()).toEqual([12]);
        return (await hits()) > before;
      })
      .toBe(true);
    await app.mutation('notes:change', {id, n: 30});
    expect(await seen()).toEqual([]);
    await app.mutation('notes:change', {id, n: 19});
    expect(await seen()).toEqual([19]);
    await app.mutation('notes:remove', {id});
    expect(await seen()).toEqual([]);
  });

  test('writes of the native API, too', async () => {
    const even = async () => ((await app.query('notes:even', {})) as unknown[]).length;
    const before = await even();
    const {body} = await app.admin('POST', '/documents', {table: 'notes', fields: {channel: 'z', n: 2}});
    const {id} = body as {id: string};
    expect(await even()).toBe(before + 1);
    expect(await app.query('notes:one', {id})).toMatchObject({n: 2});
    await app.admin('PATCH', `/documents/notes/${id}`, {patch: {n: 4}});
    expect(await app.query('notes:one', {id})).toMatchObject({n: 4});
    await app.admin('DELETE', `/documents/notes/${id}`);
    expect([await app.query('notes:one', {id}), await even()]).toEqual([null, before]);
  });

  test('the first document of a table that was not there', async () => {
    expect(await app.query('notes:missing', {})).toBe(0);
    expect(await app.query('notes:missing', {})).toBe(0);
    await app.mutation('notes:later', {});
    expect(await app.query('notes:missing', {})).toBe(1);
  });

  test('a variable that is set', async () => {
    expect(await app.query('notes:variable', {})).toBe('none');
    await app.admin('PUT', '/env/COLOUR', {value: 'red'});
    expect(await app.query('notes:variable', {})).toBe('red');
    await app.admin('DELETE', '/env/COLOUR');
    expect(await app.query('notes:variable', {})).toBe('none');
  });

  test('another deployment', async () => {
    const second = await App.deploy(service, {'a.ts': source(1)});
    expect([await second.query('a:version', {}), await second.query('a:version', {})]).toEqual([1, 1]);
    await second.deploy({'a.ts': source(2)});
    expect(await second.query('a:version', {})).toBe(2);
  });

  const source = (version: number) =>
    `import {query} from './_generated/server'; export const version = query({args: {}, handler: () => ${version}});`;
});

test('a function that looks at the identity only with some data is right for every caller, in any order', async () => {
  const as = async (subject: string | null) => {
    const identity = subject === null ? null : {subject};
    const {body} = await app.admin('POST', '/functions/run', {path: 'notes:secret', args: {}, identity});
    return (body as {value: unknown}).value;
  };
  const all = async () => [await as('ada'), await as('bob'), await as(null), await as('ada'), await as('bob')];
  await app.mutation('notes:flag', {isPrivate: false});
  expect(await all()).toEqual(['public', 'public', 'public', 'public', 'public']);
  await app.mutation('notes:flag', {isPrivate: true});
  expect(await all()).toEqual(['ada', 'bob', 'nobody', 'ada', 'bob']);
  await app.mutation('notes:flag', {isPrivate: false});
  expect(await all()).toEqual(['public', 'public', 'public', 'public', 'public']);
});

const channel = fc.constantFrom('a', 'b');
const small = fc.nat({max: 6});
const write = fc.oneof(
  fc.record({path: fc.constant('notes:add'), args: fc.record({channel, n: small})}),
  fc.record({path: fc.constant('notes:change'), args: fc.record({channel, n: small})}),
  fc.record({path: fc.constant('notes:remove'), args: fc.constant({})}),
);
const read = fc.oneof(
  fc.record({path: fc.constant('notes:of'), args: fc.record({channel, from: small, to: small})}),
  fc.record({path: fc.constant('notes:last'), args: fc.record({count: fc.integer({min: 1, max: 3})})}),
  fc.record({path: fc.constant('notes:even'), args: fc.constant({})}),
  fc.record({path: fc.constant('notes:one'), args: fc.constant({})}),
  fc.record({
    path: fc.constant('notes:page'),
    args: fc.record({cursor: fc.constant(null), size: fc.integer({min: 1, max: 3})}),
  }),
);
const round = fc.record({
  writes: fc.array(fc.tuple(write, fc.nat()), {minLength: 1, maxLength: 3}),
  reads: fc.array(fc.tuple(read, fc.nat()), {minLength: 1, maxLength: 5}),
});

test('whatever is written, a call is answered as a run is', async () => {
  const before = await hits();
  await fc.assert(
    fc.asyncProperty(fc.array(round, {minLength: 3, maxLength: 12}), async rounds => {
      const ids = [(await app.mutation('notes:add', {channel: 'a', n: 1})) as string];
      for (const {writes, reads} of rounds) {
        const written = writes.map(async ([{path, args}, pick]) => {
          const id = ids[pick % ids.length];
          const made = await app.mutation(path, path === 'notes:add' ? args : {...args, id});
          if (path === 'notes:add') ids.push(made as string);
        });
        // Some of them while the writes are under way: what they leave must be right afterwards.
        const asked = reads.map(([{path, args}, pick]) => ({
          path,
          args: path === 'notes:one' ? {...args, id: ids[pick % ids.length]} : args,
        }));
        await Promise.all([...written, ...asked.map(({path, args}) => app.query(path, args))]);
        for (const {path, args} of asked) {
          const [cached, run] = await both(path, args);
          expect(cached).toEqual(run);
        }
      }
    }),
    {numRuns: rounds({commit: 6, nightly: 50})},
  );
  expect(await hits()).toBeGreaterThan(before);
}, 180_000);
