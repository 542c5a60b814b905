/**
 * Makes one segment of a pack from the sets that wait in a spool: those that follow one another are merged, up to the
 * bytes of one turn. A set that is larger is a segment of its own, streamed from its file.
 */
import {MemorySink} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {mergePageSets} from '../../engine/copies/merge.ts';
import {checkFollows, type Position} from '../../engine/copies/page-set.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {type OpenSet, type SpooledFile, SpoolView} from '../../engine/copies/spool-view.ts';
import {PAGE_SETS_MERGED_MAX} from '../../engine/limits.ts';
import {SEGMENT_BYTES_MAX} from '../limits.ts';
import {TENANT_TURN_BYTES} from './limits.ts';

/** A page set that goes into the repository. `after`: where the repository is then. `fd`: the caller closes it. */
export type NextSegment =
  | {kind: 'set'; bytes: Buffer; after: Position}
  | {kind: 'large'; of: 'base' | 'set'; fd: number};

/** The first of these files cannot be used. The message says why. */
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

/** @returns null: the files are gone. @throws Unusable */
export function nextSegment(
  directory: string,
  position: Position | null,
  files: readonly SpooledFile[],
): NextSegment | null {
  const view = SpoolView.open(directory);
  if (view === null) return null;
  const open: OpenSet[] = [];
  let isKept = false;
  try {
    if (files[0]?.last === null) {
      // Its SHA-256 is compared as it is streamed, because that takes long.
      const fd = view.descriptor(files[0]);
      return fd === null ? null : {kind: 'large', of: 'base', fd};
    }
    let at = position;
    let bytes = 0;
    for (const file of files) {
      if (open.length > 0 && (bytes + file.bytes > TENANT_TURN_BYTES || open.length === PAGE_SETS_MERGED_MAX)) break;
      const next = openedAfter(view, at, file, open.length === 0);
      if (next === null) break;
      open.push(next);
      at = next.set.after;
      bytes += next.bytes;
    }
    const [first] = open;
    if (first === undefined) return null;
    if (open.length === 1 && first.bytes > SEGMENT_BYTES_MAX) {
      isKept = true;
      return {kind: 'large', of: 'set', fd: first.fd};
    }
    return {kind: 'set', bytes: merged(open), after: at!};
  } catch (caught) {
    // A set whose SHA-256 matches can still break a rule of the format: any of them, so all are given up.
    throw caught instanceof PageSetError ? new Unusable(files[0]!, caught) : caught;
  } finally {
    view.close();
    if (!isKept) for (const file of open) file.close();
  }
}

function merged(open: readonly OpenSet[]): Buffer {
  const sink = new MemorySink();
  mergePageSets(
    open.map(({set}) => set),
    sink,
  );
  return sink.bytes;
}

/** Null: it is gone, or it is not the first and does not follow: it is judged once it is the first. */
function openedAfter(view: SpoolView, at: Position | null, file: SpooledFile, isFirst: boolean): OpenSet | null {
  let opened: OpenSet | null = null;
  try {
    opened = view.open(file);
    if (opened !== null) checkFollows(at!, opened.set.head);
    return opened;
  } catch (caught) {
    opened?.close();
    if (!(caught instanceof CopyError || caught instanceof PageSetError)) throw caught;
    if (isFirst) throw new Unusable(file, caught);
    return null;
  }
}
