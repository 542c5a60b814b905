/**
 * Turns the operations of a transaction into steps of one write. Checks that need no data are made before any step
 * runs; an operation that refers to another is made when the other's id is known. An error's detail names the
 * operation.
 */
import {Buffer} from 'node:buffer';
import type {Static} from 'typebox';
import type {Fields} from '../../../engine/commit/commit.ts';
import {CHANGES, changesIn} from '../../../engine/commit/field-changes.ts';
import {
  deleteEffect,
  insertEffect,
  type PutEffect,
  patchEffect,
  putEffect,
  replaceEffect,
  upsertByEffect,
  upsertEffect,
} from '../../../engine/commit/mutation.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import {scheduleJob} from '../../../engine/scheduler/jobs.ts';
import {checkedMutation} from '../../../engine/scheduler/work.ts';
import {type Condition, NO_CONDITION, versionOf, versionTags} from '../../../engine/storage/document.ts';
import type {DocumentRow} from '../../../engine/storage/rows.ts';
import {checkWireType, wireType} from '../../../engine/wire-type.ts';
import {unreachable} from '../../../shared/assert.ts';
import {invalid, tooLarge} from '../../../shared/errors.ts';
import {positioned} from '../../../shared/positioned-error.ts';
import {
  DeleteOperation,
  InsertOperation,
  PatchOperation,
  ReplaceOperation,
  ScheduleOperationEnvelope,
  type TransactionEnvelope,
  UpsertOperation,
} from '../../../shared/protocol/transactions.ts';
import {TRANSACTION_BYTES_MAX, TRANSACTION_REPLACED_CHARS_MAX} from '../limits.ts';
import {fillReferences, takeReferences} from './references.ts';

const insertOperation = wireType(InsertOperation);
const patchOperation = wireType(PatchOperation);
const replaceOperation = wireType(ReplaceOperation);
const upsertOperation = wireType(UpsertOperation);
const deleteOperation = wireType(DeleteOperation);
const scheduleOperation = wireType(ScheduleOperationEnvelope);

/** Outcome of an operation: the id for references to it, its result as JSON, and the bytes that it wrote. */
type Made = {readonly id: string; readonly result: string; readonly bytes: number};
type Effect = (writer: Writer) => Made;
/** @param ids of the operations before it */
export type Step = (writer: Writer, ids: readonly string[]) => Made;

type Operation = TransactionEnvelope['operations'][number];

/** @param clock epoch milliseconds. @throws op.invalid_input 400, op.too_large 413 */
export function stepOf(operations: readonly Operation[], position: number, clock: () => number): Step {
  return at<Step>(position, () => {
    const operation = operations[position]!;
    const places = takeReferences(
      operation,
      operations.slice(0, position).map(({type}) => type),
    );
    const effect = effectOf(operation, `operations[${position}].`, clock);
    if (places.length === 0) return effect;
    return (writer, ids) => {
      fillReferences(places, ids);
      return effectOf(operation, '', clock)(writer);
    };
  });
}

/** Runs all steps, with a pause after each. @returns the answer */
export function* madeInTurn(writer: Writer, steps: readonly Step[]): Generator<void, string, void> {
  const ids: string[] = [];
  const results: string[] = [];
  let left = TRANSACTION_BYTES_MAX;
  const replacedBefore = writer.replacedChars;
  for (const [position, step] of steps.entries()) {
    if (position > 0) yield;
    const {id, result, bytes} = at(position, () => {
      const made = step(writer, ids);
      if (made.bytes > left) throw tooLarge(`a transaction writes ${TRANSACTION_BYTES_MAX} bytes of documents at most`);
      if (writer.replacedChars - replacedBefore <= TRANSACTION_REPLACED_CHARS_MAX) return made;
      throw tooLarge(
        `a transaction changes and deletes documents of ${TRANSACTION_REPLACED_CHARS_MAX} characters together at most`,
      );
    });
    left -= bytes;
    ids.push(id);
    results.push(result);
  }
  return `{"results":[${results.join(',')}]}`;
}

function at<T>(position: number, run: () => T): T {
  return positioned('operations', position, 'operation', run);
}

function effectOf(operation: Operation, prefix: string, clock: () => number): Effect {
  switch (operation.type) {
    case 'insert': {
      const {table, fields, id} = checkWireType(insertOperation, operation, prefix);
      const insert = insertEffect(table, fields as Fields, id);
      return writer => {
        insert(writer);
        return stored(writer.lastStored);
      };
    }
    case 'patch': {
      const checked = checkWireType(patchOperation, operation, prefix);
      const changes = changesIn(checked);
      if (changes === null) throw invalid(`it must have one or more of ${CHANGES.join(', ')}`);
      const patch = patchEffect(checked.table, idOf(checked), changes, conditionOf(checked));
      return writer => stored(patch(writer));
    }
    case 'replace': {
      const checked = checkWireType(replaceOperation, operation, prefix);
      const replace = replaceEffect(checked.table, idOf(checked), checked.fields as Fields, conditionOf(checked));
      return writer => stored(replace(writer));
    }
    case 'upsert': {
      const upsert = upsertOf(checkWireType(upsertOperation, operation, prefix));
      return writer => {
        const {row, isNew} = upsert(writer);
        return stored(row, `,"created":${isNew}`);
      };
    }
    case 'delete': {
      const checked = checkWireType(deleteOperation, operation, prefix);
      const remove = deleteEffect(checked.table, idOf(checked), conditionOf(checked));
      return writer => {
        const id = remove(writer);
        return {id, result: `{"id":${JSON.stringify(id)}}`, bytes: 0};
      };
    }
    case 'schedule': {
      const {run_after_ms: runAfterMs, mutation} = checkWireType(scheduleOperation, operation, prefix);
      const work = checkedMutation(mutation);
      return writer => {
        const id = scheduleJob(writer, clock(), runAfterMs, work);
        return {id, result: `{"job_id":"${id}"}`, bytes: Buffer.byteLength(work)};
      };
    }
    default:
      return unreachable(operation.type);
  }
}

function upsertOf(checked: Static<typeof UpsertOperation>): PutEffect {
  const {table, id, by} = checked;
  const fields = checked.fields as Fields;
  const changes = changesIn(checked);
  const condition = conditionOf(checked);
  if ((id === undefined) === (by === undefined)) {
    throw invalid('it must have an id, or by with the name of a unique index, and not both');
  }
  if (by !== undefined) return upsertByEffect(table, by, fields, changes, condition);
  return changes === null
    ? putEffect(table, String(id), fields, condition)
    : upsertEffect(table, String(id), fields, changes, condition);
}

function stored(row: DocumentRow, more = ''): Made {
  const result = `{"id":${JSON.stringify(row.id)},"version":"${versionOf(row)}"${more}}`;
  return {id: row.id, result, bytes: Buffer.byteLength(row.body)};
}

/** Call after references have been filled in. */
function idOf({id}: {readonly id: unknown}): string {
  return String(id);
}

function conditionOf({if_match: ifMatch}: {readonly if_match?: string}): Condition {
  return ifMatch === undefined ? NO_CONDITION : {ifMatch: versionTags(ifMatch), ifNoneMatch: null};
}
