/** A query object is good for one use, a database for one invocation. */
import {afterAll, describe, expect, test} from 'vitest';
import {type Db, errorOf, TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());
const table = tenant.newTable([['a']]);
const t = table.name;
const one = tenant.insertNative(table, {a: 1, b: 'x'});
tenant.insertNative(table, {a: 1, b: 'y'});

describe('a query object is used once', () => {
  test.each<[string, (db: Db) => unknown, RegExp]>([
    [
      '[29] run twice',
      async db => {
        const query = db.query(t).filter(() => true);
        await query.collect();
        await query.first();
      },
      /This query is closed and can't emit any more values/,
    ],
    [
      'chained twice',
      db => {
        const query = db.query(t).withIndex('a');
        query.order('asc');
        query.filter(() => true);
      },
      /A query can only be chained once and can't be chained after iteration begins/,
    ],
    [
      'run after it was chained',
      async db => {
        const query = db.query(t).withIndex('a');
        query.order('asc');
        await query.first();
      },
      /has been chained with another operator and can't be reused/,
    ],
    [
      'chained after it was run',
      async db => {
        const query = db.query(t).withIndex('a');
        await query.first();
        query.order('asc');
      },
      /can't be chained after iteration begins/,
    ],
    [
      'more than 256 steps',
      db => {
        let query = db.query(t).order('asc');
        for (let i = 0; i < 257; i++) query = query.filter(() => true);
      },
      /A query has at most 256 operators/,
    ],
  ])('%s', async (_, call, error) => {
    expect(await tenant.query(db => errorOf(() => call(db)))).toMatch(error);
  });

  test('what db.query gives may be used again and again', async () => {
    const found = await tenant.query(async db => {
      const all = db.query(t);
      return [(await all.collect()).length, (await all.take(1)).length, (await all.order('desc').collect()).length];
    });
    expect(found).toEqual([2, 1, 2]);
  });
});

describe('a database is a plain object of functions', () => {
  test('its calls can be taken apart and handed on', async () => {
    const found = await tenant.query(async db => {
      const {get, query} = db;
      const documents = await Promise.all([one, one].map(get));
      return [(await get(one))?.b, documents.map(document => document?.b), (await query(t).collect()).length];
    });
    expect(found).toEqual(['x', ['x', 'x'], 2]);
  });

  test('it can be spread, inherited from and wrapped in a proxy', async () => {
    const found = await tenant.query(async db => {
      const calls: unknown[] = [];
      const wrapped = new Proxy(db, {
        get(target, member) {
          calls.push(member);
          return Reflect.get(target, member);
        },
      });
      const spread = {...db};
      const inherited = Object.create(db) as Db;
      const results = [await wrapped.get(one), await spread.get(one), await inherited.get(one)];
      return [results.map(document => document?.b), Object.keys(spread), calls];
    });
    expect(found).toEqual([['x', 'x', 'x'], ['get', 'query'], ['get']]);
  });

  test('a mutation’s, too', async () => {
    const found = await tenant.mutation(async db => {
      const {insert, patch, get} = db;
      const spread = {...db};
      const id = await insert(t, {a: 5});
      await patch(id, {b: 'patched'});
      const seen = await get(id);
      await spread.delete(id);
      return [seen?.b, await get(id), Object.keys(spread).sort()];
    });
    expect(found).toEqual(['patched', null, ['delete', 'get', 'insert', 'patch', 'query']]);
  });
});

describe('a database belongs to its invocation', () => {
  test('afterwards it is dead', async () => {
    const kept = await tenant.query(db => db);
    expect(await tenant.query(() => errorOf(() => kept.get(one)))).toBe(
      'Error: ctx.db was used after its function had ended',
    );
    expect(await tenant.query(() => errorOf(() => kept.query(t)))).toBe(
      'Error: ctx.db was used after its function had ended',
    );
    const query = await tenant.query(db => [db.query(t).order('asc')]);
    expect(await tenant.query(() => errorOf(() => query[0]!.collect()))).toContain('used after its function had ended');
  });

  test('outside of one there is none', async () => {
    const kept = await tenant.query(db => db);
    expect(await errorOf(() => kept.get(one))).toBe("Error: Can't use database at import time");
  });
});
