/**
 * A tenant's worker and several routers with caches, in one process: frames wait in channels until the test delivers
 * them, and the clock moves when the test says so. The caches are the real ones; the rest is the least that they need.
 *
 * Each document has a version that only grows. A version is known from the moment at which anyone can have learned of
 * it: it was answered to a reader, or its write was acknowledged. A read that arrives later must not get an older one.
 */
import {Buffer} from 'node:buffer';
import {type Change, Commit, Side} from '../../engine/commit/commit.ts';
import {CacheSpace, DocumentCache, droppedIn} from '../../router/workers/document-cache.ts';
import {CRASH_REPORT_MS} from '../../supervisor/limits.ts';
import {type CachingRouter, RouterCaches} from '../../worker/ipc/router-caches.ts';

export const DOCUMENTS = 3;
const TABLE = 't';
/** What a commit waits for at most, and a little. */
export const LONGEST_MS = CRASH_REPORT_MS + 1;

type Get = {doc: number; least: number; atMs: number};
type ToWorker = {type: 'get'; get: Get; sentMs: number; isForCache: boolean} | {type: 'confirm'; number: number};
type ToRouter =
  | {type: 'answer'; get: Get; version: number; sentMs: number; isCacheable: boolean}
  | {type: 'drop'; body: string; number: number | null}
  | {type: 'acknowledge'; doc: number; version: number}
  | {type: 'closed'};

/** A connection of one router to one worker. */
class Link implements CachingRouter {
  readonly toWorker: ToWorker[] = [];
  readonly toRouter: ToRouter[] = [];
  readonly cache: DocumentCache;
  isOpen = true;

  constructor(cache: DocumentCache) {
    this.cache = cache;
  }

  dropCached(ids: readonly string[] | null, number: number | null): void {
    this.toRouter.push({type: 'drop', body: ids === null ? '' : JSON.stringify(ids), number});
  }
}

class Router {
  readonly space = new CacheSpace(2_000);
  link: Link | null = null;
  /** Gets that are in the kernel's or its own queues. */
  readonly arrived: Get[] = [];
  /** It stands still: only single steps that the test takes move it. */
  isPaused = false;
  /** The supervisor knows that it lost its worker. */
  hasReported = true;
}

class Worker {
  readonly caches: RouterCaches;
  /** As readers see it. */
  readonly visible: number[];
  pending: {
    commit: Commit;
    versions: Map<number, number>;
    waits: boolean;
    isSynced: boolean;
    by: number | null;
  } | null = null;

  constructor(visible: readonly number[], confirms: boolean) {
    this.visible = [...visible];
    this.caches = new RouterCaches({confirms, now: () => performance.now()});
  }
}

export class Model {
  readonly routers: Router[];
  readonly #confirms: boolean;
  #worker: Worker;
  /** Newest version of each document that a write has attempted. */
  readonly #newest: number[] = new Array(DOCUMENTS).fill(0);
  /** See above. */
  readonly known: number[] = new Array(DOCUMENTS).fill(0);
  /** The next worker is announced to routers from then on, unless all have reported before. */
  #announcedFromMs = 0;
  cachedAnswers = 0;
  waits = 0;
  readonly stale: string[] = [];

  /** @param confirms false: a single router, and all that is known of commits is known from it */
  constructor(routers: number, confirms: boolean) {
    this.#confirms = confirms;
    this.routers = Array.from({length: routers}, () => new Router());
    this.#worker = new Worker(this.known, confirms);
    for (const router of this.routers) this.#connect(router);
  }

  /* ── the world's steps ── */

  /** A client's get reaches the machine of a router, which may not look at it for a while. */
  getArrives(at: number, doc: number): void {
    this.#router(at).arrived.push({doc, least: this.known[doc]!, atMs: performance.now()});
  }

  /** The router takes the oldest get. */
  routerTakes(at: number): void {
    const router = this.#router(at);
    const get = router.arrived.shift();
    if (get === undefined || router.link === null) return;
    const id = String(get.doc);
    const cached = router.link.cache.find({table: TABLE, id}, get.atMs);
    if (cached !== null) {
      this.cachedAnswers++;
      this.#answered(get, Number(cached.body.toString()));
      return;
    }
    const isForCache = router.link.cache.wants(id);
    router.link.toWorker.push({type: 'get', get, sentMs: performance.now(), isForCache});
  }

  /** The router reads one frame of its worker. */
  routerReads(at: number): void {
    const router = this.#router(at);
    const {link} = router;
    const frame = link?.toRouter.shift();
    if (link == null || frame === undefined) return;
    switch (frame.type) {
      case 'answer': {
        const {get, version, sentMs, isCacheable} = frame;
        const body = Buffer.from(String(version));
        const name = {table: TABLE, id: String(get.doc)};
        if (isCacheable) link.cache.store(name, {s: 200, e: `"${version}"`}, body, sentMs);
        this.#answered(get, version);
        return;
      }
      case 'drop':
        link.cache.drop(droppedIn(Buffer.from(frame.body)));
        if (frame.number !== null) link.toWorker.push({type: 'confirm', number: frame.number});
        return;
      case 'acknowledge':
        this.#know(frame.doc, frame.version);
        return;
      case 'closed':
        link.cache.end();
        router.link = null;
        router.hasReported = true;
        this.connectIfAnnounced(at);
        return;
    }
  }

