/** Filters typed as text. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {filterText, parseFilters} from '../../../dashboard/pages/data/filter-text.ts';
import type {FilterClause} from '../../../shared/protocol/queries.ts';
import {shape} from '../../harness/naive-query.ts';

describe('a filter as text', () => {
  test.each<[string, FilterClause[]]>([
    ['', []],
    ['amount > 100 and status = "open"', [filter('amount', 'gt', 100), filter('status', 'eq', 'open')]],
    ["name starts with 'B' or name = 'x'", [{or: [filter('name', 'prefix', 'B'), filter('name', 'eq', 'x')]}]],
    ['a = 1 or b = 2 and c = 3', [{or: [filter('a', 'eq', 1), [filter('b', 'eq', 2), filter('c', 'eq', 3)]]}]],
    ['(a = 1 and b = 2) and c != null', [filter('a', 'eq', 1), filter('b', 'eq', 2), filter('c', 'neq', null)]],
    ['status not in ("a", 2)', [filter('status', 'not_in', ['a', 2])]],
    ['tags contains "x" AND muni is missing', [filter('tags', 'contains', 'x'), filter('muni', 'exists', false)]],
    ['`odd name` exists', [filter('odd name', 'exists', true)]],
    ['loc.at = [1, {"x": "]"}]', [filter('loc.at', 'eq', [1, {x: ']'}])]],
    ['_creationTime >= "2026-01-31T00:00:00Z"', [filter('_creationTime', 'gte', Date.UTC(2026, 0, 31))]],
  ])('%s', (text, filters) => {
    expect(parseFilters(text)).toEqual(filters);
  });

  test.each<[string, number, RegExp]>([
    ['status = open', 9, /put text in quotes: "open"/],
    ['amount >', 8, /expected a value, not the end/],
    ['amount 5', 7, /after amount, not "5"/],
    ['a = 1 b = 2', 6, /"and", "or" or the end/],
    ['a = "x', 4, /no end/],
    ['a = [1, 2', 4, /no end/],
    ['a in (1', 7, /expected "\)"/],
    ['a = 1 and', 9, /name of a field, not the end/],
    ['a = 1 or (b = 2 and (c = 3 or (d = 4 and (e = 5 or f = 6))))', 0, /nested twice/],
    ['_creationTime > "soon"', 16, /a time is a number/],
  ])('%s is refused at %i', (text, at, message) => {
    expect(() => parseFilters(text)).toThrow(expect.objectContaining({at, message: expect.stringMatching(message)}));
  });

  test('is the same filters again when it is read', () => {
    fc.assert(
      fc.property(shape, ({filters}) => {
        const plain = JSON.parse(JSON.stringify(filters)) as FilterClause[];
        expect(normal(parseFilters(filterText(plain)))).toEqual(normal(plain));
      }),
    );
  });
});

function filter(field: string, op: string, value: unknown): FilterClause {
  return {field, op, value} as FilterClause;
}

/** A list of one filter is that filter, and an `or` of one branch its branch. */
function normal(filters: readonly FilterClause[]): FilterClause[] {
  return filters.flatMap((filter): FilterClause[] => {
    if (!('or' in filter)) return [filter];
    const or = filter.or.map(branch => normal([branch].flat()));
    if (or.length === 1) return or[0]!;
    return [{or: or.map(branch => (branch.length === 1 ? branch[0]! : branch))}];
  });
}
