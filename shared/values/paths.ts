/**
 * Compiles field paths: steps separated by dots. Only own properties are read, so `constructor` and `__proto__` are
 * data.
 */
import {invalid} from '../errors.ts';
import {FIELD_PATH_CHARS_MAX} from '../limits.ts';
import type {Value} from './value.ts';

export type FieldPath = readonly string[];

/** @throws op.invalid_input 400 */
export function compilePath(field: string): FieldPath {
  const path = field.split('.');
  if (field.length <= FIELD_PATH_CHARS_MAX && path.every(step => step !== '') && field.isWellFormed()) return path;
  const shown = JSON.stringify(field.length > 60 ? `${field.slice(0, 60)}…` : field);
  throw invalid(
    `${shown} is not a field path: its steps are separated by single dots, at most ${FIELD_PATH_CHARS_MAX} characters in all`,
  );
}

/** The value at a path, or undefined if it is missing. Arrays are not searched. */
export function valueAt(document: Readonly<Record<string, Value>>, path: FieldPath): Value | undefined {
  let value: Value | undefined = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, step))
      return undefined;
    value = value[step];
  }
  return value;
}
