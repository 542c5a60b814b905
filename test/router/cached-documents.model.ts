/**
 * A tenant's worker and several routers with caches, in one process: frames wait in channels until the test delivers
 * them, and the clock moves when the test says so. The caches are the real ones; the rest is the least that they need.
 *
 * Each document has a version that only grows. A version is known from the moment at which anyone can have learned of
 * it: it was answered to a reader, or its write was acknowledged. A read that arrives later must not get an older one.
 *
 * A version also says where in an index the document is, or that it is gone. Queries read ranges of this index, and the
 * worker keeps their results until a visible commit touches what they read. A result is right if each document in it has
 * a version that is not too old, and if each one that is missing may be missing by such a version.
 */
import {Buffer} from 'node:buffer';
import {type Change, Commit, CommittedEvent, Side} from '../../engine/commit/commit.ts';
import {entryPlace, type PackedReadSet, packed, touches} from '../../engine/reads/read-set.ts';
import {AnswerCache, type CacheName, droppedIn} from '../../router/workers/answer-cache.ts';
import {CacheSpace} from '../../router/workers/cache-space.ts';
import {CRASH_REPORT_MS} from '../../supervisor/limits.ts';
import {type CachedNames, type CachingRouter, RouterCaches} from '../../worker/ipc/router-caches.ts';
import {callName, type KeptResult} from '../../worker/ipc/shared-results.ts';

export const DOCUMENTS = 3;
/** The code of the functions has a version like a document's, which each result has. */
const CODE = DOCUMENTS;
const TABLE = 't';
/** What a commit waits for at most, and a little. */
export const LONGEST_MS = CRASH_REPORT_MS + 1;

const INDEX = {number: 1, name: 'by_place', fields: ['place']} as unknown as Change['indexes'][number];
/** Places that documents can have; each version is at the next one, and every fourth is gone. */
const PLACES = 6;

function placeOf(doc: number, version: number): number | null {
  return version % 4 === 3 || version === 0 ? null : (doc * 2 + version) % PLACES;
}

type Query = {
  /** Places from `from` on, below `to`. */
  readonly from: number;
  readonly to: number;
  /** It reads the highest places first, until it has so many documents. */
  readonly most: number;
};

/** A point, two ranges that meet, a page, everything. */
const QUERY_LIST: readonly Query[] = [
  {from: 2, to: 3, most: DOCUMENTS},
  {from: 0, to: 3, most: DOCUMENTS},
  {from: 3, to: PLACES, most: DOCUMENTS},
  {from: 0, to: PLACES, most: 1},
  {from: 0, to: PLACES, most: DOCUMENTS},
];
export const QUERIES = QUERY_LIST.length;

type Found = {doc: number; version: number};

/** As an index is read: from the end, and no further than needed. */
function runOf({from, to, most}: Query, versions: readonly number[]): {found: Found[]; readSet: PackedReadSet} {
  const placed = versions
    .slice(0, DOCUMENTS)
    .map((version, doc) => ({doc, version, place: placeOf(doc, version)}))
    .filter(({place}) => place !== null && place >= from && place < to)
    .sort((a, b) => b.place! - a.place! || b.doc - a.doc);
  const found = placed.slice(0, most);
  const last = found.length < most ? undefined : found.at(-1);
  // Bounds of a range of values, or the position of the last document that was read.
  const lower = last === undefined ? Buffer.from([from]) : entryPlace(keyOf(last.place!), last.doc);
  const interval = {table: 1, index: INDEX.number, lower, upper: Buffer.from([to])};
  return {found, readSet: packed({intervals: [interval], absentTables: []})};
}

function keyOf(place: number): Buffer {
  return Buffer.from([place]);
}

/** A result that the worker keeps. */
class Kept implements KeptResult {
  readonly name = callName('query', 'a:b');
  readonly found: readonly Found[];
  readonly readSet: PackedReadSet;
  isKept = true;
  onEnd: (() => void) | null = null;

