/** Queries whose filters and order have no index in common: a broad filter is read in order, a narrow one is sorted. */
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {WALK_DOCUMENTS_MAX, WALK_ENTRIES_MIN} from '../../engine/limits.ts';
import {runPage, runQuery} from '../../engine/reads/run.ts';
import type {Explained, FilterClause, QueryObject} from '../../shared/protocol/queries.ts';
import {type Doc, naiveResult} from '../harness/naive-query.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const parts = new TenantParts();
afterAll(() => parts.close());
const {reader} = parts;

const COUNT = 2 * WALK_ENTRIES_MIN;
const table = parts.newTable([['size'], ['name']]);
parts.write(writer => {
  for (let n = 0; n < COUNT; n++) {
    const fields = {size: n % 1_000, name: `n${(n * 7_919) % COUNT}`, late: n >= COUNT / 2};
    writer.insert(table, fields, JSON.stringify(fields));
  }
});
const all = (JSON.parse(runQuery(reader, {table: table.name, filters: []})) as {data: Doc[]}).data;

const gte = (value: number): FilterClause => ({field: 'size', op: 'gte', value});
const late: FilterClause = {field: 'late', op: 'eq', value: true};
const byName = {field: 'name', direction: 'desc'} as const;

function explained(query: QueryObject): Explained & {data: Doc[]} {
  const text = runQuery(reader, {...query, explain: true});
  const {data, explain} = JSON.parse(text) as {data: Doc[]; explain: Explained};
  return {...explain, data};
}

describe('the first documents of a broad filter', () => {
  test.each([
    ['in order of creation', [gte(0)], undefined, 'table', 128],
    ['many of them pass', [gte(400)], undefined, 'table', 760],
    ['in the order of another index', [gte(0)], byName, 'index', 128],
  ] as const)('%s', (_, filters, order, by, most) => {
    const query = {table: table.name, filters: [...filters], limit: 100, ...(order === undefined ? {} : {order})};
    const {data, reads, is_sorted, read} = explained(query);
    expect({by: reads[0]!.by, is_sorted}).toEqual({by, is_sorted: false});
    expect(read).toBeLessThanOrEqual(most);
    expect(data).toEqual(naiveResult(all, query));
  });
});

describe('what a walk does not find soon is read from the index, as before', () => {
  test.each([
    ['documents that pass are at the end', [gte(0), late], {limit: 100}, COUNT + 2 * WALK_DOCUMENTS_MAX],
    ['all are wanted', [gte(0)], {}, COUNT],
    ['a narrow filter', [gte(900)], {limit: 100}, COUNT / 10 + 100],
    ['an order that no index has', [gte(0)], {limit: 100, order: {field: 'late', direction: 'asc'} as const}, COUNT],
  ] as const)('%s', (_, filters, rest, most) => {
    const query: QueryObject = {table: table.name, filters: [...filters], ...rest};
    const {data, reads, is_sorted, read} = explained(query);
    expect({index: reads[0]!.index, is_sorted}).toEqual({index: 'size', is_sorted: true});
    expect(read).toBeLessThanOrEqual(most);
    expect(data).toEqual(naiveResult(all, query));
  });
});

test('pages continue whichever way each of them was read', () => {
  const pageSize = fc.integer({min: 50, max: 1_000});
  const order = fc.constantFrom(undefined, byName, {field: '_creationTime', direction: 'desc'} as const);
  fc.assert(
    fc.property(pageSize, fc.constantFrom(0, 300, 900), order, fc.boolean(), (page_size, least, order, isLate) => {
      const filters = isLate ? [gte(least), late] : [gte(least)];
      const query: QueryObject = {table: table.name, filters, limit: 3_000, ...(order === undefined ? {} : {order})};
      const walked: Doc[] = [];
      for (let after: string | null | undefined; after !== null; ) {
        const text = runPage(reader, {query, page_size, ...(after === undefined ? {} : {after})});
        const {data, next_cursor} = JSON.parse(text) as {data: Doc[]; next_cursor: string | null};
        walked.push(...data);
        after = next_cursor;
      }
      expect(walked).toEqual(naiveResult(all, query));
    }),
    {numRuns: 12},
  );
});
