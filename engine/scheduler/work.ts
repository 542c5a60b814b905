/** Scheduled work: a mutation object that is checked when it is scheduled, and made into an effect when it runs. */
import {unreachable} from '../../shared/assert.ts';
import type {ServiceError} from '../../shared/errors.ts';
import {
  DeleteMutation,
  InsertMutation,
  type JobTrace,
  type Mutation,
  UpdateMutation,
} from '../../shared/protocol/schedule.ts';
import {storedText} from '../../shared/values/json.ts';
import type {Attempted} from '../commit/attempt.ts';
import type {Fields} from '../commit/commit.ts';
import {deleteEffect, insertEffect, patchEffect} from '../commit/mutation.ts';
import type {Writer} from '../commit/writer.ts';
import {SCHEDULED_ERROR_CHARS_MAX} from '../limits.ts';
import {checkWireType, wireType} from '../wire-type.ts';

const insertMutation = wireType(InsertMutation);
const updateMutation = wireType(UpdateMutation);
const deleteMutation = wireType(DeleteMutation);

/** The stored text of a valid mutation. @throws op.invalid_input 400, op.too_large 413 */
export function checkedMutation(mutation: {type: Mutation['type']}): string {
  const checked = known(mutation);
  effectOf(checked);
  return storedText(checked);
}

/** The mutation with its known fields only: others are ignored, so they are not stored either. */
function known(mutation: {type: Mutation['type']}): Mutation {
  const at = 'mutation.';
  switch (mutation.type) {
    case 'insert': {
      const {type, table, fields, id} = checkWireType(insertMutation, mutation, at);
      return {type, table, fields, ...(id === undefined ? {} : {id})};
    }
    case 'update': {
      const {type, table, id, patch} = checkWireType(updateMutation, mutation, at);
      return {type, table, id, patch};
    }
    case 'delete': {
      const {type, table, id} = checkWireType(deleteMutation, mutation, at);
      return {type, table, id};
    }
    default:
      return unreachable(mutation.type);
  }
}

/** A function's job in its stored form, which lists show. `args` is wire JSON; `path` is canonical. */
export type FunctionWork = {type: 'function'; path: string; args: unknown; trace?: JobTrace};

/** Runs a function's job inside the job's write. @throws ServiceError when the write must be rolled back */
export type RunFunctionJob = (writer: Writer, job: string, path: string, args: unknown, trace?: JobTrace) => void;

/** @param text of checked work */
export function parseWork(text: string): Mutation | FunctionWork {
  return JSON.parse(text) as Mutation | FunctionWork;
}

/** Stored work as an attempt. */
export function storedWork(writer: Writer, id: string, text: string, runFunction: RunFunctionJob): Attempted {
  const work = parseWork(text);
  if (work.type !== 'function') return mutationAttempt(writer, work);
  return {checksFirst: false, run: () => runFunction(writer, id, work.path, work.args, work.trace)};
}

/** An attempt that throws the errors of its check when it was scheduled, too (limits may have changed). */
export function mutationAttempt(writer: Writer, mutation: Mutation): Attempted {
  // An insert creates its table before it finds that a document has the chosen id.
  const checksFirst = mutation.type !== 'insert' || mutation.id === undefined;
  return {checksFirst, run: () => effectOf(mutation)(writer)};
}

/**
 * The stored text of a run's failure: `code: message`. For a function only its message, because the code of an HTTP
 * error would add nothing. It is cut to a length that many runs can be stored with. @param work its stored text
 */
export function failureText(failure: ServiceError | null, work: string): string | null {
  if (failure === null) return null;
  const {code, message} = failure;
  const isFunction = code === 'op.failed' && (JSON.parse(work) as {type?: unknown}).type === 'function';
  const text = isFunction ? message.trimEnd() : `${code}: ${message}`;
  if (text.length <= SCHEDULED_ERROR_CHARS_MAX) return text;
  return `${text.slice(0, SCHEDULED_ERROR_CHARS_MAX - 1).toWellFormed()}…`;
}

function effectOf(mutation: Mutation): (writer: Writer) => unknown {
  switch (mutation.type) {
    case 'insert':
      return insertEffect(mutation.table, mutation.fields as Fields, mutation.id);
    case 'update':
      return patchEffect(mutation.table, mutation.id, {patch: mutation.patch});
    case 'delete':
      return deleteEffect(mutation.table, mutation.id);
    default:
      return unreachable(mutation);
  }
}
