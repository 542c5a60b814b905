/**
 * The current state of the realm: the phase and the invocation, its time, and its source of randomness. The kernel
 * writes it; globals and contexts read it. One realm runs one invocation at a time.
 */

import {type HostCall, type HostOp, Observed} from './host-call.ts';
import {HOST_CALL_CHARS_MAX} from './limits.ts';
import {SeededRandom} from './seeded-random.ts';

export type Phase = 'import' | 'query' | 'mutation' | 'action' | 'idle';

export const state = {
  phase: 'idle' as Phase,
  /** The running invocation. A context stores the number it was made for and does not work in any other. */
  invocation: 0,
  /** Frozen time of queries and mutations; start of an action. Epoch milliseconds. */
  nowMs: 0,
  /** The deployment timestamp: the time while modules load, and always performance.timeOrigin. */
  deployMs: 0,
  /** The last value of performance.now(), in phases where it advances by itself. */
  performanceMs: 0,
  /** Whether the invocation read the time or drew random numbers: then its result is valid only for this moment. */
  observed: 0 as number,
  /** Source of numbers for Math.random and, outside actions, crypto. */
  seeded: new SeededRandom('0'.repeat(32)),
  host: (() => {
    throw new Error('the realm has not been opened');
  }) as HostCall,
  random: (): number => {
    state.observed |= Observed.random;
    return state.seeded.next();
  },
  randomBytes: (count: number): Uint8Array => {
    state.observed |= Observed.random;
    return state.seeded.bytes(count);
  },
};

/** Calls the host. @returns the text after `+` @throws an error of this realm for a `-` answer */
export function hostText(
  op: HostOp,
  a?: string | number,
  b?: string | number | Uint8Array,
  c?: string | number | Uint8Array,
  d?: Uint8Array,
): string {
  if (sizeOf(a) + sizeOf(b) + sizeOf(c) + sizeOf(d) > HOST_CALL_CHARS_MAX) {
    throw new RangeError('a value is too large for this call');
  }
  const answer = state.host(op, a, b, c, d);
  if (answer.charCodeAt(0) === PLUS) return answer.slice(1);
  throw hostError(answer);
}

/** Arguments are copied whole to the host, so anything larger than the host accepts is refused first. */
function sizeOf(argument: string | number | Uint8Array | undefined): number {
  return typeof argument === 'object' || typeof argument === 'string' ? argument.length : 0;
}

const PLUS = 0x2b;
const ERROR_TYPES: Readonly<Record<string, ErrorConstructor>> = {TypeError, RangeError, SyntaxError};
const parseJson = JSON.parse;

/** Creates the error for a `-` answer. */
export function hostError(answer: string): Error {
  const {name, message} = parseJson(answer.slice(1)) as {name: string; message: string};
  const Type = ERROR_TYPES[name] ?? Error;
  const error = new Type(message);
  if (error.name !== name) Object.defineProperty(error, 'name', {value: name, configurable: true, writable: true});
  return error;
}
