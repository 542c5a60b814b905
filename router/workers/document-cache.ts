/**
 * Answers of `documents.get` that a router repeats without the worker, as long as the worker allows (decision 0120). One
 * cache belongs to one link and ends with it: everything that is sent about a commit follows, on the same link, the
 * frame that drops what the commit changed.
 *
 * A document is cached when it is read the second time in a short while. So a read of a document that is not read again
 * costs no more than without a cache.
 *
 * If a client can learn of a commit in another way than through this router, the worker waits for a router that does
 * not answer until the lease of its cache has ended. The lease begins when the last cached answer was requested. Close
 * to its end, one read goes to the worker to begin a new one.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {HeaderList, ResponseMeta} from '../../shared/ipc/operations.ts';
import {CACHE_LEASE_MS, DROPPED_BYTES_MAX} from '../../shared/limits.ts';
import {
  CACHE_RENEWAL_MS,
  CACHE_RENEWAL_RETRY_MS,
  CACHED_DOCUMENT_BYTES_MAX,
  CACHED_DOCUMENT_OVERHEAD_BYTES,
  READS_REMEMBERED,
} from '../limits.ts';

/** A document as a path names it. An id is unique in its tenant. */
export type DocumentName = {readonly table: string; readonly id: string};

export type CachedDocument = {
  readonly table: string;
  readonly id: string;
  readonly etag: string;
  /** Of an answer with it: its `ETag`. */
  readonly headers: HeaderList;
  readonly body: Buffer;
};

type Entry = CachedDocument & {readonly of: DocumentCache; readonly bytes: number; isUsed: boolean};

/**
 * The caches of one router, for all tenants. Beyond its bytes the oldest entries are removed, except those used since
 * they were checked last.
 */
export class CacheSpace {
  readonly #bytesMax: number;
  readonly #entries = new Set<Entry>();
  #bytes = 0;
  /** Digests of documents that were read lately, each at the index that it determines. */
  readonly #reads = new Uint32Array(READS_REMEMBERED);
  /** Answers from memory. */
  answers = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
    this.#bytes += entry.bytes;
    while (this.#bytes > this.#bytesMax) this.#makeRoom();
  }

  remove(entry: Entry): void {
    if (this.#entries.delete(entry)) this.#bytes -= entry.bytes;
  }

  /** Whether a document with this digest was read lately; it has been from now on. */
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

/** Distinguishes equal ids of different tenants in `wasRead`. */
let caches = 0;

export class DocumentCache {
  readonly #space: CacheSpace;
  readonly #byId = new Map<string, Entry>();
  readonly #seed = Math.imul(++caches, 0x9e3779b1);
  /** Infinity: the order of the link is sufficient. */
  readonly #leaseMs: number;
  #leaseEndsMs = 0;
  /** The next read after this goes to the worker, to begin a new lease. */
  #renewsFromMs = 0;
  #isOver = false;

  /** @param isLeased a client can learn of a commit in another way than through this router */
  constructor(space: CacheSpace, isLeased: boolean) {
    this.#space = space;
    this.#leaseMs = isLeased ? CACHE_LEASE_MS : Number.POSITIVE_INFINITY;
  }

  /** @param nowMs when the request was here; not later, because the router may have stood still since */
  find({table, id}: DocumentName, nowMs: number): CachedDocument | null {
    const entry = this.#byId.get(id);
    if (entry === undefined || entry.table !== table || nowMs >= this.#leaseEndsMs) return null;
    if (nowMs >= this.#renewsFromMs) {
      this.#renewsFromMs = nowMs + CACHE_RENEWAL_RETRY_MS;
      return null;
    }
    entry.isUsed = true;
    this.#space.answers++;
    return entry;
  }

  /** Whether the answer to a read that goes to the worker is worth caching. */
  wants(id: string): boolean {
    return !this.#isOver && (this.#byId.has(id) || this.#space.wasRead(digestOf(id, this.#seed)));
  }

  /**
   * The worker allows to cache this answer.
   * @param sentMs not later than the request was sent
   * @param body valid during the call
   */
  store({table, id}: DocumentName, {s: status, e: etag, h, t, ra}: ResponseMeta, body: Buffer, sentMs: number): void {
    if (status !== 200 || etag === undefined || h !== undefined || t !== undefined || ra !== undefined) return;
    if (this.#isOver || body.length > CACHED_DOCUMENT_BYTES_MAX) return;
    if (sentMs + this.#leaseMs > this.#leaseEndsMs) {
      this.#leaseEndsMs = sentMs + this.#leaseMs;
      this.#renewsFromMs = this.#leaseEndsMs - CACHE_RENEWAL_MS;
    }
    this.#forget(id);
    const copy = Buffer.allocUnsafeSlow(body.length);
    body.copy(copy);
    const bytes = body.length + id.length + CACHED_DOCUMENT_OVERHEAD_BYTES;
    const entry = {table, id, etag, headers: [['ETag', etag]] as const, body: copy, of: this, bytes, isUsed: false};
    this.#byId.set(id, entry);
    this.#space.add(entry);
  }

  /** @param ids null: all */
  drop(ids: readonly string[] | null): void {
    if (ids !== null) for (const id of ids) this.#forget(id);
    else {
      for (const entry of this.#byId.values()) this.#space.remove(entry);
      this.#byId.clear();
    }
  }

  /** The link ends. */
  end(): void {
    this.#isOver = true;
    this.drop(null);
  }

  /** Makes room for others. */
  evict({id}: CachedDocument): void {
    this.#forget(id);
  }

  #forget(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    this.#byId.delete(id);
    this.#space.remove(entry);
  }
}

/** @returns null: all. @throws MalformedFrame */
export function droppedIn(body: Buffer): string[] | null {
  if (body.length === 0) return null;
  if (body.length > DROPPED_BYTES_MAX) throw new MalformedFrame(`a list of documents of ${body.length} bytes`);
  let ids: unknown;
  try {
    ids = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new MalformedFrame('a list of documents that is not JSON', {cause});
  }
  if (!Array.isArray(ids) || !ids.every(id => typeof id === 'string')) throw new MalformedFrame('no list of documents');
  return ids;
}

/** One opaque entity tag (RFC 9110). */
const ONE_TAG = /^(?:W\/)?("[\x21\x23-\x7e]*")$/;

/**
 * Judges a request for a cached document.
 * @param ifNoneMatch empty: none
 * @returns null: the worker judges it, because it is no plain comparison with one tag
 */
export function statusOf({etag}: CachedDocument, ifNoneMatch: string): 200 | 304 | null {
  if (ifNoneMatch === '') return 200;
  const [, tag] = ONE_TAG.exec(ifNoneMatch) ?? [];
  if (tag === undefined) return null;
  return tag === etag ? 304 : 200;
}

/** FNV-1a over code units. */
function digestOf(id: string, seed: number): number {
  let digest = seed;
  for (let i = 0; i < id.length; i++) digest = Math.imul(digest ^ id.charCodeAt(i), 0x01000193);
  return digest >>> 0;
}
