/** A receiver of a tenant's page sets, as the copier is one: it keeps a copy instead of a repository. */
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {mergePageSets} from '../../engine/copies/merge.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {type OpenSet, type SpooledFile, SpoolView} from '../../engine/copies/spool-view.ts';
import {QUICK_DISK} from './model.ts';

/** Of a file, at most. */
const SIZE = 2 ** 30;

export class Receiver {
  readonly #directory: string;
  readonly #path: string;
  #copy: CopyFile | null = null;
  #base = 0;
  /** Bases that were received. */
  bases = 0;

  /** @param directory of the tenant @param path of the copy */
  constructor(directory: string, path: string) {
    this.#directory = directory;
    this.#path = path;
  }

  /** The commit of the copy; -1: there is none. */
  get commit(): number {
    return this.#copy?.position.commit ?? -1;
  }

  /** Takes some of what waits, and confirms it or requests a base. @param merges sets that become one before they are applied */
  receive(most: number, merges = 1): void {
    const view = SpoolView.open(this.#directory);
    if (view === null) return;
    const {base, sets, position, isBaseWanted} = view.list();
    try {
      if (base !== null && base.modifiedMs !== this.#base) this.#replace(base, view.open(base, SIZE));
      const next = sets.filter(({last}) => last! > this.commit).slice(0, most);
      while (this.#copy !== null && next.length > 0) this.#apply(view, next.splice(0, merges));
      if (this.#copy === null || position === null) throw new PageSetError('missing_commits', 'a base is due');
      view.confirm(this.#copy.position);
    } catch (caught) {
      if (!(caught instanceof PageSetError)) throw caught;
      // The base of an earlier request can be complete by now: another request would have a second one made.
      if (!isBaseWanted) view.wantBase();
    } finally {
      view.close();
    }
  }

  /** Its pages are those that the sets say. */
  verify(): void {
    this.#copy!.verify();
  }

  close(): void {
    this.#copy?.close();
  }

  #replace({modifiedMs}: SpooledFile, opened: OpenSet | null): void {
    if (opened === null) return;
    this.#copy?.close();
    this.#copy = CopyFile.create(this.#path, opened.set, QUICK_DISK);
    this.#base = modifiedMs;
    this.bases++;
    opened.close();
  }

  #apply(view: SpoolView, files: SpooledFile[]): void {
    const opened = files.flatMap(file => view.open(file, SIZE) ?? []);
    try {
      const sets = opened.map(({set}) => set);
      if (sets.length > 0) this.#copy!.apply(sets.length === 1 ? sets[0]! : merged(sets));
    } finally {
      for (const {close} of opened) close();
    }
  }
}

export function merged(sets: readonly PageSet[]): PageSet {
  const sink = new MemorySink();
  mergePageSets(sets, sink);
  return new PageSet(sourceOf(sink.bytes));
}
