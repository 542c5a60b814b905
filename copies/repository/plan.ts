/**
 * Chooses what has to be read for a moment: a base and the page sets after it.
 *
 *   base 0..40 ── 41..50 ── 51..60 ── 61..61        sets can overlap after a compaction: 41..60
 *
 * Every item leads from a state (a commit and its digest) to another. The planner finds the states that can be reached,
 * and for each the cheapest way: by the bytes that a restore reads, and the requests that it makes. The digest keeps two
 * histories of equal commit numbers apart.
 */
import {REQUEST_COST_BYTES} from '../limits.ts';
import {RepositoryError} from './repository-error.ts';
import type {CopyItem, TenantCopies, TimelineCopies} from './tenant-copies.ts';

/** The newest state at or before it. */
export type Target = 'newest' | {readonly timeMs: number} | {readonly sequence: number} | {readonly commit: number};

export type Plan = {
  readonly timeline: string;
  readonly base: CopyItem;
  readonly sets: readonly CopyItem[];
  /** The last of them: the state that it leads to. */
  readonly end: CopyItem;
};

/** A state, by the cheapest way to it. */
export type Reached = {readonly item: CopyItem; readonly before: Reached | null; readonly cost: number};

/** Whether one item of so many bytes is a cheaper way than these: only then does the planner choose it. */
export function isCheaper(bytes: number, than: readonly CopyItem[]): boolean {
  return costOf({bytes}) < than.reduce((sum, item) => sum + costOf(item), 0);
}

function costOf({bytes}: Pick<CopyItem, 'bytes'>): number {
  return bytes + REQUEST_COST_BYTES;
}

/** @param timeline only this one. @throws RepositoryError `no_copies` */
export function plan(copies: TenantCopies, target: Target, timeline?: string): Plan {
  const candidates = copies.timelines.filter(one => timeline === undefined || one.timeline === timeline);
  for (const one of candidates.filter(({startedMs}) => !isAfter(startedMs, target)).reverse()) {
    const reached = newestOf(reachable(one).filter(({item}) => isWithin(item, target)));
    if (reached !== null) return planOf(reached);
  }
  // A tenant's first base has commits from before it was stored.
  const first = candidates[0];
  const reached = first === undefined ? null : newestOf(reachable(first).filter(({item}) => isWithin(item, target)));
  if (reached !== null) return planOf(reached);
  const lost = copies.unreadable.length === 0 ? '' : `; unreadable objects: ${copies.unreadable.join(', ')}`;
  throw new RepositoryError(
    'no_copies',
    `there is no copy of ${copies.tenant} at or before ${described(target)}${lost}`,
  );
}

/** The states to which the tenant can be restored, in the order of their commits. */
export function pointsOf(timeline: TimelineCopies): CopyItem[] {
  return reachable(timeline).map(({item}) => item);
}

function isAfter(startedMs: number, target: Target): boolean {
  return target !== 'newest' && 'timeMs' in target && startedMs > target.timeMs;
}

function isWithin(item: CopyItem, target: Target): boolean {
  if (target === 'newest') return true;
  if ('timeMs' in target) return item.timeMs <= target.timeMs;
  return 'sequence' in target ? item.sequence <= target.sequence : item.last <= target.commit;
}

function stateOf(commit: number, digest: string): string {
  return `${commit} ${digest}`;
}

/** In the order of their commits. */
export function reachable({bases, sets}: TimelineCopies): Reached[] {
  const states = new Map<string, Reached>();
  const reach = (item: CopyItem, before: Reached | null): void => {
    const cost = (before?.cost ?? 0) + costOf(item);
    const key = stateOf(item.last, item.digestAfter);
    const known = states.get(key);
    if (known === undefined || known.cost > cost) states.set(key, {item, before, cost});
  };
  for (const base of bases) reach(base, null);
  // A set leads to a higher commit, so by its first commit every state before it is known.
  for (const set of [...sets].sort((a, b) => a.first - b.first)) {
    const before = states.get(stateOf(set.first - 1, set.digestBefore));
    if (before !== undefined) reach(set, before);
  }
  return [...states.values()].sort((a, b) => a.item.last - b.item.last);
}

function newestOf(reached: readonly Reached[]): Reached | null {
  return reached.at(-1) ?? null;
}

function planOf(reached: Reached): Plan {
  const items: CopyItem[] = [];
  for (let at: Reached | null = reached; at !== null; at = at.before) items.unshift(at.item);
  const [base, ...sets] = items;
  return {timeline: reached.item.timeline, base: base!, sets, end: reached.item};
}

function described(target: Target): string {
  if (target === 'newest') return 'any moment';
  if ('timeMs' in target) return new Date(target.timeMs).toISOString();
  return 'sequence' in target ? `sequence ${target.sequence}` : `commit ${target.commit}`;
}