  /** The worker reads one frame of a router. */
  workerReads(at: number): void {
    const {link} = this.#router(at);
    if (link === null || !link.isOpen) return;
    const frame = link.toWorker.shift();
    if (frame === undefined) return;
    const {caches, visible} = this.#worker;
    if (frame.type === 'confirm') {
      if (!caches.confirm(link, frame.number)) throw new Error('a router confirms what it was sent');
      return;
    }
    const {get, sentMs, isForCache} = frame;
    const isCacheable = isForCache && caches.allow(link, get.doc);
    link.toRouter.push({type: 'answer', get, version: visible[get.doc]!, sentMs, isCacheable});
  }

  /**
   * A group is committed.
   * @param by the router that gets the reply; null: code of the tenant learns of it at once
   * @param isOfCatalog tables have changed, and with them every document, without a change of each
   */
  commit(documents: readonly number[], by: number | null, isOfCatalog: boolean): void {
    if (this.#worker.pending !== null) return;
    const worker = this.#worker;
    const changed = isOfCatalog ? this.#newest.map((_, doc) => doc) : [...new Set(documents)];
    const versions = new Map(changed.map(doc => [doc, ++this.#newest[doc]!] as const));
    const changes = isOfCatalog ? [] : changed.map(changeOf);
    const commit = new Commit(1, 0, changes, [], [], isOfCatalog);
    const pending = {commit, versions, waits: false, isSynced: false, by: this.#confirms ? by : 0};
    worker.pending = pending;
    pending.waits = worker.caches.committing(commit, () => {
      if (this.#worker !== worker) return;
      pending.waits = false;
      this.#settle();
    });
    if (pending.waits) this.waits++;
  }

  /** The group is synced. */
  synced(): void {
    if (this.#worker.pending === null) return;
    this.#worker.pending.isSynced = true;
    this.#settle();
  }

  damageFound(): void {
    this.#worker.caches.dropAll();
  }

  /** A commit that was synced is kept, because no client can know otherwise. */
  killWorker(): void {
    const {visible, pending} = this.#worker;
    for (const [doc, version] of pending?.isSynced === true ? pending.versions : []) visible[doc] = version;
    this.#worker = new Worker(visible, this.#confirms);
    this.#worker.caches.followsCrash();
    this.#announcedFromMs = performance.now() + CRASH_REPORT_MS;
    for (const router of this.routers) {
      if (router.link === null) continue;
      router.hasReported = false;
      if (router.link.isOpen) router.link.toRouter.push({type: 'closed'});
      router.link.isOpen = false;
    }
  }

  /** The worker closes the connection because of what the router sent. */
  workerRefuses(at: number): void {
    const {link} = this.#router(at);
    if (link === null || !link.isOpen) return;
    link.isOpen = false;
    link.toRouter.push({type: 'closed'});
    this.#worker.caches.released(link, true);
  }

  /** The process of a router ends, and another one begins. */
  killRouter(at: number): void {
    const router = this.#router(at);
    const {link} = router;
    router.link = null;
    router.arrived.length = 0;
    router.hasReported = true;
    if (link?.isOpen === true) this.#worker.caches.released(link, false);
    this.connectIfAnnounced(at);
  }

  connectIfAnnounced(at: number): void {
    const router = this.#router(at);
    const isAnnounced =
      performance.now() >= this.#announcedFromMs || this.routers.every(({hasReported}) => hasReported);
    if (router.link === null && isAnnounced) this.#connect(router);
  }

  /** Everything that is under way arrives, except in routers that stand still. */
  rest(): void {
    let isMoving = true;
    while (isMoving) {
      isMoving = false;
      for (const [at, router] of this.routers.entries()) {
        if (router.link?.isOpen === true && router.link.toWorker.length > 0) isMoving = true;
        this.workerReads(at);
        if (router.isPaused || router.link === null) continue;
        if (router.arrived.length + router.link.toRouter.length > 0) isMoving = true;
        // Its frames last, because a request can overtake them.
        this.routerTakes(at);
        this.routerReads(at);
      }
    }
  }

  pause(at: number): void {
    this.#router(at).isPaused = true;
  }

  /** What arrived first is not what it reads first. */
  goOn(at: number): void {
    const router = this.#router(at);
    router.isPaused = false;
    while (router.arrived.length > 0 && router.link !== null) this.routerTakes(at);
  }

  get isWaiting(): boolean {
    return this.#worker.pending?.waits === true;
  }

  /* ── parts ── */

  #router(at: number): Router {
    return this.routers[at % this.routers.length]!;
  }

  #connect(router: Router): void {
    router.link = new Link(new DocumentCache(router.space, this.#confirms));
    router.hasReported = true;
    this.#worker.caches.connected();
  }

  #settle(): void {
    const worker = this.#worker;
    const {pending} = worker;
    if (pending === null || pending.waits || !pending.isSynced) return;
    for (const [doc, version] of pending.versions) worker.visible[doc] = version;
    worker.pending = null;
    worker.caches.committed(pending.commit);
    const link = pending.by === null ? null : this.#router(pending.by).link;
    for (const [doc, version] of pending.versions) {
      if (pending.by === null) this.#know(doc, version);
      else if (link?.isOpen === true) link.toRouter.push({type: 'acknowledge', doc, version});
    }
  }

  #answered({doc, least}: Get, version: number): void {
    if (version < least) this.stale.push(`document ${doc}: ${version} after ${least} was known`);
    this.#know(doc, version);
  }

  #know(doc: number, version: number): void {
    this.known[doc] = Math.max(this.known[doc]!, version);
  }
}

function changeOf(doc: number): Change {
  const row = {doc, id: String(doc), created: 0, updated: 0, body: '{}', flags: 0, checksum: 0};
  const side = new Side(row);
  const table = {number: 1, name: TABLE};
  return {sequence: 1, table, doc, id: row.id, indexes: [], before: side, after: side, isDamaged: false};
}
