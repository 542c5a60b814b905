/**
 * The three document mutations: what a client's body becomes before it may enter a group, and what it does inside. All that
 * can be checked without the data is checked first, outside the transaction.
 */
import {ServiceError} from '../../shared/errors.ts';
import {checkDocumentSize, checkFields, mergeFields, storedText} from '../../shared/values/json.ts';
import {checkTableName} from '../documents/table-name.ts';
import type {DocumentRow} from '../queries/reader.ts';
import type {CatalogTable} from '../storage/catalog.ts';
import type {Reply} from './group.ts';
import type {Fields, Writer} from './writer.ts';

/** POST documents. @throws op.invalid_input 400, op.too_large 413; inside the group op.schema_violation 400 */
export function prepareInsert(tableName: string, fields: Fields): (writer: Writer) => Reply {
  checkTableName(tableName);
  checkFields(fields, 'fields');
  const body = storedText(fields);
  checkDocumentSize(body);
  return writer => ({status: 201, body: `{"id":"${writer.insert(writer.table(tableName), fields, body)}"}`});
}

/** PATCH one document. @throws op.invalid_input 400; inside the group op.not_found 404, op.too_large 413, op.schema_violation 400 */
export function preparePatch(tableName: string, id: string, patch: Fields): (writer: Writer) => Reply {
  checkFields(patch, 'patch');
  return writer => {
    const [table, row] = existing(writer, tableName, id);
    const old = JSON.parse(row.body) as Fields;
    const fields = mergeFields(old, patch) as Fields;
    const body = storedText(fields);
    checkDocumentSize(body);
    writer.update(table, row, old, fields, body);
    return {status: 200, body: `{"id":${JSON.stringify(row.id)}}`};
  };
}

/** DELETE one document. @throws inside the group op.not_found 404 */
export function prepareDelete(tableName: string, id: string): (writer: Writer) => Reply {
  return writer => {
    const [table, row] = existing(writer, tableName, id);
    writer.delete(table, row);
    return {status: 204, body: ''};
  };
}

function existing(writer: Writer, tableName: string, id: string): [CatalogTable, DocumentRow] {
  const table = writer.catalog.table(tableName);
  const row = table === undefined ? undefined : writer.document(table, id);
  if (table === undefined || row === undefined) throw documentNotFound(tableName, id);
  return [table, row];
}

export function documentNotFound(tableName: string, id: string): ServiceError {
  return new ServiceError('op.not_found', `table ${shown(tableName)} has no document ${shown(id)}`);
}

function shown(text: string): string {
  return JSON.stringify(text.length > 140 ? `${text.slice(0, 140)}…` : text);
}
