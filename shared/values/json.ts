/**
 * JSON at the edge: bytes into values, the checks that native input passes, and our own serialisation. Size and nesting are
 * checked before anything is parsed; -0 becomes 0 before anything is derived from a value. `__proto__` is data like any other key: JSON.parse makes it an own property, and
 * nothing here assigns it to an ordinary object.
 */
import {Buffer, isAscii, isUtf8} from 'node:buffer';
import {ServiceError} from '../errors.ts';
import {BODY_NESTING_LEVELS_MAX, DOCUMENT_BYTES_MAX, NESTING_LEVELS_MAX} from '../limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A request body. @throws op.invalid_input 400 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw invalid('a JSON body is required');
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) throw invalid('the body is not valid UTF-8');
  if (bytes.length > BODY_NESTING_LEVELS_MAX) checkNesting(bytes);
  try {
    return JSON.parse(bytes.toString(ascii ? 'latin1' : 'utf8'));
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? `: ${cause.message.slice(0, 100)}` : '';
    throw invalid(`the body is not JSON${reason}`);
  }
}

/** Counts brackets outside strings, which for anything that is JSON is its nesting. */
function checkNesting(bytes: Buffer): void {
  let level = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++level > BODY_NESTING_LEVELS_MAX)
        throw invalid(`the body nests deeper than ${BODY_NESTING_LEVELS_MAX} levels`);
    } else if (byte === 0x7d || byte === 0x5d) level--;
  }
}

/**
 * Refuses what a native value must not hold: numbers beyond the range of a double, text that is not valid Unicode, keys that
 * begin with `$`, more than NESTING_LEVELS_MAX levels. `path` names the value in the message. @throws op.invalid_input 400
 *
 * Makes every -0 inside `value` 0, in place. The stored text shows 0 for either, but index keys tell them apart: an entry
 * written for -0 would not be found by the key that the stored text gives.
 */
export function checkValue(value: unknown, path: string): void {
  const fault = findFault(value, 1);
  if (fault !== null) throw invalid(`${path}${fault.path.reverse().join('')} ${fault.reason}`);
}

/** As `checkValue`, -0 included, and no top-level key may begin with `_`. @throws op.invalid_input 400 */
export function checkFields(fields: object, what: 'fields' | 'patch'): void {
  for (const key of Object.keys(fields)) {
    if (key.startsWith('_')) {
      throw invalid(`${what}${step(key)} begins with an underscore, which only system fields may`);
    }
  }
  checkValue(fields, what);
}

type Fault = {reason: string; path: string[]};

function findFault(value: unknown, level: number): Fault | null {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? null : {reason: 'is not valid Unicode: it has an unpaired surrogate', path: []};
    case 'number':
      return Number.isFinite(value) ? null : {reason: 'is a number beyond the range of a double', path: []};
    case 'object':
      if (value === null) return null;
      if (level > NESTING_LEVELS_MAX) return {reason: `nests deeper than ${NESTING_LEVELS_MAX} levels`, path: []};
      return Array.isArray(value) ? faultInArray(value, level) : faultInObject(value as Record<string, unknown>, level);
    default:
      return null;
  }
}

function faultInArray(array: unknown[], level: number): Fault | null {
  for (let i = 0; i < array.length; i++) {
    const element = array[i];
    if (Object.is(element, -0)) array[i] = 0;
    const fault = findFault(element, level + 1);
    if (fault === null) continue;
    fault.path.push(`[${i}]`);
    return fault;
  }
  return null;
}

function faultInObject(object: Record<string, unknown>, level: number): Fault | null {
  for (const key of Object.keys(object)) {
    const value = object[key];
    // The key is an own property, so this assignment cannot reach a setter, not even for `__proto__`.
    if (Object.is(value, -0)) object[key] = 0;
    let fault: Fault | null;
    if (key.charCodeAt(0) === 0x24) fault = {reason: 'has a key that begins with $, which is reserved', path: []};
    else if (!key.isWellFormed()) fault = {reason: 'has a key that is not valid Unicode', path: []};
    else fault = findFault(value, level + 1);
    if (fault === null) continue;
    fault.path.push(step(key));
    return fault;
  }
  return null;
}

function step(key: string): string {
  const shown = key.length > 60 ? `${key.slice(0, 60)}…` : key;
  return /^[A-Za-z_$][\w$]*$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`;
}

/** The JSON text that is stored: keys sorted by code unit at every depth, -0 as 0, never the client's own bytes. */
export function storedText(fields: object): string {
  const traits = traitsOf(fields);
  if ((traits & UNSORTED) === 0) return JSON.stringify(fields);
  return (traits & ODD_KEYS) === 0 ? JSON.stringify(sortedCopy(fields)) : sortedText(fields);
}

const UNSORTED = 1;
/** Keys that a copy would not keep in its place: JavaScript puts integers first, and `__proto__` does not become a key. */
const ODD_KEYS = 2;

function traitsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let traits = 0;
  if (Array.isArray(value)) {
    for (const element of value) traits |= traitsOf(element);
    return traits;
  }
  const object = value as Record<string, unknown>;
  let previous = '';
  for (const key of Object.keys(object)) {
    if (key < previous) traits |= UNSORTED;
    const first = key.charCodeAt(0);
    if ((first >= 0x30 && first <= 0x39) || key === '__proto__') traits |= ODD_KEYS;
    const field = object[key];
    if (typeof field === 'object') traits |= traitsOf(field);
    previous = key;
  }
  return traits;
}

/** Copying and the engine's own serialisation take a third of the time of `sortedText`. */
function sortedCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortedCopy);
  const object = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object).sort()) {
    const field = object[key];
    copy[key] = typeof field === 'object' ? sortedCopy(field) : field;
  }
  return copy;
}

function sortedText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`;
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object).sort();
  return `{${keys.map(key => `${JSON.stringify(key)}:${sortedText(object[key])}`).join(',')}}`;
}

/** @throws op.too_large 413 */
export function checkDocumentSize(text: string): void {
  if (text.length * 3 <= DOCUMENT_BYTES_MAX) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= DOCUMENT_BYTES_MAX) return;
  throw new ServiceError('op.too_large', `the document takes ${bytes} bytes; the limit is ${DOCUMENT_BYTES_MAX}`);
}

/** A shallow merge: the patch's top-level fields replace those of the stored document. */
export function mergeFields(stored: object, patch: object): Record<string, unknown> {
  const merged = Object.create(null) as Record<string, unknown>;
  for (const source of [stored, patch] as Record<string, unknown>[]) {
    for (const key of Object.keys(source)) merged[key] = source[key];
  }
  return merged;
}

function invalid(message: string): ServiceError {
  return new ServiceError('op.invalid_input', message);
}
