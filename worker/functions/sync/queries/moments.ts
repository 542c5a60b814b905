/** Moments, as sequences of the journal, in which several things are right at once. */
import type {DataVersion} from '../../../../shared/protocol/function-socket/server-message.ts';

export type Interval = {readonly from: number; readonly to: number};

/**
 * The newest moment that lies in all intervals and is neither before `notBefore` nor after `now`.
 * @returns null: there is none
 */
export function commonMoment(intervals: Iterable<Interval>, notBefore: number, now: number): number | null {
  let from = notBefore;
  let to = now;
  for (const interval of intervals) {
    from = Math.max(from, interval.from);
    to = Math.min(to, interval.to);
  }
  return from <= to ? to : null;
}

/** What a client has seen, in this history. 0: nothing. A file that was put back has less than its clients have seen: they begin again. */
export function momentSeen(seen: DataVersion | undefined, timeline: string, now: number): number {
  return seen?.timeline === timeline && seen.ts <= now ? seen.ts : 0;
}
