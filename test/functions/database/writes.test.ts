/** Inserts, patches and deletes, and what the mutation that makes them reads afterwards. */
import {afterAll, describe, expect, test} from 'vitest';
import {patchEffect} from '../../../engine/commit/mutation.ts';
import {documentText} from '../../../engine/storage/document.ts';
import {type Db, errorOf, type RangeBuilder, TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());
const {name: t} = tenant.newTable([['a'], ['a', 'b']]);
const own = (document: object | null) =>
  Object.fromEntries(Object.entries(document ?? {}).filter(([key]) => !key.startsWith('_')));

describe('insert', () => {
  test('[18] creation times rise within a mutation, and give the order', async () => {
    const {name} = tenant.newTable();
    await tenant.mutation(async db => {
      for (let n = 0; n < 5; n++) await db.insert(name, {n});
    });
    const documents = await tenant.query(db => db.query(name).collect());
    expect(documents.map(({n}) => n)).toEqual([0, 1, 2, 3, 4]);
    for (const [i, {_creationTime, _updateTime}] of documents.entries()) {
      expect(_updateTime).toBe(_creationTime);
      if (i > 0) expect(_creationTime).toBeGreaterThan(documents[i - 1]!._creationTime);
    }
  });

  test('makes the table that is not there, and a mutation that fails takes it back', async () => {
    await expect(
      tenant.mutation(async db => {
        await db.insert('brand_new', {});
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(tenant.writer.catalog.table('brand_new')).toBeUndefined();
    expect(await tenant.query(db => db.query('brand_new').collect())).toEqual([]);
    await tenant.mutation(db => db.insert('brand_new', {}));
    expect(await tenant.query(db => db.query('brand_new').collect())).toHaveLength(1);
  });

  test('[19] is seen at once, where its index puts it, and a deleted document is not', async () => {
    const seen = await tenant.mutation(async db => {
      const read = async () =>
        (
          await db
            .query(t)
            .withIndex('a_b', (q: RangeBuilder) => q.eq('a', 'sees'))
            .collect()
        ).map(({b}) => b);
      const first = await db.insert(t, {a: 'sees', b: 1});
      await db.insert(t, {a: 'sees', b: 3});
      const id = await db.insert(t, {a: 'sees', b: 2});
      const before = await read();
      await db.delete(first);
      return [before, await read(), (await db.get(id))?.b, await db.get(first)];
    });
    expect(seen).toEqual([[1, 2, 3], [2, 3], 2, null]);
  });

  test('fields that are undefined are not there', async () => {
    const id = await tenant.mutation(db => db.insert(t, {a: undefined, b: {c: undefined}}));
    expect(own(await tenant.query(db => db.get(id)))).toEqual({b: {}});
  });

  test('a document holds keys of any text and arrays of any length, unlike arguments', async () => {
    const fields = {é: 1, list: Array.from({length: 9_000}, () => 0), '': {'': 1}};
    const id = await tenant.mutation(db => db.insert(t, fields));
    expect(own(await tenant.query(db => db.get(id)))).toEqual(fields);
    await tenant.mutation(async db => db.patch(id, {...(await db.get(id)), more: true}));
    expect(own(await tenant.query(db => db.get(id)))).toEqual({...fields, more: true});
  });

  test('a text that looks like a wrapped number stays a text', async () => {
    const fields = {a: '{"$float":"AAAAAAAA+H8="}', b: Number.NaN};
    const id = await tenant.mutation(db => db.insert(t, fields));
    expect(own(await tenant.query(db => db.get(id)))).toEqual(fields);
  });

  test('what is read is a copy', async () => {
    const id = await tenant.mutation(db => db.insert(t, {o: {x: 1}}));
    await tenant.query(async db => {
      const copy = (await db.get(id)) as unknown as {o: {x: number}};
      copy.o.x = 2;
      expect(own(await db.get(id))).toEqual({o: {x: 1}});
    });
  });
});

describe('patch', () => {
  test('[20] removes what is undefined at the top, replaces what is not', async () => {
    const id = await tenant.mutation(async db => {
      const made = await db.insert(t, {a: 1, o: {x: 1}});
      await db.patch(made, {a: undefined, o: {y: 2, z: undefined}});
      return made;
    });
    expect(own(await tenant.query(db => db.get(id)))).toEqual({o: {y: 2}});
  });

  test('[21] takes a whole document back, even one that is out of date', async () => {
    const id = await tenant.mutation(db => db.insert(t, {a: 1}));
    const old = await tenant.query(db => db.get(id));
    await tenant.mutation(db => db.patch(id, {b: 1}));
    await tenant.mutation(db => db.patch(id, {...old, a: 2}));
    const document = await tenant.query(db => db.get(id));
    expect(own(document)).toEqual({a: 2, b: 1});
    expect(document?._creationTime).toBe(old!._creationTime);
    expect(document?._updateTime).toBeGreaterThan(old!._updateTime);
  });

  test('that changes nothing still moves the update time', async () => {
    const id = await tenant.mutation(db => db.insert(t, {a: 1}));
    const before = await tenant.query(db => db.get(id));
    await tenant.mutation(db => db.patch(id, {}));
    expect((await tenant.query(db => db.get(id)))!._updateTime).toBeGreaterThan(before!._updateTime);
  });

  test('__proto__ inside a field is a key like any other', async () => {
    const id = await tenant.mutation(db => db.insert(t, {o: JSON.parse('{"__proto__":{"x":1}}')}));
    await tenant.mutation(async db => db.patch(id, {...(await db.get(id)), a: -0}));
    const {o} = (await tenant.query(db => db.get(id))) as unknown as {o: {x?: number}};
    expect(JSON.stringify(o)).toBe('{"__proto__":{"x":1}}');
    expect(o.x).toBeUndefined();
  });
});

test('[23] patch and delete of what is gone, in the mutation that deleted it and later', async () => {
  const id = await tenant.mutation(db => db.insert(t, {}));
  const both = async (db: Db) => [await errorOf(() => db.patch(id, {})), await errorOf(() => db.delete(id))];
  const expected = [`Error: Update on nonexistent document ID ${id}`, `Error: Delete on nonexistent document ID ${id}`];
  const first = await tenant.mutation(async db => {
    await db.delete(id);
    return both(db);
  });
  expect(first).toEqual(expected);
  expect(await tenant.mutation(both)).toEqual(expected);
  expect(await tenant.query(db => db.get(id))).toBeNull();
});

test('documents under ids of their own are read, patched and deleted', async () => {
  const table = tenant.newTable([['a']]);
  tenant.insertNative(table, {a: 1}, 'my own id');
  await tenant.mutation(db => db.patch('my own id', {a: 2}));
  expect(own(await tenant.query(db => db.get('my own id')))).toEqual({a: 2});
  await tenant.mutation(db => db.delete('my own id'));
  expect(await tenant.query(db => errorOf(() => db.get('my own id')))).toContain('Unable to decode ID');
});

describe('NaN, the infinities and -0', () => {
  const NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0];

  test.each(NUMBERS)('%d is stored, found and removed again', async number => {
    const {name} = tenant.newTable([['a']]);
    const find = (db: Db) =>
      db
        .query(name)
        .withIndex('a', (q: RangeBuilder) => q.eq('a', number))
        .unique();
    const id = await tenant.mutation(db => db.insert(name, {a: number, deep: [{x: number}]}));
    const found = await tenant.query(find);
    expect(found?._id).toBe(id);
    expect(Object.is(found?.a, number)).toBe(true);
    expect(own(found)).toEqual({a: number, deep: [{x: number}]});
    const others = NUMBERS.filter(other => !Object.is(other, number));
    for (const other of others) {
      expect(
        await tenant.query(db =>
          db
            .query(name)
            .withIndex('a', (q: RangeBuilder) => q.eq('a', other))
            .first(),
        ),
      ).toBeNull();
    }
    await tenant.mutation(async db => {
      await db.patch(id, {a: 1});
      expect(await find(db)).toBeNull();
      await db.patch(id, {a: number});
      await db.delete(id);
      expect(await db.query(name).withIndex('a').collect()).toEqual([]);
    });
  });

  test('a native patch of other fields keeps them, and its answers show null', async () => {
    const {name} = tenant.newTable([['a']]);
    const id = await tenant.mutation(db => db.insert(name, {a: Number.NaN, b: -0}));
    await tenant.mutation(() => void patchEffect(name, id, {patch: {c: 1}})(tenant.writer));
    expect(own(await tenant.query(db => db.get(id)))).toEqual({a: Number.NaN, b: -0, c: 1});
    expect(
      await tenant.query(db =>
        db
          .query(name)
          .withIndex('a', (q: RangeBuilder) => q.eq('a', Number.NaN))
          .first(),
      ),
    ).not.toBeNull();
    const table = tenant.writer.catalog.table(name)!;
    expect(JSON.parse(documentText(tenant.writer.document(table, id)!))).toMatchObject({a: null, b: 0, c: 1});
    await tenant.mutation(() => void patchEffect(name, id, {patch: {a: 2, b: 3}})(tenant.writer));
    expect(tenant.writer.document(table, id)!.flags).toBe(0);
  });
});

describe('a loop over a query in a mutation', () => {
  const each = (a: number) => Array.from({length: 40}, (_, i) => ({a, b: i}));

  test('that moves every document forward in the index sees each once', async () => {
    const {name} = tenant.newTable([['b']]);
    const seen = await tenant.mutation(async db => {
      for (const document of each(0)) await db.insert(name, document);
      const found: unknown[] = [];
      for await (const {_id, b} of db.query(name).withIndex('b')) {
        found.push(b);
        await db.patch(_id, {b: (b as number) + 1_000});
      }
      return found;
    });
    expect(seen).toEqual(each(0).map(({b}) => b));
  });

  test('that deletes what it reads comes to an end and leaves nothing', async () => {
    const {name} = tenant.newTable([['b']]);
    const left = await tenant.mutation(async db => {
      for (const document of each(0)) await db.insert(name, document);
      for await (const {_id} of db.query(name).withIndex('b').order('desc')) await db.delete(_id);
      return db.query(name).collect();
    });
    expect(left).toEqual([]);
  });

  test('that inserts behind itself goes on to what it inserted', async () => {
    const {name} = tenant.newTable();
    const seen = await tenant.mutation(async db => {
      for (let n = 0; n < 20; n++) await db.insert(name, {n});
      let count = 0;
      for await (const {n} of db.query(name)) {
        count++;
        if ((n as number) < 5) await db.insert(name, {n: 100});
      }
      return count;
    });
    expect(seen).toBe(25);
  });
});

test('[28] unique is none, one, or an error that names two', async () => {
  const {name} = tenant.newTable([['a']]);
  await tenant.mutation(async db => {
    expect(await db.query(name).unique()).toBeNull();
    const one = await db.insert(name, {});
    expect((await db.query(name).unique())?._id).toBe(one);
    const two = await db.insert(name, {});
    await db.insert(name, {});
    expect(await errorOf(() => db.query(name).unique())).toBe(
      `Error: unique() query returned more than one result from table ${name}: [${one}, ${two}, ...]`,
    );
  });
});

test('take(0) is nothing, and a table that was never written has nothing', async () => {
  expect(await tenant.query(db => db.query(t).take(0))).toEqual([]);
  expect(
    await tenant.query(db =>
      db
        .query('never')
        .order('desc')
        .filter(() => true)
        .collect(),
    ),
  ).toEqual([]);
  const page = await tenant.query(db => db.query('never').paginate({numItems: 1, cursor: null}));
  expect(page).toMatchObject({page: [], isDone: true, splitCursor: null, pageStatus: null});
});
