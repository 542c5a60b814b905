/**
 * Makes a tenant's file from a repository: the newest base at or before the target, and the sets after it. The bytes of
 * each are compared with their SHA-256, and the finished file with the digest of all its pages.
 *
 * Everything is made in a scratch directory beside the file, which gets its name in the last step. A process that ends
 * before leaves the scratch directory, and the next run for the same file removes it.
 */
import {closeSync, existsSync, openSync, renameSync, rmSync} from 'node:fs';
import {mkdir, rm} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {sourceOfFile} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {NewCopy} from '../../engine/copies/new-copy.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {spaceFinding} from '../../shared/free-space.ts';
import type {BackupGap} from '../../shared/protocol/backups.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {RESTORE_AHEAD_BYTES} from '../limits.ts';
import {type Plan, plan, pointsOf, type Target} from '../repository/plan.ts';
import {type CopyItem, type Item, positionAfter, type TenantCopies} from '../repository/tenant-copies.ts';
import {fetched} from './fetched.ts';
import {RestoreError} from './restore-error.ts';

/** The part of a repository that restores use. */
export type CopiesReader = {
  copies(tenant: string): Promise<TenantCopies>;
  /** Leaves a page set, or a package, in a new file. */
  fetch(tenant: string, item: Item, path: string): Promise<void>;
};

export type RestoreOptions = {
  repository: CopiesReader;
  tenant: string;
  target: Target;
  /** Only this one; undefined: the one that the tenant had then. */
  timeline?: string | undefined;
  /** Appears when the file is complete. Its directory exists. */
  path: string;
  /** False: it is removed soon, so nothing waits until it is on the disk. */
  isKept: boolean;
  onProgress?: (progress: RestoreProgress) => void;
};

/** `bytes`: of the copies that were read so far. */
export type RestoreProgress = {sets: number; setsTotal: number; bytes: number; bytesTotal: number};

export type Restored = Position & {
  /** A base and page sets. */
  sets: number;
  bytes: number;
  /** The point after it, if there is one: the target can lie between them. */
  next: CopyItem | null;
  /** Null: it is the newest state for the target that was stored. */
  gap: BackupGap | null;
};

/** @throws RestoreError; RepositoryError; StoreError. There is no file at `path` then, and no scratch directory. */
export async function restoreFile(options: RestoreOptions): Promise<Restored> {
  const {repository, tenant, target, timeline, path, isKept} = options;
  const scratch = scratchOf(path);
  await rm(scratch, {recursive: true, force: true});
  if (existsSync(path)) throw new RestoreError('exists', `${path} exists: a restore replaces no file`);
  const copies = await repository.copies(tenant);
  const chosen = plan(copies, target, timeline);
  checkSpace(chosen, dirname(path));
  await mkdir(scratch, {mode: 0o700});
  try {
    const file = join(scratch, 'copy');
    const made = await makeCopy(options, chosen, file, scratch);
    renameSync(file, path);
    if (isKept) await syncDirectory(dirname(path));
    return {...made, next: pointAfter(copies, chosen.end), gap: chosen.gap};
  } finally {
    await rm(scratch, {recursive: true, force: true});
  }
}

/** The file can be larger on its way to the end, and page sets are on the disk ahead. @throws RestoreError */
function checkSpace({base, sets, end}: Plan, directory: string): void {
  const ahead = [base, ...sets].reduce((sum, {bytes}) => sum + bytes, 0);
  const most = [base, ...sets].reduce((largest, {bytes}) => Math.max(largest, bytes), RESTORE_AHEAD_BYTES);
  const pages = [base, ...sets].reduce((largest, item) => Math.max(largest, item.pages), 0);
  const finding = spaceFinding(directory, pages * end.pageBytes + Math.min(ahead, most));
  if (finding !== null) throw noSpace(directory, finding);
}

function noSpace(directory: string, finding: string, cause?: unknown): RestoreError {
  return new RestoreError('no_space', `the tenant cannot be restored in ${directory}: ${finding}`, {cause});
}

/** Where a restore to this path works, and a killed one has left files. */
export function scratchOf(path: string): string {
  return `${path}.restoring`;
}

function pointAfter({timelines}: TenantCopies, end: CopyItem): CopyItem | null {
  for (const points of timelines.map(pointsOf)) {
    const at = points.findIndex(({last, digestAfter}) => last === end.last && digestAfter === end.digestAfter);
    if (at !== -1) return points[at + 1] ?? null;
  }
  return null;
}

async function makeCopy(
  {repository, tenant, path, isKept, onProgress}: RestoreOptions,
  {base, sets}: Plan,
  file: string,
  scratch: string,
): Promise<Omit<Restored, 'next' | 'gap'>> {
  const items = [base, ...sets];
  const bytesTotal = items.reduce((sum, {bytes}) => sum + bytes, 0);
  const fetch = (item: CopyItem, to: string) => repository.fetch(tenant, item, to);
  const copy = new NewCopy(file);
  let [done, bytes] = [0, 0];
  try {
    for await (const {item, path: at} of fetched(items, fetch, scratch)) {
      await withSet(item, at, set => copy.apply(set));
      bytes += item.bytes;
      onProgress?.({sets: ++done, setsTotal: items.length, bytes, bytesTotal});
    }
    await copy.finish(isKept);
    return {...copy.position, sets: done, bytes};
  } catch (caught) {
    if (caught instanceof CopyError) throw new RestoreError('damaged', caught.message, {cause: caught});
    if (isNoSpace(caught)) throw noSpace(dirname(path), 'the disk is full', caught);
    throw caught;
  } finally {
    await copy.close();
  }
}

/** Calls `use` with the page set if it is the one that is listed, and removes its file. @throws RestoreError */
export async function withSet(
  item: CopyItem,
  path: string,
  use: (set: PageSet) => void | Promise<void>,
): Promise<void> {
  const fd = openSync(path, 'r');
  try {
    const set = new PageSet(sourceOfFile(fd));
    const fault = faultOf(item, set);
    if (fault !== null) throw damaged(item, fault);
    await use(set);
  } catch (caught) {
    if (!(caught instanceof PageSetError)) throw caught;
    throw damaged(item, caught.message, caught);
  } finally {
    closeSync(fd);
    rmSync(path);
  }
}

/** Whether the set is the one that the repository lists. */
function faultOf(item: CopyItem, {head, after}: PageSet): string | null {
  const shown = (first: number, {digest, ...rest}: Position) => ({first, ...rest, digest: digest.toString('hex')});
  const found = Object.entries(shown(head.first, after));
  const listed = new Map<string, unknown>(Object.entries(shown(item.first, positionAfter(item))));
  const wrong = found.find(([name, value]) => listed.get(name) !== value);
  return wrong === undefined
    ? null
    : `its ${wrong[0]} is ${wrong[1]}, and the repository lists ${listed.get(wrong[0])}`;
}

function damaged(item: CopyItem, detail: string, cause?: unknown): RestoreError {
  const {kind, first, last, place} = item;
  const what = kind === 'base' ? `the base at commit ${last}` : `commits ${first} to ${last}`;
  return new RestoreError('damaged', `${what} in ${place.pack}: ${detail}`, {object: place.pack, cause});
}
