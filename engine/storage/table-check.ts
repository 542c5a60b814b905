/** Table schemas: the valid declarations, and whether a document satisfies one. */
import {invalid} from '../../shared/errors.ts';
import type {FieldEntry, FieldType, TableSchema} from '../../shared/protocol/schema.ts';
import {compilePath} from '../../shared/values/paths.ts';
import type {Value} from '../../shared/values/value.ts';

/** Names of the built-in indexes. */
const RESERVED_INDEX_NAMES = ['by_id', 'by_creation_time'];
const INDEX_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/** The violation of a native table schema, or the message of a deployed table's validator. */
export type Violation = {field: string; expected: string; found: string} | {message: string};
/** The first field that violates the schema, in order of declaration; null when none does. */
export type CompiledSchema = (fields: Readonly<Record<string, Value>>) => Violation | null;

export function compileSchema({fields: entries}: {fields: readonly FieldEntry[]}): CompiledSchema {
  return fields => {
    for (const {name, field_type: type, required} of entries) {
      const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (!isAccepted(type, required, value))
        return {field: name, expected: expectation(type, required), found: describe(value)};
    }
    return null;
  };
}

function isAccepted(type: FieldType, required: boolean, value: Value | undefined): boolean {
  if (value === undefined) return !required;
  if (type === 'any') return true;
  if (value === null) return !required;
  return typeName(value) === type;
}

function expectation(type: FieldType, required: boolean): string {
  if (type === 'any') return 'present';
  return required ? `of type ${type}` : `of type ${type}, null or missing`;
}

function describe(value: Value | undefined): string {
  return value === undefined ? 'nothing' : typeName(value);
}

function typeName(value: Value): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** @throws op.invalid_input 400 that names the rule */
export function checkTableSchema(schema: TableSchema, pathTable: string): void {
  if (schema.table !== pathTable) {
    throw invalid(`the body's table ${shownName(schema.table)} differs from the path's ${shownName(pathTable)}`);
  }
  const names = new Set<string>();
  for (const {name} of schema.fields) {
    if (name === '' || name.startsWith('_') || name.startsWith('$') || !name.isWellFormed()) {
      throw invalid(`${shownName(name)} cannot be a field: a name is not empty and does not begin with _ or $`);
    }
    if (names.has(name)) throw invalid(`field ${shownName(name)} is declared twice`);
    names.add(name);
  }
  checkIndexes(schema);
}

function checkIndexes(schema: TableSchema): void {
  const names = new Set<string>();
  const lists = new Map<string, string>();
  for (const {name, fields} of schema.indexes) {
    if (!INDEX_NAME.test(name) || RESERVED_INDEX_NAMES.includes(name)) {
      throw invalid(
        `${shownName(name)} cannot be an index: a name is a letter, then letters, digits and _, at most 64 characters, ` +
          `and not ${RESERVED_INDEX_NAMES.join(' or ')}`,
      );
    }
    if (names.has(name)) throw invalid(`index ${name} is declared twice`);
    names.add(name);
    for (const field of fields) {
      compilePath(field);
      if (field.startsWith('_'))
        throw invalid(`index ${name}: system fields are always part of an index and not listed`);
    }
    if (new Set(fields).size < fields.length) throw invalid(`index ${name} lists a field twice`);
    const list = JSON.stringify(fields);
    const same = lists.get(list);
    if (same !== undefined) throw invalid(`indexes ${same} and ${name} have the same fields`);
    lists.set(list, name);
  }
}

/** Names can be as long as a body. */
export function shownName(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}
