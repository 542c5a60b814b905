/**
 * Values as they cross between clients, processes and isolates: JSON text with keys sorted by code unit at every depth, and
 * the four numbers JSON cannot hold (NaN, ±Infinity, -0) as `{"$float": base64 of the double's 8 bytes, little-endian}`.
 *
 * Encoding is also the check that something is a value at all: it runs for every argument, result and document written,
 * inside isolates and in browsers, so it uses nothing of Node and walks a value once before the engine serialises it.
 */

import {canonicalText, FLOATS, keyTraits} from './canonical-json.ts';
import {decodeFloat} from './float-text.ts';
import {checkParsed, type KeyFault, keyFault, type Path, type Policy} from './parsed-json.ts';
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
const {parse} = JSON;

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
  return holdsFloats(text) ? decodeParsed(value) : value;
}

/**
 * What a parsed wire text means: its numbers that JSON cannot hold, in place. Needed only where the text `holdsFloats`. Assigning to own
 * properties cannot reach a setter, not even for `__proto__`.
 */
export function decodeParsed(parsed: unknown): Value {
  const value = parsed as Value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = decodeParsed(value[i]!);
    return value;
  }
  // No other key begins with `$`.
  if (Object.hasOwn(value, '$float')) return decodeFloat(value.$float as string)!;
  for (const key of Object.keys(value)) value[key] = decodeParsed(value[key]!);
  return value;
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
  return checkParsed(parsed, policyOf(parsed, what, true)).value;
}

/** As `checkWireValue` for what `encodeDocument` takes: a document's fields, or a result. @throws ValueError */
export function checkWireDocument(parsed: unknown, what = 'original object'): Value {
  return checkParsed(parsed, policyOf(parsed, what, false)).value;
}

type Walk = {
  readonly what: string;
  /** Arguments are; documents and results are not. */
  readonly limited: boolean;
  traits: number;
  /** Where the walk is. */
  readonly path: (string | number)[];
};

type Where = {readonly what: string; readonly path: Path};

const NOT_UNICODE = 'String is not valid Unicode: it has an unpaired surrogate';

function encode(value: unknown, walk: Walk): string {
  check(value, walk, value, 1);
  return canonicalText(value, walk.traits);
}

function check(value: unknown, walk: Walk, whole: unknown, level: number): void {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw fault(walk, whole, NOT_UNICODE);
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
    const reason = keyFault(key, walk.limited);
    if (reason !== null) throw fault(walk, whole, keyMessage(reason, key));
    walk.traits |= keyTraits(key, previous);
    previous = key;
    check(field, walk, whole, level + 1);
  }
  walk.path.length = depth;
}

function keyMessage(reason: KeyFault, key: string): string {
  switch (reason) {
    case 'reserved key':
      return `Field name ${showValue(key)} starts with '$', which is reserved`;
    case 'key text':
      return `Field name ${showValue(key)} is not valid Unicode`;
    case 'key length':
      return `Field name ${showValue(key)} is too long (maximum length ${VALUE_KEY_CHARS_MAX})`;
    case 'key characters':
      return `Field name ${showValue(key)} has characters other than printable ASCII`;
  }
}

/** How faults of parsed input are put. */
function policyOf(whole: unknown, what: string, limited: boolean): Policy {
  return {
    limited,
    floats: true,
    fault: (found, path) => {
      const walk = {what, path};
      switch (found.reason) {
        case 'text':
          return fault(walk, whole, NOT_UNICODE);
        case 'number':
          return fault(walk, whole, 'Number is beyond the range of a double');
        case 'nesting':
          return tooNested();
        case 'float is no text':
          return fault(walk, whole, 'Malformed $float: it must be a string');
        case 'float is no base64':
          return fault(walk, whole, 'Malformed $float: it must be base64 of 8 bytes');
        case 'plain float':
          return fault(walk, whole, `$float ${found.number} should be encoded as a number`);
        case 'array length':
          return tooLong(found.count, walk, whole);
        case 'field count':
          return tooManyFields(found.count, walk, whole);
        default:
          return fault(walk, whole, keyMessage(found.reason, found.key));
      }
    },
  };
}

function fault(walk: Where, whole: unknown, reason: string): ValueError {
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

function tooLong(length: number, walk: Where, whole: unknown): ValueError {
  return fault(walk, whole, `Array length is too long (${length} > maximum length ${VALUE_ARRAY_ELEMENTS_MAX})`);
}

function tooManyFields(count: number, walk: Where, whole: unknown): ValueError {
  return fault(walk, whole, `Object has too many fields (${count} > maximum number ${VALUE_OBJECT_FIELDS_MAX})`);
}
