/**
 * What an invocation is said to have read. Whatever commit changes its result must touch that; and it is no more than what
 * was looked at: a page or a `take` does not depend on what lies behind its last row.
 */
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {ANY_TABLE, BY_ID} from '../../../engine/reads/read-set.ts';
import type {DocumentRow} from '../../../engine/storage/rows.ts';
import {touches} from '../../harness/touches.ts';
import {draft, fields, INDEXES, queryOf, rangeOf} from './naive-index.ts';
import {type Db, type Query, type RangeBuilder, TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

const terminal = fc.record({
  kind: fc.constantFrom('collect' as const, 'take' as const, 'page' as const),
  count: fc.integer({min: 1, max: 4}),
  skipped: fc.boolean(),
});

describe('a commit that changes a result touches what was read for it', () => {
  test('inserts, patches and deletes under every kind of query', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fields, {maxLength: 15}),
        draft,
        terminal,
        fc.array(fc.tuple(fc.constantFrom('insert', 'patch', 'delete'), fc.nat(), fields), {
          minLength: 1,
          maxLength: 5,
        }),
        async (documents, part, {kind, count, skipped}, changes) => {
          const table = tenant.newTable(INDEXES);
          for (const [i, document] of documents.entries()) {
            tenant.insertNative(table, document, i % 3 === 1 ? `own ${table.name} ${i}` : undefined);
          }
          const query = queryOf(part, await tenant.query(db => db.query(table.name).collect()));
          const start = (db: Db) =>
            db.query(table.name).withIndex(query.index, rangeOf(query.conditions)).order(query.order);
          const firstPage = await tenant.query(db => start(db).paginate({numItems: 2, cursor: null}));
          const cursor = skipped ? firstPage.continueCursor : null;
          let endCursor: string | null = null;
          const read = () =>
            tenant.query(async db => {
              if (kind === 'collect') return start(db).collect();
              if (kind === 'take') return start(db).take(count);
              return (await start(db).paginate({numItems: count, cursor})).page;
            }, endCursor);
          const write = (change: string, pick: number, values: object, told: (row: DocumentRow) => void) =>
            tenant.mutation(async db => {
              const there = await db.query(table.name).collect();
              const victim = there[pick % Math.max(1, there.length)];
              if (change === 'insert' || victim === undefined) await db.insert(table.name, values);
              else if (change === 'delete') await db.delete(victim._id);
              else await db.patch(victim._id, {a: undefined, b: undefined, c: undefined, ...values});
              for (const {before, after} of tenant.writer.commit().changes) {
                if (before !== null) told(before.row);
                if (after !== null) told(after.row);
              }
            });
          await read();
          // From now on a page ends where it ended first, whatever it still has.
          endCursor = tenant.reads.paginated?.endCursor ?? null;
          await write(...changes[0]!, () => {});
          const before = await read();
          const {readSet} = tenant.reads;
          let touched = false;
          for (const [change, pick, values] of changes.slice(1)) {
            await write(change, pick, values, row => {
              touched ||= touches(readSet, table, row);
            });
          }
          if (!touched) expect(await read()).toEqual(before);
        },
      ),
      {numRuns: 400},
    );
  });
});

