/**
 * The query engine on a real file, held against a model that sorts and filters arrays: whatever plan is chosen, the answer
 * is the model's; and a walk over pages delivers every document that was there throughout exactly once, in order.
 */
import {createHash} from 'node:crypto';
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {LiveCount} from '../../engine/live/live-count.ts';
import type {ReadBudget} from '../../engine/reads/read-budget.ts';
import {runBatch, runCount, runPage, runQuery} from '../../engine/reads/run.ts';
import {shapeText} from '../../engine/reads/shape.ts';
import {refreshInfo} from '../../engine/storage/catalog.ts';
import type {EntryPlace} from '../../engine/storage/rows.ts';
import type {Explained, FilterClause, QueryObject} from '../../shared/protocol/queries.ts';
import {checkFields, storedText} from '../../shared/values/json.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import type {Value} from '../../shared/values/value.ts';
import {type Doc, fields, naiveResult, shape} from '../harness/naive-query.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const tenant = new TenantParts();
afterAll(() => tenant.close());
const {reader, writer} = tenant;

const INDEXES = [['a'], ['a', 'b'], ['b', 'a'], ['c.d'], ['a', 'b', 'c.d']];

/** A new table with these indexes, driven through the writer as mutations drive it. */
function newTable(indexes: string[][]) {
  const table = tenant.newTable(indexes);
  const {name} = table;
  return {
    name,
    insert: (fields: Record<string, Value>) => {
      checkFields(fields, 'fields');
      return tenant.write(() => writer.insert(table, fields, storedText(fields)));
    },
    delete: (id: string) => tenant.write(() => writer.delete(table, writer.document(table, id)!)),
    enableAgain: (enabled: boolean) => {
      for (const index of table.indexes) index.state = enabled ? 'enabled' : 'building';
      refreshInfo(table);
    },
    all: () => (JSON.parse(runQuery(reader, {table: name, filters: []})) as {data: Doc[]}).data,
  };
}

const indexes = fc.subarray(INDEXES);

describe('a query answers what the model answers, with whatever indexes there are', () => {
  test('random documents, filters, orders and limits', () => {
    fc.assert(
      fc.property(
        fc.array(fields, {maxLength: 25}),
        indexes,
        fc.array(shape, {minLength: 5, maxLength: 15}),
        (docs, lists, shapes) => {
          const table = newTable(lists);
          for (const doc of docs) table.insert(doc);
          const all = table.all();
          const queries = shapes.map(part => ({table: table.name, ...part}));
          const batch = runBatch(reader, {queries: queries.map((query, i) => ({...query, count: i % 2 === 1}))});
          const {results} = JSON.parse(batch) as {results: unknown[]};
          for (const [i, query] of queries.entries()) {
            const {data} = JSON.parse(runQuery(reader, query)) as {data: Doc[]};
            const expected = naiveResult(all, query);
            expect(data).toEqual(expected);
            const counted = {count: expected.length};
            expect(JSON.parse(runCount(reader, query))).toEqual(counted);
            expect(results[i]).toEqual(i % 2 === 1 ? counted : {data: expected});
          }
        },
      ),
      {numRuns: 150},
    );
  });

  test('ranges on _creationTime and a look-up by _id', () => {
    const table = newTable([]);
    for (let i = 0; i < 40; i++) table.insert({i});
    const all = table.all();
    for (const op of ['eq', 'gt', 'gte', 'lt', 'lte', 'neq'] as const) {
      for (const value of [
        0,
        all[0]!._creationTime,
        all[17]!._creationTime,
        all[17]!._creationTime + 0.5,
        all[39]!._creationTime,
        9e15,
      ]) {
        const query: QueryObject = {table: table.name, filters: [{field: '_creationTime', op, value}]};
        const {data} = JSON.parse(runQuery(reader, query)) as {data: Doc[]};
        expect(data.map(doc => doc.i)).toEqual(naiveResult(all, query).map(doc => doc.i));
      }
    }
    const byId = {table: table.name, filters: [{field: '_id', op: 'eq' as const, value: all[5]!._id}]};
    expect(JSON.parse(runQuery(reader, byId))).toEqual({data: [all[5]]});
    expect(JSON.parse(runQuery(reader, {...byId, table: newTable([]).name}))).toEqual({data: []});
  });
});

