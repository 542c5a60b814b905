/**
 * Writes a value's canonical JSON text: keys sorted by code unit at every depth. Equal values have equal texts,
 * regardless of the writer, so stored documents keep their bytes. The value has been walked before (validated, or by
 * `traitsOf`), and that walk says how to write it: most values are sorted already, and the engine serialises them
 * directly.
 *
 * It uses nothing of Node, and nothing that user code of a realm could have replaced since this module was loaded.
 */
import {encodeFloat} from './float-text.ts';

/** Captured at load time: in an isolate, user code can replace the global's. */
const {stringify} = JSON;

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const TILDE = 0x7e;

/**
 * Writes a text as JSON. Most short texts (ids, names, parts of paths) need no escape, and checking each of their
 * characters costs less than a call into the engine.
 */
export function quotedText(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < SPACE || unit > TILDE || unit === QUOTE || unit === BACKSLASH) return stringify(text);
  }
  return `"${text}"`;
}

/** The keys of some object are not in order. */
export const UNSORTED = 1;
/** Keys that a copy would not keep in place: JavaScript puts integers first, and `__proto__` does not become a key. */
export const ODD_KEYS = 2;
/** Numbers that JSON cannot hold: NaN, ±Infinity, -0. */
export const FLOATS = 4;

/** The traits that a key gives its object. @param previous the key before it */
export function keyTraits(key: string, previous: string): number {
  const first = key.charCodeAt(0);
  const isOdd = (first >= 0x30 && first <= 0x39) || key === '__proto__';
  return (key < previous ? UNSORTED : 0) | (isOdd ? ODD_KEYS : 0);
}

/** For a value that was not validated: the traits of its keys, without those of numbers. */
export function traitsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let traits = 0;
  if (Array.isArray(value)) {
    for (const element of value) traits |= traitsOf(element);
    return traits;
  }
  const object = value as Record<string, unknown>;
  let previous = '';
  for (const key of Object.keys(object)) {
    traits |= keyTraits(key, previous);
    const field = object[key];
    if (typeof field === 'object') traits |= traitsOf(field);
    previous = key;
  }
  return traits;
}

/**
 * @param traits of the complete value: with FLOATS, numbers that JSON cannot hold become `{"$float": …}`; without,
 * JSON's default applies
 */
export function canonicalText(value: unknown, traits: number): string {
  if ((traits & (UNSORTED | FLOATS)) === 0) return stringify(value);
  const wraps = (traits & FLOATS) !== 0;
  return (traits & ODD_KEYS) === 0 ? stringify(sortedCopy(value, wraps)) : sortedText(value, wraps);
}

/** Copying and the engine's own serialisation take a third of the time of `sortedText`. */
function sortedCopy(value: unknown, wraps: boolean): unknown {
  if (typeof value === 'number') return wraps ? wrapped(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(element => sortedCopy(element, wraps));
  const object = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object).sort()) {
    const field = object[key];
    copy[key] = typeof field === 'object' || typeof field === 'number' ? sortedCopy(field, wraps) : field;
  }
  return copy;
}

function sortedText(value: unknown, wraps: boolean): string {
  if (typeof value !== 'object' || value === null) return stringify(sortedCopy(value, wraps));
  if (Array.isArray(value)) {
    let items = '';
    for (let i = 0; i < value.length; i++) items += `${i === 0 ? '' : ','}${sortedText(value[i], wraps)}`;
    return `[${items}]`;
  }
  const object = value as Record<string, unknown>;
  // Written by hand: in a realm, user code can have changed `join`, and this text is sent on as JSON.
  let fields = '';
  for (const key of Object.keys(object).sort()) {
    if (object[key] === undefined) continue;
    fields += `${fields === '' ? '' : ','}${stringify(key)}:${sortedText(object[key], wraps)}`;
  }
  return `{${fields}}`;
}

function wrapped(number: number): unknown {
  return !Number.isFinite(number) || Object.is(number, -0) ? {$float: encodeFloat(number)} : number;
}
