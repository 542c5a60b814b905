/** `filter(q => …)`: what its expressions are for a document, by the one order of all values. */
import {afterAll, expect, test} from 'vitest';
import {type FilterBuilder, type RangeBuilder, TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());
const table = tenant.newTable([['n']]);
for (const fields of [
  {n: 1, s: 'a', o: {x: 1}},
  {n: 2, s: null, o: [1]},
  {n: 3},
  {n: 4, s: Number.NaN, o: {x: null}},
]) {
  tenant.insertNative(table, fields);
}

const CASES: [string, (q: FilterBuilder) => unknown, number[]][] = [
  ['always', () => true, [1, 2, 3, 4]],
  ['never', () => false, []],
  ['eq null', q => q.eq!(q.field!('s'), null), [2]],
  ['eq what is missing', q => q.eq!(q.field!('s'), undefined), [3]],
  ['neq null includes what is missing', q => q.neq!(q.field!('s'), null), [1, 3, 4]],
  ['eq NaN', q => q.eq!(q.field!('s'), Number.NaN), [4]],
  ['[33] lt takes missing and null', q => q.lt!(q.field!('s'), 0), [2, 3]],
  ['gt takes other types', q => q.gt!(q.field!('s'), 0), [1, 4]],
  ['gte and lte', q => q.and!(q.gte!(q.field!('n'), 2), q.lte!(q.field!('n'), 3)), [2, 3]],
  ['a path', q => q.eq!(q.field!('o.x'), 1), [1]],
  ['a path to null', q => q.eq!(q.field!('o.x'), null), [4]],
  ['a path through nothing is missing', q => q.eq!(q.field!('o.x.y'), undefined), [1, 2, 3, 4]],
  ['a path through the prototype is missing', q => q.eq!(q.field!('constructor'), undefined), [1, 2, 3, 4]],
  ['a whole value', q => q.eq!(q.field!('o'), [1]), [2]],
  ['system fields', q => q.gt!(q.field!('_creationTime'), 0), [1, 2, 3, 4]],
  ['arithmetic', q => q.eq!(q.mod!(q.sub!(q.mul!(q.add!(q.field!('n'), 1), 3), 1), 2), 0), [2, 4]],
  ['a quotient of zero', q => q.eq!(q.div!(q.field!('n'), 0), Number.POSITIVE_INFINITY), [1, 2, 3, 4]],
  ['zero of zero', q => q.eq!(q.div!(0, 0), Number.NaN), [1, 2, 3, 4]],
  ['neg', q => q.lt!(q.neg!(q.field!('n')), -2), [3, 4]],
  ['-0 is not 0', q => q.eq!(q.neg!(0), 0), []],
  ['not', q => q.not!(q.eq!(q.field!('n'), 1)), [2, 3, 4]],
  ['and of nothing', q => q.and!(), [1, 2, 3, 4]],
  ['or of nothing', q => q.or!(), []],
  ['or stops at what is true', q => q.or!(q.eq!(q.field!('n'), q.field!('n')), q.field!('s')), [1, 2, 3, 4]],
  ['and stops at what is false', q => q.and!(q.neq!(q.field!('n'), q.field!('n')), q.field!('s')), []],
];

test.each(CASES)('%s', async (_, predicate, expected) => {
  const found = await tenant.query(db => db.query(table.name).filter(predicate).collect());
  expect(found.map(({n}) => n)).toEqual(expected);
});

test('filters join with a range, an order and each other, and come before any count', async () => {
  const found = await tenant.query(db =>
    db
      .query(table.name)
      .withIndex('n', (q: RangeBuilder) => q.gt('n', 1))
      .filter((q: FilterBuilder) => q.neq!(q.field!('n'), 4))
      .order('desc')
      .filter((q: FilterBuilder) => q.neq!(q.field!('n'), 3))
      .first(),
  );
  expect(found?.n).toBe(2);
});

test('the callback runs once, when the filter is made', async () => {
  let runs = 0;
  await tenant.query(db =>
    db
      .query(table.name)
      .filter(() => {
        runs++;
        return true;
      })
      .collect(),
  );
  expect(runs).toBe(1);
});
