/**
 * Validates messages of workers as untrusted input, because code of a tenant may have escaped its isolate, and this
 * process serves all tenants. Each field is checked against its type before use. Policies, signed grants and reports
 * are checked by their recipients.
 */
import {isErrorObject} from '../../shared/errors.ts';
import type {WorkerToSupervisor} from '../../shared/ipc/control.ts';
import {isNodeVersion} from '../../shared/node-version.ts';
import {ERRAND_RESULT_CHARS_MAX, FUNCTION_REPORT_CHARS_MAX, WORKER_REPORT_CHARS_MAX} from '../limits.ts';

/** Null: a protocol violation. */
export function workerMessageIn(said: {type: string}): WorkerToSupervisor | null {
  const {type, id, body, signedGrant, version, error, untilMs, nextDueMs, hasCode, egress, report, functions, result} =
    said as Record<string, unknown>;
  const {logBytes, isWhole} = said as Record<string, unknown>;
  switch (type) {
    case 'spare':
    case 'egress_wanted':
    case 'needs_isolates':
    case 'heartbeat':
      return {type};
    case 'opened':
      return {type, egress: egress as Extract<WorkerToSupervisor, {type: 'opened'}>['egress']};
    case 'egress_put':
      return isId(id) && typeof body === 'string' && typeof signedGrant === 'string'
        ? {type, id, body, signedGrant}
        : null;
    case 'node_wanted':
      return isId(id) && isNodeVersion(version) ? {type, id, version} : null;
    case 'open_failed':
    case 'errand_failed':
      return isErrorObject(error) ? {type, error} : null;
    case 'errand_done':
      return typeof result === 'string' && result.length <= ERRAND_RESULT_CHARS_MAX ? {type, result} : null;
    case 'in_use':
      return isTime(untilMs) ? {type, untilMs} : null;
    case 'closed':
      return isTime(nextDueMs) && typeof hasCode === 'boolean'
        ? {type, nextDueMs: nextDueMs === null ? null : Math.ceil(nextDueMs), hasCode}
        : null;
    case 'metrics':
      return isId(id) && isReport(report) && isFunctions(functions) ? {type, id, report, functions} : null;
    case 'copies_flushed':
      return isId(id) ? {type, id} : null;
    case 'file_held':
      return isId(id) && (logBytes === null || isLength(logBytes)) ? {type, id, logBytes} : null;
    case 'file_released':
      return isId(id) && typeof isWhole === 'boolean' ? {type, id, isWhole} : null;
    default:
      return null;
  }
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isLength(value: unknown): value is number {
  return isId(value) && value >= 0;
}

function isReport(value: unknown): value is string {
  return typeof value === 'string' && value.length <= WORKER_REPORT_CHARS_MAX;
}

function isFunctions(value: unknown): value is string {
  return typeof value === 'string' && value.length <= FUNCTION_REPORT_CHARS_MAX;
}

/** Epoch milliseconds, or null. */
function isTime(value: unknown): value is number | null {
  return value === null || (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER);
}
