/**
 * Tracks which documents and results of query functions each router may have in its cache, and removes them from there
 * before a commit that changes them is visible (decisions 0120 and 0136). A router may cache an answer only if this file
 * allows it, and then answers with it until the worker drops it, the connection is gone, or the lease of its cache has
 * ended.
 *
 * Invariants
 * - Between COMMIT and the moment at which a commit is visible, readers see the state before it. Answers with a document
 *   that the commit changes are not cacheable in that time, nor are results that read what it changes.
 * - A router may have a result only while the worker keeps it.
 * - A frame that drops answers is written after each answer that allowed to cache them, and before all that is sent
 *   about the commit. With one router and no code of the tenant, everything about a commit leaves on that connection, so
 *   its order is sufficient. Otherwise a client can learn of a commit in another way, so the commit also waits until
 *   each router has confirmed, or until the lease of its cache has ended, if the router does not answer.
 * - A lease begins here after it began in the router, so it ends there first. Both have the rate of one host's clock.
 */
import {changesAnswers} from '../../engine/commit/code-events.ts';
import type {Change, Commit, Stage} from '../../engine/commit/commit.ts';
import type {RemoteCaches} from '../../engine/commit/remote-caches.ts';
import {assert} from '../../shared/assert.ts';
import {CACHE_LEASE_MS, CALL_NAME_CHARS_MAX} from '../../shared/limits.ts';
import {mayHoldIsolates} from '../../shared/node-flags.ts';
import {CACHED_DOCUMENTS_MAX} from './limits.ts';
import {type KeptResult, mayTouch, type SharedResult, SharedResults} from './shared-results.ts';

/** Ids of documents and numbers of results; null: all. */
export type CachedNames = readonly (string | number)[] | null;

/** A router's connection, as this file uses it. */
export interface CachingRouter {
  /** @param number to be confirmed; null: the order of the connection is sufficient */
  dropCached(names: CachedNames, number: number | null): void;
}

/** What the cache of one router may have. */
class RouterCache {
  readonly router: CachingRouter;
  /** Numbers of the documents. */
  readonly documents = new Set<number>();
  readonly results = new Set<SharedResult>();
  /** Until then the router may answer with them. */
  leaseEndsMs = 0;
  /** Number of the last drop that was sent, and of the last one that was confirmed. */
  sent = 0;
  confirmed = 0;
  /** The last drop of everything, after which it is not known here what that was; 0: there was none. */
  droppedAll = 0;
  /** The last drop of a result that the worker keeps no longer, likewise. */
  droppedResult = 0;

  constructor(router: CachingRouter) {
    this.router = router;
  }

  get isEmpty(): boolean {
    return this.documents.size === 0 && this.results.size === 0;
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
  readonly #results = new SharedResults();
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
    const cache = this.#allowed(router);
    if (cache.documents.size >= CACHED_DOCUMENTS_MAX && !cache.documents.has(doc)) this.#dropAll(cache);
    cache.documents.add(doc);
    return true;
  }

  /**
   * The router gets this result, and requested to cache it.
   * @returns the number under which it is dropped; null: the router may not cache it
   */
  allowResult(router: CachingRouter, kept: KeptResult): number | null {
    if (this.#isOff || !kept.isKept || kept.name.length > CALL_NAME_CHARS_MAX) return null;
    if (this.#pending !== null && mayTouch(this.#pending, kept.readSet)) return null;
    const result = this.#results.of(kept, ended => this.#noLongerKept(ended));
    this.#allowed(router).results.add(result);
    return result.number;
  }

  /** The cache of a router that may add to it: a lease begins. */
  #allowed(router: CachingRouter): RouterCache {
    let cache = this.#caches.get(router);
    if (cache === undefined) {
      cache = new RouterCache(router);
      this.#caches.set(router, cache);
    }
    cache.leaseEndsMs = this.#now() + CACHE_LEASE_MS;
    return cache;
  }

  #noLongerKept(result: SharedResult): void {
    for (const cache of this.#caches.values())
      if (cache.results.delete(result)) cache.droppedResult = this.#send(cache, [result.number]);
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
    const changed = commit.hasNewCatalog || changesAnswers(commit.events) ? null : commit.changes;
    if (changed?.length === 0) return false;
    const touched = this.#results.touchedBy(commit);
    const awaited = new Map<RouterCache, Awaited>();
    const nowMs = this.#now();
    for (const cache of this.#caches.values()) {
      const number = this.#drop(cache, changed, touched);
      if (number > cache.confirmed) awaited.set(cache, {number, untilMs: cache.leaseEndsMs});
    }
    for (const result of touched) this.#results.forget(result);
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
    for (const cache of this.#caches.values()) if (!cache.isEmpty) this.#dropAll(cache);
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
   * Drops what the cache may have of this.
   * @param changed null: everything
   * @returns the drop that must be confirmed before it is certain that none of this is cached; 0: none
   */
  #drop(cache: RouterCache, changed: readonly Change[] | null, touched: ReadonlySet<SharedResult>): number {
    const earlier = Math.max(cache.droppedAll, cache.droppedResult);
    if (changed === null) return cache.isEmpty ? earlier : this.#dropAll(cache);
    if (cache.isEmpty) return earlier;
    const names: (string | number)[] = [];
    // No cache has a document that is new.
    for (const {doc, id} of changed) if (cache.documents.delete(doc)) names.push(id);
    for (const result of touched) if (cache.results.delete(result)) names.push(result.number);
    return names.length === 0 ? earlier : this.#send(cache, names);
  }

  #dropAll(cache: RouterCache): number {
    cache.documents.clear();
    cache.results.clear();
    cache.droppedAll = this.#send(cache, null);
    return cache.droppedAll;
  }

  #send(cache: RouterCache, names: CachedNames): number {
    if (!this.#confirms) {
      cache.router.dropCached(names, null);
      return 0;
    }
    cache.router.dropCached(names, ++cache.sent);
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
