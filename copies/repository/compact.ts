/**
 * Compaction: merges the page sets between two points that stay into one, and makes a new base when the sets since the
 * last one have grown, so that a restore reads a bounded number of bytes. One call does a bounded part of the work.
 *
 *   base ─ 1 s ─ 1 s ─ … ─ 1 s         base ─ 1 min ─ 1 min ─ …         base ───── 1 h ─────
 *
 * What was merged is stored and read back before a manifest drops what it was made of, and that stays in the store for
 * as long as a reader can be using it. A merge that is no cheaper than its parts, which can be differences to the pages
 * before, is not stored, and the manifest says that it was tried.
 */
import {closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {sourceOfFile, writeAll} from '../../engine/copies/bytes.ts';
import {mergePageSetsInTurns} from '../../engine/copies/merge.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {PAGE_SETS_MERGED_MAX} from '../../engine/limits.ts';
import {spaceFinding} from '../../shared/free-space.ts';
import {
  BASE_SETS_BYTES_LEAST,
  BASE_SETS_LEAST,
  BASE_SETS_MAX,
  COMPACTION_BYTES_MAX,
  COMPACTION_SETS_MAX,
  GRACE_MS,
  READS_AT_ONCE,
  SEGMENT_BYTES_MAX,
} from '../limits.ts';
import {inBatches} from '../store/batches.ts';
import type {Manifest} from './manifest.ts';
import type {LargeSegment, NewSegment} from './new-segment.ts';
import {isCheaper, type Plan, plan} from './plan.ts';
import type {RepositoryWriter} from './repository-writer.ts';
import {type Policy, tidied} from './retention.ts';
import type {CopyItem, TenantCopies} from './tenant-copies.ts';

export type CompactOptions = {
  /** A directory for files that are removed again. */
  readonly scratch: string;
  readonly policy: Policy | null;
  readonly nowMs: number;
};

export type Compacted = {
  /** Page sets that are one now. */
  readonly merged: number;
  readonly dropped: number;
  /** The commit of a base that was made. */
  readonly base: number | null;
};

/** @returns null: there is nothing to do. @throws RepositoryError; StoreError; PageSetError; errors of the file system */
export async function compact(
  writer: RepositoryWriter,
  tenant: string,
  options: CompactOptions,
): Promise<Compacted | null> {
  const copies = await writer.repository.copies(tenant);
  if (copies.unreadable.length > 0) return null; // Nothing is dropped while something is missing.
  const directory = mkdtempSync(join(options.scratch, 'compact-'));
  try {
    const tried: CopyItem[][] = [];
    const base = await makeBase(writer, copies, directory, tried);
    const {dropped, runs} = tidied(copies.timelines, options.policy, options.nowMs);
    const merged = base === null ? await mergeRuns(writer, tenant, withinLimits(runs), directory, tried) : 0;
    if (base === null && merged + tried.length + dropped.length === 0) return null;
    let gone = 0;
    await writer.changeManifest(tenant, manifest => {
      for (const items of tried) leaveApart(manifest, items);
      gone = drop(manifest, tidied(manifest.timelines, options.policy, options.nowMs).dropped, options.nowMs);
    });
    // What was merged and replaced nothing would be merged again and again.
    return base === null && gone + tried.length === 0 ? null : {merged, dropped: gone, base};
  } finally {
    rmSync(directory, {recursive: true, force: true});
  }
}

/** Notes in a manifest that a merge of these items is not worth storing. */
function leaveApart({timelines}: Manifest, items: readonly CopyItem[]): void {
  const {first, last, digestAfter} = items.at(-1)!;
  for (const {sets} of timelines) {
    const at = sets.findIndex(set => set.first === first && set.last === last && set.digestAfter === digestAfter);
    if (at !== -1) sets[at] = {...sets[at]!, apart: [...(sets[at]!.apart ?? []), items[0]!.first]};
  }
}

/** Removes items from a manifest. Their packs stay for a while. @returns the number of items */
function drop(manifest: Manifest, dropped: readonly CopyItem[], nowMs: number): number {
  const gone = new Set(dropped);
  for (const timeline of manifest.timelines) {
    for (const list of [timeline.bases, timeline.sets]) {
      list.splice(0, list.length, ...list.filter(item => !gone.has(item)));
    }
  }
  const retired = new Set(dropped.map(({place}) => place.pack));
  const fresh = manifest.retired.filter(({atMs}) => atMs > nowMs - GRACE_MS);
  manifest.retired.splice(0, manifest.retired.length, ...fresh, ...[...retired].map(pack => ({pack, atMs: nowMs})));
  return gone.size;
}

/** @param tried gets what was merged and is not worth storing. @returns the commit of the new base. Null: none was made */
async function makeBase(
  writer: RepositoryWriter,
  copies: TenantCopies,
  directory: string,
  tried: CopyItem[][],
): Promise<number | null> {
  const timeline = copies.timelines.at(-1);
  if (timeline === undefined || timeline.bases.length === 0) return null;
  const {base, sets} = plan(copies, 'newest');
  if (!isBaseDue(base, sets)) return null;
  const items = [base, ...sets.slice(0, BASE_SETS_MAX)];
  if (!hasSpace(directory, items)) return null;
  const path = await mergedFile(writer, copies.tenant, items, directory);
  if (!isCheaper(statSync(path).size, items)) {
    tried.push(items);
    rmSync(path);
    return null;
  }
  await writer.addLarge({tenant: copies.tenant, kind: 'base', path, isMerged: true});
  return items.at(-1)!.last;
}

function isBaseDue(base: CopyItem, sets: Plan['sets']): boolean {
  // One that was tried and not worth storing is tried again when as much has come after it.
  const since = sets.slice(sets.findLastIndex(({apart}) => apart?.includes(0) === true) + 1);
  const bytes = since.reduce((sum, set) => sum + set.bytes, 0);
  return since.length > BASE_SETS_LEAST && bytes > Math.max(base.bytes / 2, BASE_SETS_BYTES_LEAST);
}

/** For the items, and what is made of them in one round and the next. */
function hasSpace(directory: string, items: readonly CopyItem[]): boolean {
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  return spaceFinding(directory, 3 * bytes) === null;
}

/** @param runs each within the limits of a merge */
function withinLimits(runs: readonly CopyItem[][]): CopyItem[][] {
  let [sets, bytes] = [0, 0];
  const chosen: CopyItem[][] = [];
  for (const run of runs) {
    sets += run.length;
    bytes += run.reduce((sum, item) => sum + item.bytes, 0);
    if (chosen.length > 0 && (sets > COMPACTION_SETS_MAX || bytes > COMPACTION_BYTES_MAX)) break;
    chosen.push(run);
  }
  return chosen;
}

/** @param tried gets what was merged and is not worth storing. @returns the number of sets that were merged */
async function mergeRuns(
  writer: RepositoryWriter,
  tenant: string,
  runs: readonly CopyItem[][],
  directory: string,
  tried: CopyItem[][],
): Promise<number> {
  let segments: NewSegment[] = [];
  let [waiting, merged] = [0, 0];
  for (const run of runs) {
    if (!hasSpace(directory, run)) break;
    const path = await mergedFile(writer, tenant, run, directory);
    const of = {tenant, kind: 'set', isMerged: true} as const;
    const {size} = statSync(path);
    if (!isCheaper(size, run)) tried.push(run);
    else {
      if (size > SEGMENT_BYTES_MAX) await writer.addLarge({...of, path} satisfies LargeSegment);
      else {
        segments.push({...of, bytes: readFileSync(path)});
        waiting += size;
      }
      merged += run.length;
    }
    if (waiting > SEGMENT_BYTES_MAX) {
      await writer.addPack(segments);
      [segments, waiting] = [[], 0];
    }
    rmSync(path);
  }
  if (segments.length > 0) await writer.addPack(segments);
  return merged;
}

/** The items merged into one file, a limited number at a time. */
async function mergedFile(
  writer: RepositoryWriter,
  tenant: string,
  items: readonly CopyItem[],
  directory: string,
): Promise<string> {
  let paths: string[] = await inBatches(items, READS_AT_ONCE, async item => {
    const path = join(directory, `${item.first}-${item.last}.set`);
    await writer.repository.fetch(tenant, item, path);
    return path;
  });
  for (let round = 0; paths.length > 1; round++) {
    const next: string[] = [];
    for (let at = 0; at < paths.length; at += PAGE_SETS_MERGED_MAX) {
      const path = join(directory, `merged-${round}-${at}`);
      await mergeFiles(paths.slice(at, at + PAGE_SETS_MERGED_MAX), path);
      next.push(path);
    }
    paths = next;
  }
  return paths[0]!;
}

/** The files are removed. */
async function mergeFiles(paths: readonly string[], into: string): Promise<void> {
  const open = paths.map(path => openSync(path, 'r'));
  const fd = openSync(into, 'wx', 0o600);
  try {
    const sets = open.map(one => new PageSet(sourceOfFile(one)));
    await mergePageSetsInTurns(sets, {write: bytes => writeAll(fd, bytes, null)});
  } finally {
    for (const one of [...open, fd]) closeSync(one);
  }
  for (const path of paths) rmSync(path);
}
