/** The rows that a data page holds, against an array: any scrolling over a table that changes meanwhile. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {compareKeys, type Doc, keyOf, queryFrom, type RowOrder} from '../../../dashboard/pages/data/row-order.ts';
import {merged, type RowWindow, settled, sliceOf, trimmed, windowOf} from '../../../dashboard/pages/data/row-window.ts';
import {naiveResult} from '../../harness/naive-query.ts';

const MOST = 9;
const ORDERS: RowOrder[] = ['_creationTime', '_id', 'a'].flatMap(field => [
  {field, direction: 'asc'},
  {field, direction: 'desc'},
]);

const value = fc.constantFrom(undefined, null, 1, 2, 'x', true);
const place = fc.nat(50);
const step = fc.oneof(
  fc.record({do: fc.constant('insert' as const), value}),
  fc.record({do: fc.constant('patch' as const), at: place, value}),
  fc.record({do: fc.constant('delete' as const), at: place}),
  fc.record({do: fc.constant('down' as const), limit: fc.integer({min: 1, max: 5}), isLate: fc.boolean()}),
  fc.record({do: fc.constant('up' as const), limit: fc.integer({min: 1, max: 5}), isLate: fc.boolean()}),
  fc.record({do: fc.constant('live' as const), at: place, limit: fc.integer({min: 1, max: 6}), isLate: fc.boolean()}),
  fc.record({do: fc.constant('jump' as const), at: place, limit: fc.integer({min: 1, max: 6})}),
  fc.constant({do: 'settle' as const}),
);

/** A table that hands out creation times and ids as the server does. */
class Table {
  docs: Doc[] = [];
  #clock = 0;

  insert(a: unknown): void {
    const now = ++this.#clock;
    this.docs.push(docOf({_id: `id${(now * 7) % 50}-${now}`, _creationTime: now, _updateTime: now}, a));
  }
  patch(at: number, a: unknown): void {
    const doc = this.docs[at % this.docs.length];
    if (doc === undefined) return;
    const {_id, _creationTime} = doc;
    this.docs[this.docs.indexOf(doc)] = docOf({_id, _creationTime, _updateTime: ++this.#clock}, a);
  }
  delete(at: number): void {
    if (this.docs.length > 0) this.docs.splice(at % this.docs.length, 1);
  }
}

function docOf(system: {_id: string; _creationTime: number; _updateTime: number}, a: unknown): Doc {
  return (a === undefined ? system : {...system, a}) as Doc;
}

function checkShape({rows, order}: RowWindow): void {
  expect(rows.length).toBeLessThanOrEqual(MOST);
  expect(new Set(rows.map(row => row.doc._id)).size).toBe(rows.length);
  for (let i = 1; i < rows.length; i++) expect(compareKeys(rows[i - 1]!.key, rows[i]!.key, order)).toBeLessThan(0);
}

const shown = (window: RowWindow) => window.rows.filter(row => row.mark !== 'gone').map(row => row.doc);

describe('the rows of a page', () => {
  test.each(ORDERS)('are each there once and in order, never more than its limit, by $field $direction', order => {
    const query = {table: 't', filters: [], order};
    fc.assert(
      fc.property(fc.array(value, {maxLength: 20}), fc.array(step, {maxLength: 40}), (initial, steps) => {
        const table = new Table();
        for (const a of initial) table.insert(a);
        const ask = (key: Parameters<typeof queryFrom>[1], limit: number, isBackward = false) =>
          naiveResult(table.docs, queryFrom(query, key, limit, isBackward)) as Doc[];
        let window = windowOf(order, sliceOf(order, null, ask(null, 5), 5));
        const late: (() => void)[] = [];
        const apply = (slice: ReturnType<typeof sliceOf>, focus: number) => {
          window = trimmed(merged(window, slice), MOST, focus);
          checkShape(window);
        };
        for (const one of steps) {
          const {rows} = window;
          if (one.do === 'insert') table.insert(one.value);
          else if (one.do === 'patch') table.patch(one.at, one.value);
          else if (one.do === 'delete') table.delete(one.at);
          else if (one.do === 'settle') window = settled(window);
          else if (one.do === 'jump') {
            const doc = table.docs[one.at % (table.docs.length || 1)];
            const key = doc === undefined ? null : keyOf(doc, order);
            window = windowOf(order, sliceOf(order, key, ask(key, one.limit), one.limit));
            late.length = 0; // Answers to the window before are dropped.
          } else {
            const isBackward = one.do === 'up';
            const row = one.do === 'live' ? rows[one.at % (rows.length || 1)] : isBackward ? rows[0] : rows.at(-1);
            const key = row?.key ?? null;
            if (key === null && !(window.isAtStart && window.isAtEnd)) continue; // Such a page starts again.
            const answer = ask(key, one.limit + 1, isBackward);
            const slice = sliceOf(order, key, answer, one.limit + 1, {isBackward, isLive: one.do === 'live'});
            const focus = isBackward ? 0 : one.do === 'live' ? rows.indexOf(row!) : rows.length;
            if (one.isLate) late.push(() => apply(slice, focus));
            else apply(slice, focus);
          }
          checkShape(window);
          if (one.do === 'settle') for (const answer of late.splice(0)) answer();
        }
        // A live answer for all of the window brings it up to date.
        const from = window.isAtStart ? null : (window.rows[0]?.key ?? null);
        if (from === null && !window.isAtStart) return;
        const all = ask(from, 1_000);
        window = merged(window, {...sliceOf(order, from, all, 1_000), isLive: true});
        expect(shown(window)).toEqual(all);
        expect(settled(window).rows.map(row => row.doc)).toEqual(all);
      }),
      {numRuns: 150},
    );
  });

  test('keep a row that is gone in its place, and mark those that come and change', () => {
    const order: RowOrder = {field: '_creationTime', direction: 'asc'};
    const table = new Table();
    for (const a of [1, 2, 3]) table.insert(a);
    const before = windowOf(order, sliceOf(order, null, table.docs, 9));
    table.delete(0);
    table.patch(0, 'x');
    table.insert(4);
    const after = merged(before, sliceOf(order, null, table.docs, 9, {isLive: true}));
    expect(after.rows.map(row => row.mark)).toEqual(['gone', 'changed', null, 'new']);
    expect(settled(after).rows.map(row => row.doc.a)).toEqual(['x', 3, 4]);
  });

  test('without a gap: an answer from elsewhere changes nothing', () => {
    const order: RowOrder = {field: '_creationTime', direction: 'asc'};
    const table = new Table();
    for (let i = 0; i < 9; i++) table.insert(i);
    const window = windowOf(order, sliceOf(order, null, table.docs.slice(0, 3), 3));
    const far = table.docs.slice(6);
    expect(merged(window, sliceOf(order, keyOf(far[0]!, order), far, 9))).toBe(window);
  });
});