describe('counting', () => {
  test('an index in pieces comes to the same, wherever equal values are cut', () => {
    const table = newTable([['a']]);
    for (let i = 0; i < 23; i++) table.insert({a: Math.floor(i / 5)});
    const [index] = reader.table(table.name)!.indexes;
    const [lower, upper] = [encodeKey([1]), encodeKey([4])];
    for (const most of [1, 2, 3, 5, 14, 15, 16]) {
      let count = 0;
      let after: EntryPlace | null = null;
      do {
        const found = reader.countEntries(index!.number, lower, upper, after, most);
        count += found.count;
        after = found.last;
      } while (after !== null);
      expect(count).toBe(15);
      const docs: number[] = [];
      do {
        const found = reader.entryNumbers(index!.number, lower, upper, after, most);
        docs.push(...found.docs);
        after = found.last;
      } while (after !== null);
      expect([docs.length, new Set(docs).size]).toEqual([15, 15]);
    }
  });

  test('live, it begins without a document where an index, or the table, speaks for them', () => {
    const table = newTable([['a']]);
    for (let i = 0; i < 30; i++) table.insert({a: i % 3, b: i});
    let charsRead = 0;
    const readBudget: ReadBudget = {
      willReadAll: () => undefined,
      hasRead: (_, chars) => {
        charsRead += chars;
      },
    };
    const begun = (filters: FilterClause[]) => {
      charsRead = 0;
      const live = new LiveCount({table: table.name, filters, count: true});
      live.run(reader, readBudget);
      return [live.refresh(), charsRead > 0];
    };
    const one = (value: unknown): FilterClause => ({field: 'a', op: 'eq', value});
    expect(begun([])).toEqual(['{"count":30}', false]);
    expect(begun([one(1)])).toEqual(['{"count":10}', false]);
    expect(begun([{field: 'a', op: 'in', value: [0, 2, 7]}])).toEqual(['{"count":20}', false]);
    expect(begun([one(1), {field: 'b', op: 'lt', value: 10}])).toEqual(['{"count":3}', true]);
  });

  test('ends at the limit, and reads no document that an index speaks for', () => {
    const table = newTable([['a']]);
    for (let i = 0; i < 30; i++) table.insert({a: i % 3, b: i});
    const counted = (query: Partial<QueryObject>) =>
      JSON.parse(runCount(reader, {table: table.name, filters: [], explain: true, ...query})) as {
        count: number;
        explain: Explained;
      };
    const one = (value: unknown): FilterClause => ({field: 'a', op: 'eq', value});
    expect(counted({})).toMatchObject({count: 30, explain: {read: 0}});
    expect(counted({filters: [one(1)]})).toMatchObject({count: 10, explain: {read: 0}});
    expect(counted({filters: [one(1)], limit: 4})).toMatchObject({count: 4, explain: {read: 0}});
    expect(counted({filters: [{or: [one(1), one(7), one(2)]}]}).count).toBe(20);
    const filtered = counted({filters: [one(1), {field: 'b', op: 'lt', value: 10}]});
    expect(filtered).toMatchObject({count: 3, explain: {read: 10, reads: [{index: 'a', is_filtered: true}]}});
  });
});

describe('explain tells how it was read', () => {
  test.each<[string, Partial<QueryObject>, object, object[]]>([
    ['the table', {}, {is_sorted: false, read: 12, returned: 12}, [{by: 'table', index: null, range: []}]],
    [
      'an order that had to be made',
      {order: {field: 'b', direction: 'asc'}, limit: 2},
      {is_sorted: true, read: 12, returned: 2},
      [{by: 'table', is_filtered: false}],
    ],
    [
      'values of a list, merged in the order',
      {
        filters: [{field: 'a', op: 'in', value: [2, 0]}],
        order: {field: 'b', direction: 'desc'},
        limit: 3,
      },
      {is_sorted: false, returned: 3},
      [{by: 'index', fields: ['a', 'b'], range: [{field: 'a', op: 'in', value: [0, 2]}], stretches: 2}],
    ],
    [
      'a choice',
      {
        filters: [
          {
            or: [
              {field: 'a', op: 'eq', value: 1},
              {field: 'c', op: 'prefix', value: 'x1'},
            ],
          },
        ],
      },
      {is_sorted: true, returned: 5},
      [
        {fields: ['a', 'b'], is_filtered: false},
        {fields: ['c'], is_filtered: true, range: [{field: 'c', op: 'prefix', value: 'x1'}]},
      ],
    ],
    [
      'ids',
      {filters: [{field: '_id', op: 'in', value: ['x', 'y']}]},
      {read: 0, returned: 0},
      [{by: 'ids', stretches: 2}],
    ],
  ])('%s', (_, part, expected, reads) => {
    const table = newTable([['a', 'b'], ['c']]);
    for (let i = 0; i < 12; i++) table.insert({a: i % 3, b: i, c: `x${i}`});
    const {explain} = JSON.parse(runQuery(reader, {table: table.name, filters: [], explain: true, ...part})) as {
      explain: Explained;
    };
    expect(explain).toMatchObject({...expected, reads});
    expect(explain.reads.length).toBe(reads.length);
  });
});

