/** Describes an error of user code for the host. */

import type {RealmError} from './host-call.ts';
import {ERROR_MESSAGE_CHARS_MAX, ERROR_NAME_CHARS_MAX, ERROR_STACK_CHARS_MAX} from './limits.ts';
import {cut} from './primordials.ts';

const stringify = JSON.stringify;

/** The thrown value can be anything, and reading it can throw. */
export function describeThrown(thrown: unknown): RealmError {
  try {
    if (thrown instanceof Error) {
      const {name, message, stack} = thrown;
      return {
        name: cut(`${name}`, ERROR_NAME_CHARS_MAX),
        message: cut(`${message}`, ERROR_MESSAGE_CHARS_MAX),
        stack: typeof stack === 'string' ? cut(stack, ERROR_STACK_CHARS_MAX) : null,
      };
    }
    const text = typeof thrown === 'object' ? stringify(thrown) : `${String(thrown)}`;
    return {name: '', message: cut(text, ERROR_MESSAGE_CHARS_MAX), stack: null};
  } catch {
    return {name: '', message: 'a value that cannot be shown', stack: null};
  }
}
