/** Outcomes of actions and their error messages, in either runtime. */

import type {Outcome} from '../execution.ts';
import {FUNCTION_RESULT_BYTES_MAX} from '../guest/limits.ts';

export const OUT_OF_MEMORY = 'JavaScript execution ran out of memory';
/** The message for user code when the service is at fault. (reference 5.1) */
export const UNAVAILABLE = "Your request couldn't be completed. Try again later.";

/** @param value wire text made by user code */
export function checkedResult(value: string): Outcome {
  if (value.length > FUNCTION_RESULT_BYTES_MAX) return failure('Function return value is too large');
  return {ok: true, value};
}

export function timedOut(what: 'duration' | 'CPU time', ms: number): string {
  return `Function execution timed out (maximum ${what}: ${ms / 1000}s)`;
}

export function failure(message: string): Outcome {
  return {ok: false, error: {name: 'Error', message, stack: null}};
}

/** @param operations whose answers will be lost; null: there are none */
export function unawaitedWarning(operations: readonly string[]): string | null {
  if (operations.length === 0) return null;
  const what = `${operations.length} unawaited operation${operations.length === 1 ? '' : 's'}`;
  return `[WARN] ${what}: [${operations.join(', ')}]. Async operations should be awaited or they might not run.`;
}
