/**
 * Compares any two values by one total order: missing < null < numbers < false < true < strings < arrays < objects.
 * Filters, `order`, indexes and cursors all use it; `key-encoding.ts` is the same order as bytes.
 *
 * Numbers: -Infinity < … < -0 < 0 < … < Infinity < NaN. Strings: by UTF-8 bytes, which is by code point (JavaScript's
 * `<` compares UTF-16 units and puts U+1F600 before U+FF5E). Arrays: element by element, shorter first. Objects: as
 * their list of [key, value] pairs sorted by key.
 */
import type {Value} from './value.ts';

export function compareValues(a: Value | undefined, b: Value | undefined): number {
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  switch (rank) {
    case Rank.number:
      return compareNumbers(a as number, b as number);
    case Rank.string:
      return compareUtf8(a as string, b as string);
    case Rank.array:
      return compareArrays(a as Value[], b as Value[]);
    case Rank.object:
      return compareObjects(a as Record<string, Value>, b as Record<string, Value>);
    default:
      return 0;
  }
}

/**
 * Ranks are also the tags of the key encoding. There, 0 ends arrays, objects and strings, and 0xff is above all ranks.
 */
export const Rank = {missing: 1, null: 2, number: 3, false: 4, true: 5, string: 6, array: 7, object: 8} as const;

export function rankOf(value: Value | undefined): number {
  switch (typeof value) {
    case 'undefined':
      return Rank.missing;
    case 'number':
      return Rank.number;
    case 'boolean':
      return value ? Rank.true : Rank.false;
    case 'string':
      return Rank.string;
    default:
      if (value === null) return Rank.null;
      return Array.isArray(value) ? Rank.array : Rank.object;
  }
}

function compareNumbers(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a === b) return a === 0 ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : 0;
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}

/** Compares by UTF-8 bytes, without encoding: only units from 0xd800 on sort differently in UTF-16. */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA !== unitB) return codePointRank(unitA) - codePointRank(unitB);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others, so they sort after U+E000 to U+FFFF. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

function compareArrays(a: Value[], b: Value[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i], b[i]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareObjects(a: Record<string, Value>, b: Record<string, Value>): number {
  const keysA = Object.keys(a).sort(compareUtf8);
  const keysB = Object.keys(b).sort(compareUtf8);
  const length = Math.min(keysA.length, keysB.length);
  for (let i = 0; i < length; i++) {
    const order = compareUtf8(keysA[i]!, keysB[i]!) || compareValues(a[keysA[i]!], b[keysB[i]!]);
    if (order !== 0) return order;
  }
  return keysA.length - keysB.length;
}
