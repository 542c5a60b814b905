/** Which watchers are notified of a written document, against the slow way: every place of it against everything that is watched. */
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {type Change, Commit} from '../../engine/commit/commit.ts';
import {LIVE_RANGES_MAX} from '../../engine/limits.ts';
import {LiveIndex, type Watch, type Watcher} from '../../engine/live/live-index.ts';
import {rangesOf} from '../../engine/live/query-ranges.ts';
import {compileFilters, matches} from '../../engine/reads/filter.ts';
import {find} from '../../engine/reads/find.ts';
import {orderOf} from '../../engine/reads/order.ts';
import {BY_ID, packed, type ReadSet} from '../../engine/reads/read-set.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import type {Value} from '../../shared/values/value.ts';

import {TenantDatabase} from '../functions/database/tenant-database.ts';
import {fields, shape, withoutNegativeZero} from '../harness/naive-query.ts';
import {touches} from '../harness/touches.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

const INDEXES = [['a'], ['a', 'b'], ['b', 'a'], ['c.d']];
const written = fields.map(withoutNegativeZero) as fc.Arbitrary<Record<string, Value>>;
const write = fc.tuple(fc.constantFrom('insert', 'patch', 'delete'), fc.nat(), written);
const NOBODY: Watcher = {wrote: () => undefined};

class Told implements Watcher {
  changes: Change[] = [];
  wrote(change: Change): void {
    this.changes.push(change);
  }
}

/** The changes of a mutation that does this, in one commit. */
async function changesOf(table: string, [kind, pick, values]: [string, number, Record<string, Value>]) {
  let changes: readonly Change[] = [];
  await tenant.mutation(async db => {
    const there = await db.query(table).collect();
    const victim = there[pick % Math.max(1, there.length)];
    if (kind === 'insert' || victim === undefined) await db.insert(table, values);
    else if (kind === 'delete') await db.delete(victim._id);
    else await db.patch(victim._id, {a: undefined, b: undefined, c: undefined, ...values});
    changes = [...tenant.writer.commit().changes];
  });
  return changes;
}

function whole(query: QueryObject) {
  const filters = compileFilters(query.filters);
  return rangesOf(query, filters, orderOf(query, filters)).flatMap(range => range.upTo(null) ?? []);
}

const commitOf = (changes: readonly Change[]) => new Commit(1, 0, changes, [], []);

describe('who watches a read set', () => {
  test('is notified of exactly the documents that touch it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(written, {maxLength: 10}),
        fc.subarray(INDEXES),
        fc.array(fc.tuple(shape, fc.constantFrom(1, 3, Number.POSITIVE_INFINITY)), {minLength: 1, maxLength: 6}),
        fc.array(write, {minLength: 1, maxLength: 6}),
        async (documents, indexes, shapes, writes) => {
          const table = tenant.newTable(indexes);
          for (const document of documents) tenant.insertNative(table, document);
          const index = new LiveIndex();
          const watched = shapes.map(([part, most]) => {
            const readSet = find(tenant.reader, {table: table.name, ...part}, most, null).readSet();
            const told = new Told();
            return {readSet, told, watch: index.watchReads(told, packed(readSet))};
          });
          for (const one of writes) {
            const changes = await changesOf(table.name, one);
            index.committed(commitOf(changes));
            for (const {readSet, told} of watched) {
              const expected = changes.filter(({before, after}) =>
                [before, after].some(side => side !== null && touches(readSet, table, side.row)),
              );
              expect(told.changes.splice(0)).toEqual(expected);
            }
            watched.pop()?.watch.end();
          }
        },
      ),
      {numRuns: 200},
    );
  });

  const told = (index: LiveIndex, readSet: ReadSet): [Told, Watch] => {
    const one = new Told();
    return [one, index.watchReads(one, packed(readSet))];
  };

  test('of a table that is not there is notified of its first document', async () => {
    const index = new LiveIndex();
    const [told1] = told(index, {intervals: [], absentTables: ['later']});
    const [told2, gone] = told(index, {intervals: [], absentTables: ['later']});
    gone.end();
    index.committed(commitOf(await changesOf('later', ['insert', 0, {a: 1}])));
    expect([told1.changes.length, told2.changes.length]).toEqual([1, 0]);
  });

  test('of any table by an id is notified of that document alone', async () => {
    const table = tenant.newTable();
    const [one, other] = [tenant.insertNative(table, {a: 1}), tenant.insertNative(table, {a: 2})];
    const index = new LiveIndex();
    const bytes = Buffer.from(one);
    const interval = {
      table: 0,
      index: BY_ID,
      lower: new Uint8Array(bytes),
      upper: Buffer.concat([bytes, Buffer.alloc(1)]),
    };
    const [watcher] = told(index, {intervals: [interval], absentTables: []});
    const changes = [
      ...(await changesOf(table.name, ['delete', 0, {}])),
      ...(await changesOf(table.name, ['delete', 0, {}])),
    ];
    expect(changes.map(({id}) => id)).toEqual([one, other]);
    index.committed(commitOf(changes));
    expect(watcher.changes.map(({id}) => id)).toEqual([one]);
  });

  test('is notified of a damaged document of the table, wherever it stood', async () => {
    const table = tenant.newTable([['a']]);
    tenant.insertNative(table, {a: 1});
    const query: QueryObject = {table: table.name, filters: [{field: 'a', op: 'eq', value: 99}]};
    const index = new LiveIndex();
    const [byReads] = told(index, find(tenant.reader, query, 5, null).readSet());
    const byValues = new Told();
    index.watchValues(byValues, table.name, whole(query));
    const [change] = await changesOf(table.name, ['delete', 0, {}]);
    index.committed(commitOf([change!]));
    expect([byReads.changes, byValues.changes]).toEqual([[], []]);
    const damaged: Change = {...change!, isDamaged: true};
    index.committed(commitOf([damaged]));
    expect([byReads.changes, byValues.changes]).toEqual([[damaged], [damaged]]);
  });
});

