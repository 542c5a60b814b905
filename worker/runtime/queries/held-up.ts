/**
 * Decides whether a query blocks its thread: a pure step per poll. By wall clock alone, a busy machine would make every
 * function a slow one, and slow functions run one at a time, which makes it busier. So CPU time of the thread counts. A
 * query that waits for the disk uses no CPU time either, and gets more polls.
 */
import {QUERY_POLL_MS, QUERY_POLLS_FIRST, QUERY_POLLS_STARVED} from '../limits.ts';

/** The query that a thread runs, as seen by the polls since the first that found it. */
export type Running = {
  /** Its number in the batch; 0: none has been seen. */
  readonly begun: number;
  /** Number of polls that have found it since the first. */
  readonly polls: number;
  /** CPU time of the thread at the first poll; null: the system does not report it. */
  readonly cpuMs: number | null;
};

export const NOT_SEEN: Running = {begun: 0, polls: 0, cpuMs: null};

export function seen(before: Running, begun: number, cpuMs: number | null): Running {
  return begun === before.begun ? {...before, polls: before.polls + 1} : {begun, polls: 0, cpuMs};
}

/** @param isFirst it loads its module, @param cpuMs current CPU time of the thread */
export function holdsUp({polls, cpuMs: beforeMs}: Running, isFirst: boolean, cpuMs: number | null): boolean {
  const enough = isFirst ? QUERY_POLLS_FIRST : 1;
  if (polls < enough) return false;
  if (cpuMs === null || beforeMs === null || polls >= enough * QUERY_POLLS_STARVED) return true;
  return cpuMs - beforeMs >= (enough * QUERY_POLL_MS) / 2;
}
