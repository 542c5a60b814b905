/**
 * Encodes and checks values in transit between clients, processes and isolates. The form is JSON text with keys sorted
 * by code unit at every depth, and the four numbers that JSON cannot hold (NaN, ±Infinity, -0) as `{"$float": base64 of
 * the double's 8 bytes, little-endian}`.
 *
 * Encoding also checks that a value is valid. It runs for every argument, result and document written, inside isolates
 * and in browsers, so it uses nothing of Node and walks a value once before the engine serialises it.
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

/** A value is invalid or too large. The message names its path. */
export class ValueError extends Error {
  override name = 'ValueError';
}

/** Captured at load time: in an isolate, user code can replace the global's. */
const {parse} = JSON;

/** @param what names the complete value in an error. @throws ValueError */
export function encodeValue(value: unknown, what = 'original object'): string {
  return encode(value, {what, limited: true, traits: 0, path: []});
}

/**
 * As `encodeValue`, for the contents of documents, and for results, which consist of documents: keys are any Unicode,
 * arrays and objects of any size (the document's or the result's own size limits them).
 */
export function encodeDocument(value: unknown, what = 'original object'): string {
  return encode(value, {what, limited: false, traits: 0, path: []});
}

/** A patch: `undefined` at its top level removes a field. @throws ValueError */
export function encodePatch(value: unknown, what = 'original object'): {set: string; removed: string[]} {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !isPlainObject(value)) {
    throw new ValueError('Value must be an Object');
  }
  const removed = Object.keys(value).filter(key => value[key] === undefined);
  return {set: encodeDocument(value, what), removed};
}

/** @param text made by `encodeValue` or `encodeDocument`; it is not validated */
export function decodeValue(text: string): Value {
  const value = parse(text) as Value;
  return holdsFloats(text) ? decodeParsed(value) : value;
}

/**
 * Decodes the numbers that JSON cannot hold in a parsed wire text, in place. Needed only if the text `holdsFloats`.
 * Assigning to own properties cannot reach a setter, not even for `__proto__`.
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

/** Whether wire text has numbers that JSON cannot hold. Inside a string a backslash separates the two characters. */
export function holdsFloats(text: string): boolean {
  return text.includes('{"$float":');
}

/**
 * Outside input, parsed from JSON: validated as `encodeValue` does, with `$float` replaced by its number, in place.
 * @throws ValueError
 */
export function checkWireValue(parsed: unknown, what = 'original object'): Value {
  return checkParsed(parsed, policyOf(parsed, what, true)).value;
}

/** As `checkWireValue`, with its wire text: what `encodeValue` makes of it, without a second walk. @throws ValueError */
export function checkedWireText(parsed: unknown, what = 'original object'): {value: Value; text: string} {
  const {value, traits} = checkParsed(parsed, policyOf(parsed, what, true));
  return {value, text: canonicalText(value, traits)};
}

/**
 * As `checkWireValue`, for input that `encodeDocument` accepts: a document's fields, or a result. @throws ValueError
 */
export function checkWireDocument(parsed: unknown, what = 'original object'): Value {
  return checkParsed(parsed, policyOf(parsed, what, false)).value;
}

type Walk = {
  readonly what: string;
  /** True for arguments; false for documents and results. */
  readonly limited: boolean;
  traits: number;
  /** The current position of the walk. */
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

/** How errors of parsed input are phrased. */
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
