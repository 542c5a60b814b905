/**
 * One tenant as the router sees it: the link that serves it, and the requests that wait for one.
 *
 *   asleep ──request: wake──▶ waking ──worker_ready──▶ linked ──release, nothing under way──▶ asleep
 *              ▲               │ │ ▲                      │
 *              │               │ │ └── link lost, reads go again: wake ──┐
 *              └─worker_failed─┘ │                        └─────────────┘
 *                                └─served_elsewhere──▶ dialling ──linked──▶ linked to a worker of another host
 *                                                          └──moved, lost: wake again later
 *
 * A request that needs to run code waits if the link leads to a worker that cannot run any, and requests one that can.
 * All other requests are served until the supervisor sends `give_up`; from then on everything waits for the next worker
 * (0063).
 *
 * When a worker dies, two notices arrive in either order: its socket closes here, and the supervisor sends
 * worker_failed. The second one must not fail requests that already wait for the next worker. So the lost worker is
 * remembered until the supervisor has reported it, and that worker_failed only repeats the wake.
 *
 * Function calls that were under way at a crash are reported to the supervisor, which collects them from all routers.
 * It sends the list of quarantined calls before it names the next worker, so no waiting call is sent there unchecked.
 */
import {assert} from '../../shared/assert.ts';
import {ReservedBytes, type ReservedTotal} from '../../shared/byte-accounts.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {
  RemoteAddress,
  TenantSuspects,
  TrafficReport,
  UserCall,
  WorkerAddress,
  WorkerName,
} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {PEER_RETRY_MS, WAKE_RETRY_MS} from '../limits.ts';
import {type SocketHub, TenantLive} from '../live/tenant-live.ts';
import {TenantPipes} from '../live/tenant-pipes.ts';
import type {LinkDial, LinkOutcome} from '../peers/peer-host.ts';
import {type PeerLink, TenantPeers} from '../peers/tenant-peers.ts';
import type {RouterLimits} from '../router-limits.ts';
import {AnswerCache, type CachedAnswer, type CacheName} from '../workers/answer-cache.ts';
import type {CacheSpace} from '../workers/cache-space.ts';
import type {Forwarded, Holder, LinkedWorker, LinkReports, TrafficCounter} from '../workers/forwarded.ts';
import {type LinkClosed, WorkerLink} from '../workers/link.ts';
import {type Connect, connectToWorker} from '../workers/worker-socket.ts';
import {Suspects} from './suspects.ts';
import {tenantMoves, tenantNotFound, tenantReplaced} from './tenant-errors.ts';
import {TrafficCounts} from './traffic-counts.ts';
import {WaitingRequests} from './waiting-requests.ts';

export type TenantParts = {
  log: Logger;
  hub: () => SocketHub;
  metrics: RouterMetrics;
  bytes: ReservedTotal;
  cache: CacheSpace;
  limits: RouterLimits;
  /** There are other routers. Without, a result that is current here is current everywhere. */
  hasPeers: boolean;
  /** Requests a worker. @param forCode one that can run code. @param forPeer a router of another host needs it */
  wake: (forCode: boolean, forPeer: boolean) => void;
  /** Connects to the tenant's worker through a router of another host. */
  dial: (remote: RemoteAddress, forCode: boolean, done: (outcome: LinkOutcome) => void) => LinkDial;
  /** Everything that was under way in a worker that the tenant moves away from is answered. */
  givenUp: () => void;
  /** The link to this worker is gone, with these calls under way. */
  lost: (worker: WorkerName, calls: UserCall[]) => void;
  /** The worker violated the protocol; `lost` follows. */
  malformed: (worker: WorkerName, why: string) => void;
  /** A suspected call was answered. */
  answered: (key: string) => void;
  /** A call was refused because it crashed workers before. */
  onRefused: () => void;
  /** The first request since the last report of its traffic. */
  onTraffic: () => void;
};

