/** Refuses calls that a phase of a realm does not allow. The errors are ordinary: nothing was sent or started. */
import {state} from '../state.ts';

/** @param call as users know it, `fetch()` @param end of the sentence: the two kinds of message differ in it */
export function requireAction(name: string, call: string, end: '' | '.'): void {
  if (state.phase === 'action') return;
  if (state.phase === 'query' || state.phase === 'mutation') {
    throw new Error(`Can't use ${call} in queries and mutations. Please consider using an action${end}`);
  }
  throw new Error(`${name} unsupported at import time`);
}
