/**
 * Formats a value for people, as errors quote it. It accepts anything, valid value or not, cyclic or infinite; the text
 * ends at VALUE_SHOWN_CHARS_MAX. Never JSON for a machine.
 */
import {NESTING_LEVELS_MAX, VALUE_SHOWN_CHARS_MAX} from './value-limits.ts';

const CUT = '[...truncated]';

type Shown = {text: string};

export function showValue(value: unknown): string {
  const shown: Shown = {text: ''};
  show(value, shown, 0);
  if (shown.text.length <= VALUE_SHOWN_CHARS_MAX) return shown.text;
  return `${shown.text.slice(0, VALUE_SHOWN_CHARS_MAX)}${CUT}`;
}

function show(value: unknown, shown: Shown, level: number): void {
  switch (typeof value) {
    case 'string':
      // Cut first: escaping megabytes of text to show only the beginning would be wasteful.
      shown.text += JSON.stringify(
        value.length > VALUE_SHOWN_CHARS_MAX ? value.slice(0, VALUE_SHOWN_CHARS_MAX) : value,
      );
      break;
    case 'number':
      shown.text += Object.is(value, -0) ? '-0' : String(value);
      break;
    case 'bigint':
      shown.text += `${value}n`;
      break;
    case 'function':
      shown.text += `[function ${value.name}]`;
      break;
    case 'object':
      if (value === null) shown.text += 'null';
      else if (level >= NESTING_LEVELS_MAX) shown.text += '...';
      else if (Array.isArray(value)) showArray(value, shown, level);
      else if (isPlainObject(value)) showObject(value, shown, level);
      else shown.text += showInstance(value);
      break;
    default:
      shown.text += String(value);
  }
}

function showArray(array: unknown[], shown: Shown, level: number): void {
  shown.text += '[';
  for (let i = 0; i < array.length; i++) {
    if (shown.text.length > VALUE_SHOWN_CHARS_MAX) return;
    if (i > 0) shown.text += ',';
    show(array[i], shown, level + 1);
  }
  shown.text += ']';
}

function showObject(object: Record<string, unknown>, shown: Shown, level: number): void {
  let separator = '{';
  for (const key of Object.keys(object)) {
    if (shown.text.length > VALUE_SHOWN_CHARS_MAX) return;
    shown.text += `${separator}${JSON.stringify(key)}:`;
    separator = ',';
    show(object[key], shown, level + 1);
  }
  shown.text += separator === '{' ? '{}' : '}';
}

/** `Date 2026-01-01T00:00:00.000Z`, `Map`: the class, and for a date which one. */
function showInstance(value: object): string {
  const name = className(value);
  if (!(value instanceof Date)) return name;
  return `${name} ${Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()}`;
}

export function className(value: object): string {
  const maker: unknown = value.constructor;
  return typeof maker === 'function' && maker.name !== '' ? maker.name : 'object';
}

/** Made by `{…}`, `JSON.parse` or `Object.create(null)`, here or in another realm. */
export function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype = Object.getPrototypeOf(value) as {constructor?: {name?: unknown}} | null;
  if (prototype === null || prototype === Object.prototype) return true;
  return Object.hasOwn(prototype, 'constructor') && prototype.constructor?.name === 'Object';
}

/** One step of a path in a message: `.a`, `[0]`, `["a b"]`. */
export function pathStep(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  const shown = step.length > 60 ? `${step.slice(0, 60)}...` : step;
  return /^[A-Za-z_$][\w$]*$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`;
}
