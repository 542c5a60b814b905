/** A key range in the form that people read: `country = "CH" and population >= 1000`. */
import {Buffer} from 'node:buffer';
import {decodeBound, type KeyBound} from '../../shared/values/key-encoding.ts';
import type {HitRange} from './live-figures.ts';

/** Characters of a value in a range's text. */
const VALUE_CHARS = 100;

export function rangeText({index, fields, lower, upper}: HitRange): string {
  if (index === 'by_creation_time') return lower === '' ? ANY : 'a range of creation times';
  if (index === 'by_id') return idText(bytesOf(lower).toString('utf8'), upper.startsWith(lower));
  const from = decodeBound(bytesOf(lower));
  const to = decodeBound(bytesOf(upper));
  const tests: string[] = [];
  let at = 0;
  for (; at < Math.min(from.values.length, to.values.length); at++) {
    const value = valueText(from.values[at]);
    if (value !== valueText(to.values[at])) break;
    tests.push(`${fields[at]} = ${value}`);
  }
  const field = fields[at] ?? '';
  if (from.prefix !== null && from.prefix === to.prefix) {
    return [...tests, `${field} begins with ${valueText(from.prefix)}`].join(' and ');
  }
  const bounds = [boundText(field, from, at, ['>', '>=']), boundText(field, to, at, ['<=', '<'])];
  return [...tests, ...bounds.filter(bound => bound !== '')].join(' and ') || ANY;
}

const ANY = 'any document';

/** @param operators of a bound after all keys that begin with its values, and of one before them */
function boundText(
  field: string,
  {values, isAfter, prefix}: KeyBound,
  at: number,
  operators: [string, string],
): string {
  const operator = isAfter && values.length <= at + 1 ? operators[0] : operators[1];
  if (at < values.length) return `${field} ${operator} ${valueText(values[at])}`;
  return prefix === null ? '' : `${field} ${operator} ${valueText(prefix)}`;
}

function idText(id: string, isOne: boolean): string {
  if (id === '') return ANY;
  return `_id ${isOne ? '=' : '>='} ${valueText(id)}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
