/**
 * Where an execution is among those that one request led to: each knows the call that made it. A job knows the call
 * that scheduled it, so the executions of jobs belong to the trace of that request, up to a number of jobs in a row.
 *
 *   request ──▶ action ──▶ runQuery | runMutation | runAction ──▶ …
 *                  └──────────▶ scheduled job ──▶ its mutation, perhaps days later and in another process
 */
import {randomBytes} from 'node:crypto';
import type {JobTrace} from '../../../shared/protocol/schedule.ts';
import {TRACE_JOBS_MAX} from '../limits.ts';

export type Span = {
  /** Unique among the executions of the tenant. */
  readonly callId: string;
  readonly parentCallId: string | null;
  readonly traceId: string;
  /** Jobs in a row between the request and this call. */
  readonly jobs: number;
  /** The call of this process that made it. */
  readonly parent: Span | null;
  /** A call that it made is in the log's files, so it is stored too, even if it succeeded and wrote no line. */
  isStored: boolean;
};

/** Makes the ids unique among the tenant's processes. */
const PREFIX = `${randomBytes(5).toString('hex')}-`;
let calls = 0;

function nextId(): string {
  return PREFIX + (++calls).toString(36);
}

/** @param parent null: the request itself made the call */
export function callSpan(requestId: string, parent: Span | null = null): Span {
  const {callId: parentCallId = null, traceId = requestId, jobs = 0} = parent ?? {};
  return {callId: nextId(), parentCallId, traceId, jobs, parent, isStored: false};
}

/** @param id of the run. @param trace of the job; undefined: a cron, or work of an earlier version */
export function jobSpan(id: string, trace: JobTrace | undefined): Span {
  const parentCallId = trace?.call_id ?? null;
  const {id: traceId, jobs} = trace === undefined || trace.jobs > TRACE_JOBS_MAX ? {id, jobs: 0} : trace;
  return {callId: nextId(), parentCallId, traceId, jobs, parent: null, isStored: false};
}

/** Of a job that this call schedules. */
export function traceOfJob({traceId, callId, jobs}: Span): JobTrace {
  return {id: traceId, call_id: callId, jobs: jobs + 1};
}

/** The calls above an execution that is stored are stored when they end, so that it has a place in its tree. */
export function storeParents({parent}: Span): void {
  for (let above = parent; above !== null && !above.isStored; above = above.parent) above.isStored = true;
}
