/** The size of a value in bytes, by the rule limits are stated in: not the length of any text that holds it. */
import type {Value} from './value.ts';

export function sizeOfValue(value: Value): number {
  switch (typeof value) {
    case 'number':
      return 9;
    case 'boolean':
      return 1;
    case 'string':
      return 2 + utf8Length(value);
    default:
      if (value === null) return 1;
      return Array.isArray(value) ? sizeOfArray(value) : sizeOfObject(value);
  }
}

function sizeOfArray(array: Value[]): number {
  let size = 2;
  for (const element of array) size += sizeOfValue(element);
  return size;
}

function sizeOfObject(object: Record<string, Value>): number {
  let size = 2;
  for (const key of Object.keys(object)) size += utf8Length(key) + 1 + sizeOfValue(object[key]!);
  return size;
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // A surrogate is half of a character of four bytes.
    length += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return length;
}
