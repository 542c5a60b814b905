/**
 * Tracks which documents each router may have in its cache, and removes them from there before a commit that changes
 * them is visible (decision 0120). A router may cache an answer only if this file allows it, and then answers with it
 * until the worker drops it, the connection is gone, or the lease of its cache has ended.
 *
 * Invariants
 * - Between COMMIT and the moment at which a commit is visible, readers see the state before it. Answers with a document
 *   that the commit changes are not cacheable in that time.
 * - A frame that drops documents is written after each answer that allowed to cache them, and before all that is sent
 *   about the commit. With one router and no code of the tenant, everything about a commit leaves on that connection, so
 *   its order is sufficient. Otherwise a client can learn of a commit in another way, so the commit also waits until
 *   each router has confirmed, or until the lease of its cache has ended, if the router does not answer.
 * - A lease begins here after it began in the router, so it ends there first. Both have the rate of one host's clock.
 */
import type {Change, Commit, Stage} from '../../engine/commit/commit.ts';
import type {RemoteCaches} from '../../engine/commit/remote-caches.ts';
import {assert} from '../../shared/assert.ts';
import {CACHE_LEASE_MS} from '../../shared/limits.ts';
import {mayHoldIsolates} from '../../shared/node-flags.ts';
import {CACHED_DOCUMENTS_MAX} from './limits.ts';

/** A router's connection, as this file uses it. */
export interface CachingRouter {
  /**
   * @param ids null: all documents
   * @param number to be confirmed; null: the order of the connection is sufficient
   */
  dropCached(ids: readonly string[] | null, number: number | null): void;
}

/** What the cache of one router may have. */
class RouterCache {
  readonly router: CachingRouter;
  /** Numbers of the documents. */
  readonly documents = new Set<number>();
  /** Until then the router may answer with them. */
  leaseEndsMs = 0;
  /** Number of the last drop that was sent, and of the last one that was confirmed. */
  sent = 0;
  confirmed = 0;
  /** The last drop of all documents, after which it is not known here which ones they were; 0: there was none. */
  droppedAll = 0;

  constructor(router: CachingRouter) {
    this.router = router;
  }
}

/** A drop that a commit waits for, and the end of the lease of what it drops. */
type Awaited = {number: number; untilMs: number};

type Waiting = {readonly awaited: Map<RouterCache, Awaited>; readonly done: () => void; timer: NodeJS.Timeout | null};

export type RouterCachesSettings = {
  /** Only confirmations and leases tell what a router answers. False: the order of its connection does. */
  confirms: boolean;
  /** Nothing is cached. Default: false. */
  isOff?: boolean;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
};

export class RouterCaches implements RemoteCaches, Stage {
  readonly #confirms: boolean;
  readonly #isOff: boolean;
  readonly #now: () => number;
  readonly #caches = new Map<CachingRouter, RouterCache>();
  /** Caches of connections that this process closed, whose routers may not know it yet. */
  readonly #closed = new Set<RouterCache>();
  /** The commit that is not visible yet; null: none. */
  #pending: Commit | null = null;
  /** Its documents; null: not needed yet. */
  #pendingDocuments: Set<number> | null = null;
  #waiting: Waiting | null = null;
  /** Caches that were filled by a worker before this one. */
  readonly #earlier = new RouterCache(NO_ROUTER);

  /**
   * @param routers number of routers of this host that can connect
   * @param isInCluster routers of other hosts connect as well, and only the worker knows whether this host has its lease:
   * nothing is cached
   */
  static of(routers: number, isInCluster: boolean): RouterCaches {
    const confirms = routers > 1 || mayHoldIsolates();
    return new RouterCaches({confirms, now: () => performance.now(), isOff: isInCluster});
  }

  constructor({confirms, now, isOff = false}: RouterCachesSettings) {
    this.#confirms = confirms;
    this.#isOff = isOff;
    this.#now = now;
  }

