/**
 * Chooses what has to be read for a moment: a base and the page sets after it.
 *
 *   base 0..40 ── 41..50 ── 51..60 ── 61..61        sets can overlap after a compaction: 41..60
 *
 * Every item leads from a state (a commit and its digest) to another. The planner finds the states that can be reached,
 * and for each the cheapest way: by the bytes that a restore reads, and the requests that it makes. The digest keeps two
 * histories of equal commit numbers apart.
 */
import type {BackupGap} from '../../shared/protocol/backups.ts';
import {GAP_OBJECTS_MAX, REQUEST_COST_BYTES} from '../limits.ts';
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
  /** Null: it is the newest state for the target that was stored. */
  readonly gap: BackupGap | null;
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
  const reached = reachedFor(copies, target, timeline);
  if (reached !== null) return {...wayTo(reached), gap: gapAfter(reached.item, copies, target, timeline)};
  const lost = copies.unreadable.length === 0 ? '' : `; unreadable objects: ${objectsText(copies.unreadable)}`;
  throw new RepositoryError(
    'no_copies',
    `there is no copy of ${copies.tenant} at or before ${described(target)}${lost}`,
  );
}

/** Why the newest state of a tenant may be older than the newest that was stored. Null: it is not. */
export function gapIn(copies: TenantCopies, timeline?: string): BackupGap | null {
  return gapAfter(reachedFor(copies, 'newest', timeline)?.item ?? null, copies, 'newest', timeline);
}

function reachedFor(copies: TenantCopies, target: Target, timeline: string | undefined): Reached | null {
  for (const one of candidates(copies, target, timeline)) {
    const reached = reachable(one).findLast(({item}) => isWithin(item, target));
    if (reached !== undefined) return reached;
  }
  return null;
}

/** Those that the tenant had then, the newest first. */
function candidates(
  {timelines}: TenantCopies,
  target: Target,
  timeline: string | undefined,
): readonly TimelineCopies[] {
  const all = timelines.filter(one => timeline === undefined || one.timeline === timeline);
  const started = all.filter(({startedMs}) => !isAfter(startedMs, target)).reverse();
  // A tenant's first base has commits from before it was stored.
  return [...started, ...all.slice(0, 1)];
}

/** @param end the state that can be reached; null: none */
function gapAfter(
  end: CopyItem | null,
  copies: TenantCopies,
  target: Target,
  timeline: string | undefined,
): BackupGap | null {
  const {unreadable} = copies;
  const newest = newestListed(candidates(copies, target, timeline), target);
  const isReached = newest === null || (end !== null && newest.of.has(end) && newest.item.last <= end.last);
  if (isReached && unreadable.length === 0) return null;
  const objects = unreadable.length === 0 ? '' : `missing or damaged: ${objectsText(unreadable)}`;
  const reached = end === null ? 'nothing can be restored' : `only commit ${end.last} can be restored`;
  const shown = unreadable.slice(0, GAP_OBJECTS_MAX);
  if (isReached) {
    const finding = `newer commits can be missing, because objects of the repository are ${objects}`;
    return {finding, unreadable: shown, newest: null};
  }
  const {timeline: its, last: commit} = newest.item;
  const why = objects === '' ? 'a page set before it is missing' : objects;
  const finding = `${reached}, and commit ${commit} of timeline ${its} was stored; ${why}`;
  return {finding, unreadable: shown, newest: {timeline: its, commit}};
}

/** `of`: all items of its timeline. */
function newestListed(
  timelines: readonly TimelineCopies[],
  target: Target,
): {item: CopyItem; of: ReadonlySet<CopyItem>} | null {
  for (const {bases, sets} of timelines) {
    const ends = [bases, sets].flatMap(list => list.findLast(item => isWithin(item, target)) ?? []);
    if (ends.length === 0) continue;
    return {item: ends.reduce((a, b) => (b.last > a.last ? b : a)), of: new Set([...bases, ...sets])};
  }
  return null;
}

function objectsText(objects: readonly string[]): string {
  const more = objects.length - GAP_OBJECTS_MAX;
  return `${objects.slice(0, GAP_OBJECTS_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
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

function wayTo(reached: Reached): Omit<Plan, 'gap'> {
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
