/** A validator as a type that people read, and as an example to begin with. */
import type {ValidatorJson} from '../../../shared/values/validator.ts';

/** Levels of objects that are written out. Deeper ones are `{…}`. */
const LEVELS = 3;

export function typeText(validator: ValidatorJson, level = 0): string {
  switch (validator.type) {
    case 'id':
      return `Id<${validator.tableName}>`;
    case 'literal':
      return JSON.stringify(validator.value);
    case 'array':
      return `${typeText(validator.value, level)}[]`;
    case 'union':
      return validator.value.map(one => typeText(one, level)).join(' | ');
    case 'object': {
      if (level === LEVELS) return '{…}';
      const fields = Object.entries(validator.value).map(
        ([name, {fieldType, optional}]) => `${name}${optional ? '?' : ''}: ${typeText(fieldType, level + 1)}`,
      );
      return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
    }
    default:
      return validator.type;
  }
}

/** A value of the type, without optional fields. */
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
      return validator.value;
    case 'array':
      return [];
    case 'union':
      return validator.value[0] === undefined ? null : exampleOf(validator.value[0]);
    case 'object':
      return Object.fromEntries(
        Object.entries(validator.value)
          .filter(([, {optional}]) => !optional)
          .map(([name, {fieldType}]) => [name, exampleOf(fieldType)]),
      );
    default:
      return null;
  }
}
