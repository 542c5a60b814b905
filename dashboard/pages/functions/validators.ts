/** A validator as a type that people read. */
import type {ValidatorJson} from '../../../shared/values/validator.ts';

/** Types that are longer are written on several lines. */
const LINE_CHARS = 64;
/** Levels of objects that are written out. Deeper ones are `{…}`. */
const LEVELS_MAX = 8;

export function typeText(validator: ValidatorJson, level = 0): string {
  switch (validator.type) {
    case 'id':
      return `Id<${JSON.stringify(validator.tableName)}>`;
    case 'literal':
      return JSON.stringify(validator.value);
    case 'array': {
      const element = typeText(validator.value, level);
      return validator.value.type === 'union' && validator.value.value.length > 1 ? `(${element})[]` : `${element}[]`;
    }
    case 'union':
      return validator.value.map(one => typeText(one, level)).join(' | ');
    case 'object': {
      if (level === LEVELS_MAX) return '{…}';
      const fields = Object.entries(validator.value).map(
        ([name, {fieldType, optional}]) => `${nameText(name)}${optional ? '?' : ''}: ${typeText(fieldType, level + 1)}`,
      );
      if (fields.length === 0) return '{}';
      const line = `{ ${fields.join('; ')} }`;
      if (line.length <= LINE_CHARS && !line.includes('\n')) return line;
      const indent = '  '.repeat(level);
      return `{\n${fields.map(field => `${indent}  ${field};\n`).join('')}${indent}}`;
    }
    default:
      return validator.type;
  }
}

function nameText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
