/**
 * `ctx.scheduler` of a mutation. Jobs are written in the mutation's own transaction, so they exist exactly if it
 * commits. The realm's checks are repeated here, because its texts are outside input.
 */

import type {Writer} from '../../../engine/commit/writer.ts';
import {insertFunctionJob, removeJob} from '../../../engine/scheduler/jobs.ts';
import {decodeId} from '../../../engine/storage/ids.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {checkedWireText, ValueError} from '../../../shared/values/wire-value.ts';
import {canonicalPath, type FunctionTable, shownPath} from '../../runtime/call.ts';
import {SCHEDULE_DISTANCE_MS_MAX, SCHEDULED_ARGUMENT_BYTES_MAX} from '../../runtime/guest/limits.ts';
import type {FunctionScheduler} from '../../runtime/isolate/invocation-host.ts';
import {type Span, traceOfJob} from '../../runtime/log/span.ts';
import {SCHEDULED_ARGUMENTS_BYTES_MAX, SCHEDULED_JOBS_PER_MUTATION_MAX} from '../limits.ts';

/** An invalid scheduling call. User code can catch the message. */
export class ScheduleRefused extends ServiceError {
  constructor(message: string) {
    super('op.invalid_input', message);
  }
}

export type ScheduleRequest = {path: string; args: unknown; delayMs?: number; runAtMs?: number};

/**
 * Converts a request into a job: its due time, and its canonical path and arguments.
 * @param nowMs base of a relative delay
 * @throws ScheduleRefused
 */
export function checkedJob(
  table: FunctionTable | null,
  {path, args, delayMs, runAtMs}: ScheduleRequest,
  nowMs: number,
): {path: string; args: string; runAtMs: number} {
  if (typeof path !== 'string') throw new ScheduleRefused('the function to schedule must be a reference or a path');
  const canonical = checkTarget(table, path);
  const at = runAtMs === undefined ? nowMs + checkDelay(delayMs) : checkTime(runAtMs);
  if (Math.abs(at - nowMs) > SCHEDULE_DISTANCE_MS_MAX) {
    throw new ScheduleRefused('functions can be scheduled at most 5 years from now, in the future or the past');
  }
  let text: string;
  try {
    ({text} = checkedWireText(args ?? {}, 'the arguments'));
  } catch (caught) {
    if (!(caught instanceof ValueError)) throw caught;
    throw new ScheduleRefused(caught.message);
  }
  if (!text.startsWith('{')) throw new ScheduleRefused("Expected to receive an object as the function's argument");
  if (text.length > SCHEDULED_ARGUMENT_BYTES_MAX) {
    throw new ScheduleRefused(`Arguments for ${shownPath(canonical)} are too large (maximum 4 MiB when scheduled)`);
  }
  return {path: canonical, args: text, runAtMs: at};
}

function checkTarget(table: FunctionTable | null, path: string): string {
  const canonical = canonicalPath(path);
  const entry = table?.byPath.get(canonical);
  if (entry !== undefined) {
    if (entry.kind === 'mutation') return canonical;
    throw new ScheduleRefused(`Only mutations can be scheduled; ${shownPath(canonical)} is not one`);
  }
  const colon = canonical.lastIndexOf(':');
  const module = canonical.slice(0, colon);
  const isModule = [...(table?.byPath.keys() ?? [])].some(known => known.startsWith(`${module}:`));
  throw new ScheduleRefused(
    isModule
      ? `Attempted to schedule ${shownPath(canonical)}, but no exported function ${canonical.slice(colon + 1)} found in the file`
      : `Attempted to schedule function at nonexistent path: ${shownPath(canonical)}`,
  );
}

function checkDelay(delayMs: unknown): number {
  if (typeof delayMs !== 'number') throw new ScheduleRefused('delayMs must be a number');
  if (!Number.isFinite(delayMs)) throw new ScheduleRefused('delayMs must be a finite number');
  if (delayMs < 0) throw new ScheduleRefused('delayMs must be non-negative');
  return delayMs;
}

function checkTime(runAtMs: unknown): number {
  if (typeof runAtMs !== 'number' || !Number.isFinite(runAtMs)) {
    throw new ScheduleRefused('The invoke time must be a Date or a timestamp');
  }
  return runAtMs;
}

/** Cancels a pending job; no effect on one that is not pending. @throws ScheduleRefused for an invalid job id */
export function cancelFunctionJob(writer: Writer, id: string): void {
  if (decodeId(id)?.tableNumber !== 0) throw new ScheduleRefused("Invalid argument 'id' for 'cancel': not a job id");
  removeJob(writer, id);
}

export class MutationScheduler implements FunctionScheduler {
  readonly #writer: Writer;
  readonly #table: () => FunctionTable | null;
  /** The job that the current mutation is the run of; null: it was called directly. */
  #job: string | null = null;
  #span: Span | null = null;
  #jobs = 0;
  #argumentChars = 0;

  constructor(writer: Writer, table: () => FunctionTable | null) {
    this.#writer = writer;
    this.#table = table;
  }

  /** @param span of the mutation */
  begin(job: string | null, span: Span): void {
    this.#job = job;
    this.#span = span;
    this.#jobs = 0;
    this.#argumentChars = 0;
  }

  schedule(parameters: string, nowMs: number): string {
    return answered(() => {
      if (++this.#jobs > SCHEDULED_JOBS_PER_MUTATION_MAX) {
        throw new ScheduleRefused(
          `Too many functions scheduled by this mutation (limit: ${SCHEDULED_JOBS_PER_MUTATION_MAX})`,
        );
      }
      const job = checkedJob(this.#table(), realmRequest(parameters), nowMs);
      this.#argumentChars += job.args.length;
      if (this.#argumentChars > SCHEDULED_ARGUMENTS_BYTES_MAX) {
        throw new ScheduleRefused('Too large total size of the arguments of scheduled functions (limit: 16 MiB)');
      }
      return insertFunctionJob(this.#writer, nowMs, job, traceOfJob(this.#span!));
    });
  }

  cancel(jobId: string): string {
    return answered(() => {
      if (jobId === this.#job) throw new ScheduleRefused('A mutation cannot cancel itself');
      cancelFunctionJob(this.#writer, jobId);
      return '';
    });
  }
}

/** Parses a realm's request: JSON, with the arguments as wire text inside. */
export function realmRequest(parameters: string): ScheduleRequest {
  const request = JSON.parse(parameters) as Partial<ScheduleRequest> | null;
  // User code may have tampered with the code that made this text.
  if (typeof request !== 'object' || request === null || typeof request.args !== 'string') {
    throw new ScheduleRefused('a call of the scheduler is not complete');
  }
  return {...request, path: request.path as string, args: JSON.parse(request.args)};
}

/** Wraps the outcome as a host answer. */
function answered(act: () => string): string {
  try {
    return `+${act()}`;
  } catch (caught) {
    if (!(caught instanceof ServiceError || caught instanceof SyntaxError)) throw caught;
    return `-${JSON.stringify({name: 'Error', message: caught.message})}`;
  }
}
