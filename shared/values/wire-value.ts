/**
 * Values as they cross between clients, processes and isolates: JSON text with keys sorted by code unit at every depth, and
 * the four numbers JSON cannot hold (NaN, ±Infinity, -0) as `{"$float": base64 of the double's 8 bytes, little-endian}`.
 *
 * Encoding is also the check that something is a value at all: it runs for every argument, result and document written,
 * inside isolates and in browsers, so it uses nothing of Node and walks a value once before the engine serialises it.
 */

import {decodeFloat, encodeFloat} from './float-text.ts';
import {isPlainObject, pathStep, showValue} from './show-value.ts';
import type {Value} from './value.ts';
import {
  NESTING_LEVELS_MAX,
  VALUE_ARRAY_ELEMENTS_MAX,
  VALUE_KEY_CHARS_MAX,
  VALUE_OBJECT_FIELDS_MAX,
} from './value-limits.ts';

/** Something is no value, or too large a one. The message names the place. */
export class ValueError extends Error {
  override name = 'ValueError';
}

/** Taken now: in an isolate, user code may replace the global's. */
const {stringify, parse} = JSON;

/** @param what names the whole in an error. @throws ValueError */
export function encodeValue(value: unknown, what = 'original object'): string {
  return encode(value, {what, limited: true, traits: 0, path: []});
}

/**
 * As `encodeValue` for what a document holds, and for results, which are made of documents: keys are any Unicode, arrays and
 * objects of any size (the document's own size, or the result's, limits them).
 */
export function encodeDocument(value: unknown, what = 'original object'): string {
  return encode(value, {what, limited: false, traits: 0, path: []});
}

/** A patch: `undefined` at its top removes a field. @throws ValueError */
export function encodePatch(value: unknown, what = 'original object'): {set: string; removed: string[]} {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !isPlainObject(value)) {
    throw new ValueError('Value must be an Object');
  }
  const removed = Object.keys(value).filter(key => value[key] === undefined);
  return {set: encodeDocument(value, what), removed};
}

/** @param text made by `encodeValue` or `encodeDocument`; it is not checked */
export function decodeValue(text: string): Value {
  const value = parse(text) as Value;
  return holdsFloats(text) ? withFloats(value) : value;
}

/** Whether wire text has numbers that JSON cannot hold. Inside a string there is a backslash between the two signs. */
export function holdsFloats(text: string): boolean {
  return text.includes('{"$float":');
}

/**
 * Outside input, parsed from JSON: checked like `encodeValue` does, `$float` replaced by its number, in place.
 * @throws ValueError
 */
export function checkWireValue(parsed: unknown, what = 'original object'): Value {
  const walk: Walk = {what, limited: true, traits: 0, path: []};
  return checkParsed(parsed, walk, parsed, 1);
}

/** As `checkWireValue` for what `encodeDocument` takes: a document's fields, or a result. @throws ValueError */
export function checkWireDocument(parsed: unknown, what = 'original object'): Value {
  const walk: Walk = {what, limited: false, traits: 0, path: []};
  return checkParsed(parsed, walk, parsed, 1);
}

type Walk = {
  readonly what: string;
  /** Arguments are; documents and results are not. */
  readonly limited: boolean;
  traits: number;
  /** Where the walk is. */
  readonly path: (string | number)[];
};

/** Keys of some object are not in order. */
const UNSORTED = 1;
/** Keys that a copy would not keep in its place: JavaScript puts integers first, and `__proto__` does not become a key. */
const ODD_KEYS = 2;
const FLOATS = 4;

function encode(value: unknown, walk: Walk): string {
  check(value, walk, value, 1);
  if (walk.traits === 0) return stringify(value);
  return (walk.traits & ODD_KEYS) === 0 ? stringify(sortedCopy(value)) : sortedText(value);
}

function check(value: unknown, walk: Walk, whole: unknown, level: number): void {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw fault(walk, whole, 'String is not valid Unicode: it has an unpaired surrogate');
      return;
    case 'number':
      if (!Number.isFinite(value) || Object.is(value, -0)) walk.traits |= FLOATS;
      return;
    case 'boolean':
      return;
    case 'object':
      if (value === null) return;
      if (level > NESTING_LEVELS_MAX) throw tooNested();
      if (Array.isArray(value)) checkArray(value, walk, whole, level);
      else if (isPlainObject(value)) checkObject(value, walk, whole, level);
      else throw fault(walk, whole, `${showValue(value)} is not a supported svc type`);
      return;
    default:
      throw unsupported(value, walk, whole);
  }
}

function checkArray(array: unknown[], walk: Walk, whole: unknown, level: number): void {
  if (walk.limited && array.length > VALUE_ARRAY_ELEMENTS_MAX) throw tooLong(array.length, walk, whole);
  const depth = walk.path.length;
  for (let i = 0; i < array.length; i++) {
    walk.path[depth] = i;
    check(array[i], walk, whole, level + 1);
  }
  walk.path.length = depth;
}

function checkObject(object: Record<string, unknown>, walk: Walk, whole: unknown, level: number): void {
  const keys = Object.keys(object);
  if (walk.limited && keys.length > VALUE_OBJECT_FIELDS_MAX) throw tooManyFields(keys.length, walk, whole);
  const depth = walk.path.length;
  let previous = '';
  for (const key of keys) {
    const field = object[key];
    if (field === undefined) continue;
    walk.path[depth] = key;
    checkKey(key, walk, whole);
    if (key < previous) walk.traits |= UNSORTED;
    previous = key;
    check(field, walk, whole, level + 1);
  }
  walk.path.length = depth;
}

