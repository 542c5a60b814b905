/** What a repository has of a tenant. Manifests and the indexes of packs have parts of it as JSON. */
import type {Position} from '../../engine/copies/page-set.ts';

/** The name under which the server's own files are stored. No tenant can have it. */
export const SERVER = '.server';

/** Where sealed bytes are. */
export type Place = {readonly pack: string; readonly at: number; readonly sealedBytes: number};

/** A page set in the repository. */
export type CopyItem = {
  readonly kind: 'base' | 'set';
  readonly timeline: string;
  /** Commit numbers; of a base `first` is 0. */
  readonly first: number;
  readonly last: number;
  /** Of the journal, and epoch milliseconds, after `last`. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly pageBytes: number;
  /** Of the database after `last`. */
  readonly pages: number;
  /** In hex. */
  readonly digestBefore: string;
  readonly digestAfter: string;
  /** Of the page-set file, with its SHA-256 in hex. */
  readonly bytes: number;
  readonly sha256: string;
  readonly place: Place;
  /** First commits of merges that end with this item, were tried, and were no cheaper than what they were made of. */
  readonly apart?: readonly number[];
};

/** A file other than a page set: a package of a deployment, or a part of the server's state. */
export type FileItem = {
  readonly kind: 'package' | 'state';
  readonly name: string;
  /** When it was stored. */
  readonly timeMs: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly place: Place;
};

export type Item = CopyItem | FileItem;

/** Where a restored file came from. */
export type Origin = {readonly timeline: string; readonly commit: number};

export type TimelineCopies = {
  readonly timeline: string;
  readonly origin: Origin | null;
  /** When its first base was stored: until then the timeline before it was the tenant's. */
  readonly startedMs: number;
  /** Both in the order of their last commits. */
  readonly bases: CopyItem[];
  readonly sets: CopyItem[];
};

export type TenantCopies = {
  readonly tenant: string;
  /** In the order in which they started; the last one is the tenant's now. */
  readonly timelines: TimelineCopies[];
  readonly files: FileItem[];
  /** Objects that are missing or damaged: what only they have is not listed. */
  readonly unreadable: string[];
};

export function isFile(item: Item): item is FileItem {
  return item.kind === 'package' || item.kind === 'state';
}

/** Where an item leads. */
export function positionAfter(item: CopyItem): Position {
  const {timeline, pageBytes, last, sequence, timeMs, pages, digestAfter} = item;
  return {timeline, pageBytes, commit: last, sequence, timeMs, pages, digest: Buffer.from(digestAfter, 'hex')};
}

/** How an item was stored. */
export type Stored = {
  readonly atMs: number;
  /** Of its timeline, if it is known. */
  readonly origin: Origin | null;
  /** Made of items that were in the repository, so it says nothing new. */
  readonly isMerged: boolean;
};

/** Adds an item that was stored. It replaces an equal one, which was stored again because it had failed. */
export function addItem(copies: Pick<TenantCopies, 'timelines' | 'files'>, item: Item, stored: Stored): void {
  if (isFile(item)) addFile(copies.files, item);
  else addPageSet(timelineFor(copies.timelines, item, stored), item);
}

function addPageSet(timeline: TimelineCopies, item: CopyItem): void {
  const list = item.kind === 'base' ? timeline.bases : timeline.sets;
  // Nearly always the last.
  let at = list.length;
  while (at > 0 && list[at - 1]!.last > item.last) at--;
  for (let i = at - 1; i >= 0 && list[i]!.last === item.last; i--) {
    if (list[i]!.first !== item.first || list[i]!.digestAfter !== item.digestAfter) continue;
    list[i] = item;
    return;
  }
  list.splice(at, 0, item);
}

/**
 * A base that leads back to a commit with other pages begins the timeline again: an old directory was copied back. The
 * commits from before stay as they are, and those that follow are the tenant's now.
 */
function timelineFor(timelines: TimelineCopies[], item: CopyItem, {atMs, origin, isMerged}: Stored): TimelineCopies {
  const known = timelines.filter(one => one.timeline === item.timeline);
  const latest = known.at(-1);
  const same = known.findLast(one => hasState(one, item));
  if (same !== undefined) return same;
  const isNew = latest === undefined || (item.kind === 'base' && !isMerged && item.last <= newestCommit(latest));
  if (!isNew) return latest;
  const made = {timeline: item.timeline, origin, startedMs: atMs, bases: [], sets: []};
  timelines.push(made);
  return made;
}

function hasState({bases, sets}: TimelineCopies, {last, digestAfter}: CopyItem): boolean {
  const isIn = (list: readonly CopyItem[]): boolean => {
    for (let i = list.length - 1; i >= 0 && list[i]!.last >= last; i--) {
      if (list[i]!.last === last && list[i]!.digestAfter === digestAfter) return true;
    }
    return false;
  };
  return isIn(bases) || isIn(sets);
}

function newestCommit({bases, sets}: TimelineCopies): number {
  return Math.max(bases.at(-1)?.last ?? 0, sets.at(-1)?.last ?? 0);
}

/** The newest of a name replaces the others. */
function addFile(files: FileItem[], item: FileItem): void {
  const at = files.findIndex(({kind, name}) => kind === item.kind && name === item.name);
  if (at === -1) files.push(item);
  else if (files[at]!.timeMs <= item.timeMs) files[at] = item;
}
