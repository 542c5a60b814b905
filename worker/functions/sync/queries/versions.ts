/** Versions (sequences of the journal) at which several answers are all valid. */
import type {DataVersion} from '../../../../shared/protocol/function-socket/server-message.ts';

export type Interval = {readonly from: number; readonly to: number};

/**
 * The newest version that lies in all intervals and is neither before `notBefore` nor after `now`.
 * @returns null: there is none
 */
export function commonVersion(intervals: Iterable<Interval>, notBefore: number, now: number): number | null {
  let from = notBefore;
  let to = now;
  for (const interval of intervals) {
    from = Math.max(from, interval.from);
    to = Math.min(to, interval.to);
  }
  return from <= to ? to : null;
}

/**
 * The version that a client has seen, in this timeline. 0: none. After a restore the file can be older than what its
 * clients have seen; they start over.
 */
export function versionSeen(seen: DataVersion | undefined, timeline: string, now: number): number {
  return seen?.timeline === timeline && seen.ts <= now ? seen.ts : 0;
}