  /** Another worker had the tenant and did not close it. A router connects only after the leases of that one ended. */
  followsCrash(): void {
    if (this.#confirms) this.#earlier.leaseEndsMs = this.#now() + CACHE_LEASE_MS;
  }

  /** A router has connected. */
  connected(): void {
    this.#earlier.leaseEndsMs = 0;
    this.#noLonger(this.#earlier);
  }

  /**
   * The router gets this document as it is now, and requested to cache it.
   * @param doc its number
   * @returns whether the router may cache it
   */
  allow(router: CachingRouter, doc: number): boolean {
    if (this.#isOff || this.#isPending(doc)) return false;
    let cache = this.#caches.get(router);
    if (cache === undefined) {
      cache = new RouterCache(router);
      this.#caches.set(router, cache);
    }
    if (cache.documents.size >= CACHED_DOCUMENTS_MAX && !cache.documents.has(doc)) this.#dropAll(cache);
    cache.documents.add(doc);
    cache.leaseEndsMs = this.#now() + CACHE_LEASE_MS;
    return true;
  }

  /* ── commits ── */

  get mayWait(): boolean {
    return this.#confirms && this.#mayAnswer(this.#now());
  }

  /** Whether the lease of a cache has not ended. */
  #mayAnswer(nowMs: number): boolean {
    if (this.#closed.size > 0 || this.#earlier.leaseEndsMs > nowMs) return true;
    for (const {leaseEndsMs} of this.#caches.values()) if (leaseEndsMs > nowMs) return true;
    return false;
  }

  committing(commit: Commit, done: () => void): boolean {
    assert(this.#waiting === null, 'one commit at a time waits');
    this.#pending = commit;
    this.#pendingDocuments = null;
    const changed = commit.hasNewCatalog ? null : commit.changes.filter(isOfExisting);
    if (changed?.length === 0) return false;
    const awaited = new Map<RouterCache, Awaited>();
    const nowMs = this.#now();
    for (const cache of this.#caches.values()) {
      const number = this.#drop(cache, changed);
      if (number > cache.confirmed) awaited.set(cache, {number, untilMs: cache.leaseEndsMs});
    }
    if (!this.#confirms) return false;
    for (const cache of [...this.#closed, this.#earlier])
      awaited.set(cache, {number: Number.POSITIVE_INFINITY, untilMs: cache.leaseEndsMs});
    for (const [cache, {untilMs}] of awaited) if (untilMs <= nowMs) awaited.delete(cache);
    if (awaited.size === 0) return false;
    assert(this.#mayAnswer(nowMs), 'readers keep their snapshot while a commit waits');
    this.#waiting = {awaited, done, timer: null};
    this.#arm(this.#waiting);
    return true;
  }

  /** The commit is visible. */
  committed(commit: Commit): void {
    if (this.#pending !== commit) return;
    this.#pending = null;
    this.#pendingDocuments = null;
  }

  /** Damage was found: what is cached was read before that. */
  dropAll(): void {
    for (const cache of this.#caches.values()) if (cache.documents.size > 0) this.#dropAll(cache);
  }

  /* ── connections ── */

  /** The router has made all drops up to this one. @returns false: there was no such drop */
  confirm(router: CachingRouter, number: number): boolean {
    const cache = this.#caches.get(router);
    if (cache === undefined || number <= cache.confirmed || number > cache.sent) return false;
    cache.confirmed = number;
    const awaited = this.#waiting?.awaited.get(cache);
    if (awaited !== undefined && awaited.number <= number) this.#noLonger(cache);
    return true;
  }

  /**
   * The connection is gone.
   * @param isRefused this process closed it. Otherwise the router did, or its process ended: its cache ended before.
   */
  released(router: CachingRouter, isRefused: boolean): void {
    const cache = this.#caches.get(router);
    if (cache === undefined) return;
    this.#caches.delete(router);
    if (!isRefused) {
      this.#noLonger(cache);
      return;
    }
    this.#closed.add(cache);
    setTimeout(() => this.#closed.delete(cache), CACHE_LEASE_MS + 1).unref();
  }

  /* ── parts ── */

  #isPending(doc: number): boolean {
    if (this.#pending === null) return false;
    if (this.#pending.hasNewCatalog) return true;
    this.#pendingDocuments ??= new Set(this.#pending.changes.map(change => change.doc));
    return this.#pendingDocuments.has(doc);
  }

  /**
   * Drops the documents that the cache may have.
   * @param changed null: all documents
   * @returns the drop that must be confirmed before these documents are certain not to be cached; 0: none
   */
  #drop(cache: RouterCache, changed: readonly Change[] | null): number {
    if (changed === null) return cache.documents.size > 0 ? this.#dropAll(cache) : cache.droppedAll;
    if (cache.documents.size === 0) return cache.droppedAll;
    const ids: string[] = [];
    for (const {doc, id} of changed) if (cache.documents.delete(doc)) ids.push(id);
    return ids.length === 0 ? cache.droppedAll : this.#send(cache, ids);
  }

  #dropAll(cache: RouterCache): number {
    cache.documents.clear();
    cache.droppedAll = this.#send(cache, null);
    return cache.droppedAll;
  }

  #send(cache: RouterCache, ids: readonly string[] | null): number {
    if (!this.#confirms) {
      cache.router.dropCached(ids, null);
      return 0;
    }
    cache.router.dropCached(ids, ++cache.sent);
    return cache.sent;
  }

  /** The leases end at the latest when the timer fires. */
  #arm(waiting: Waiting): void {
    const untilMs = Math.max(...[...waiting.awaited.values()].map(awaited => awaited.untilMs));
    waiting.timer = setTimeout(
      () => {
        const nowMs = this.#now();
        for (const [cache, awaited] of waiting.awaited) if (awaited.untilMs <= nowMs) waiting.awaited.delete(cache);
        if (waiting.awaited.size === 0) this.#end(waiting);
        else this.#arm(waiting);
      },
      Math.ceil(untilMs - this.#now()),
    );
  }

  /** The cache needs not be awaited any more. */
  #noLonger(cache: RouterCache): void {
    const waiting = this.#waiting;
    if (waiting === null || !waiting.awaited.delete(cache) || waiting.awaited.size > 0) return;
    this.#end(waiting);
  }

  #end(waiting: Waiting): void {
    assert(this.#waiting === waiting, 'the commit that waits is the only one');
    this.#waiting = null;
    if (waiting.timer !== null) clearTimeout(waiting.timer);
    waiting.done();
  }
}

/** Stands for the routers of an earlier worker. */
const NO_ROUTER: CachingRouter = {dropCached: () => undefined};

/** No cache has a document that is new. */
function isOfExisting({before, isDamaged}: Change): boolean {
  return before !== null || isDamaged;
}