  constructor({found, readSet}: ReturnType<typeof runOf>, codeVersion: number) {
    this.found = [...found, {doc: CODE, version: codeVersion}];
    this.readSet = readSet;
  }

  end(): void {
    this.isKept = false;
    this.onEnd?.();
    this.onEnd = null;
  }
}

/** @param query null: the document. `least`: of each document */
type Get = {doc: number; query: number | null; least: readonly number[]; atMs: number};
type ToWorker = {type: 'get'; get: Get; sentMs: number; isForCache: boolean} | {type: 'confirm'; number: number};
type ToRouter =
  | {type: 'answer'; get: Get; found: readonly Found[]; sentMs: number; isCacheable: boolean; result: number | null}
  | {type: 'drop'; body: string; number: number | null}
  | {type: 'acknowledge'; doc: number; version: number}
  | {type: 'closed'};

/** A connection of one router to one worker. */
class Link implements CachingRouter {
  readonly toWorker: ToWorker[] = [];
  readonly toRouter: ToRouter[] = [];
  readonly cache: AnswerCache;
  isOpen = true;

  constructor(cache: AnswerCache) {
    this.cache = cache;
  }

  dropCached(names: CachedNames, number: number | null): void {
    this.toRouter.push({type: 'drop', body: names === null ? '' : JSON.stringify(names), number});
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
  /** By query. */
  readonly kept = new Map<number, Kept>();
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
  readonly #newest: number[] = new Array(DOCUMENTS + 1).fill(0);
  /** See above. */
  readonly known: number[] = new Array(DOCUMENTS + 1).fill(0);
  /** The next worker is announced to routers from then on, unless all have reported before. */
  #announcedFromMs = 0;
  cachedAnswers = 0;
  cachedResults = 0;
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
    this.#router(at).arrived.push({doc, query: null, least: [...this.known], atMs: performance.now()});
  }

  /** Likewise, of a call of a query function. */
  callArrives(at: number, query: number): void {
    this.#router(at).arrived.push({doc: 0, query, least: [...this.known], atMs: performance.now()});
  }

  /** The router takes the oldest get. */
  routerTakes(at: number): void {
    const router = this.#router(at);
    const get = router.arrived.shift();
    if (get === undefined || router.link === null) return;
    const name = nameOf(get);
    const cached = router.link.cache.find(name, get.atMs);
    if (cached !== null) {
      if (get.query === null) this.cachedAnswers++;
      else this.cachedResults++;
      this.#answered(get, JSON.parse(cached.body.toString()) as Found[]);
      return;
    }
    const isForCache = router.link.cache.wants(name.id);
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
        const {get, found, sentMs, isCacheable, result} = frame;
        const body = Buffer.from(JSON.stringify(found));
        const meta = result === null ? {s: 200, e: '"1"'} : {s: 200, c: [result, 'query a:b'] as const};
        if (isCacheable) link.cache.store(nameOf(get), meta, body, sentMs);
        this.#answered(get, found);
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
    const answer = {type: 'answer', get, sentMs} as const;
    if (get.query === null) {
      const found = [{doc: get.doc, version: visible[get.doc]!}];
      const isCacheable = isForCache && caches.allow(link, get.doc);
      link.toRouter.push({...answer, found, isCacheable, result: null});
      return;
    }
    const {kept} = this.#worker;
    const result = kept.get(get.query) ?? new Kept(runOf(QUERY_LIST[get.query]!, visible), visible[CODE]!);
    kept.set(get.query, result);
    const number = isForCache ? caches.allowResult(link, result) : null;
    link.toRouter.push({...answer, found: result.found, isCacheable: number !== null, result: number});
  }

  /** The worker makes room for other results. */
  resultEnds(query: number): void {
    const {kept} = this.#worker;
    kept.get(query)?.end();
    kept.delete(query);
  }

