/**
 * Which points of a tenant stay, and what has to be stored for them. A point is a state to which it can be restored.
 *
 * Points become fewer as they grow old: of those within a minute, an hour or a day the last one stays. A policy of the
 * operator says how many of these stay; without one all do. What is not on the way to a point that stays is dropped, and
 * page sets between two points that stay are merged.
 */
import type {KeepPolicy} from '../../shared/ipc/copier.ts';
import {
  COMPACTION_BYTES_MAX,
  COMPACTION_SETS_MAX,
  THIN_TO_DAYS_MS,
  THIN_TO_HOURS_MS,
  THIN_TO_MINUTES_MS,
} from '../limits.ts';
import {type Reached, reachable} from './plan.ts';
import type {CopyItem, TimelineCopies} from './tenant-copies.ts';

export type Policy = KeepPolicy;

export type Tidied = {
  readonly dropped: CopyItem[];
  /** Page sets that follow one another, within the limits of a merge, and were not tried yet. */
  readonly runs: CopyItem[][];
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

/** Coarsest first. A period is thinned when all of it is old enough, so that it is done once. */
const THINNED: readonly [periodMs: number, ageMs: number][] = [
  [DAY_MS, THIN_TO_DAYS_MS],
  [HOUR_MS, THIN_TO_HOURS_MS],
  [MINUTE_MS, THIN_TO_MINUTES_MS],
];

const PERIODS: Record<Exclude<keyof Policy, 'last'>, (timeMs: number) => string> = {
  hourly: timeMs => `${Math.floor(timeMs / HOUR_MS)}`,
  daily: timeMs => `${Math.floor(timeMs / DAY_MS)}`,
  // The epoch began on a Thursday.
  weekly: timeMs => `${Math.floor((timeMs + 3 * DAY_MS) / WEEK_MS)}`,
  monthly: timeMs => new Date(timeMs).toISOString().slice(0, 7),
};

/** @param timelines of a tenant, in their order. @param policy null: no point ends */
export function tidied(timelines: readonly TimelineCopies[], policy: Policy | null, nowMs: number): Tidied {
  const reached = timelines.map(reachable);
  const thinned = reached.map(points => lastOfEach(points, ({item}) => thinnedPeriod(item.timeMs, nowMs)));
  const kept = policy === null ? new Set(thinned.flat()) : chosen(thinned, policy);
  // The newest state always stays.
  const newest = reached.at(-1)?.at(-1);
  if (newest !== undefined) kept.add(newest);
  const needed = new Set<Reached>();
  for (const point of kept)
    for (let at: Reached | null = point; at !== null && !needed.has(at); at = at.before) needed.add(at);
  const items = new Set([...needed].map(({item}) => item));
  return {
    dropped: timelines.flatMap(({bases, sets}) => [...bases, ...sets]).filter(item => !items.has(item)),
    runs: runsOf(needed, kept).flatMap(partsOf).filter(isUntried),
  };
}

/** Of a run: as much as one merge takes, and two sets at least, or a run of large ones would never be merged. */
function partsOf(run: readonly CopyItem[]): CopyItem[][] {
  const parts: CopyItem[][] = [];
  let [part, bytes] = [[] as CopyItem[], 0];
  for (const item of run) {
    const isFull = part.length >= COMPACTION_SETS_MAX || bytes + item.bytes > COMPACTION_BYTES_MAX;
    if (part.length > 1 && isFull) {
      parts.push(part);
      [part, bytes] = [[], 0];
    }
    part.push(item);
    bytes += item.bytes;
  }
  return part.length > 1 ? [...parts, part] : parts;
}

function isUntried(part: readonly CopyItem[]): boolean {
  return part.at(-1)!.apart?.includes(part[0]!.first) !== true;
}

function thinnedPeriod(timeMs: number, nowMs: number): string | null {
  for (const [periodMs, ageMs] of THINNED) {
    const period = Math.floor(timeMs / periodMs);
    if ((period + 1) * periodMs <= nowMs - ageMs) return `${periodMs} ${period}`;
  }
  return null;
}

/** @param periodOf null: it stays */
function lastOfEach(points: readonly Reached[], periodOf: (point: Reached) => string | null): Reached[] {
  const last = new Map<string | Reached, Reached>();
  for (const point of points) last.set(periodOf(point) ?? point, point);
  return [...last.values()];
}

function chosen(timelines: readonly Reached[][], policy: Policy): Set<Reached> {
  const all = timelines.flat().sort((a, b) => b.item.timeMs - a.item.timeMs);
  const kept = new Set(all.slice(0, policy.last ?? 0));
  for (const [name, periodOf] of Object.entries(PERIODS)) {
    const periods = [...new Set(all.map(({item}) => periodOf(item.timeMs)))];
    const allowed = new Set(periods.slice(0, policy[name as keyof Policy] ?? 0));
    for (const points of timelines) {
      for (const point of lastOfEach(points, ({item}) => periodOf(item.timeMs))) {
        if (allowed.has(periodOf(point.item.timeMs))) kept.add(point);
      }
    }
  }
  return kept;
}

/** Sets between two points that stay, where nothing else leads on from the states between. */
function runsOf(needed: ReadonlySet<Reached>, kept: ReadonlySet<Reached>): CopyItem[][] {
  const after = new Map<Reached, Reached[]>();
  for (const one of needed) {
    if (one.before !== null) after.set(one.before, [...(after.get(one.before) ?? []), one]);
  }
  const leadsOn = (one: Reached): Reached | null => {
    const next = after.get(one) ?? [];
    return kept.has(one) || next.length !== 1 ? null : next[0]!;
  };
  const runs: CopyItem[][] = [];
  for (const one of needed) {
    const isFirst = one.before !== null && (one.before.before === null || leadsOn(one.before) === null);
    if (!isFirst) continue;
    const run = [one.item];
    for (let next = leadsOn(one); next !== null; next = leadsOn(next)) run.push(next.item);
    if (run.length > 1) runs.push(run);
  }
  return runs;
}
