/**
 * Compiles validators to checks of arguments, results and documents, and renders them as text. `compileValidator` turns
 * the serialised form into closures once. The error is text for people, built only when a check fails.
 */

import {compareValues} from './order.ts';
import {pathStep, showValue} from './show-value.ts';
import type {ValidatorJson} from './validator.ts';
import type {Value} from './value.ts';
import {VALUE_SHOWN_CHARS_MAX} from './value-limits.ts';

/** Which table an id belongs to, without reading the document. `{table}`: a table other than the requested one. */
export type IdCheck = (id: string, table: string) => 'ok' | 'undecodable' | {table: string};

/** Null: the value matches the declaration. Otherwise the error's text. */
export type Check = (value: Value | undefined) => string | null;

export function compileValidator(json: ValidatorJson, ids: IdCheck): Check {
  const match = compile(json, ids);
  return value => {
    const mismatch = match(value);
    return mismatch === null ? null : describe(mismatch);
  };
}

/** The path of the mismatch and its reason. `path` grows from the inside out. */
type Mismatch = {reason: string; path: (string | number)[]; value: Value | undefined; validator: ValidatorJson};
type Match = (value: Value | undefined) => Mismatch | null;

function describe({reason, path, value, validator}: Mismatch): string {
  const lines = [reason, ''];
  if (path.length > 0) lines.push(`Path: ${path.reverse().map(pathStep).join('')}`);
  lines.push(`Value: ${showValue(value)}`, `Validator: ${renderValidator(validator).slice(0, VALUE_SHOWN_CHARS_MAX)}`);
  return lines.join('\n');
}

function compile(json: ValidatorJson, ids: IdCheck): Match {
  switch (json.type) {
    case 'any':
      return matchWhen(json, value => value !== undefined);
    case 'null':
      return matchWhen(json, value => value === null);
    case 'string':
    case 'number':
    case 'boolean': {
      const {type} = json;
      return matchWhen(json, value => typeof value === type);
    }
    case 'id':
      return compileId(json, ids);
    case 'literal':
      return compileLiteral(json);
    case 'array':
      return compileArray(json, compile(json.value, ids));
    case 'object':
      return compileObject(json, ids);
    case 'union':
      return compileUnion(
        json,
        json.value.map(member => compile(member, ids)),
      );
  }
}

function mismatchOf(validator: ValidatorJson, value: Value | undefined, reason: string): Mismatch {
  return {reason, path: [], value, validator};
}

const NO_MATCH = 'Value does not match validator.';

function matchWhen(json: ValidatorJson, holds: (value: Value | undefined) => boolean): Match {
  return value => (holds(value) ? null : mismatchOf(json, value, NO_MATCH));
}

function compileId(json: ValidatorJson & {type: 'id'}, ids: IdCheck): Match {
  const wanted = json.tableName;
  return value => {
    if (typeof value !== 'string') return mismatchOf(json, value, NO_MATCH);
    const found = ids(value, wanted);
    if (found === 'ok') return null;
    if (found === 'undecodable') return mismatchOf(json, value, NO_MATCH);
    const reason = `Found ID ${showValue(value)} from table '${found.table}', which does not match the table name in validator v.id("${wanted}").`;
    return mismatchOf(json, value, reason);
  };
}

/** Uses the total order's equality: 0 is not -0. */
function compileLiteral(json: ValidatorJson & {type: 'literal'}): Match {
  return value => {
    if (compareValues(value, json.value) === 0) return null;
    const shown = typeof value === 'string' ? value : showValue(value);
    const reason = `'${shown.slice(0, VALUE_SHOWN_CHARS_MAX)}' does not match literal validator ${renderValidator(json)}.`;
    return mismatchOf(json, value, reason);
  };
}

function compileArray(json: ValidatorJson & {type: 'array'}, element: Match): Match {
  return value => {
    if (!Array.isArray(value)) return mismatchOf(json, value, NO_MATCH);
    for (let i = 0; i < value.length; i++) {
      const mismatch = element(value[i]);
      if (mismatch === null) continue;
      mismatch.path.push(i);
      return mismatch;
    }
    return null;
  };
}

type Field = {name: string; optional: boolean; match: Match};

/** Declared fields are checked first, in key order; only then extra fields. */
function compileObject(json: ValidatorJson & {type: 'object'}, ids: IdCheck): Match {
  const fields: Field[] = Object.keys(json.value)
    .sort()
    .map(name => {
      const {fieldType, optional} = json.value[name]!;
      return {name, optional, match: compile(fieldType, ids)};
    });
  const declared = new Set(fields.map(field => field.name));
  return value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return mismatchOf(json, value, NO_MATCH);
    for (const field of fields) {
      const mismatch = matchField(json, value, field);
      if (mismatch !== null) return mismatch;
    }
    const extra = Object.keys(value).find(key => !declared.has(key) && value[key] !== undefined);
    if (extra === undefined) return null;
    return mismatchOf(json, value, `Object contains extra field '${extra}' that is not in the validator.`);
  };
}

function matchField(json: ValidatorJson, object: Record<string, Value>, field: Field): Mismatch | null {
  const {name} = field;
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  if (value === undefined) {
    if (field.optional) return null;
    const reason = `Object is missing the required field '${name}'. Consider wrapping the field validator in v.optional(...) if this is expected.`;
    return mismatchOf(json, object, reason);
  }
  const mismatch = field.match(value);
  mismatch?.path.push(name);
  return mismatch;
}

function compileUnion(json: ValidatorJson, members: Match[]): Match {
  if (members.length === 1) return members[0]!;
  return value => (members.some(member => member(value) === null) ? null : mismatchOf(json, value, NO_MATCH));
}

/** The validator as code: `v.object({a: v.optional(v.string())})`. */
export function renderValidator(json: ValidatorJson): string {
  switch (json.type) {
    case 'id':
      return `v.id(${JSON.stringify(json.tableName)})`;
    case 'literal':
      return `v.literal(${showValue(json.value)})`;
    case 'array':
      return `v.array(${renderValidator(json.value)})`;
    case 'object':
      return `v.object({${Object.keys(json.value).sort().map(renderField, json.value).join(', ')}})`;
    case 'union':
      return `v.union(${json.value.map(renderValidator).join(', ')})`;
    default:
      return `v.${json.type}()`;
  }
}

function renderField(this: (ValidatorJson & {type: 'object'})['value'], name: string): string {
  const {fieldType, optional} = this[name]!;
  const shown = renderValidator(fieldType);
  return `${name}: ${optional ? `v.optional(${shown})` : shown}`;
}
