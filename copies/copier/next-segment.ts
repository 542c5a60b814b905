/**
 * What goes into the repository next of a spool, which is input from outside: sizes are compared with limits before
 * anything is read, and the pages of a merge before it begins.
 *
 *   sets that follow one another ─▶ merged, up to the bytes of one turn
 *   one whose pages have more    ─▶ as it is
 *   one too large for a pack, and a base ─▶ streamed from its file
 */
import {closeSync, lstatSync} from 'node:fs';
import {join} from 'node:path';
import {MemorySink, readAt} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {mergePageSetsInTurns} from '../../engine/copies/merge.ts';
import {checkFollows, type PageSetHead, type Position} from '../../engine/copies/page-set.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {type OpenSet, type SpooledFile, SpoolView, type UnreadSet} from '../../engine/copies/spool-view.ts';
import {PAGE_SETS_MERGED_MAX} from '../../engine/limits.ts';
import type {CopierSettings} from '../../shared/ipc/copier.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {SEGMENT_BYTES_MAX} from '../limits.ts';
import {BASE_BYTES_LEAST, TENANT_TURN_BYTES, TENANT_TURN_RAW_BYTES} from './limits.ts';
import type {Work} from './tenant-copy.ts';

/** The unit of `blocks` of a file's status. */
const BLOCK_BYTES = 512;

/** `rawBytes`: of its pages. `after`: where the repository is then. */
export type NextSegment = {bytes: Buffer; rawBytes: number; after: Position};

export type SizeLimits = Pick<CopierSettings, 'spoolBytesMax' | 'tenantBytesMax'>;

/** This file cannot be used. The message says why. */
export class Unusable extends Error {
  override name = 'Unusable';
  readonly file: SpooledFile;
  readonly code: string;

  constructor(file: SpooledFile, cause: CopyError | PageSetError) {
    super(`${file.name}: ${cause.message}`, {cause});
    this.file = file;
    this.code = cause instanceof PageSetError ? cause.code : 'damaged';
  }
}

/** The file that is next, if it is streamed. Null: what is next fits into a pack, or nothing is. */
export function largeFile(work: Work): SpooledFile | null {
  if (work.kind === 'base') return work.file;
  const first = work.kind === 'sets' ? work.files[0]! : null;
  return first !== null && first.bytes > SEGMENT_BYTES_MAX ? first : null;
}

/** Opens it; the caller closes it. @returns null: it is gone. @throws Unusable: it is too large, or does not follow */
export function openLarge(
  directory: string,
  position: Position | null,
  file: SpooledFile,
  limits: SizeLimits,
): UnreadSet | null {
  return viewed(directory, view =>
    usable(file, () => {
      const isBase = file.last === null;
      const open = view.openUnread(file, isBase ? baseBytesMax(directory, limits) : limits.spoolBytesMax);
      return isBase ? open : following(position!, open, open?.head);
    }),
  );
}

/** @throws PageSetError: it does not begin at the position, and is closed */
function following<Open extends {fd: number}>(at: Position, open: Open | null, head?: PageSetHead): Open | null {
  try {
    if (head !== undefined) checkFollows(at, head);
    return open;
  } catch (caught) {
    closeSync(open!.fd);
    throw caught;
  }
}

/** @param files sets in order, of which the first is not large. @returns null: they are gone. @throws Unusable */
export async function nextSegment(
  directory: string,
  position: Position,
  files: readonly SpooledFile[],
): Promise<NextSegment | null> {
  const open = viewed(directory, view => openedInOrder(view, position, files)) ?? [];
  const [first] = open;
  if (first === undefined) return null;
  try {
    const rawBytes = open.reduce((sum, {set}) => sum + set.rawBytes, 0);
    const {after} = open.at(-1)!.set;
    if (rawBytes > TENANT_TURN_RAW_BYTES)
      return {bytes: readAt(first.fd, 0, first.bytes), rawBytes: first.bytes, after};
    const sink = new MemorySink();
    await mergePageSetsInTurns(
      open.map(({set}) => set),
      sink,
    );
    return {bytes: sink.bytes, rawBytes, after};
  } catch (caught) {
    // A set whose SHA-256 matches can still break a rule of the format: any of them, so all are given up.
    throw caught instanceof PageSetError ? new Unusable(files[0]!, caught) : caught;
  } finally {
    for (const file of open) file.close();
  }
}

/** As many as one turn merges. One whose pages alone have more is not merged. */
function openedInOrder(view: SpoolView, position: Position, files: readonly SpooledFile[]): OpenSet[] {
  const open: OpenSet[] = [];
  let [at, bytes, rawBytes] = [position, 0, 0];
  try {
    for (const file of files) {
      if (open.length > 0 && (bytes + file.bytes > TENANT_TURN_BYTES || open.length === PAGE_SETS_MERGED_MAX)) break;
      const next = openedAfter(view, at, file, open.length === 0);
      if (next === null) break;
      if (open.length > 0 && rawBytes + next.set.rawBytes > TENANT_TURN_RAW_BYTES) {
        next.close();
        break;
      }
      open.push(next);
      at = next.set.after;
      bytes += next.bytes;
      rawBytes += next.set.rawBytes;
    }
    return open;
  } catch (caught) {
    for (const one of open) one.close();
    throw caught;
  }
}

/** Null: it is gone, or it is not the first and does not follow: it is judged once it is the first. */
function openedAfter(view: SpoolView, at: Position, file: SpooledFile, isFirst: boolean): OpenSet | null {
  try {
    return usable(file, () => {
      const open = view.open(file, SEGMENT_BYTES_MAX);
      return following(at, open, open?.set.head);
    });
  } catch (caught) {
    if (isFirst || !(caught instanceof Unusable)) throw caught;
    return null;
  }
}

/** A base has about the bytes of the tenant's file. Those that are on disk count, because files can have holes. */
function baseBytesMax(directory: string, {tenantBytesMax}: SizeLimits): number {
  const {blocks} = lstatSync(join(directory, TENANT_FILE), {throwIfNoEntry: false}) ?? {blocks: 0};
  return Math.max(BASE_BYTES_LEAST, tenantBytesMax, 2 * blocks * BLOCK_BYTES);
}

/** @returns null: there is no spool */
function viewed<Result>(directory: string, use: (view: SpoolView) => Result): Result | null {
  const view = SpoolView.open(directory);
  if (view === null) return null;
  try {
    return use(view);
  } finally {
    view.close();
  }
}

/** @throws Unusable */
function usable<Result>(file: SpooledFile, use: () => Result): Result {
  try {
    return use();
  } catch (caught) {
    throw caught instanceof CopyError || caught instanceof PageSetError ? new Unusable(file, caught) : caught;
  }
}
