/** `paginate`: where pages end, what their cursors are good for, and how a page is computed again. */
import {afterAll, describe, expect, test} from 'vitest';
import type {Value} from '../../../shared/values/value.ts';
import {
  type Db,
  errorOf,
  type FilterBuilder,
  type Page,
  type Query,
  type RangeBuilder,
  TenantDatabase,
} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

function filled(values: readonly Value[], indexes = [['n']]): string {
  const table = tenant.newTable(indexes);
  for (const n of values) tenant.insertNative(table, {n});
  return table.name;
}
const numbers = ({page}: Page) => page.map(({n}) => n);
type Options = {cursor?: string | null; endCursor?: string | null; maximumRowsRead?: number; maximumBytesRead?: number};
const page = (table: string, numItems: number, options: Options = {}, shape = (query: Query) => query) =>
  tenant.query(db => shape(db.query(table)).paginate({numItems, cursor: null, ...options}));

describe('the end of a walk', () => {
  test('[34] is seen when the scan runs off it, not before', async () => {
    const table = filled([1, 2]);
    const one = await page(table, 1);
    const two = await page(table, 1, {cursor: one.continueCursor});
    const three = await page(table, 1, {cursor: two.continueCursor});
    expect([one, two, three].map(({isDone, ...rest}) => [numbers({isDone, ...rest}), isDone])).toEqual([
      [[1], false],
      [[2], false],
      [[], true],
    ]);
  });

  test('has a cursor too: behind it there is nothing, until something is added', async () => {
    const table = filled([1, 2]);
    const {continueCursor: cursor, isDone} = await page(table, 5);
    expect(isDone).toBe(true);
    expect(await page(table, 5, {cursor})).toMatchObject({page: [], isDone: true});
    await tenant.mutation(db => db.insert(table, {n: 3}));
    expect(numbers(await page(table, 5, {cursor}))).toEqual([3]);
  });

  test('of an empty table has one as well', async () => {
    const table = filled([]);
    const {continueCursor: cursor} = await page(table, 1);
    await tenant.mutation(db => db.insert(table, {n: 1}));
    expect(numbers(await page(table, 1, {cursor}))).toEqual([1]);
  });
});

