/** The memory of all caches of one router, and what was read lately. */
import {assert} from '../../shared/assert.ts';
import {CACHED_PATH_CHARS_MAX, READS_REMEMBERED} from '../limits.ts';

/** An entry of a cache, as far as room is made for others. */
export type SpaceEntry = {
  bytes: number;
  isUsed: boolean;
  /** See `CacheSpace.note`; empty: not noted. */
  path: string;
  readonly of: {evict(entry: SpaceEntry): void};
};

/** What a path of a document names, without escapes: its tenant, table and id. */
export type DocumentNames = readonly [tenant: string, table: string, id: string];

/**
 * The caches of one router, for all tenants. Beyond its bytes the oldest entries are removed, except those used since
 * they were checked last.
 */
export class CacheSpace {
  readonly #bytesMax: number;
  readonly #entries = new Set<SpaceEntry>();
  readonly #byPath = new Map<string, DocumentNames>();
  #bytes = 0;
  /** Digests of what was read lately, each at the index that it determines. */
  readonly #reads = new Uint32Array(READS_REMEMBERED);
  /** Answers from memory. */
  answers = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(entry: SpaceEntry): void {
    this.#entries.add(entry);
    this.#bytes += entry.bytes;
    while (this.#bytes > this.#bytesMax) this.#makeRoom();
  }

  remove(entry: SpaceEntry): void {
    if (!this.#entries.delete(entry)) return;
    this.#bytes -= entry.bytes;
    this.#byPath.delete(entry.path);
  }

  /**
   * What the path names, if an entry was answered under it. It says nothing about the entry. Finding it here costs less
   * than finding the parts of the path, and comparing a part of a text with the name of an entry.
   */
  namesIn(path: string): DocumentNames | undefined {
    return this.#byPath.get(path);
  }

  /** An entry was answered under this path, which is in memory until the entry is removed: at once, if there is no room. */
  note(entry: SpaceEntry, path: string, names: DocumentNames): void {
    if (entry.path !== '' || path.length > CACHED_PATH_CHARS_MAX || path.includes('%')) return;
    entry.path = path;
    entry.bytes += path.length;
    this.#bytes += path.length;
    this.#byPath.set(path, names);
    while (this.#bytes > this.#bytesMax) this.#makeRoom();
  }

  /** Whether something with this digest was read lately; it has been from now on. */
  wasRead(digest: number): boolean {
    const at = digest % READS_REMEMBERED;
    if (this.#reads[at] === digest) return true;
    this.#reads[at] = digest;
    return false;
  }

  #makeRoom(): void {
    const [oldest] = this.#entries;
    assert(oldest !== undefined, 'bytes belong to entries');
    if (oldest.isUsed) {
      oldest.isUsed = false;
      this.#entries.delete(oldest);
      this.#entries.add(oldest);
    } else oldest.of.evict(oldest);
  }
}
