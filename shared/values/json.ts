/**
 * Parses and validates JSON from outside, and writes the stored text. Size and nesting are checked before parsing; -0
 * becomes 0 before anything is derived from a value. `__proto__` is data like any other key: JSON.parse makes it an own
 * property, and nothing here assigns it to an ordinary object.
 */
import {Buffer, isAscii, isUtf8} from 'node:buffer';
import {invalid, tooLarge} from '../errors.ts';
import {BODY_NESTING_LEVELS_MAX, DOCUMENT_BYTES_MAX} from '../limits.ts';
import {canonicalText, traitsOf} from './canonical-json.ts';
import {checkParsed, type ParsedFault, type Policy} from './parsed-json.ts';
import {NESTING_LEVELS_MAX} from './value-limits.ts';

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

/** Counts brackets outside strings, which for any valid JSON is its nesting. */
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
 * Refuses values that native input must not contain: numbers beyond the range of a double, text that is not valid
 * Unicode, keys that begin with `$`, more than NESTING_LEVELS_MAX levels. `path` names the value in the message.
 * @throws op.invalid_input 400
 *
 * Changes every -0 inside `value` to 0, in place. The stored text shows 0 for both, but index keys distinguish them: an
 * entry written for -0 would not be found by the key that the stored text gives.
 *
 * @returns its traits, for `storedText`
 */
export function checkValue(value: unknown, path: string): number {
  return checkParsed(value, nativePolicy(path)).traits;
}

/** As `checkValue`, including -0; and no top-level key can begin with `_`. @throws op.invalid_input 400 */
export function checkFields(fields: object, what: string): number {
  for (const key of Object.keys(fields)) {
    if (key.startsWith('_')) {
      throw invalid(`${what}${step(key)} begins with an underscore, which only system fields may`);
    }
  }
  return checkValue(fields, what);
}

/** A native value contains only JSON's numbers. */
function nativePolicy(what: string): Policy {
  return {
    limited: false,
    floats: false,
    fault: ({reason}, path) => invalid(`${what}${path.map(step).join('')} ${REASONS[reason] ?? reason}`),
  };
}

const REASONS: Partial<Record<ParsedFault['reason'], string>> = {
  text: 'is not valid Unicode: it has an unpaired surrogate',
  number: 'is a number beyond the range of a double',
  nesting: `nests deeper than ${NESTING_LEVELS_MAX} levels`,
  'reserved key': 'has a key that begins with $, which is reserved',
  'key text': 'has a key that is not valid Unicode',
};

function step(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`;
  const shown = key.length > 60 ? `${key.slice(0, 60)}…` : key;
  return /^[A-Za-z_$][\w$]*$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`;
}

/**
 * The JSON text that is stored: keys sorted by code unit at every depth, -0 as 0, never the client's own bytes.
 * @param traits the result of `checkFields` or `checkValue`
 */
export function storedText(fields: object, traits = traitsOf(fields)): string {
  return canonicalText(fields, traits);
}

/** @throws op.too_large 413 */
export function checkDocumentSize(text: string): void {
  if (text.length * 3 <= DOCUMENT_BYTES_MAX) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= DOCUMENT_BYTES_MAX) return;
  throw tooLarge(`the document takes ${bytes} bytes; the limit is ${DOCUMENT_BYTES_MAX}`);
}

/** A shallow merge: the patch's top-level fields replace those of the stored document. */
export function mergeFields(stored: object, patch: object): Record<string, unknown> {
  const merged = Object.create(null) as Record<string, unknown>;
  for (const source of [stored, patch] as Record<string, unknown>[]) {
    for (const key of Object.keys(source)) merged[key] = source[key];
  }
  return merged;
}