describe('a cursor', () => {
  test('holds when its document is deleted, and when it moves', async () => {
    const table = filled([1, 2, 3, 4]);
    const byN = (query: Query) => query.withIndex('n');
    const {page: found, continueCursor: cursor} = await page(table, 2, {}, byN);
    await tenant.mutation(db => db.patch(found[1]!._id, {n: 10}));
    expect(numbers(await page(table, 5, {cursor}, byN))).toEqual([3, 4, 10]);
    await tenant.mutation(db => db.delete(found[1]!._id));
    expect(numbers(await page(table, 5, {cursor}, byN))).toEqual([3, 4]);
  });

  const plain = (query: Query) => query.withIndex('n', (q: RangeBuilder) => q.gt('n', 0)).order('asc');
  const OTHERS: [string, (query: Query) => Query][] = [
    ['[35] the other order', query => query.withIndex('n', (q: RangeBuilder) => q.gt('n', 0)).order('desc')],
    ['another range', query => query.withIndex('n', (q: RangeBuilder) => q.gte('n', 0)).order('asc')],
    ['another value', query => query.withIndex('n', (q: RangeBuilder) => q.gt('n', -0)).order('asc')],
    ['NaN as a value', query => query.withIndex('n', (q: RangeBuilder) => q.gt('n', Number.NaN)).order('asc')],
    ['null as a value', query => query.withIndex('n', (q: RangeBuilder) => q.gt('n', null)).order('asc')],
    ['no index', query => query.order('asc')],
    ['a filter', query => plain(query).filter(() => true)],
  ];
  test.each(OTHERS)('is refused for %s', async (_, other) => {
    const table = filled([1, 2]);
    const {continueCursor: cursor} = await page(table, 1, {}, plain);
    expect(numbers(await page(table, 1, {cursor}, plain))).toEqual([2]);
    expect(await errorOf(() => page(table, 1, {cursor}, other))).toContain('InvalidCursor');
  });

  test('tells values apart that JSON does not, also inside others', async () => {
    const table = filled([[1], [2]]);
    const among = (n: Value) => (query: Query) => query.withIndex('n', (q: RangeBuilder) => q.neq('n', [n]));
    const {continueCursor: cursor} = await page(table, 1, {}, among(Number.NaN));
    for (const other of [null, Number.POSITIVE_INFINITY]) {
      expect(await errorOf(() => page(table, 1, {cursor}, among(other)))).toContain('InvalidCursor');
    }
  });

  test('is refused by another tenant, for the same query of a table of the same name', async () => {
    const other = new TenantDatabase();
    try {
      const {name} = tenant.newTable([['n']]);
      while (other.newTable([['n']]).name !== name);
      for (const [at, n] of [tenant, other].flatMap(at => [[at, 1] as const, [at, 2] as const])) {
        await at.mutation(db => db.insert(name, {n}));
      }
      const {continueCursor: cursor} = await page(name, 1);
      expect(numbers(await page(name, 1, {cursor}))).toEqual([2]);
      const theirs = other.query(db => db.query(name).paginate({numItems: 1, cursor}));
      expect(await errorOf(() => theirs)).toContain('InvalidCursor');
    } finally {
      other.close();
    }
  });

  test('is refused for another table, and for an index that has other fields by now', async () => {
    const whole = (query: Query) => query.withIndex('n');
    const table = filled([1, 2]);
    const {continueCursor: cursor} = await page(table, 1, {}, whole);
    expect(await errorOf(() => page(filled([1, 2]), 1, {cursor}, whole))).toContain('InvalidCursor');
    const [index] = tenant.writer.catalog.table(table)!.indexes;
    index!.fields[0] = 'm';
    expect(await errorOf(() => page(table, 1, {cursor}, whole))).toContain('InvalidCursor');
    index!.fields[0] = 'n';
    expect(numbers(await page(table, 1, {cursor}, whole))).toEqual([2]);
  });

  test('that is refused does not use up the one page of a function', async () => {
    const table = filled([1]);
    const found = await tenant.query(async db => {
      await errorOf(() => db.query(table).paginate({numItems: 1, cursor: 'x'}));
      return db.query(table).paginate({numItems: 1, cursor: null});
    });
    expect(numbers(found)).toEqual([1]);
  });

  test('cannot be forged to leave the range', async () => {
    const table = filled([1, 2, 3]);
    const shape = (query: Query) => query.withIndex('n', (q: RangeBuilder) => q.eq('n', 2));
    const {continueCursor} = await page(table, 1, {}, shape);
    const [fingerprint] = JSON.parse(Buffer.from(continueCursor, 'base64url').toString()) as unknown[];
    for (const forged of [
      [fingerprint, 0, '', 0, ''],
      [fingerprint, 1, 'AA', 2 ** 50, ''],
    ]) {
      const cursor = Buffer.from(JSON.stringify(forged)).toString('base64url');
      for (const n of numbers(await page(table, 5, {cursor}, shape))) expect(n).toBe(2);
    }
  });
});

