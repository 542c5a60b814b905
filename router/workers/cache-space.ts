/** The memory of all caches of one router, and what was read lately. */
import {assert} from '../../shared/assert.ts';
import {READS_REMEMBERED} from '../limits.ts';

/** An entry of a cache, as far as room is made for others. */
export type SpaceEntry = {readonly bytes: number; isUsed: boolean; readonly of: {evict(entry: SpaceEntry): void}};

/**
 * The caches of one router, for all tenants. Beyond its bytes the oldest entries are removed, except those used since
 * they were checked last.
 */
export class CacheSpace {
  readonly #bytesMax: number;
  readonly #entries = new Set<SpaceEntry>();
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
    if (this.#entries.delete(entry)) this.#bytes -= entry.bytes;
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
