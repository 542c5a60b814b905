/**
 * The three document mutations: what a client's body becomes before it may enter a group, and what it does inside. All that
 * can be checked without the data is checked first, outside the transaction.
 */
import {ServiceError} from '../../shared/errors.ts';
import {checkDocumentSize, checkFields, mergeFields, storedText} from '../../shared/values/json.ts';
import {encodeDocument, holdsFloats} from '../../shared/values/wire-value.ts';
import {FLAG_FLOATS, parseFields} from '../documents/document.ts';
import {checkTableName} from '../documents/table-name.ts';
import type {CatalogTable} from '../storage/catalog.ts';
import {checkChosenId} from '../storage/ids.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Fields} from './commit.ts';
import type {Writer} from './writer.ts';

/** A checked change of one document; returns its id. Throws what the data says against it. */
export type Effect = (writer: Writer) => string;

/** @throws op.invalid_input 400, op.too_large 413; the effect op.schema_violation 400, op.conflict 409 */
export function insertEffect(tableName: string, fields: Fields, chosenId?: string): Effect {
  checkTableName(tableName);
  const traits = checkFields(fields, 'fields');
  if (chosenId !== undefined) checkChosenId(chosenId);
  const body = storedText(fields, traits);
  checkDocumentSize(body);
  return writer => writer.insert(writer.table(tableName), fields, body, chosenId);
}

/** A shallow merge. @throws op.invalid_input 400; the effect op.not_found 404, op.too_large 413, op.schema_violation 400 */
export function patchEffect(tableName: string, id: string, patch: Fields): Effect {
  checkTableName(tableName);
  checkFields(patch, 'patch');
  return writer => {
    const [table, row] = existing(writer, tableName, id);
    if (Object.keys(patch).length === 0) return row.id; // it sets nothing: nothing is written
    const old = parseFields(row);
    const fields = mergeFields(old, patch) as Fields;
    // A function may have stored numbers that JSON cannot hold: those that the patch leaves alone stay as they are.
    const hasFloats = (row.flags & FLAG_FLOATS) !== 0;
    const body = hasFloats ? encodeDocument(fields) : storedText(fields);
    checkDocumentSize(body);
    writer.update(table, row, old, fields, body, hasFloats && holdsFloats(body) ? FLAG_FLOATS : 0);
    return row.id;
  };
}

/** @throws op.invalid_input 400; the effect op.not_found 404 */
export function deleteEffect(tableName: string, id: string): Effect {
  checkTableName(tableName);
  return writer => {
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
  return new ServiceError('op.not_found', `table ${shown(tableName)} has no document ${shown(id)}`);
}

function shown(text: string): string {
  return JSON.stringify(text.length > 140 ? `${text.slice(0, 140)}…` : text);
}
