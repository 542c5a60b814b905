/** One line of an import: its effect, or its error. Every check that needs no data is made here. */

import type {Fields} from '../../../../engine/commit/commit.ts';
import {insertEffect, newDocument, putEffect} from '../../../../engine/commit/mutation.ts';
import type {NewDocument} from '../../../../engine/commit/new-documents.ts';
import type {Writer} from '../../../../engine/commit/writer.ts';
import {decodeId} from '../../../../engine/storage/ids.ts';
import {invalid, ServiceError} from '../../../../shared/errors.ts';
import type {ImportMode} from '../../../../shared/protocol/imports.ts';
import {isObject} from '../../../../shared/values/shapes.ts';
import {restoreEffect, restoreSchemaEffect} from './restore.ts';

export type ImportLine = {
  /** From 1. */
  readonly line: number;
  /** Approximate length of its text. */
  readonly chars: number;
} & (
  | {readonly document: NewDocument}
  | {readonly make: (writer: Writer) => Made}
  | {readonly error: ServiceError}
  /** End of the body: repeats the number of its last line, which may be blank. */
  | {readonly isEnd: true}
);

/** Outcome of a line; null: it was no document. */
type Made = 'inserted' | 'updated' | null;

/** How a line is interpreted. `table` null: each line names its own. */
export type LineTarget = {
  readonly table: string | null;
  readonly mode: ImportMode;
  /** Called when a schema was restored, for further changes in the same write. */
  readonly schemaSet?: (writer: Writer, table: string) => void;
};

/** @param value the parsed line */
export function lineOf(line: number, chars: number, target: LineTarget, value: unknown): ImportLine {
  try {
    return {line, chars, ...effectOf(target, value)};
  } catch (caught) {
    return refusedLine(line, chars, caught);
  }
}

/** Attributes any client error to the line; internal errors are rethrown. */
export function refusedLine(line: number, chars: number, caught: unknown): ImportLine {
  if (caught instanceof ServiceError && !caught.isOurs) return {line, chars, error: caught};
  throw caught;
}

type LineEffect = {document: NewDocument} | {make: (writer: Writer) => Made};

function effectOf(target: LineTarget, value: unknown): LineEffect {
  const {table, mode} = target;
  if (!isObject(value)) throw invalid('the line is not a JSON object');
  if (mode === 'restore') return restoredLine(target, value);
  if (table !== null) return documentEffect(table, mode, value);
  const {table: name, document, ...more} = value;
  for (const member of Object.keys(more)) throw invalid(`${JSON.stringify(member)} is not a member that is known here`);
  if (typeof name !== 'string' || !isObject(document)) {
    throw invalid(
      'the line is not {"table": …, "document": {…}}; name the table in the query string if lines are documents',
    );
  }
  return documentEffect(name, mode, document);
}

function documentEffect(table: string, mode: ImportMode, fieldsAndId: Fields): LineEffect {
  const {id, fields} = withoutSystemFields(fieldsAndId);
  if (mode === 'insert') return {document: newDocument(table, fields)};
  if (id === undefined) {
    if (mode === 'upsert') return {document: newDocument(table, fields)};
    throw invalid('the document has no _id, which mode=own_ids takes for its id');
  }
  if (typeof id !== 'string') throw invalid('_id must be a string');
  const isOfExport = decodeId(id) !== null;
  if (mode === 'own_ids')
    return {make: inserts(isOfExport ? madeElsewhere(table, fields, id) : insertEffect(table, fields, id))};
  const put = putEffect(table, id, fields);
  const insert = isOfExport ? inserts(madeElsewhere(table, fields, id)) : null;
  return {
    make: writer => {
      if (insert !== null && writer.documentById(id) === undefined) return insert(writer);
      return put(writer).isNew ? 'inserted' : 'updated';
    },
  };
}

function inserts(insert: (writer: Writer) => unknown): (writer: Writer) => 'inserted' {
  return writer => {
    insert(writer);
    return 'inserted';
  };
}

/** A document whose id was made by this or another svc; it gets new times. */
function madeElsewhere(table: string, fields: Fields, id: string): (writer: Writer) => void {
  return restoreEffect(table, {id, times: null, fields, hasFloats: false});
}

/** A document of an export, with or without its table, or the schema of a table. */
function restoredLine({table: wanted, schemaSet = () => undefined}: LineTarget, value: Fields): LineEffect {
  const isBare = wanted !== null && (Object.hasOwn(value, '_id') || !('document' in value || 'schema' in value));
  const {table, document, schema, floats, ...more} = isBare ? {table: wanted, document: value} : (value as Fields);
  for (const member of Object.keys(more)) throw invalid(`${JSON.stringify(member)} is not a member that is known here`);
  if (typeof table !== 'string' || isObject(document) === isObject(schema))
    throw invalid('the line is neither {"table": …, "document": {…}} nor {"table": …, "schema": {…}}');
  if (wanted !== null && table !== wanted) throw invalid(`the line is of table ${JSON.stringify(table)}`);
  if (isObject(schema)) {
    const put = restoreSchemaEffect(table, {table, ...schema}, schemaSet);
    return {
      make: writer => {
        put(writer);
        return null;
      },
    };
  }
  const {_id: id, _creationTime: created, _updateTime: updated, ...fields} = document as Fields;
  if (typeof id !== 'string') throw invalid('the document has no _id, under which mode=restore puts it back');
  const times = {created: created as number, updated: updated as number};
  return {make: inserts(restoreEffect(table, {id, times, fields, hasFloats: floats === true}))};
}

/** Documents of an export have system fields. Most imports have none, and are not copied. */
function withoutSystemFields(document: Fields): {id: unknown; fields: Fields} {
  const {_id: id, _creationTime: created, _updateTime: updated} = document;
  if (id === undefined && created === undefined && updated === undefined) return {id, fields: document};
  const {_id, _creationTime, _updateTime, ...fields} = document;
  return {id, fields};
}
