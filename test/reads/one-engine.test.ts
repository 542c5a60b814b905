/**
 * One engine under both faces. The same documents under the same indexes are asked for by query objects, whole and in pages,
 * and by functions, with ranges, filters, `take` and `paginate`: each answer is what filtering, sorting and cutting an array
 * gives.
 */
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {runPage, runQuery} from '../../engine/reads/run.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import type {Value} from '../../shared/values/value.ts';
import {draft, naiveRows, queryOf, rangeOf} from '../functions/database/naive-index.ts';
import {type Db, type Doc, type FilterBuilder, TenantDatabase} from '../functions/database/tenant-database.ts';
import {fields, naiveResult, shape, withoutNegativeZero} from '../harness/naive-query.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

/** Those that functions name, and some that only query objects may choose. */
const NAMED = [['a'], ['a', 'b'], ['c.d']];
const OTHERS = [
  ['b', 'a'],
  ['b', 'c.d', 'a'],
];

const ids = (documents: readonly {_id: string}[]) => documents.map(({_id}) => _id);

describe('query objects and functions answer what the model answers', () => {
  test('whole results, pages, ranges, filters', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fields.map(withoutNegativeZero), {maxLength: 25}),
        fc.subarray(OTHERS),
        fc.array(fc.tuple(shape, draft, fc.integer({min: 1, max: 5}), fc.integer({min: 0, max: 2})), {
          minLength: 3,
          maxLength: 6,
        }),
        async (documents, others, asked) => {
          const table = tenant.newTable([...NAMED, ...others]);
          for (const document of documents) tenant.insertNative(table, document as Record<string, Value>);
          const all = (await tenant.query(db => db.query(table.name).collect())) as Doc[];
          for (const [part, drawn, size, least] of asked) {
            const query: QueryObject = {table: table.name, ...part};
            const expected = ids(naiveResult(all, query));
            expect(ids(JSON.parse(runQuery(tenant.reader, query)).data)).toEqual(expected);
            expect(ids(walked(query, size))).toEqual(expected);

            const ranged = queryOf(drawn, all);
            const start = (db: Db) =>
              db.query(table.name).withIndex(ranged.index, rangeOf(ranged.conditions)).order(ranged.order);
            const rows = naiveRows(all, ranged);
            const isKept = ({b}: Doc) => typeof b === 'number' && b >= least;
            const filter = (q: FilterBuilder) =>
              q.and!(q.gte!(q.field!('b'), least), q.lt!(q.field!('b'), Number.POSITIVE_INFINITY));
            const found = await tenant.query(async db => ({
              whole: ids(await start(db).collect()),
              taken: ids(await start(db).take(size)),
              filtered: ids(await start(db).filter(filter).collect()),
              filteredTaken: ids(await start(db).filter(filter).take(size)),
            }));
            expect(found.whole).toEqual(ids(rows));
            expect(found.taken).toEqual(ids(rows).slice(0, size));
            expect(found.filtered).toEqual(ids(rows.filter(isKept)));
            expect(found.filteredTaken).toEqual(ids(rows.filter(isKept)).slice(0, size));
            expect(await paged(start, size)).toEqual(ids(rows));
          }
        },
      ),
      {numRuns: 120},
    );
  });
});

/** All pages of a query object. */
function walked(query: QueryObject, pageSize: number): Doc[] {
  const found: Doc[] = [];
  let after: string | null = null;
  do {
    const body = {query, page_size: pageSize, ...(after === null ? {} : {after})};
    const page = JSON.parse(runPage(tenant.reader, body)) as {data: Doc[]; next_cursor: string | null};
    found.push(...page.data);
    after = page.next_cursor;
  } while (after !== null);
  return found;
}

async function paged(start: (db: Db) => ReturnType<Db['query']>, numItems: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await tenant.query(db => start(db).paginate({numItems, cursor}));
    found.push(...ids(page.page));
    if (page.isDone) return found;
    cursor = page.continueCursor;
  }
}