export class PlacedTenant implements Holder, TrafficCounter {
  readonly id: string;
  /** Had traffic since the last activity report. Set here, cleared by the directory. */
  isActive = false;
  /** What requests get, because the tenant is being deleted or replaced; null: it is served. */
  removed: ServiceError | null = null;
  /**
   * Until then this router may answer without the worker, in milliseconds of `performance.now()`: as long as the host is
   * sure to own the tenant.
   */
  answersUntilMs = Number.POSITIVE_INFINITY;
  /** Its sockets' live queries. */
  readonly live: TenantLive;
  /** Its function sockets. */
  readonly pipes: TenantPipes;
  /** Links of routers of other hosts to its worker here. */
  readonly peers = new TenantPeers();
  /** Bytes that the router holds for it. */
  readonly reserved: ReservedBytes;
  readonly #parts: TenantParts;
  readonly #log: Logger;
  #link: WorkerLink | null = null;
  /** Where the link leads; null: there is none, or it leads to another host. */
  #address: WorkerAddress | null = null;
  /** Of the newest link. */
  #reports: LinkReports | null = null;
  /** A connection to another host that serves the tenant, until its answer. */
  #dial: LinkDial | null = null;
  readonly #waiting: WaitingRequests;
  /** A worker that runs code was requested. */
  #isCodeWanted = false;
  /** Links that accept no more requests, and have some under way. */
  readonly #retired = new Set<WorkerLink>();
  /** The supervisor waits until all requests on retired links are answered. */
  #isGivingUp = false;
  /** The worker whose link was lost, until the supervisor has reported that; null: none. */
  #lostWorker: WorkerName | null = null;
  /** Null: no call is suspected. */
  #suspects: Suspects | null = null;
  /** Requests since the last report; null: none. */
  #counts: TrafficCounts | null = null;
  /** Set after a failed connect: the next wake is sent when it fires. */
  #retryTimer: NodeJS.Timeout | null = null;
  /** Set while live queries wait until a worker can be requested again. */
  #liveTimer: NodeJS.Timeout | null = null;

