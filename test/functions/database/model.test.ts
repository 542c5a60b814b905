/**
 * Queries by index on a real file, held against a model that filters and sorts arrays: every kind of value, both orders, all
 * shapes of ranges, and all the ways to take rows out of one.
 */
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import type {Value} from '../../../shared/values/value.ts';
import {draft, fields, INDEXES, type IndexQuery, naiveRows, queryOf, rangeOf} from './naive-index.ts';
import {type Db, type Doc, type Query, TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

/** A table with these documents; every third has an id of its own. */
function filled(documents: readonly Record<string, Value>[]) {
  const table = tenant.newTable(INDEXES);
  for (const [i, document] of documents.entries()) {
    tenant.insertNative(table, document, i % 3 === 1 ? `${'😀～éz'[i % 4]}${table.name}-${i}` : undefined);
  }
  return table;
}

function start(db: Db, table: string, {index, conditions, order}: IndexQuery): Query {
  return db.query(table).withIndex(index, rangeOf(conditions)).order(order);
}

const ids = (documents: readonly Doc[]) => documents.map(document => document._id);

describe('a query by index answers what the model answers', () => {
  test('collected, taken, iterated and paged, in queries and in mutations', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fields, {maxLength: 30}),
        fc.array(fc.tuple(draft, fc.integer({min: 1, max: 5})), {minLength: 4, maxLength: 8}),
        fc.boolean(),
        async (documents, drafts, inMutation) => {
          const {name} = filled(documents);
          const run = inMutation ? tenant.mutation.bind(tenant) : tenant.query.bind(tenant);
          const all = await run(db => db.query(name).collect());
          for (const [part, size] of drafts) {
            const query = queryOf(part, all);
            const expected = ids(naiveRows(all, query));
            const found = await run(async db => ({
              collected: ids(await start(db, name, query).collect()),
              taken: ids(await start(db, name, query).take(size)),
              first: await start(db, name, query).first(),
              iterated: await iterated(start(db, name, query), size),
            }));
            expect(found.collected).toEqual(expected);
            expect(found.taken).toEqual(expected.slice(0, size));
            expect(found.first?._id).toBe(expected[0]);
            expect(found.iterated).toEqual(expected.slice(0, size));
            expect(await paged(run, name, query, size)).toEqual(expected);
          }
        },
      ),
      {numRuns: 120},
    );
  });

  test('pieces of many rows join without a gap', async () => {
    const {name} = filled(Array.from({length: 1_500}, (_, i) => ({a: i % 7, b: i})));
    for (const order of ['asc', 'desc'] as const) {
      for (const index of ['by_creation_time', 'by_id', 'a', 'a_b']) {
        const query: IndexQuery = {index, conditions: [], order};
        const all = await tenant.query(db => db.query(name).collect());
        const expected = ids(naiveRows(all, query));
        expect(await tenant.query(async db => ids(await start(db, name, query).collect()))).toEqual(expected);
        const filtered = await tenant.query(async db =>
          ids(
            await start(db, name, query)
              .filter((q: {lt(a: unknown, b: unknown): unknown; field(path: string): unknown}) =>
                q.lt(q.field('b'), 700),
              )
              .collect(),
          ),
        );
        const small = new Set(all.filter(({b}) => (b as number) < 700).map(({_id}) => _id));
        expect(filtered).toEqual(expected.filter(id => small.has(id)));
      }
    }
  });

  test('pages cover what was there throughout exactly once, while documents come and go', async () => {
    const step = fc.record({inserts: fc.array(fields, {maxLength: 2}), deletes: fc.array(fc.nat(), {maxLength: 2})});
    await fc.assert(
      fc.asyncProperty(
        fc.array(fields, {maxLength: 20}),
        draft,
        fc.integer({min: 1, max: 4}),
        fc.array(step, {minLength: 1, maxLength: 8}),
        async (documents, part, size, steps) => {
          const {name} = filled(documents);
          const all = await tenant.query(db => db.query(name).collect());
          const query = queryOf(part, all);
          const gone = new Set<string>();
          const delivered: string[] = [];
          let cursor: string | null = null;
          for (let i = 0; ; i++) {
            const page = await tenant.query(db => start(db, name, query).paginate({numItems: size, cursor}));
            delivered.push(...ids(page.page));
            if (page.isDone) break;
            cursor = page.continueCursor;
            if (i > 40) continue;
            const {inserts, deletes} = steps[i % steps.length]!;
            await tenant.mutation(async db => {
              for (const document of inserts) await db.insert(name, document);
              const there = await db.query(name).collect();
              for (const pick of deletes) {
                const victim = there.splice(pick % Math.max(1, there.length), 1)[0];
                if (victim === undefined) continue;
                await db.delete(victim._id);
                gone.add(victim._id);
              }
            });
          }
          expect(new Set(delivered).size).toBe(delivered.length);
          const stayed = ids(naiveRows(all, query)).filter(id => !gone.has(id));
          const wanted = new Set(stayed);
          expect(delivered.filter(id => wanted.has(id))).toEqual(stayed);
        },
      ),
      {numRuns: 80},
    );
  });
});

/** Stops the loop after so many. */
async function iterated(query: Query, count: number): Promise<string[]> {
  const found: string[] = [];
  for await (const document of query) {
    found.push(document._id);
    if (found.length === count) break;
  }
  return found;
}

type Run = <T>(handler: (db: Db) => T | Promise<T>) => Promise<T>;

/** All pages in a row; that a full last page is not the end is checked on the way. */
async function paged(run: Run, table: string, query: IndexQuery, numItems: number): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  for (;;) {
    const page = await run(db => start(db, table, query).paginate({numItems, cursor}));
    found.push(...ids(page.page));
    expect(page.isDone).toBe(page.page.length < numItems);
    if (page.isDone) return found;
    cursor = page.continueCursor;
  }
}
