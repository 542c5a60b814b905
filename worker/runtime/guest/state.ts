/**
 * What the realm is doing right now: which phase of which invocation, what time it is there, and where randomness comes
 * from. The kernel writes it; globals and contexts read it. One realm runs one invocation at a time.
 */

import {type HostCall, type HostOp, Observed} from './host-call.ts';
import {HOST_CALL_CHARS_MAX} from './limits.ts';
import {SeededRandom} from './seeded-random.ts';

export type Phase = 'import' | 'query' | 'mutation' | 'action' | 'idle';

export const state = {
  phase: 'idle' as Phase,
  /** The invocation under way; a context keeps the number it was made for and is dead in any other. */
  invocation: 0,
  /** Frozen time of queries and mutations; the start of an action. Epoch milliseconds. */
  nowMs: 0,
  /** The deployment timestamp: the time while modules load, and performance.timeOrigin always. */
  deployMs: 0,
  /** What performance.now() has given out so far, in phases where it counts up by itself. */
  performanceMs: 0,
  /** Whether the invocation has looked at the time, and drawn random numbers: its result is of this moment then. */
  observed: 0 as number,
  /** Where Math.random and, outside actions, crypto take their numbers from. */
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

/** Arguments are copied to the host whole: what is larger than anything it takes is refused before. */
function sizeOf(argument: string | number | Uint8Array | undefined): number {
  return typeof argument === 'object' || typeof argument === 'string' ? argument.length : 0;
}

const PLUS = 0x2b;
const ERROR_TYPES: Readonly<Record<string, ErrorConstructor>> = {TypeError, RangeError, SyntaxError};
const parseJson = JSON.parse;

/** The error a `-` answer stands for. */
export function hostError(answer: string): Error {
  const {name, message} = parseJson(answer.slice(1)) as {name: string; message: string};
  const Type = ERROR_TYPES[name] ?? Error;
  const error = new Type(message);
  if (error.name !== name) Object.defineProperty(error, 'name', {value: name, configurable: true, writable: true});
  return error;
}