describe('a walk over pages delivers what was there throughout exactly once, in order', () => {
  const step = fc.record({
    pageSize: fc.integer({min: 1, max: 5}),
    inserts: fc.array(fields, {maxLength: 3}),
    deletes: fc.array(fc.nat(), {maxLength: 3}),
    indexed: fc.boolean(),
  });

  test('while documents come and go and indexes become usable between pages', () => {
    fc.assert(
      fc.property(
        fc.array(fields, {maxLength: 25}),
        indexes,
        shape,
        fc.array(step, {minLength: 1, maxLength: 40}),
        (docs, lists, part, steps) => {
          const table = newTable(lists);
          for (const doc of docs) table.insert(doc);
          const {limit: _, select: __, ...unlimited} = part;
          const query = {table: table.name, ...unlimited};
          let stayed = naiveResult(table.all(), query);
          const delivered: Doc[] = [];
          let after: string | undefined;
          for (let i = 0; ; i++) {
            const {pageSize, inserts, deletes, indexed} = steps[i % steps.length]!;
            const page = JSON.parse(
              runPage(reader, {query, page_size: pageSize, ...(after === undefined ? {} : {after})}),
            ) as {
              data: Doc[];
              next_cursor: string | null;
              has_more: boolean;
            };
            delivered.push(...page.data);
            expect(page.has_more).toBe(page.next_cursor !== null);
            if (page.next_cursor === null) break;
            expect(page.data.length).toBe(pageSize);
            after = page.next_cursor;
            if (i < 30) for (const doc of inserts) table.insert(doc);
            for (const pick of deletes) {
              const all = table.all();
              const gone = all[pick % Math.max(1, all.length)];
              if (gone === undefined) continue;
              table.delete(gone._id);
              stayed = stayed.filter(doc => doc._id !== gone._id);
            }
            table.enableAgain(indexed);
          }
          const ids = delivered.map(doc => doc._id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(
            naiveResult(
              delivered.toSorted((x, y) => x._creationTime - y._creationTime),
              query,
            ).map(doc => doc._id),
          ).toEqual(ids);
          const there = new Set(stayed.map(doc => doc._id));
          expect(ids.filter(id => there.has(id))).toEqual(stayed.map(doc => doc._id));
        },
      ),
      {numRuns: 200},
    );
  });

  test('a limit bounds the whole walk', () => {
    const table = newTable([]);
    for (let i = 0; i < 10; i++) table.insert({a: i});
    for (const limit of [1, 3, 4, 9, 10, 11]) {
      const query: QueryObject = {table: table.name, filters: [], limit, order: {field: 'a', direction: 'desc'}};
      const seen: Value[] = [];
      let after: string | null = null;
      do {
        const page = JSON.parse(runPage(reader, {query, page_size: 4, ...(after === null ? {} : {after})})) as {
          data: Doc[];
          next_cursor: string | null;
        };
        seen.push(...page.data.map(doc => doc.a!));
        after = page.next_cursor;
      } while (after !== null);
      expect(seen).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0].slice(0, limit));
    }
  });

  test.each(['', 'x', 'AAAA', 'AQ'.repeat(30), 'Aw'.repeat(30), '!'.repeat(40)])('%j is not a cursor', after => {
    expect(() => runPage(reader, {query: {table: 't', filters: []}, page_size: 1, after})).toThrow('not a cursor');
  });

  test('a cursor of the form that was handed out before goes on where it stood', () => {
    const table = newTable([]);
    for (let i = 0; i < 4; i++) table.insert({a: 3 - i});
    const query: QueryObject = {table: table.name, filters: [], order: {field: 'a', direction: 'asc'}, limit: 3};
    const second = reader.documentById(table.all()[2]!._id)!;
    const head = Buffer.alloc(25);
    head[0] = 2;
    createHash('sha256')
      .update(`${reader.timeline}\n${shapeText(query)}`)
      .digest()
      .copy(head, 1, 0, 8);
    head.writeDoubleBE(2, 9); // delivered
    head.writeDoubleBE(second.doc, 17);
    const after = Buffer.concat([head, encodeKey([1])]).toString('base64url');
    const page = JSON.parse(runPage(reader, {query, page_size: 5, after})) as {data: Doc[]; next_cursor: string | null};
    expect([page.data.map(doc => doc.a), page.next_cursor]).toEqual([[2], null]);
    expect(() => runPage(reader, {query: {...query, limit: 4}, page_size: 5, after})).toThrow('another query');
    expect(() => runPage(reader, {query, page_size: 5, after: after.slice(0, 30)})).toThrow('not a cursor');
  });

  test('a cursor of another query is refused', () => {
    const table = newTable([]);
    for (let i = 0; i < 3; i++) table.insert({a: i});
    const query: QueryObject = {table: table.name, filters: []};
    const {next_cursor: after} = JSON.parse(runPage(reader, {query, page_size: 1})) as {next_cursor: string};
    for (const other of [
      {...query, table: 'other'},
      {...query, filters: [{field: 'a', op: 'eq' as const, value: 1}]},
      {...query, order: {field: 'a', direction: 'asc' as const}},
      {...query, limit: 2},
    ]) {
      expect(() => runPage(reader, {query: other, page_size: 1, after})).toThrow('another query');
    }
  });
});
