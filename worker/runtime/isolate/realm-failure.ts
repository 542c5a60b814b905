/** What isolated-vm throws when an entry into an isolate did not return, told apart. */

import {storageFailure} from '../../../engine/storage/database.ts';
import {AssertionError} from '../../../shared/assert.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {RealmError} from '../guest/host-call.ts';

const TIMED_OUT = 'Script execution timed out.';

export function isTimeOut(caught: unknown): boolean {
  return caught instanceof Error && caught.message === TIMED_OUT;
}

/** As isolated-vm's, for a time that ends between two entries. */
export function timeOut(): Error {
  return new Error(TIMED_OUT);
}

export function isOutOfMemory(caught: unknown): boolean {
  return caught instanceof Error && /^Isolate (was|is) (already )?disposed/.test(caught.message);
}

/** A throw of user code, at load or in a promise nobody handled. @throws what is an error of ours, damage included */
export function failureOf(caught: unknown): RealmError {
  if (caught instanceof AssertionError || caught instanceof ServiceError || storageFailure(caught) !== null)
    throw caught;
  if (!(caught instanceof Error)) return {name: '', message: String(caught), stack: null};
  const {name, message, stack = ''} = caught;
  // Below the boundary are frames of ours.
  return {name, message, stack: stack.split('\n    at (<isolated-vm boundary>)')[0]!};
}
