/** A read set that is too large is watched by larger stretches: of bounded size, and whatever touches the one touches the other. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {SUBSCRIBED_READ_INTERVALS_MAX, SUBSCRIBED_READS_BYTES_MAX} from '../../engine/limits.ts';
import {coarse, readSetBytes} from '../../engine/reads/coarse.ts';
import {
  ANY_TABLE,
  BY_CREATION,
  BY_ID,
  creationPlace,
  entryPlace,
  idPlace,
  oneByte,
  type PackedReadSet,
} from '../../engine/reads/read-set.ts';

const TABLES = [1, 2, 3];
const INDEXES = [5, 6];

const key = fc.string({unit: fc.constantFrom('\u0010', 'a', 'b', '\u00fe'), maxLength: 4});
const document = fc.record({
  table: fc.constantFrom(...TABLES),
  doc: fc.nat(2 ** 40),
  id: fc.string({unit: fc.constantFrom('x', 'é', '\u{10ffff}'), minLength: 1, maxLength: 3}),
  key,
});
type Document = {table: number; doc: number; id: string; key: string};

function placesOf({table, doc, id, key}: Document): {table: number; index: number; place: string}[] {
  const byId = oneByte(idPlace(id));
  return [
    {table: ANY_TABLE, index: BY_ID, place: byId},
    {table, index: BY_ID, place: byId},
    {table, index: BY_CREATION, place: oneByte(creationPlace(doc))},
    ...INDEXES.map(index => ({table, index, place: oneByte(entryPlace(Buffer.from(key, 'latin1'), doc))})),
  ];
}

function touches(document: Document, {intervals, absentTables}: PackedReadSet): boolean {
  if (absentTables.includes(`table ${document.table}`)) return true;
  return placesOf(document).some(({table, index, place}) =>
    intervals.some(one => one.table === table && one.index === index && one.lower <= place && place < one.upper),
  );
}

/** Between two places of one index. */
const interval = fc.tuple(document, document, fc.nat(2 + INDEXES.length)).map(([a, b, pick]) => {
  const one = placesOf(a)[pick]!;
  const [lower, upper] = [one.place, placesOf(b)[pick]!.place].sort() as [string, string];
  return {table: one.table, index: one.index, lower, upper: `${upper}\0`};
});
const readSet = fc.record({
  intervals: fc.array(interval, {maxLength: 30}),
  absentTables: fc.uniqueArray(
    fc.constantFrom(...TABLES.map(table => `table ${table}`), 'another', 'a third', 'a fourth'),
  ),
});

test('what touches a read set touches the one that is watched, which is as large as it may be at most', () => {
  fc.assert(
    fc.property(
      readSet,
      fc.integer({min: 1, max: 30}),
      fc.integer({min: 400, max: 20_000}),
      fc.array(document, {minLength: 1, maxLength: 20}),
      (read, intervalsMax, bytesMax, documents) => {
        const watched = coarse(read, intervalsMax, bytesMax);
        expect(watched.intervals.length + watched.absentTables.length).toBeLessThanOrEqual(intervalsMax);
        expect(readSetBytes(watched)).toBeLessThanOrEqual(bytesMax);
        for (const one of documents) if (touches(one, read)) expect(touches(one, watched)).toBe(true);
      },
    ),
  );
});

test('one that is small enough is watched as it is', () => {
  const read = {
    intervals: Array.from({length: SUBSCRIBED_READ_INTERVALS_MAX}, (_, n) => ({
      table: 1,
      index: 5,
      lower: `${n}`,
      upper: `${n}\0`,
    })),
    absentTables: [],
  };
  expect(coarse(read)).toBe(read);
});

test('as coarsely as it takes: whole indexes first, then tables, then all there is', () => {
  const point = (table: number, index: number, lower: string) => ({table, index, lower, upper: `${lower}\0`});
  const many = [point(1, 5, 'a'), point(1, 5, 'k'), point(1, 6, 'b'), point(2, 5, 'c')];
  const of = (intervalsMax: number) => coarse({intervals: many, absentTables: []}, intervalsMax).intervals;
  expect(of(3)).toEqual([{table: 1, index: 5, lower: 'a', upper: 'k\0'}, many[2], many[3]]);
  expect(of(2).map(({table, index}) => [table, index])).toEqual([
    [1, BY_CREATION],
    [2, BY_CREATION],
  ]);
  expect(of(1).map(({table, index}) => [table, index])).toEqual([[ANY_TABLE, BY_ID]]);
  const long = {...point(1, 5, 'x'), upper: 'y'.repeat(SUBSCRIBED_READS_BYTES_MAX)};
  expect(coarse({intervals: [long], absentTables: []}).intervals).toMatchObject([{table: 1, index: BY_CREATION}]);
});

test('documents by their ids, more than are watched one by one, are watched in their tables', () => {
  const gets = Array.from({length: SUBSCRIBED_READ_INTERVALS_MAX + 1}, (_, n) => ({
    table: 1 + (n % 2),
    index: BY_ID,
    lower: `${n}`,
    upper: `${n}\0`,
  }));
  const tables = coarse({intervals: gets, absentTables: []}).intervals.map(({table}) => table);
  expect(tables).toEqual([1, 2]);
});