  /**
   * A group is committed.
   * @param by the router that gets the reply; null: code of the tenant learns of it at once
   * @param of tables have changed, and with them every document, without a change of each; or the code has, and with it
   * every result
   */
  commit(documents: readonly number[], by: number | null, of: 'documents' | 'catalog' | 'code'): void {
    const isOfCatalog = of === 'catalog';
    if (this.#worker.pending !== null) return;
    const worker = this.#worker;
    const all = this.#newest.map((_, doc) => doc);
    const changed = {documents: [...new Set(documents)], catalog: all, code: [CODE]}[of];
    const versions = new Map(changed.map(doc => [doc, ++this.#newest[doc]!] as const));
    const changes =
      of === 'documents' ? changed.map(doc => changeOf(doc, worker.visible[doc]!, versions.get(doc)!)) : [];
    const events = of === 'code' ? [new CommittedEvent('deployment.activated', '{}')] : [];
    const commit = new Commit(1, 0, changes, events, [], isOfCatalog);
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
    router.link = new Link(new AnswerCache(router.space, this.#confirms));
    router.hasReported = true;
    this.#worker.caches.connected();
  }

  #settle(): void {
    const worker = this.#worker;
    const {pending} = worker;
    if (pending === null || pending.waits || !pending.isSynced) return;
    for (const [doc, version] of pending.versions) worker.visible[doc] = version;
    worker.pending = null;
    const {changes} = pending.commit;
    for (const [query, kept] of [...worker.kept])
      if (changes.length === 0 || changes.some(change => touches(change, kept.readSet))) this.resultEnds(query);
    worker.caches.committed(pending.commit);
    const link = pending.by === null ? null : this.#router(pending.by).link;
    for (const [doc, version] of pending.versions) {
      if (pending.by === null) this.#know(doc, version);
      else if (link?.isOpen === true) link.toRouter.push({type: 'acknowledge', doc, version});
    }
  }

  #answered({query, least}: Get, found: readonly Found[]): void {
    for (const {doc, version} of found) {
      if (version < least[doc]!) this.stale.push(`document ${doc}: ${version} after ${least[doc]} was known`);
      this.#know(doc, version);
    }
    if (query !== null) this.#judge(QUERY_LIST[query]!, found, least);
  }

  /** Whether the result is that of a state in which each document has a version that is not older than this. */
  #judge(query: Query, found: readonly Found[], least: readonly number[]): void {
    const missing = [...this.#newest.keys()].filter(doc => doc !== CODE && !found.some(one => one.doc === doc));
    const states = missing.reduce<number[][]>(
      (some, doc) =>
        some.flatMap(state => this.#versionsFrom(doc, least[doc]!).map(version => put(state, doc, version))),
      [found.reduce<number[]>((state, {doc, version}) => put(state, doc, version), [])],
    );
    const isRight = (state: number[]) => JSON.stringify(runOf(query, state).found.map(({doc}) => doc)) === shown;
    const shown = JSON.stringify(found.map(({doc}) => doc).filter(doc => doc !== CODE));
    if (!states.some(isRight))
      this.stale.push(`query ${JSON.stringify(query)}: ${JSON.stringify(found)} after ${least}`);
  }

  #versionsFrom(doc: number, least: number): number[] {
    return Array.from({length: this.#newest[doc]! - least + 1}, (_, more) => least + more).slice(0, 8);
  }

  #know(doc: number, version: number): void {
    this.known[doc] = Math.max(this.known[doc]!, version);
  }
}

function put(state: readonly number[], doc: number, version: number): number[] {
  const changed = [...state];
  changed[doc] = version;
  return changed;
}

function nameOf({doc, query}: Get): CacheName {
  return query === null ? {table: TABLE, id: String(doc)} : {table: null, id: `call ${query}`};
}

function changeOf(doc: number, from: number, to: number): Change {
  const row = {doc, id: String(doc), created: 0, updated: 0, body: '{}', flags: 0, checksum: 0};
  const sideOf = (version: number) => {
    const place = placeOf(doc, version);
    return place === null ? null : new Side(row, null, [keyOf(place)]);
  };
  const table = {number: 1, name: TABLE};
  return {
    ...{sequence: 1, table, doc, id: row.id, indexes: [INDEX], isDamaged: false},
    ...{before: sideOf(from), after: sideOf(to)},
  };
}
