/**
 * The document mutations: how a client's body is checked before it enters a group, and the change it makes inside.
 * Checks that do not need the data run first, outside the transaction.
 */

import {Buffer} from 'node:buffer';
import {notFound, ServiceError} from '../../shared/errors.ts';
import {shownText} from '../../shared/function-name.ts';
import type {FieldChanges} from '../../shared/protocol/documents.ts';
import {checkDocumentSize, checkFields, storedText} from '../../shared/values/json.ts';
import {encodeDocument, holdsFloats} from '../../shared/values/wire-value.ts';
import type {CatalogTable} from '../storage/catalog.ts';
import {
  type Condition,
  checkCondition,
  checkTableName,
  FLAG_FLOATS,
  NO_CONDITION,
  parseFields,
} from '../storage/document.ts';
import {checkChosenId, decodeId} from '../storage/ids.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Fields} from './commit.ts';
import {documentByUnique} from './document-write.ts';
import {changedFields, changesNothing, checkChanges} from './field-changes.ts';
import type {NewDocument} from './new-documents.ts';
import type {Writer} from './writer.ts';

/** A checked change of one document; returns its id. Throws if the stored data does not allow it. */
export type Effect = (writer: Writer) => string;
/** The same, and returns the resulting document. */
export type RowEffect = (writer: Writer) => DocumentRow;
export type PutEffect = (writer: Writer) => {row: DocumentRow; isNew: boolean};

/** @throws op.invalid_input 400, op.too_large 413; the effect op.schema_violation 400, op.conflict 409 */
export function insertEffect(tableName: string, fields: Fields, chosenId?: string): Effect {
  checkTableName(tableName);
  const traits = checkFields(fields, 'fields');
  if (chosenId !== undefined) checkChosenId(chosenId);
  const body = storedText(fields, traits);
  checkDocumentSize(body);
  return writer => writer.insert(writer.table(tableName), fields, body, chosenId);
}

/** A document that is inserted together with others. @throws op.invalid_input 400, op.too_large 413 */
export function newDocument(table: string, fields: Fields): NewDocument {
  checkTableName(table);
  const traits = checkFields(fields, 'fields');
  const body = storedText(fields, traits);
  checkDocumentSize(body);
  const bytes = Buffer.from(body);
  return {table, bytes, start: 0, end: bytes.length, isAscii: bytes.length === body.length};
}

/**
 * Changes some fields, see field-changes.ts.
 * @throws op.invalid_input 400; the effect op.not_found 404, op.precondition_failed 412, op.conflict 409, op.too_large 413,
 *   op.schema_violation 400
 */
export function patchEffect(
  tableName: string,
  id: string,
  changes: FieldChanges,
  condition: Condition = NO_CONDITION,
): RowEffect {
  checkTableName(tableName);
  checkChanges(changes);
  return writer => {
    const [table, row] = existing(writer, tableName, id);
    checkCondition(condition, id, row);
    if (changesNothing(changes)) return row; // nothing is written
    const old = parseFields(row);
    const fields = changedFields(old, changes);
    // A function may have stored numbers that JSON cannot represent: fields outside the patch keep them.
    const hasFloats = (row.flags & FLAG_FLOATS) !== 0;
    const body = hasFloats ? encodeDocument(fields as typeof old) : storedText(fields);
    checkDocumentSize(body);
    writer.update(table, row, old, fields, body, hasFloats && holdsFloats(body) ? FLAG_FLOATS : 0);
    return writer.lastStored;
  };
}

/**
 * Replaces the document's fields with these. A missing document is created, if clients can choose its id.
 * @throws op.invalid_input 400, op.too_large 413; the effect op.not_found 404, op.precondition_failed 412,
 *   op.schema_violation 400
 */
