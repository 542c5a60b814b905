/** Checks that text from an isolate describes a valid validator: its shape, its depth and the names it declares. */

import {SCHEMA_FIELDS_MAX} from '../../../shared/limits.ts';
import {NESTING_LEVELS_MAX, VALIDATOR_NAME_CHARS_MAX} from '../../../shared/values/value-limits.ts';

const FIELD_NAME = /^(?!_+$)[A-Za-z_][A-Za-z0-9_]*$/;

/** Why this is not a validator; null: it is one, or there is none. */
export function validatorFault(json: unknown, level = 1): string | null {
  if (json === null) return null;
  if (level > NESTING_LEVELS_MAX) return `a validator nests deeper than ${NESTING_LEVELS_MAX} levels`;
  const {type, value, tableName} = (json ?? {}) as {type?: unknown; value?: unknown; tableName?: unknown};
  switch (type) {
    case 'any':
    case 'null':
    case 'string':
    case 'number':
    case 'boolean':
      return null;
    case 'id':
      return typeof tableName === 'string' ? null : 'v.id() needs the name of a table';
    case 'literal':
      return ['string', 'number', 'boolean'].includes(typeof value)
        ? null
        : 'v.literal() needs a string, number or boolean';
    case 'array':
      return validatorFault(value ?? 0, level + 1);
    case 'union':
      return Array.isArray(value) ? firstFault(value, level) : 'a union without members';
    case 'object':
      return objectFault(value, level);
    default:
      return 'a validator of an unknown type';
  }
}

function objectFault(value: unknown, level: number): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'an object validator without fields';
  const fields = Object.entries(value);
  if (fields.length > SCHEMA_FIELDS_MAX) return `an object validator has at most ${SCHEMA_FIELDS_MAX} fields`;
  for (const [name, field] of fields) {
    if (!FIELD_NAME.test(name) || name.length > VALIDATOR_NAME_CHARS_MAX) {
      return `${JSON.stringify(name)} cannot be a declared field: it is letters, digits and underscores, at most ${VALIDATOR_NAME_CHARS_MAX} characters, not only underscores, and does not begin with a digit`;
    }
    const {fieldType, optional} = (field ?? {}) as {fieldType?: unknown; optional?: unknown};
    if (typeof optional !== 'boolean') return `field ${name} does not say whether it is optional`;
    const fault = validatorFault(fieldType ?? 0, level + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function firstFault(members: readonly unknown[], level: number): string | null {
  for (const member of members) {
    const fault = validatorFault(member ?? 0, level + 1);
    if (fault !== null) return fault;
  }
  return null;
}
