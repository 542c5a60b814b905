/** Checks messages from the process of the isolates, which are outside input, field by field before use. */

import type {DamageCheck} from '../../../engine/storage/damage.ts';
import {ERROR_STATUS, type ErrorObject} from '../../../shared/errors.ts';
import {type Fields, isCount, isObject, isText} from '../../../shared/values/shapes.ts';
import {HTTP_OPERATIONS, isOneOf, MAIN_OPERATIONS} from '../actions/action-message.ts';
import {FUNCTION_RESULT_BYTES_MAX, LOG_LINES_MAX} from '../guest/limits.ts';
import type {FromIsolates} from './isolate-message.ts';

const CHECKS: ReadonlySet<unknown> = new Set<DamageCheck>([
  'checksum',
  'id',
  'entry',
  'chain',
  'code',
  'rows',
  'engine',
]);

const BARE: ReadonlySet<unknown> = new Set<FromIsolates['type']>(['ready', 'alive', 'warmed', 'closed']);

/** Warnings of the database are added to the lines of the function. */
const LINES_MAX = 2 * LOG_LINES_MAX;

/** @param tailBytes length of its tail. @returns null: not a valid message */
export function checkedMessage(head: Fields, tailBytes: number): FromIsolates | null {
  return isMessage(head, tailBytes) ? (head as FromIsolates) : null;
}

function isMessage(head: Fields, tailBytes: number): boolean {
  const {type, id, call, line, reason, parameters, operation} = head;
  if (type === 'ran') return areRuns(head.runs, tailBytes);
  if (BARE.has(type)) return tailBytes === 0;
  if (!isCount(id)) return false;
  switch (type) {
    case 'outcome':
      return isOutcome(head.outcome) && isValueLength(tailBytes);
    case 'refused':
      return isError(head.error) && (reason === null || isText(reason));
    case 'log':
      return isText(line);
    case 'call':
      return isCount(call) && isOperation(operation) && (parameters === null || isText(parameters));
    default:
      return false;
  }
}

/** Their values are the whole tail. */
function areRuns(runs: unknown, tailBytes: number): boolean {
  if (!Array.isArray(runs) || runs.length === 0) return false;
  let bytes = 0;
  for (const row of runs) {
    if (!Array.isArray(row)) return false;
    const [id, at, valueBytes, run] = row;
    if (!isCount(id) || !isCount(at) || !isCount(valueBytes) || !isValueLength(valueBytes) || !isRun(run)) return false;
    bytes += valueBytes;
  }
  return bytes === tailBytes;
}

function isRun(run: unknown): boolean {
  if (!isObject(run)) return false;
  const {outcome, lines, identityUsed, isMomentary, readSet, endCursor, starved, had, sequence} = run;
  return (
    isOutcome(outcome) &&
    Array.isArray(lines) &&
    lines.length <= LINES_MAX &&
    lines.every(isText) &&
    typeof identityUsed === 'boolean' &&
    typeof isMomentary === 'boolean' &&
    (readSet === null || isReadSet(readSet)) &&
    (endCursor === null || isText(endCursor)) &&
    (starved === null || starved === 'again' || starved === 'over') &&
    (had === undefined || (isObject(had) && isCount(had.cpuMs) && isCount(had.wallMs))) &&
    isCount(sequence)
  );
}

function isReadSet(readSet: unknown): boolean {
  if (!isObject(readSet)) return false;
  const {intervals, absentTables} = readSet;
  return (
    Array.isArray(intervals) && intervals.every(isInterval) && Array.isArray(absentTables) && absentTables.every(isText)
  );
}

function isInterval(interval: unknown): boolean {
  if (!isObject(interval)) return false;
  const {table, index, lower, upper} = interval;
  return isCount(table) && Number.isSafeInteger(index) && isText(lower) && isText(upper) && lower < upper;
}

function isOutcome(outcome: unknown): boolean {
  if (!isObject(outcome)) return false;
  if (outcome.ok === true) return true;
  if (outcome.ok !== false || !isObject(outcome.error)) return false;
  const {name, message, stack} = outcome.error;
  return isText(name) && isText(message) && (stack === null || isText(stack));
}

function isError(error: unknown): error is ErrorObject {
  if (!isObject(error)) return false;
  const {code, message, detail} = error;
  return (
    isText(code) &&
    Object.hasOwn(ERROR_STATUS, code) &&
    isText(message) &&
    (detail === undefined || isDetail(code, detail))
  );
}

/** The detail is for clients; for damage, the worker counts which check failed. */
function isDetail(code: string, detail: unknown): boolean {
  return isObject(detail) && (code !== 'op.storage_damaged' || CHECKS.has(detail.check));
}

/** A character of the value is at most three bytes. */
function isValueLength(bytes: number): boolean {
  return bytes <= 3 * FUNCTION_RESULT_BYTES_MAX;
}

function isOperation(operation: unknown): boolean {
  return isText(operation) && (isOneOf(MAIN_OPERATIONS, operation) || isOneOf(HTTP_OPERATIONS, operation));
}