describe('where a query object watches', () => {
  test('is every document that matches its filters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(written, {minLength: 1, maxLength: 8}), shape, async (documents, part) => {
        const table = tenant.newTable([['a', 'b']]);
        const query: QueryObject = {table: table.name, ...part};
        const filters = compileFilters(query.filters);
        const isMatch = matches(filters);
        const index = new LiveIndex();
        const watcher = new Told();
        index.watchValues(watcher, table.name, whole(query));
        index.watchValues(NOBODY, table.name, [{fields: [], lower: '', upper: '\0'}]);
        for (const document of documents) {
          const changes = await changesOf(table.name, ['insert', 0, document]);
          const isConcerned = isMatch(changes[0]!.after!.document);
          index.committed(commitOf(changes));
          const told = watcher.changes.splice(0);
          if (isConcerned) expect(told).toEqual(changes);
        }
      }),
      {numRuns: 300},
    );
  });

  const eq = (field: string, value: Value) => ({field, op: 'eq' as const, value});
  const among = (field: string) => ({field, op: 'in' as const, value: Array.from({length: 1_000}, (_, i) => i)});

  test('is nowhere where one field cannot be, whatever else is said', () => {
    expect(whole({table: 't', filters: [eq('z', 1), eq('z', 2), among('a'), among('b'), among('c')]})).toEqual([]);
  });

  test('is LIVE_STRETCHES_MAX stretches at most, also of the field of the order', () => {
    const few = {field: 'a', op: 'in' as const, value: [1, 2, 3]};
    for (const filters of [[among('b')], [few, among('b')]]) {
      const ranges = whole({table: 't', filters, order: {field: 'b', direction: 'asc'}, limit: 5});
      expect(ranges.length).toBeLessThanOrEqual(LIVE_RANGES_MAX);
    }
  });
  const gt = (field: string, value: Value) => ({field, op: 'gt' as const, value});
  const lt = (field: string, value: Value) => ({field, op: 'lt' as const, value});
  test.each<[string, QueryObject['filters'], Record<string, Value>[], Record<string, Value>[]]>([
    ['an eq field', [eq('a', 1)], [{a: 1}], [{a: 2}, {}]],
    ['all eq fields together', [eq('b', 2), eq('a', 1)], [{a: 1, b: 2}], [{a: 1, b: 1}, {a: 2, b: 2}, {a: 1}]],
    ['a range without an index', [gt('a', 1), lt('a', 3)], [{a: 2}], [{a: 1}, {a: 3}, {a: 'x'}, {}]],
    [
      'an eq field and a range',
      [eq('a', 1), gt('b', 5)],
      [{a: 1, b: 6}],
      [
        {a: 1, b: 5},
        {a: 2, b: 6},
      ],
    ],
    ['values that cannot be', [gt('a', 3), lt('a', 1)], [], [{a: 2}, {a: 0}, {a: 4}]],
  ])('%s, and nothing else', async (_, filters, inside, outside) => {
    const table = tenant.newTable();
    const index = new LiveIndex();
    const watcher = new Told();
    const query = {table: table.name, filters};
    index.watchValues(watcher, table.name, whole(query));
    for (const [documents, isTold] of [
      [inside, true],
      [outside, false],
    ] as const) {
      for (const document of documents) {
        index.committed(commitOf(await changesOf(table.name, ['insert', 0, document])));
        expect([document, watcher.changes.splice(0).length]).toEqual([document, isTold ? 1 : 0]);
      }
    }
  });
});