  constructor(id: string, parts: TenantParts) {
    this.id = id;
    this.reserved = new ReservedBytes(parts.bytes);
    this.#waiting = new WaitingRequests(parts.limits);
    this.#parts = parts;
    this.#log = parts.log;
    this.live = new TenantLive(parts.hub, parts.hasPeers, () => this.#wakeForLive());
    const {functionSocketsUnhandledBytes} = parts.limits;
    this.pipes = new TenantPipes(parts.metrics, this.reserved, functionSocketsUnhandledBytes, () =>
      this.#wakeForLive(),
    );
  }

  get link(): WorkerLink | null {
    return this.#link;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get isRemoved(): boolean {
    return this.removed !== null;
  }

  get isBusy(): boolean {
    const isUsed = this.sockets > 0 || this.#waiting.size > 0 || this.peers.isBusy;
    return isUsed || (this.#link !== null && this.#link.inFlight > 0);
  }

  get sockets(): number {
    return this.live.connections.size + this.pipes.size;
  }

  counted(status: number, ms: number | null, bytesIn: number, bytesOut: number): void {
    if (this.#counts === null) {
      this.#counts = new TrafficCounts();
      this.#parts.onTraffic();
    }
    this.#counts.add(status, ms, bytesIn, bytesOut);
  }

  /** Its requests since the last call. */
  takeTraffic(): TrafficReport {
    const counts = this.#counts ?? new TrafficCounts();
    this.#counts = null;
    return counts.report(this.id, this.sockets);
  }

  /** Whether something waits that only a worker can answer. */
  get #needsWorker(): boolean {
    return this.#waiting.size > 0 || this.live.size > 0 || this.pipes.size > 0 || this.peers.waiting > 0;
  }

  /** @throws session.overloaded 503, op.quarantined 503; session.tenant_not_found 404, session.worker_unavailable 503: removed */
  forward(request: Forwarded): void {
    if (this.removed !== null) throw this.removed;
    if (this.#suspects !== null) this.#suspect(request, this.#suspects);
    if (this.#link !== null && (!request.bringsCode || this.#link.end.runsCode)) this.#link.send(request);
    else this.#wait(request);
  }

  /** Whether this router may answer a request that was here at this time without the worker. */
  mayAnswer(atMs: number): boolean {
    return this.removed === null && atMs < this.answersUntilMs;
  }

  /** The answer, if this router can repeat it. @param atMs when the request was here */
  cached(name: CacheName, atMs: number): CachedAnswer | null {
    return this.mayAnswer(atMs) ? (this.#link?.cache.find(name, atMs) ?? null) : null;
  }

  /** Whether to request that the answer may be cached. */
  wantsCached({id}: CacheName): boolean {
    return this.#link?.cache.wants(id) === true;
  }

  workerReady(address: WorkerAddress): void {
    if (this.isRemoved) return;
    if (address.worker !== this.#lostWorker) this.#lostWorker = null;
    this.#endDial();
    if (this.#link?.end.worker !== address.worker) {
      const {worker} = address;
      this.#use(address, received => connectToWorker(address, received), {
        malformed: why => this.#parts.malformed(worker, why),
        lost: calls => this.peers.lost(worker, calls, all => this.#parts.lost(worker, all)),
        answered: key => this.#parts.answered(key),
      });
      this.#address = address;
    }
    this.peers.serve(address);
  }

  /** Another host serves the tenant. */
  servedElsewhere(remote: RemoteAddress): void {
    if (this.isRemoved) return;
    this.peers.moved();
    const forCode = this.#isCodeWanted;
    const isLinked = this.#link !== null && this.#address === null && (this.#link.end.runsCode || !forCode);
    const isDialled = this.#dial !== null && (this.#dial.forCode || !forCode);
    if (isLinked || isDialled) return;
    this.#endDial();
    this.#dial = this.#parts.dial(remote, forCode, outcome => this.#dialled(outcome));
  }

  #dialled(outcome: LinkOutcome): void {
    this.#dial = null;
    switch (outcome.type) {
      case 'linked':
        this.#use(outcome.end, outcome.connect, outcome.reports);
        return;
      case 'moved':
        this.#wakeLater(WAKE_RETRY_MS);
        return;
      case 'lost':
        this.#wakeLater(PEER_RETRY_MS);
        return;
      case 'refused':
        this.#unavailable(outcome.error, outcome.retryAfterS);
    }
  }

  #endDial(): void {
    this.#dial?.abandon();
    this.#dial = null;
  }

  /** From now on this worker serves the tenant. */
  #use(end: LinkedWorker, connect: Connect, reports: LinkReports): void {
    const current = this.#dropLink();
    if (current !== null) this.#retire(current, tenantMoves(this.id)); // its requests end when it closes
    this.#isCodeWanted = false;
    this.#reports = reports;
    const {live, pipes} = this;
    const cache = new AnswerCache(this.#parts.cache, this.#parts.hasPeers || end.runsCode);
    const receivers = {live, pipes, cache};
    const link = new WorkerLink(end, connect, this.#log, receivers, this.reserved, this.#parts.limits, {
      malformed: (_, why) => reports.malformed(why),
      closed: closed => this.#linkClosed(closed, reports),
    });
    this.#link = link;
    this.live.attach(link);
    this.pipes.attach(link.sockets);
    for (const request of this.#waiting.take()) this.#again(request);
  }

  workerFailed(error: ServiceError, retryAfterS: number): void {
    const link = this.#dropLink();
    if (link !== null) {
      link.destroy(); // its close handler decides about its requests
      if (this.#waiting.size > 0) this.#wake(); // requests that wait for a different worker
      return;
    }
    if (this.#lostWorker !== null) {
      this.#lostWorker = null;
      if (this.#needsWorker) this.#wake();
      return;
    }
    this.#endDial();
    this.#unavailable(error, retryAfterS);
  }

  #unavailable(error: ServiceError, retryAfterS: number): void {
    this.#isCodeWanted = false;
    this.peers.unavailable(error, retryAfterS);
    for (const request of this.#waiting.take()) request.fail(error, retryAfterS);
    this.live.unavailable(error);
    this.pipes.unavailable(error);
    // Sockets that have a result keep it; their queries are sent again when the tenant can run again.
    if (this.live.size > 0) this.#wakeForLiveLater(Math.max(retryAfterS * 1000, WAKE_RETRY_MS));
  }

  /** Gives the worker up if nothing is under way. @returns whether it is still in use */
  release(): boolean {
    if (this.isBusy) return true;
    this.#endDial();
    this.#dropLink()?.retire();
    return false;
  }

  /**
   * Sends nothing more to the worker, and reports when all requests that it has are answered.
   * @param why for endless answers, which are cut
   */
  giveUp(why: ServiceError): void {
    this.#endDial();
    this.#isGivingUp = true;
    this.#leave(why);
    this.#sayGivenUp();
    if (this.#needsWorker) this.#wake();
  }

  /** As `giveUp`, on the request of the host that has the worker. */
  peerGivesUp(worker: WorkerName, why: ServiceError): void {
    if (this.#address !== null || this.#link?.end.worker !== worker) return;
    this.#leave(why);
    if (this.#needsWorker) this.#wake();
  }

  #leave(why: ServiceError): void {
    const link = this.#dropLink(true);
    if (link === null) return;
    const continued = link.cutStreams('endless', why);
    this.#retire(link, why);
    for (const request of continued) this.#again(request);
  }

  /** A router of another host needs the tenant's worker. */
  peerArrived(peer: PeerLink): void {
    if (this.removed !== null) {
      peer.refuse(this.removed, 1);
      return;
    }
    this.peers.wait(peer);
    if (this.#suspects !== null) peer.suspects(this.#suspects.state(performance.now()));
    if (this.#address !== null) this.peers.serve(this.#address);
    else if (this.#link !== null) this.peers.moved();
    if (this.peers.waiting > 0 && this.#retryTimer === null) this.#wake();
  }

  peerClosed(peer: PeerLink): void {
    this.peers.closed(peer);
    this.#sayGivenUp();
  }

  /** @param returns it is replaced: clients come back, instead of taking it for deleted */
  remove(returns: boolean): void {
    const why = returns ? tenantReplaced(this.id) : tenantNotFound(this.id);
    this.removed = why;
    for (const request of this.#waiting.take()) request.fail(why);
    this.live.end(why);
    if (returns) this.pipes.unavailable(why);
    else this.pipes.end(why);
    this.#endDial();
    this.peers.end(why);
    const link = this.#dropLink();
    link?.cutStreams('all', why);
    link?.retire();
  }

  /** Fails requests that have waited too long. */
  expire(nowMs: number): void {
    this.pipes.expire(nowMs);
    this.peers.expire(nowMs);
    this.#waiting.expire(nowMs, request => this.abandon(request));
  }

  /** Removes a waiting request: its client has disconnected, or it waited too long. */
  abandon(request: Forwarded): void {
    if (!this.#waiting.remove(request)) return;
    // Later wakes do not move the tenant for a request that is gone.
    this.#isCodeWanted &&= this.#waiting.bringCode;
  }

  credit(): void {
    assert(false, 'a waiting request does not stream');
  }

  /** Replaces the list of suspected calls. */
  suspect(state: Omit<TenantSuspects, 'tenant'>): void {
    this.#suspects ??= new Suspects(key => (this.#reports ?? this.#parts).answered(key));
    this.#suspects.replace(state, performance.now());
    this.peers.suspects(state);
  }

  /** Another router received an answer to this call. */
  innocent(key: string): void {
    this.#suspects?.forget(key);
  }

  #suspect(request: Forwarded, suspects: Suspects): void {
    const nowMs = performance.now();
    if (suspects.isEmpty(nowMs)) {
      this.#suspects = null;
      return;
    }
    const {call} = request;
    if (call === null) return;
    try {
      suspects.check(call, nowMs);
    } catch (caught) {
      this.#parts.onRefused();
      throw caught;
    }
    request.suspectedBy = suspects;
  }

  #wait(request: Forwarded): void {
    this.#waiting.add(request, this);
    const asksForCode = request.bringsCode && !this.#isCodeWanted;
    if (asksForCode) this.#isCodeWanted = true;
    if (asksForCode || (this.#waiting.size === 1 && this.#retryTimer === null)) this.#wake();
  }

  #wake(): void {
    this.#parts.wake(this.#isCodeWanted || this.peers.wantsCode, this.peers.waiting > 0);
  }

  #retire(link: WorkerLink, why: ServiceError): void {
    this.peers.giveUp(link.end.worker, why);
    this.#retired.add(link);
    link.retire();
  }

  /** Links of other hosts' routers lead to a worker that the tenant moves away from. */
  get #hasOldPeers(): boolean {
    return this.peers.usesOther(this.#address?.worker ?? null);
  }

  #sayGivenUp(): void {
    if (!this.#isGivingUp || this.#retired.size > 0 || this.#hasOldPeers) return;
    this.#isGivingUp = false;
    this.#parts.givenUp();
  }

  /** Stops using the link; what it has under way decides when it closes. @param isLeft the worker still answers */
  #dropLink(isLeft = false): WorkerLink | null {
    const link = this.#link;
    this.#link = null;
    this.#address = null;
    if (link !== null) {
      this.live.detach();
      this.pipes.detach(isLeft);
    }
    return link;
  }

  /** No worker is available for a while. Requests and new live queries still request one at once, and get the error. */
  #wakeForLiveLater(afterMs: number): void {
    this.#liveTimer ??= setTimeout(() => {
      this.#liveTimer = null;
      if (this.live.size > 0) this.#wakeForLive();
    }, afterMs);
  }

  /** A live query or a function socket needs the worker. If requests wait, they have requested it already. */
  #wakeForLive(): void {
    if (this.#link === null && this.#waiting.size === 0 && this.#retryTimer === null && !this.isRemoved) this.#wake();
  }

  #linkClosed({link, wasOpen, retired, unanswered, calls}: LinkClosed, reports: LinkReports): void {
    this.#retired.delete(link);
    // A retired link had nothing under way, unless its worker was replaced.
    if (!retired || calls.length > 0) reports.lost(calls);
    const isLostAgain = link.end.worker === this.#lostWorker;
    if (this.#link === link) {
      const isLocal = this.#address !== null;
      this.#dropLink();
      // The supervisor reports the end of workers of this host only.
      if (wasOpen && !retired && isLocal) this.#lostWorker = link.end.worker;
    }
    if (!wasOpen || isLostAgain) this.#wakeLater(WAKE_RETRY_MS);
    for (const request of unanswered) this.#again(request);
    this.#sayGivenUp();
  }

  #again(request: Forwarded): void {
    try {
      this.forward(request);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      request.fail(caught);
    }
  }

  /** The address did not answer: the worker is ending, or its queue of connections is full. */
  #wakeLater(afterMs: number): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null;
      const isIdle = this.#link === null && this.#dial === null;
      // Requests that bring code wait while there is a link.
      if (this.#waiting.size > 0 || (isIdle && this.#needsWorker)) this.#wake();
    }, afterMs);
  }
}
