/**
 * Lines of an export that are put back as they were: documents with their ids and times, so that references and versions hold, and
 * schemas with their indexes. A document's time must come after those of the documents that its table has: numbers and creation times
 * of a table have one order.
 */

import type {Fields} from '../../../../engine/commit/commit.ts';
import type {Writer} from '../../../../engine/commit/writer.ts';
import {FLAG_FLOATS} from '../../../../engine/documents/document.ts';
import {checkTableName} from '../../../../engine/documents/table-name.ts';
import {install, isSame} from '../../../../engine/schema/install.ts';
import {hasDocuments, isThere, refuseDeployed, schemaEvent} from '../../../../engine/schema/read.ts';
import {type CatalogTable, OTHER_IDS} from '../../../../engine/storage/catalog.ts';
import {checkChosenId, decodeId} from '../../../../engine/storage/ids.ts';
import {checkTableSchema} from '../../../../engine/storage/table-check.ts';
import {checkWireType, wireType} from '../../../../engine/wire-type.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import {TableSchema} from '../../../../shared/protocol/schema.ts';
import {checkDocumentSize, checkFields, storedText} from '../../../../shared/values/json.ts';
import type {Value} from '../../../../shared/values/value.ts';
import {checkWireDocument, encodeDocument, holdsFloats, ValueError} from '../../../../shared/values/wire-value.ts';

/** Times of documents are multiples of it. */
const TIMES_A_MS = 2 ** 10;
const schemaType = wireType(TableSchema);

export type RestoredDocument = {
  readonly id: string;
  /** Null: it gets new ones. */
  readonly times: {readonly created: number; readonly updated: number} | null;
  readonly fields: Fields;
  /** Numbers that JSON cannot hold are there as `{"$float": …}`. */
  readonly hasFloats: boolean;
};

/** @throws op.invalid_input 400, op.too_large 413; the effect op.conflict 409, op.schema_violation 400, op.unique_violation 409 */
export function restoreEffect(
  name: string,
  {id, times, fields, hasFloats}: RestoredDocument,
): (writer: Writer) => void {
  checkTableName(name);
  checkId(id);
  if (times !== null) checkTimes(times);
  const stored = hasFloats ? withFloats(fields) : withoutFloats(fields);
  checkDocumentSize(stored.body);
  return writer => {
    const table = writer.table(name);
    if (times !== null) makeWay(writer, table, times);
    holdOtherIds(writer);
    const insert = () => writer.insert(table, stored.fields, stored.body, id, stored.flags, times?.updated);
    if (times === null) insert();
    else writer.at(times.created, insert);
  };
}

/**
 * @param also what else happens in the write that installs it
 * @throws op.invalid_input 400; the effect op.conflict 409 if the table has documents, or another schema
 */
export function restoreSchemaEffect(
  name: string,
  schema: unknown,
  also: (writer: Writer, table: string) => void,
): (writer: Writer) => void {
  checkTableName(name);
  const {fields, indexes = []} = checkWireType(schemaType, schema, 'schema.');
  checkTableSchema({table: name, fields, indexes}, name);
  return writer => {
    const table = writer.table(name);
    refuseDeployed(table);
    const kept = table.indexes.filter(({state}) => state !== 'dropping');
    const isKnown =
      JSON.stringify(table.fields) === JSON.stringify(fields) &&
      kept.length === indexes.length &&
      indexes.every(entry => kept.some(index => isSame(index, entry)));
    if (isKnown) return;
    if (isThere(writer, table)) {
      throw new ServiceError(
        'op.conflict',
        `table ${name} has documents or another schema; a schema is restored before`,
      );
    }
    install(writer, table, {fields, deployed: null}, indexes);
    schemaEvent(writer, table);
    also(writer, name);
  };
}

/** From now on, ids of the service's making may name tables of another tenant. */
function holdOtherIds(writer: Writer): void {
  const {catalog, statements} = writer;
  if (catalog.holdsOtherIds) return;
  catalog.holdsOtherIds = true;
  writer.onRollback(() => {
    catalog.holdsOtherIds = false;
  });
  statements.setMeta.run(OTHER_IDS, 1);
  writer.catalogChanged();
}

function checkId(id: string): void {
  const decoded = decodeId(id);
  if (decoded === null) checkChosenId(id);
  else if (decoded.tableNumber === 0) throw invalid('_id is the id of a job');
}

function checkTimes({created, updated}: {created: number; updated: number}): void {
  // The creation time of a table's first document is after 0.
  const isTime = (ms: unknown) => typeof ms === 'number' && ms > 0 && Number.isSafeInteger(ms * TIMES_A_MS);
  if (isTime(created) && isTime(updated) && created <= updated) return;
  throw invalid(
    '_creationTime and _updateTime must be times that an export has: epoch milliseconds, the second not before the first',
  );
}

/** @throws op.invalid_input 400, op.conflict 409 */
function makeWay(writer: Writer, table: CatalogTable, {created, updated}: {created: number; updated: number}): void {
  if (updated > writer.nowMs()) throw invalid('_updateTime is in the future of this server');
  if (created > table.lastCreated) return;
  if (hasDocuments(writer, table)) {
    throw new ServiceError(
      'op.conflict',
      `table ${table.name} has documents that are as new as this one: restore into an empty table, or keep ids alone with mode=own_ids`,
    );
  }
  const {lastCreated} = table;
  table.lastCreated = 0;
  // Reads bounded by creation time watch document numbers, which were found by times: from here on those bounds are wrong.
  writer.catalogChanged();
  // Documents that come back by a roll-back are newer again.
  writer.onRollback(() => {
    table.lastCreated = Math.max(table.lastCreated, lastCreated);
  });
}

type Stored = {fields: Fields; body: string; flags: number};

function withoutFloats(fields: Fields): Stored {
  const traits = checkFields(fields, 'fields');
  return {fields, body: storedText(fields, traits), flags: 0};
}

function withFloats(wire: Fields): Stored {
  try {
    const fields = checkWireDocument(wire, 'document') as Record<string, Value>;
    const body = encodeDocument(fields, 'document');
    return {fields, body, flags: holdsFloats(body) ? FLAG_FLOATS : 0};
  } catch (caught) {
    if (caught instanceof ValueError) throw invalid(caught.message);
    throw caught;
  }
}

function invalid(message: string): ServiceError {
  return new ServiceError('op.invalid_input', message);
}
