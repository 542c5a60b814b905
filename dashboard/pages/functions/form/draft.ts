/**
 * What the fields of a form hold for a value, and the value that they make. A form is made from a validator. Any JSON
 * value becomes a draft, and the draft makes the same value again: a part that does not fit its validator stays JSON
 * text in one field. So switching between form and JSON loses nothing.
 *
 * Values are wire values: JSON, and `{"$float": …}` for the numbers that JSON lacks.
 */
import {decodeFloat, encodeFloat} from '../../../../shared/values/float-text.ts';
import {isPlainObject, pathStep} from '../../../../shared/values/show-value.ts';
import {compileValidator, type IdCheck} from '../../../../shared/values/validate.ts';
import type {ValidatorJson} from '../../../../shared/values/validator.ts';
import {checkWireValue, ValueError} from '../../../../shared/values/wire-value.ts';

/** `key`: the same element while the array is changed. */
export type Item = {readonly key: number; readonly draft: Draft};

export type Draft =
  /** A string or an id. */
  | {readonly kind: 'text'; readonly text: string}
  | {readonly kind: 'number'; readonly text: string}
  | {readonly kind: 'boolean'; readonly is: boolean}
  /** The one value of a literal or of null. */
  | {readonly kind: 'fixed'}
  /** Of `any`, and of a value that does not fit. */
  | {readonly kind: 'json'; readonly text: string}
  | {readonly kind: 'array'; readonly items: readonly Item[]}
  /** `fields`: the declared ones; null: absent. `extra`: the others, which are a fault. */
  | {
      readonly kind: 'object';
      readonly fields: ReadonlyMap<string, Draft | null>;
      readonly extra: Readonly<Record<string, unknown>>;
    }
  /** `chosen`: which of the union's validators. */
  | {readonly kind: 'union'; readonly chosen: number; readonly draft: Draft};

export type ObjectValidator = Extract<ValidatorJson, {type: 'object'}>;

let items = 0;

export function itemOf(draft: Draft): Item {
  return {key: ++items, draft};
}

/** @param value a parsed wire value, valid or not */
export function draftOf(validator: ValidatorJson, value: unknown): Draft {
  switch (validator.type) {
    case 'null':
      return value === null ? {kind: 'fixed'} : rawOf(value);
    case 'literal':
      return value === wireOf(validator.value) ? {kind: 'fixed'} : rawOf(value);
    case 'boolean':
      return typeof value === 'boolean' ? {kind: 'boolean', is: value} : rawOf(value);
    case 'string':
    case 'id':
      return typeof value === 'string' ? {kind: 'text', text: value} : rawOf(value);
    case 'number': {
      const text = numberText(value);
      return text === null ? rawOf(value) : {kind: 'number', text};
    }
    case 'array':
      if (!Array.isArray(value)) return rawOf(value);
      return {kind: 'array', items: value.map(one => itemOf(draftOf(validator.value, one)))};
    case 'object':
      return isRecord(value) ? objectDraft(validator, value) : rawOf(value);
    case 'union': {
      const chosen = validator.value.findIndex(member => matches(member, value));
      if (chosen === -1) return rawOf(value);
      return {kind: 'union', chosen, draft: draftOf(validator.value[chosen]!, value)};
    }
    case 'any':
      return rawOf(value);
  }
}

function objectDraft(validator: ObjectValidator, value: Record<string, unknown>): Draft {
  const fields = new Map<string, Draft | null>();
  for (const [name, {fieldType}] of Object.entries(validator.value))
    fields.set(name, Object.hasOwn(value, name) ? draftOf(fieldType, value[name]) : null);
  const extra = Object.entries(value).filter(([name]) => !fields.has(name));
  return {kind: 'object', fields, extra: Object.fromEntries(extra)};
}

function rawOf(value: unknown): Draft {
  return {kind: 'json', text: JSON.stringify(value, null, 2)};
}

/** The value to begin with, without optional fields. */
export function exampleOf(validator: ValidatorJson): unknown {
  switch (validator.type) {
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'string':
    case 'id':
      return '';
    case 'literal':
      return wireOf(validator.value);
    case 'array':
      return [];
    case 'union':
      return validator.value[0] === undefined ? null : exampleOf(validator.value[0]);
    case 'object': {
      const required = Object.entries(validator.value).filter(([, {optional}]) => !optional);
      return Object.fromEntries(required.map(([name, {fieldType}]) => [name, exampleOf(fieldType)]));
    }
    default:
      return null;
  }
}

/* ── from fields to the value ── */

/** `value` is undefined if a field cannot be read. `faults`: by path, '' for the value as a whole. */
export type Made = {readonly value: unknown; readonly faults: ReadonlyMap<string, string>};