function checkKey(key: string, walk: Walk, whole: unknown): void {
  const first = key.charCodeAt(0);
  if (first === 0x24) throw fault(walk, whole, `Field name ${showValue(key)} starts with '$', which is reserved`);
  if ((first >= 0x30 && first <= 0x39) || key === '__proto__') walk.traits |= ODD_KEYS;
  if (!walk.limited) {
    if (!key.isWellFormed()) throw fault(walk, whole, `Field name ${showValue(key)} is not valid Unicode`);
    return;
  }
  if (key.length > VALUE_KEY_CHARS_MAX) {
    throw fault(walk, whole, `Field name ${showValue(key)} is too long (maximum length ${VALUE_KEY_CHARS_MAX})`);
  }
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    if (unit >= 0x20 && unit <= 0x7e) continue;
    throw fault(walk, whole, `Field name ${showValue(key)} has characters other than printable ASCII`);
  }
}

/** Copying and the engine's own serialisation take a third of the time of `sortedText`. */
function sortedCopy(value: unknown): unknown {
  if (typeof value === 'number') {
    return !Number.isFinite(value) || Object.is(value, -0) ? {$float: encodeFloat(value)} : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortedCopy);
  const object = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object).sort()) {
    const field = object[key];
    copy[key] = typeof field === 'object' || typeof field === 'number' ? sortedCopy(field) : field;
  }
  return copy;
}

function sortedText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return stringify(sortedCopy(value));
  if (Array.isArray(value)) {
    let items = '';
    for (let i = 0; i < value.length; i++) items += i === 0 ? sortedText(value[i]) : `,${sortedText(value[i])}`;
    return `[${items}]`;
  }
  const object = value as Record<string, unknown>;
  // By hand: in a realm, user code may have changed `join`, and this text is sent on as JSON.
  let fields = '';
  for (const key of Object.keys(object).sort()) {
    if (object[key] === undefined) continue;
    fields += `${fields === '' ? '' : ','}${stringify(key)}:${sortedText(object[key])}`;
  }
  return `{${fields}}`;
}

/** Assigning to own properties cannot reach a setter, not even for `__proto__`. */
function withFloats(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = withFloats(value[i]!);
    return value;
  }
  // No other key begins with `$`.
  if (Object.hasOwn(value, '$float')) return decodeFloat(value.$float as string)!;
  for (const key of Object.keys(value)) value[key] = withFloats(value[key]!);
  return value;
}

function checkParsed(parsed: unknown, walk: Walk, whole: unknown, level: number): Value {
  if (typeof parsed === 'number' && !Number.isFinite(parsed)) {
    throw fault(walk, whole, 'Number is beyond the range of a double');
  }
  if (typeof parsed !== 'object' || parsed === null) {
    check(parsed, walk, whole, level);
    return parsed as Value;
  }
  if (level > NESTING_LEVELS_MAX + 1) throw tooNested();
  const depth = walk.path.length;
  if (Array.isArray(parsed)) {
    if (level > NESTING_LEVELS_MAX) throw tooNested();
    if (walk.limited && parsed.length > VALUE_ARRAY_ELEMENTS_MAX) throw tooLong(parsed.length, walk, whole);
    for (let i = 0; i < parsed.length; i++) {
      walk.path[depth] = i;
      parsed[i] = checkParsed(parsed[i], walk, whole, level + 1);
    }
    walk.path.length = depth;
    return parsed as Value[];
  }
  return checkParsedObject(parsed as Record<string, unknown>, walk, whole, level);
}

function checkParsedObject(object: Record<string, unknown>, walk: Walk, whole: unknown, level: number): Value {
  const keys = Object.keys(object);
  if (keys.length === 1 && keys[0] === '$float') return checkFloat(object.$float, walk, whole);
  if (level > NESTING_LEVELS_MAX) throw tooNested();
  if (walk.limited && keys.length > VALUE_OBJECT_FIELDS_MAX) throw tooManyFields(keys.length, walk, whole);
  const depth = walk.path.length;
  for (const key of keys) {
    walk.path[depth] = key;
    checkKey(key, walk, whole);
    object[key] = checkParsed(object[key], walk, whole, level + 1);
  }
  walk.path.length = depth;
  return object as Value;
}

function checkFloat(text: unknown, walk: Walk, whole: unknown): number {
  if (typeof text !== 'string') throw fault(walk, whole, 'Malformed $float: it must be a string');
  const number = decodeFloat(text);
  if (number === null) throw fault(walk, whole, 'Malformed $float: it must be base64 of 8 bytes');
  if (Number.isFinite(number) && !Object.is(number, -0)) {
    throw fault(walk, whole, `$float ${number} should be encoded as a number`);
  }
  return number;
}

function fault(walk: Walk, whole: unknown, reason: string): ValueError {
  const path = walk.path.map(pathStep).join('');
  if (path === '') return new ValueError(reason);
  return new ValueError(`${reason} (present at path ${path} in ${walk.what} ${showValue(whole)})`);
}

function unsupported(value: unknown, walk: Walk, whole: unknown): ValueError {
  if (value === undefined) return fault(walk, whole, 'undefined is not a valid svc value');
  return fault(walk, whole, `${typeof value} ${showValue(value)} is not a supported svc type`);
}

function tooNested(): ValueError {
  return new ValueError(`Value is too nested (maximum nesting ${NESTING_LEVELS_MAX})`);
}

function tooLong(length: number, walk: Walk, whole: unknown): ValueError {
  return fault(walk, whole, `Array length is too long (${length} > maximum length ${VALUE_ARRAY_ELEMENTS_MAX})`);
}

function tooManyFields(count: number, walk: Walk, whole: unknown): ValueError {
  return fault(walk, whole, `Object has too many fields (${count} > maximum number ${VALUE_OBJECT_FIELDS_MAX})`);
}
