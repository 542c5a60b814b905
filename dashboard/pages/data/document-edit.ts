/** Edits of documents: text to values, checks before the server's, and the patches of an edit and of its undo. */
import {DOCUMENT_BYTES_MAX} from '../../../shared/limits.ts';
import type {FieldChanges} from '../../../shared/protocol/documents.ts';
import type {FieldType, StoredTableSchema} from '../../../shared/protocol/schema.ts';
import {compareValues} from '../../../shared/values/order.ts';
import type {Value} from '../../../shared/values/value.ts';
import {NESTING_LEVELS_MAX} from '../../../shared/values/value-limits.ts';
import type {Doc} from './row-order.ts';
import {typeOf} from './table-fields.ts';

export type Fields = Readonly<Record<string, Value>>;
export type Problem = {
  /** Null: of the whole document. */
  readonly field: string | null;
  readonly message: string;
};
export type Parsed = {readonly value: Value | undefined; readonly problem: string | null};

/** A document without the fields that only the server sets. */
export function ownFields(doc: Doc): Fields {
  return Object.fromEntries(Object.entries(doc).filter(([name]) => !name.startsWith('_')));
}

/** The version that `If-Match` names. */
export function versionOf({_creationTime, _updateTime}: Doc): string {
  return `${_creationTime}-${_updateTime}`;
}

/** How a cell shows a value for editing: text as it is where the field holds texts, everything else as JSON. */
export function cellText(value: Value | undefined, type: FieldType): string {
  if (value === undefined || (value === null && type === 'string')) return '';
  return typeof value === 'string' && type === 'string' ? value : JSON.stringify(value);
}

/**
 * The value of a cell's text. In a field of texts the text is the value; in others it is JSON, and text that is not
 * JSON is a text in fields of any type. An empty cell removes the field, except in a field of texts that had a value.
 */
export function cellValue(text: string, type: FieldType, before: Value | undefined): Parsed {
  if (type === 'string') return text === '' && before === undefined ? none : {value: text, problem: null};
  if (text.trim() === '') return none;
  try {
    return {value: JSON.parse(text) as Value, problem: null};
  } catch {
    if (type === 'any') return {value: text, problem: null};
    return {value: undefined, problem: `${text.slice(0, 40)} is not ${withArticle(type)}`};
  }
}

const none: Parsed = {value: undefined, problem: null};

/** A document as JSON text. @returns the fields, or why they are none */
export function parseDocument(text: string): {fields: Fields; problem: null} | {fields: null; problem: string} {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return {fields: value as Fields, problem: null};
    return {fields: null, problem: 'a document is a JSON object: { "field": value }'};
  } catch (caught) {
    return {fields: null, problem: (caught as Error).message};
  }
}

/** What the server would refuse, as far as this page knows. */
export function checkDocument(schema: StoredTableSchema | null, fields: Fields): Problem[] {
  const problems: Problem[] = [];
  for (const [name, value] of Object.entries(fields)) {
    const problem = checkName(name) ?? checkKeys(value, 2);
    if (problem !== null) problems.push({field: name, message: problem});
  }
  for (const {name, field_type: type, required} of schema?.fields ?? []) {
    const message = checkType(fields[name], type, required);
    if (message !== null) problems.push({field: name, message});
  }
  const bytes = new TextEncoder().encode(JSON.stringify(fields)).length;
  if (bytes > DOCUMENT_BYTES_MAX)
    problems.push({field: null, message: `the document has ${bytes} bytes, and ${DOCUMENT_BYTES_MAX} are allowed`});
  return problems;
}

function checkName(name: string): string | null {
  if (name.startsWith('_')) return 'names that begin with _ are the server’s';
  return name.startsWith('$') ? 'names cannot begin with $' : null;
}

function checkKeys(value: Value, level: number): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : 'the text is not valid Unicode';
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'the number is too large';
  if (typeof value !== 'object' || value === null) return null;
  if (level > NESTING_LEVELS_MAX) return `more than ${NESTING_LEVELS_MAX} levels of arrays and objects`;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  const wrong = names.find(name => name.startsWith('$'));
  if (wrong !== undefined) return `${JSON.stringify(wrong)}: names cannot begin with $`;
  for (const inner of Object.values(value)) {
    const problem = checkKeys(inner as Value, level + 1);
    if (problem !== null) return problem;
  }
  return null;
}

/** @returns why a value does not fit a declared field; null: it does */
export function checkType(value: Value | undefined, type: FieldType, isRequired: boolean): string | null {
  if (value === undefined) return isRequired ? 'is required' : null;
  if (type === 'any') return null;
  if (value === null) return isRequired ? `must be ${withArticle(type)}, not null` : null;
  const found = typeOf(value);
  return found === type ? null : `must be ${withArticle(type)}, not ${withArticle(found)}`;
}

function withArticle(type: string): string {
  if (type === 'null') return 'null';
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** The patch that makes `before` into `after`; null: they are equal. */
export function patchOf(before: Fields, after: Fields): FieldChanges | null {
  const changed = Object.entries(after).filter(([name, value]) => !isSame(before[name], value));
  const unset = Object.keys(before).filter(name => !Object.hasOwn(after, name));
  if (changed.length === 0 && unset.length === 0) return null;
  return {
    ...(changed.length === 0 ? {} : {patch: Object.fromEntries(changed)}),
    ...(unset.length === 0 ? {} : {unset}),
  };
}

export function isSame(a: Value | undefined, b: Value | undefined): boolean {
  return compareValues(a, b) === 0;
}

export type Difference = {
  readonly field: string;
  readonly base: Value | undefined;
  readonly mine: Value | undefined;
  readonly theirs: Value | undefined;
  /** Both changed the field, to different values. */
  readonly isConflict: boolean;
};

/** What an edit and a write of others, both of `base`, changed. */
export function differences(base: Fields, mine: Fields, theirs: Fields): Difference[] {
  const names = [...new Set([...Object.keys(base), ...Object.keys(mine), ...Object.keys(theirs)])].sort();
  return names.flatMap(field => {
    const [inBase, inMine, inTheirs] = [base[field], mine[field], theirs[field]];
    const isMine = !isSame(inBase, inMine);
    const isTheirs = !isSame(inBase, inTheirs);
    if (!isMine && !isTheirs) return [];
    const isConflict = isMine && isTheirs && !isSame(inMine, inTheirs);
    return [{field, base: inBase, mine: inMine, theirs: inTheirs, isConflict}];
  });
}

/** The document with an edit of `base` on top of what others wrote. */
export function onTop(base: Fields, mine: Fields, theirs: Fields): Fields {
  const result: Record<string, Value> = {...theirs};
  for (const {field, mine: value} of differences(base, mine, base)) {
    if (value === undefined) delete result[field];
    else result[field] = value;
  }
  return result;
}
