/** Builds the result of an execution, for both runtimes of sandboxes. */
import {overloaded, type ServiceError} from '../../shared/errors.ts';
import type {ExecutionFault} from '../../shared/protocol/sandboxes.ts';
import type {RunFault} from '../runtime/actions/action-run.ts';
import {SANDBOX_VALUE_CHARS_MAX} from './limits.ts';
import type {ExecutionRequest, ExecutionResult} from './sandbox-message.ts';

/** A result without the measurements that are added to it. */
export type Came = OutcomeOf<ExecutionResult>;
type OutcomeOf<Result> = Result extends unknown ? Omit<Result, 'lines' | 'durationMs' | 'broken'> : never;

/** @param value wire text */
export function returned(value: string): Came {
  if (value.length <= SANDBOX_VALUE_CHARS_MAX) return {ok: true, value};
  return failed('threw', `the value is longer than ${SANDBOX_VALUE_CHARS_MAX} characters of JSON`);
}

export function cutOff(
  fault: RunFault,
  {timeoutMs, cpuMs}: Pick<ExecutionRequest, 'timeoutMs' | 'cpuMs'>,
  memoryMb: number,
): Came {
  switch (fault) {
    case 'duration':
      return failed('timed_out', `the code took longer than timeout_ms, ${timeoutMs} ms`);
    case 'cpu':
      return failed('timed_out', `the code computed for longer than the sandbox's cpu_ms, ${cpuMs} ms`);
    case 'memory':
      return failed('out_of_memory', `the code needed more than the sandbox's memory_mb, ${memoryMb} MiB`);
    case 'unfinished':
      return failed('unfinished', 'what the code awaits can never happen: nothing is under way that could wake it');
    case 'cancelled':
      return failed('ended', 'the sandbox was ended while the code ran');
  }
}

export function failed(reason: ExecutionFault, message: string): Came {
  return {ok: false, reason, name: 'Error', message, stack: null};
}

/** Why a sandbox cannot be used after its execution was cut off while computing. */
export function brokenBy(fault: RunFault | null, memoryMb: number): string {
  if (fault === 'cpu') return 'an execution computed for longer than cpu_ms and was cut off';
  if (fault === 'memory' || fault === null) return `its code needed more than its ${memoryMb} MiB of memory`;
  return 'an execution was cut off while its code ran';
}

/** Rounds milliseconds for responses. */
export function shownMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** Removes the stack frames of the code that calls the user's code. */
export function ownFrames(stack: string | null, others: RegExp): string | null {
  if (stack === null) return null;
  return stack
    .split('\n')
    .filter(line => !/^\s+at /.test(line) || !others.test(line))
    .join('\n');
}

/** 503: the process of a sandbox could not be started, or is gone. */
export function noSandbox(reason: string): ServiceError {
  return overloaded(`no sandbox could be made: ${reason}; try again shortly`);
}
