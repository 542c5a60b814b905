/**
 * JSON at the edge: bytes into values, the checks that native input passes, and our own serialisation. Size and nesting are
 * checked before anything is parsed. `__proto__` is data like any other key: JSON.parse makes it an own property, and
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
 */
export function checkValue(value: unknown, path: string): void {
  const fault = findFault(value, 1);
  if (fault !== null) throw invalid(`${path}${fault.path.reverse().join('')} ${fault.reason}`);
}

/** As `checkValue`, and no top-level key may begin with `_`. @throws op.invalid_input 400 */
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
    const fault = findFault(array[i], level + 1);
    if (fault === null) continue;
    fault.path.push(`[${i}]`);
    return fault;
  }
  return null;
}

function faultInObject(object: Record<string, unknown>, level: number): Fault | null {
  for (const key of Object.keys(object)) {
    let fault: Fault | null;
    if (key.charCodeAt(0) === 0x24) fault = {reason: 'has a key that begins with $, which is reserved', path: []};
    else if (!key.isWellFormed()) fault = {reason: 'has a key that is not valid Unicode', path: []};
    else fault = findFault(object[key], level + 1);
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
  return isSorted(fields) ? JSON.stringify(fields) : sortedText(fields);
}

function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  const object = value as Record<string, unknown>;
  let previous: string | null = null;
  for (const key of Object.keys(object)) {
    if (previous !== null && key < previous) return false;
    if (!isSorted(object[key])) return false;
    previous = key;
  }
  return true;
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