export function putEffect(
  tableName: string,
  id: string,
  fields: Fields,
  condition: Condition = NO_CONDITION,
): PutEffect {
  checkTableName(tableName);
  const traits = checkFields(fields, 'fields');
  const body = storedText(fields, traits);
  checkDocumentSize(body);
  return writer => {
    const table = writer.catalog.table(tableName);
    const row = table === undefined ? undefined : writer.document(table, id);
    checkCondition(condition, id, row);
    if (table === undefined || row === undefined) {
      if (decodeId(id) !== null) throw documentNotFound(tableName, id);
      checkChosenId(id);
      writer.insert(writer.table(tableName), fields, body, id);
    } else {
      writer.update(table, row, parseFields(row), fields, body);
    }
    return {row: writer.lastStored, isNew: row === undefined};
  };
}

/**
 * As `putEffect`, for an existing document only. @throws op.invalid_input 400, op.too_large 413; the effect
 * op.not_found 404 too
 */
export function replaceEffect(tableName: string, id: string, fields: Fields, condition: Condition): RowEffect {
  const put = putEffect(tableName, id, fields, condition);
  return writer => {
    existing(writer, tableName, id);
    return put(writer).row;
  };
}

/** Patches an existing document, or creates a missing one. @throws as `patchEffect` and `putEffect` */
export function upsertEffect(
  tableName: string,
  id: string,
  fields: Fields,
  changes: FieldChanges,
  condition: Condition,
): PutEffect {
  const put = putEffect(tableName, id, fields, condition);
  const patch = patchEffect(tableName, id, changes, condition);
  return writer => {
    const table = writer.catalog.table(tableName);
    if (table === undefined || writer.document(table, id) === undefined) return put(writer);
    return {row: patch(writer), isNew: false};
  };
}

/**
 * Upsert by unique index: finds the document that has the values of `fields` and patches it, or replaces its fields if
 * there are no changes. If there is none, it is created.
 * @throws as `patchEffect` and `putEffect`, and as `documentByUnique`
 */
export function upsertByEffect(
  tableName: string,
  by: string,
  fields: Fields,
  changes: FieldChanges | null,
  condition: Condition,
): PutEffect {
  checkTableName(tableName);
  const traits = checkFields(fields, 'fields');
  const body = storedText(fields, traits);
  checkDocumentSize(body);
  if (changes !== null) checkChanges(changes);
  return writer => {
    const table = writer.catalog.table(tableName);
    const row = documentByUnique(writer, table, tableName, by, fields);
    if (table === undefined || row === undefined) {
      if (condition.ifMatch !== null) throw nothingToMatch(tableName, by);
      writer.insert(writer.table(tableName), fields, body);
    } else if (changes !== null) {
      return {row: patchEffect(tableName, row.id, changes, condition)(writer), isNew: false};
    } else {
      checkCondition(condition, row.id, row);
      writer.update(table, row, parseFields(row), fields, body);
    }
    return {row: writer.lastStored, isNew: row === undefined};
  };
}

function nothingToMatch(table: string, index: string): ServiceError {
  return new ServiceError(
    'op.precondition_failed',
    `table ${table} has no document with these values in index ${index}, and If-Match wants one`,
    {id: null, version: null},
  );
}

/** @throws op.invalid_input 400; the effect op.not_found 404, op.precondition_failed 412 */
export function deleteEffect(tableName: string, id: string, condition: Condition = NO_CONDITION): Effect {
  checkTableName(tableName);
  return writer => {
    if (condition !== NO_CONDITION) checkCondition(condition, id, existing(writer, tableName, id)[1]);
    const table = writer.catalog.table(tableName);
    if (table === undefined || !writer.deleteById(table, id)) throw documentNotFound(tableName, id);
    return id;
  };
}

function existing(writer: Writer, tableName: string, id: string): [CatalogTable, DocumentRow] {
  const table = writer.catalog.table(tableName);
  const row = table === undefined ? undefined : writer.document(table, id);
  if (table === undefined || row === undefined) throw documentNotFound(tableName, id);
  return [table, row];
}

export function documentNotFound(tableName: string, id: string): ServiceError {
  return notFound(`table ${shownText(tableName)} has no document ${shownText(id)}`);
}