describe('a page with a given end', () => {
  const again = (table: string, cursor: string | null, endCursor: string, shape = (query: Query) => query) =>
    tenant.query(db => shape(db.query(table)).paginate({numItems: 1, cursor, maximumRowsRead: 1}), endCursor);

  test('grows and shrinks in its interval and takes nothing from its neighbours', async () => {
    const table = filled([10, 20, 30, 40]);
    const byN = (query: Query) => query.withIndex('n');
    const first = await page(table, 2, {}, byN);
    const second = await page(table, 1, {cursor: first.continueCursor}, byN);
    const ids = new Map([...first.page, ...second.page].map(({_id, n}) => [n, _id]));
    await tenant.mutation(async db => {
      for (const n of [5, 15, 25, 35]) await db.insert(table, {n});
      await db.delete(ids.get(20));
    });
    const firstAgain = await again(table, null, first.continueCursor, byN);
    expect(numbers(firstAgain)).toEqual([5, 10, 15]);
    expect(firstAgain).toMatchObject({
      isDone: false,
      continueCursor: first.continueCursor,
      pageStatus: 'SplitRecommended',
    });
    expect(numbers(await again(table, first.continueCursor, second.continueCursor, byN))).toEqual([25, 30]);
  });

  test('that was the end of the scan takes all that is added behind', async () => {
    const table = filled([]);
    const {continueCursor: end} = await page(table, 1);
    await tenant.mutation(async db => {
      for (const n of [1, 2, 3]) await db.insert(table, {n});
    });
    expect(numbers(await again(table, null, end))).toEqual([1, 2, 3]);
    expect(await again(table, null, end)).toMatchObject({isDone: true, continueCursor: end});
  });

  test('in descending order the first page takes what is new', async () => {
    const table = filled([1, 2, 3]);
    const newest = (query: Query) => query.order('desc');
    const {continueCursor: end} = await page(table, 2, {}, newest);
    await tenant.mutation(db => db.insert(table, {n: 4}));
    expect(numbers(await again(table, null, end, newest))).toEqual([4, 3, 2]);
  });

  test('may be asked for by the options', async () => {
    const table = filled([1, 2, 3]);
    const {continueCursor: endCursor} = await page(table, 2);
    expect(numbers(await page(table, 1, {endCursor}))).toEqual([1, 2]);
  });
});

describe('a budget of rows or bytes', () => {
  const none = (query: Query) => query.filter((q: FilterBuilder) => q.eq!(q.field!('n'), 'none'));
  const VALUES = Array.from({length: 10}, (_, i) => i);

  test('cuts the page short, and the next one goes on', async () => {
    const table = filled(VALUES);
    const one = await page(table, 5, {maximumRowsRead: 3});
    expect(numbers(one)).toEqual([0, 1, 2]);
    expect(one).toMatchObject({isDone: false, pageStatus: 'SplitRequired'});
    expect(numbers(await page(table, 20, {cursor: one.continueCursor}))).toEqual(VALUES.slice(3));
    expect(numbers(await page(table, 5, {maximumBytesRead: 1}))).toEqual([0]);
  });

  test('counts rows that a filter leaves out: such a page may be empty', async () => {
    const table = filled(VALUES);
    expect(await page(table, 5, {maximumRowsRead: 4}, none)).toMatchObject({
      page: [],
      isDone: false,
      pageStatus: 'SplitRequired',
    });
  });

  test('that is nearly used recommends a split', async () => {
    const table = filled(VALUES);
    expect((await page(table, 4, {maximumRowsRead: 5})).pageStatus).toBe('SplitRecommended');
    expect((await page(table, 3, {maximumRowsRead: 5})).pageStatus).toBeNull();
  });

  test('a split cuts the rows in two halves that are the whole', async () => {
    const table = filled(VALUES);
    const {splitCursor, continueCursor} = await page(table, 6);
    const halves = [
      await page(table, 9, {endCursor: splitCursor}),
      await page(table, 9, {cursor: splitCursor, endCursor: continueCursor}),
    ];
    expect(halves.map(numbers)).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect((await page(table, 2)).splitCursor).toBeNull();
  });

  test('of the whole execution cuts a page short too, instead of failing it', async () => {
    const large = 'x'.repeat(900_000);
    const table = tenant.newTable();
    for (let n = 0; n < 25; n++) tenant.insertNative(table, {n, large});
    const one = await page(table.name, 25, {}, none);
    expect(one).toMatchObject({page: [], isDone: false, pageStatus: 'SplitRequired'});
    const two = await page(table.name, 25, {cursor: one.continueCursor}, none);
    expect(two).toMatchObject({page: [], isDone: true});
  });
});

test('the end of a page is returned to the caller that keeps it', async () => {
  const table = filled([1, 2]);
  const read = async (db: Db) => {
    expect(tenant.reads.paginated).toBeNull();
    return db.query(table).paginate({numItems: 1, cursor: null});
  };
  const {continueCursor: endCursor} = await tenant.query(read);
  expect(tenant.reads.paginated).toEqual({endCursor});
});
