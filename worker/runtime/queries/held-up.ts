/**
 * Whether a query holds up its thread: a pure step a look. By the clock alone, a machine that is busy would make every function a slow one, and
 * slow ones run one at a time, which makes it busier. So what counts is that the thread has worked meanwhile; a query that waits for
 * the disk uses no processor either, and is given some looks more.
 */
import {QUERY_LOOK_MS, QUERY_LOOKS_FIRST, QUERY_LOOKS_STARVED} from '../limits.ts';

/** The query that a thread runs, as the looks since it was first seen found it. */
export type Running = {
  /** Which of its batch; 0: none has been seen. */
  readonly begun: number;
  /** How many looks have found it since the first. */
  readonly looks: number;
  /** CPU time of the thread at the first; null: the system does not tell. */
  readonly cpuMs: number | null;
};

export const NOT_SEEN: Running = {begun: 0, looks: 0, cpuMs: null};

export function seen(before: Running, begun: number, cpuMs: number | null): Running {
  return begun === before.begun ? {...before, looks: before.looks + 1} : {begun, looks: 0, cpuMs};
}

/** @param isFirst it loads its module, @param cpuMs of the thread by now */
export function holdsUp({looks, cpuMs: beforeMs}: Running, isFirst: boolean, cpuMs: number | null): boolean {
  const enough = isFirst ? QUERY_LOOKS_FIRST : 1;
  if (looks < enough) return false;
  if (cpuMs === null || beforeMs === null || looks >= enough * QUERY_LOOKS_STARVED) return true;
  return cpuMs - beforeMs >= (enough * QUERY_LOOK_MS) / 2;
}
