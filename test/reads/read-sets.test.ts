/**
 * What a query object is said to have read. A write changes its result only if it touches that with a document that matches, or
 * did; and a result that was cut depends on nothing behind its last row.
 */
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {compileFilters, matches} from '../../engine/reads/filter.ts';
import {type Found, find} from '../../engine/reads/find.ts';
import {orderKey} from '../../engine/reads/order.ts';
import type {Position} from '../../engine/reads/position.ts';
import {BY_CREATION, BY_ID} from '../../engine/reads/read-set.ts';
import {documentText, parseDocument} from '../../engine/storage/document.ts';
import type {DocumentRow} from '../../engine/storage/rows.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import type {Value} from '../../shared/values/value.ts';
import {TenantDatabase} from '../functions/database/tenant-database.ts';
import {fields, shape, withoutNegativeZero} from '../harness/naive-query.ts';
import {touches} from '../harness/touches.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());

const INDEXES = [['a'], ['a', 'b'], ['b', 'a'], ['c.d']];
const written = fields.map(withoutNegativeZero) as fc.Arbitrary<Record<string, Value>>;

function positionOf({order}: Found, row: DocumentRow): Position {
  return {key: orderKey(order, parseDocument(row)), doc: row.doc, id: row.id};
}

describe('a write that changes a result touches what was read for it', () => {
  test('whole results and pages, under inserts, patches and deletes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(written, {maxLength: 15}),
        fc.subarray(INDEXES),
        shape,
        fc.record({skipped: fc.nat({max: 4}), most: fc.constantFrom(1, 2, 3, Number.POSITIVE_INFINITY)}),
        fc.array(fc.tuple(fc.constantFrom('insert', 'patch', 'delete'), fc.nat(), written), {
          minLength: 1,
          maxLength: 4,
        }),
        async (documents, indexes, part, {skipped, most}, changes) => {
          const table = tenant.newTable(indexes);
          for (const document of documents) tenant.insertNative(table, document);
          const {limit: _, ...unlimited} = part;
          const query: QueryObject = {table: table.name, ...unlimited};
          const whole = find(tenant.reader, query, Number.POSITIVE_INFINITY, null);
          const stop = skipped === 0 ? undefined : whole.rows[skipped - 1];
          const after = stop === undefined ? null : positionOf(whole, stop);
          const read = () => find(tenant.reader, query, most, after);
          const shown = ({rows}: Found) => rows.map(documentText);
          const first = read();
          const before = shown(first);
          const readSet = first.readSet();
          const isMatch = matches(compileFilters(query.filters));
          for (const [change, pick, values] of changes) {
            let concerns = false;
            await tenant.mutation(async db => {
              const there = await db.query(table.name).collect();
              const victim = there[pick % Math.max(1, there.length)];
              if (change === 'insert' || victim === undefined) await db.insert(table.name, values);
              else if (change === 'delete') await db.delete(victim._id);
              else await db.patch(victim._id, {a: undefined, b: undefined, c: undefined, ...values});
              for (const side of tenant.writer.commit().changes.flatMap(({before, after}) => [before, after])) {
                if (side !== null) concerns ||= touches(readSet, table, side.row) && isMatch(side.document);
              }
            });
            if (concerns) return;
            expect(shown(read())).toEqual(before);
          }
        },
      ),
      {numRuns: 400},
    );
  });
});

describe('what was not looked at is not in it', () => {
  const table = tenant.newTable([['c', 'n']]);
  const idOf: Record<string, string> = {};
  for (const c of ['A', 'B']) for (const n of [1, 2, 3, 4]) idOf[`${c}${n}`] = tenant.insertNative(table, {c, n});
  const eq = (field: string, value: unknown) => ({field, op: 'eq' as const, value});
  const by = (field: string, direction: 'asc' | 'desc' = 'asc') => ({order: {field, direction}});

  test.each<[string, Omit<QueryObject, 'table'>, string[]]>([
    ['all of a channel', {filters: [eq('c', 'A')], ...by('n')}, ['A1', 'A2', 'A3', 'A4']],
    ['the first two', {filters: [eq('c', 'A')], ...by('n'), limit: 2}, ['A1', 'A2']],
    ['the last two', {filters: [eq('c', 'A')], ...by('n', 'desc'), limit: 2}, ['A3', 'A4']],
    [
      'a range',
      {filters: [eq('c', 'B'), {field: 'n', op: 'gt', value: 1}, {field: 'n', op: 'lte', value: 3}]},
      ['B2', 'B3'],
    ],
    [
      'rows that a filter leaves out',
      {filters: [eq('c', 'A'), eq('x', 1)], ...by('n'), limit: 1},
      ['A1', 'A2', 'A3', 'A4'],
    ],
    ['the newest of the table', {filters: [], ...by('_creationTime', 'desc'), limit: 1}, ['B4']],
    ['one id', {filters: [eq('_id', idOf.B2)]}, ['B2']],
    ['values of a list', {filters: [eq('c', 'A'), {field: 'n', op: 'in', value: [3, 1, 9]}]}, ['A1', 'A3']],
    [
      'values of a list in the order behind them',
      {filters: [{field: 'c', op: 'in', value: ['A', 'B']}], ...by('n'), limit: 3},
      ['A1', 'A2', 'B1', 'B2'],
    ],
    ['what begins so', {filters: [{field: 'c', op: 'prefix', value: 'B'}], limit: 9}, ['B1', 'B2', 'B3', 'B4']],
    ['what is there', {filters: [eq('c', 'B'), {field: 'n', op: 'exists', value: false}]}, []],
    [
      'branches of an or',
      {
        filters: [
          {
            or: [
              [eq('c', 'A'), {field: 'n', op: 'gte', value: 4}],
              [eq('c', 'B'), eq('n', 1)],
            ],
          },
        ],
      },
      ['A4', 'B1'],
    ],
    ['some ids', {filters: [{field: '_id', op: 'in', value: [idOf.B2, idOf.A1, 7, idOf.A1]}]}, ['A1', 'B2']],
    [
      'the first of two fields',
      {filters: [], order: [by('c', 'desc').order, by('n', 'desc').order], limit: 2},
      ['B3', 'B4'],
    ],
    ['an order that has to be made', {filters: [eq('c', 'A')], ...by('x'), limit: 1}, ['A1', 'A2', 'A3', 'A4']],
  ])('%s', (_, part, expected) => {
    const query = {table: table.name, ...part};
    const readSet = find(tenant.reader, query, query.limit ?? Number.POSITIVE_INFINITY, null).readSet();
    const isIn = (name: string) => touches(readSet, table, tenant.writer.document(table, idOf[name]!)!);
    expect(Object.keys(idOf).filter(isIn)).toEqual(expected);
  });

  test('by creation and by id it is stretches of those orders', () => {
    const readOf = (filters: QueryObject['filters'], most: number) =>
      find(tenant.reader, {table: table.name, filters}, most, null).readSet();
    expect(readOf([], 3).intervals).toMatchObject([{table: table.number, index: BY_CREATION}]);
    expect(readOf([eq('_id', 'x')], 1).intervals).toEqual([
      {table: table.number, index: BY_ID, lower: Buffer.from('x'), upper: Buffer.from('x\0')},
    ]);
    expect(readOf([], 0)).toEqual({intervals: [], absentTables: []});
  });

  test('a table that is not there is touched by its first document', () => {
    const {readSet} = find(tenant.reader, {table: 'not_yet', filters: []}, 1, null);
    expect(readSet()).toEqual({intervals: [], absentTables: ['not_yet']});
  });
});