export function made(validator: ValidatorJson, draft: Draft): Made {
  const faults = new Map<string, string>();
  const value = read(validator, draft, '', faults);
  if (value === undefined || faults.size > 0) return {value, faults};
  const fault = faultOf(validator, value);
  if (fault !== null) faults.set('', fault);
  return {value, faults};
}

/** The first reason why a wire value does not fit; null: it does. Ids are checked by the server. */
export function faultOf(validator: ValidatorJson | null, value: unknown): string | null {
  try {
    const checked = checkWireValue(structuredClone(value), 'the arguments');
    return validator === null ? null : compileValidator(validator, ANY_ID)(checked);
  } catch (error) {
    if (error instanceof ValueError) return error.message;
    throw error;
  }
}

const ANY_ID: IdCheck = () => 'ok';

function matches(validator: ValidatorJson, value: unknown): boolean {
  return faultOf(validator, value) === null;
}

const UNREADABLE = undefined;

function read(validator: ValidatorJson, draft: Draft, path: string, faults: Map<string, string>): unknown {
  switch (draft.kind) {
    case 'json':
      return readJson(validator, draft.text, path, faults);
    case 'fixed':
      return validator.type === 'literal' ? wireOf(validator.value) : null;
    case 'boolean':
      return draft.is;
    case 'text':
      if (validator.type === 'id' && draft.text === '') faults.set(path, `An id of ${validator.tableName} is missing.`);
      return draft.text;
    case 'number':
      return readNumber(draft.text, path, faults);
    case 'array': {
      const element = (validator as Extract<ValidatorJson, {type: 'array'}>).value;
      const values = draft.items.map((item, i) => read(element, item.draft, path + pathStep(i), faults));
      return values.includes(UNREADABLE) ? UNREADABLE : values;
    }
    case 'object':
      return readObject(validator as ObjectValidator, draft, path, faults);
    case 'union':
      return read(
        (validator as Extract<ValidatorJson, {type: 'union'}>).value[draft.chosen]!,
        draft.draft,
        path,
        faults,
      );
  }
}

function readObject(
  validator: ObjectValidator,
  {fields, extra}: Extract<Draft, {kind: 'object'}>,
  path: string,
  faults: Map<string, string>,
): unknown {
  const entries: [string, unknown][] = Object.entries(extra);
  if (entries.length > 0) {
    const names = entries.map(([name]) => `'${name}'`).join(', ');
    faults.set(path, `Object contains extra field ${names} that is not in the validator.`);
  }
  let isReadable = true;
  for (const [name, {fieldType, optional}] of Object.entries(validator.value)) {
    const field = fields.get(name) ?? null;
    const at = path + pathStep(name);
    if (field === null) {
      if (!optional) faults.set(at, `Object is missing the required field '${name}'.`);
      continue;
    }
    const value = read(fieldType, field, at, faults);
    if (value === UNREADABLE) isReadable = false;
    else entries.push([name, value]);
  }
  return isReadable ? Object.fromEntries(entries) : UNREADABLE;
}

function readJson(validator: ValidatorJson, text: string, path: string, faults: Map<string, string>): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    faults.set(path, (error as Error).message);
    return UNREADABLE;
  }
  const fault = faultOf(validator, value);
  if (fault !== null) faults.set(path, fault);
  return value;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const OTHERS: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

function readNumber(text: string, path: string, faults: Map<string, string>): unknown {
  const trimmed = text.trim();
  const number = OTHERS.get(trimmed) ?? (NUMBER.test(trimmed) ? Number(trimmed) : null);
  if (number !== null && (Number.isFinite(number) || OTHERS.has(trimmed))) return wireOf(number);
  faults.set(path, trimmed === '' ? 'A number is missing.' : `${JSON.stringify(trimmed)} is not a number.`);
  return UNREADABLE;
}

/* ── numbers ── */

/** Numbers that JSON cannot hold have a text of their own. */
function wireOf(value: string | number | boolean): unknown {
  if (typeof value !== 'number' || (Number.isFinite(value) && !Object.is(value, -0))) return value;
  return {$float: encodeFloat(value)};
}

/** Null: it is no number, or one that its text would not make again. */
function numberText(value: unknown): string | null {
  if (typeof value === 'number') return Object.is(value, -0) ? null : String(value);
  if (!isRecord(value) || typeof value.$float !== 'string' || Object.keys(value).length !== 1) return null;
  const number = decodeFloat(value.$float);
  if (number === null || (Number.isFinite(number) && !Object.is(number, -0))) return null;
  if (encodeFloat(number) !== value.$float) return null;
  return Object.is(number, -0) ? '-0' : String(number);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlainObject(value);
}

/** For a field: the reason and what was expected, without what stands beside the field anyway. */
export function shortFault(fault: string): string {
  return fault
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('Value: '))
    .join(' ');
}
