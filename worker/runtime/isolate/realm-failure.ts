/** Classifies the errors that isolated-vm throws when an entry into an isolate did not return. */

import {storageFailure} from '../../../engine/storage/database.ts';
import {AssertionError} from '../../../shared/assert.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {RealmError} from '../guest/host-call.ts';

const TIMED_OUT = 'Script execution timed out.';

export function isTimeOut(caught: unknown): boolean {
  return caught instanceof Error && caught.message === TIMED_OUT;
}

/** Same error as isolated-vm's, for time that runs out between two entries. */
export function timeOut(): Error {
  return new Error(TIMED_OUT);
}

export function isOutOfMemory(caught: unknown): boolean {
  return caught instanceof Error && /^Isolate (was|is) (already )?disposed/.test(caught.message);
}

/** An error thrown by user code, at load or in an unhandled rejection. @throws internal errors, damage included */
export function failureOf(caught: unknown): RealmError {
  if (caught instanceof AssertionError || caught instanceof ServiceError || storageFailure(caught) !== null)
    throw caught;
  if (!(caught instanceof Error)) return {name: '', message: String(caught), stack: null};
  const {name, message, stack = ''} = caught;
  // The frames below the boundary are ours.
  return {name, message, stack: stack.split('\n    at (<isolated-vm boundary>)')[0]!};
}