describe('what was not looked at is not in it', () => {
  const table = tenant.newTable([['c', 'n']]);
  const ids: Record<string, string> = {};
  for (const c of ['A', 'B']) for (const n of [1, 2, 3, 4]) ids[`${c}${n}`] = tenant.insertNative(table, {c, n});
  const channel = (db: Db, order: 'asc' | 'desc'): Query =>
    db
      .query(table.name)
      .withIndex('c_n', (q: RangeBuilder) => q.eq('c', 'A'))
      .order(order);
  const read = async (handler: (db: Db) => Promise<unknown>) => {
    await tenant.query(handler);
    const {readSet} = tenant.reads;
    return Object.keys(ids).filter(name => touches(readSet, table, tenant.writer.document(table, ids[name]!)!));
  };

  test.each<[string, (db: Db) => Promise<unknown>, string[]]>([
    ['all of a channel', db => channel(db, 'asc').collect(), ['A1', 'A2', 'A3', 'A4']],
    ['the first two', db => channel(db, 'asc').take(2), ['A1', 'A2']],
    ['the last two', db => channel(db, 'desc').take(2), ['A3', 'A4']],
    ['a page', db => channel(db, 'asc').paginate({numItems: 3, cursor: null}), ['A1', 'A2', 'A3']],
    [
      'rows that a filter leaves out',
      db =>
        channel(db, 'asc')
          .filter(() => false)
          .first(),
      ['A1', 'A2', 'A3', 'A4'],
    ],
    ['nothing', db => channel(db, 'asc').take(0), []],
    ['the newest of the table', db => db.query(table.name).order('desc').first(), ['B4']],
    ['one id', db => db.get(ids.B2), ['B2']],
    [
      'one id by index',
      db =>
        db
          .query(table.name)
          .withIndex('by_id', (q: RangeBuilder) => q.eq('_id', ids.B3))
          .first(),
      ['B3'],
    ],
    [
      'all but one value',
      db =>
        db
          .query(table.name)
          .withIndex('c_n', (q: RangeBuilder) => q.eq('c', 'A').neq('n', 2))
          .take(2),
      ['A1', 'A3'],
    ],
  ])('%s', async (_, handler, expected) => {
    expect(await read(handler)).toEqual(expected);
  });

  test('a page that is computed again covers its interval, also where its documents are gone', async () => {
    const {name} = tenant.newTable([['n']]);
    const made = tenant.writer.catalog.table(name)!;
    for (const n of [1, 5, 9]) tenant.insertNative(made, {n});
    const read = (endCursor: string | null) =>
      tenant.query(db => db.query(name).withIndex('n').paginate({numItems: 2, cursor: null}), endCursor);
    const {page, continueCursor} = await read(null);
    await tenant.mutation(async db => {
      for (const {_id} of page) await db.delete(_id);
    });
    expect((await read(continueCursor)).page).toEqual([]);
    const {readSet} = tenant.reads;
    const lies = [0, 3, 5, 7].map(n => {
      const id = tenant.insertNative(made, {n});
      return touches(readSet, made, tenant.writer.document(made, id)!);
    });
    expect(lies).toEqual([true, true, false, false]); // the second 5 is behind the one that the page ended with
  });

  test('a document that is there is one of its table, also when it goes and comes in another', async () => {
    const {name} = tenant.newTable([]);
    const other = tenant.writer.catalog.table(name)!;
    const id = tenant.insertNative(table, {c: 'D', n: 1});
    const in_ = ({number}: {number: number}) => [
      {table: number, index: BY_ID, lower: Buffer.from(id), upper: Buffer.from(`${id}\0`)},
    ];
    const read = async () => {
      const found = await tenant.query(db => db.get(id));
      return {found, readSet: tenant.reads.readSet};
    };
    const there = await read();
    expect(there.readSet.intervals).toEqual(in_(table));
    const going: DocumentRow[] = [];
    await tenant.mutation(async db => {
      await db.delete(id);
      for (const {before} of tenant.writer.commit().changes) going.push(before!.row);
    });
    expect(going.map(row => touches(there.readSet, table, row))).toEqual([true]);

    const gone = await read();
    expect(gone.found).toBeNull();
    tenant.insertNative(other, {n: 2}, id);
    expect(touches(gone.readSet, other, tenant.writer.document(other, id)!)).toBe(true);
    // A query that read it where it was is notified when it goes, and not of what becomes of its id.
    expect(touches(there.readSet, other, tenant.writer.document(other, id)!)).toBe(false);

    const elsewhere = await read();
    expect(elsewhere.found).toMatchObject({_id: id, n: 2});
    expect(elsewhere.readSet.intervals).toEqual(in_(other));
    expect(touches(elsewhere.readSet, other, tenant.writer.document(other, id)!)).toBe(true);
  });

  test('a document that is not there is a dependency as well', async () => {
    const gone = tenant.insertNative(table, {c: 'C', n: 1});
    await tenant.mutation(db => db.delete(gone));
    await tenant.query(db => db.get(gone));
    expect(tenant.reads.readSet.intervals).toEqual([
      {table: ANY_TABLE, index: BY_ID, lower: Buffer.from(gone), upper: Buffer.from(`${gone}\0`)},
    ]);
  });

  test('a table that is not there is one, too', async () => {
    await tenant.query(db => db.query('not_yet').collect());
    const {readSet} = tenant.reads;
    const id = await tenant.mutation(db => db.insert('not_yet', {}));
    const made = tenant.writer.catalog.table('not_yet')!;
    expect(touches(readSet, made, tenant.writer.document(made, id)!)).toBe(true);
  });
});
