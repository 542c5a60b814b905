/**
 * Answers that a router repeats without the worker, as long as the worker allows (decisions 0120 and 0136): documents,
 * and results of calls of query functions. One cache belongs to one link and ends with it: everything that is sent about
 * a commit follows, on the same link, the frame that drops what the commit changed.
 *
 * An answer is cached when the same is read the second time in a short while. So a read that is not repeated costs no
 * more than without a cache.
 *
 * If a client can learn of a commit in another way than through this router, the worker waits for a router that does
 * not answer until the lease of its cache has ended. The lease begins when the last cached answer was requested. Close
 * to its end, one read goes to the worker to begin a new one.
 */
import {Buffer} from 'node:buffer';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {HeaderList, ResponseMeta} from '../../shared/ipc/operations.ts';
import {CACHE_LEASE_MS, DROPPED_BYTES_MAX} from '../../shared/limits.ts';
import {
  CACHE_RENEWAL_MS,
  CACHE_RENEWAL_RETRY_MS,
  CACHED_ANSWER_BYTES_MAX,
  CACHED_ANSWER_OVERHEAD_BYTES,
} from '../limits.ts';
import type {CacheSpace, SpaceEntry} from './cache-space.ts';

/**
 * What is read. Of a document: its table and id, as a path names them; an id is unique in its tenant. Of a call: no
 * table, and everything that determines the answer as the id.
 */
export type CacheName = {readonly table: string | null; readonly id: string};

export type CachedAnswer = CacheName & {
  /** Empty: it is no document. */
  readonly etag: string;
  /** Of an answer with it. */
  readonly headers: HeaderList;
  /** The headers as they are written; null until the first answer. */
  head: HeaderList | string | null;
  readonly body: Buffer;
  /** The name under which the worker wants calls to be reported that it answers; empty: it is no call. */
  readonly call: string;
};

type Entry = CachedAnswer &
  SpaceEntry & {
    /** Under which the worker drops it, as equal results of other calls; 0: it is dropped by its id. */
    readonly number: number;
  };

/** Distinguishes equal ids of different tenants in `wasRead`. */
let caches = 0;

export class AnswerCache {
  readonly #space: CacheSpace;
  readonly #byId = new Map<string, Entry>();
  /** Results of calls. */
  readonly #byNumber = new Map<number, Set<Entry>>();
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
  find({table, id}: CacheName, nowMs: number): CachedAnswer | null {
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

  /** A document that was found is answered under this path of its tenant. */
  note(answer: CachedAnswer, path: string, tenant: string): void {
    const {table, id} = answer;
    if (table !== null) this.#space.note(answer as Entry, path, [tenant, table, id]);
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
  store(name: CacheName, meta: ResponseMeta, body: Buffer, sentMs: number): void {
    const {s: status, e: etag = '', h: headers, t, ra, c: result} = meta;
    if (status !== 200 || t !== undefined || ra !== undefined) return;
    const isCall = name.table === null;
    if (isCall ? result === undefined || etag !== '' : etag === '' || headers !== undefined) return;
    if (this.#isOver || body.length > CACHED_ANSWER_BYTES_MAX) return;
    if (sentMs + this.#leaseMs > this.#leaseEndsMs) {
      this.#leaseEndsMs = sentMs + this.#leaseMs;
      this.#renewsFromMs = this.#leaseEndsMs - CACHE_RENEWAL_MS;
    }
    const {table, id} = name;
    const [number, call] = isCall ? result! : [0, ''];
    this.#forgetId(id);
    const copy = Buffer.allocUnsafeSlow(body.length);
    body.copy(copy);
    const entry: Entry = {
      ...{table, id, etag, number, call, body: copy, of: this, isUsed: false, path: ''},
      headers: isCall ? (headers ?? []) : [['ETag', etag]],
      head: null,
      bytes: body.length + id.length + call.length + CACHED_ANSWER_OVERHEAD_BYTES,
    };
    this.#byId.set(id, entry);
    if (number !== 0) this.#ofNumber(number).add(entry);
    this.#space.add(entry);
  }

  /** @param names ids of documents and numbers of results; null: all */
  drop(names: readonly (string | number)[] | null): void {
    if (names === null) {
      for (const entry of this.#byId.values()) this.#space.remove(entry);
      this.#byId.clear();
      this.#byNumber.clear();
      return;
    }
    for (const name of names) {
      if (typeof name === 'string') this.#forgetId(name);
      else for (const entry of [...(this.#byNumber.get(name) ?? [])]) this.evict(entry);
    }
  }

  /** The link ends. */
  end(): void {
    this.#isOver = true;
    this.drop(null);
  }

  /** Makes room for others. */
  evict(entry: SpaceEntry): void {
    const {id, number} = entry as Entry;
    this.#byId.delete(id);
    const equal = this.#byNumber.get(number);
    equal?.delete(entry as Entry);
    if (equal?.size === 0) this.#byNumber.delete(number);
    this.#space.remove(entry);
  }

  #forgetId(id: string): void {
    const entry = this.#byId.get(id);
    if (entry !== undefined) this.evict(entry);
  }

  #ofNumber(number: number): Set<Entry> {
    let entries = this.#byNumber.get(number);
    if (entries === undefined) {
      entries = new Set();
      this.#byNumber.set(number, entries);
    }
    return entries;
  }
}

/** @returns null: all. @throws MalformedFrame */
export function droppedIn(body: Buffer): (string | number)[] | null {
  if (body.length === 0) return null;
  if (body.length > DROPPED_BYTES_MAX) throw new MalformedFrame(`a list of answers of ${body.length} bytes`);
  let names: unknown;
  try {
    names = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new MalformedFrame('a list of answers that is not JSON', {cause});
  }
  if (!Array.isArray(names) || !names.every(isName)) throw new MalformedFrame('no list of answers');
  return names;
}

function isName(name: unknown): name is string | number {
  return typeof name === 'string' || Number.isSafeInteger(name);
}

/** One opaque entity tag (RFC 9110). */
const ONE_TAG = /^(?:W\/)?("[\x21\x23-\x7e]*")$/;

/**
 * Judges a request for a cached document.
 * @param ifNoneMatch empty: none
 * @returns null: the worker judges it, because it is no plain comparison with one tag
 */
export function statusOf({etag}: CachedAnswer, ifNoneMatch: string): 200 | 304 | null {
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
