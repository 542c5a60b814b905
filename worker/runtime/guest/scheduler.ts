/**
 * `ctx.scheduler` of mutations and actions: checks its arguments. The host checks whether the target exists and is a
 * mutation. Arguments are encoded at the call, so later changes to them have no effect.
 */

import {encodeArguments, functionPath} from './function-reference.ts';
import {SCHEDULE_DISTANCE_MS_MAX, SCHEDULED_ARGUMENT_BYTES_MAX} from './limits.ts';

/** @param parameters of `schedule` JSON of {path, args: wire text, delayMs | runAtMs}; of `cancel` the job id. */
export type SchedulerCall = (operation: 'schedule' | 'cancel', parameters: string) => Promise<string>;

export type Scheduler = {
  runAfter(delayMs: number, reference: unknown, args?: unknown): Promise<string>;
  runAt(when: number | Date, reference: unknown, args?: unknown): Promise<string>;
  cancel(jobId: string): Promise<null>;
};

export function schedulerFor(call: SchedulerCall): Scheduler {
  const schedule = (
    when: {delayMs: number} | {runAtMs: number},
    reference: unknown,
    args: unknown,
  ): Promise<string> => {
    const text = encodeArguments(args);
    if (text.length > SCHEDULED_ARGUMENT_BYTES_MAX) {
      throw new Error(
        `Arguments of a scheduled function are too large (maximum ${SCHEDULED_ARGUMENT_BYTES_MAX} bytes)`,
      );
    }
    return call('schedule', JSON.stringify({path: functionPath(reference), args: text, ...when}));
  };
  return {
    runAfter: async (delayMs, reference, args) => schedule({delayMs: checkDelay(delayMs)}, reference, args),
    runAt: async (when, reference, args) => schedule({runAtMs: checkTime(when)}, reference, args),
    cancel: async jobId => {
      await call('cancel', checkId(jobId));
      return null;
    },
  };
}

function checkDelay(delayMs: unknown): number {
  if (typeof delayMs !== 'number') throw new Error('`delayMs` must be a number');
  if (!Number.isFinite(delayMs)) throw new Error('`delayMs` must be a finite number');
  if (delayMs < 0) throw new Error('`delayMs` must be non-negative');
  checkDistance(delayMs);
  return delayMs;
}

function checkTime(when: unknown): number {
  const ms = when instanceof Date ? when.getTime() : when;
  if (typeof ms !== 'number' || !Number.isFinite(ms)) throw new Error('The invoke time must be a Date or a timestamp');
  checkDistance(ms - Date.now());
  return ms;
}

function checkDistance(ms: number): void {
  if (Math.abs(ms) <= SCHEDULE_DISTANCE_MS_MAX) return;
  throw new Error(`A function cannot be scheduled more than 5 years in the ${ms > 0 ? 'future' : 'past'}`);
}

function checkId(jobId: unknown): string {
  if (jobId === undefined) throw new TypeError("Must provide arg 1 'id' to 'cancel'");
  if (typeof jobId !== 'string') throw new Error("Invalid argument 'id' for 'scheduler.cancel': a job id is a string");
  return jobId;
}
