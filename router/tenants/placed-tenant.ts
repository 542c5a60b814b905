/**
 * One tenant as the router sees it: the link that serves it, and the requests that wait for one.
 *
 *   asleep ──request: wake──▶ waking ──worker_ready──▶ linked ──release, nothing under way──▶ asleep
 *              ▲                │  ▲                      │
 *              │                │  └── link lost, reads go again: wake ──┐
 *              └─worker_failed──┘                         └─────────────┘
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
import {overloaded, ServiceError, unavailable} from '../../shared/errors.ts';
import type {TenantSuspects, TrafficReport, UserCall, WorkerAddress, WorkerName} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {WAKE_RETRY_MS, WAKE_TIMEOUT_MS} from '../limits.ts';
import {type SocketHub, TenantLive} from '../live/tenant-live.ts';
import {TenantPipes} from '../live/tenant-pipes.ts';
import type {RouterLimits} from '../router-limits.ts';
import type {Forwarded, Holder, TrafficCounter} from '../workers/forwarded.ts';
import {type LinkClosed, reservedBytes, WorkerLink} from '../workers/link.ts';
import {type Connect, connectToWorker} from '../workers/worker-socket.ts';
import {Suspects} from './suspects.ts';
import {TrafficCounts} from './traffic-counts.ts';

export type TenantParts = {
  log: Logger;
  hub: () => SocketHub;
  metrics: RouterMetrics;
  bytes: ReservedTotal;
  limits: RouterLimits;
  /** Number of routers. With one, a result that is current here is current everywhere. */
  routers: number;
  /** Requests a worker. @param forCode one that can run code */
  wake: (forCode: boolean) => void;
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
  /** Its sockets' live queries. */
  readonly live: TenantLive;
  /** Its function sockets. */
  readonly pipes: TenantPipes;
  /** Bytes that the router holds for it. */
  readonly reserved: ReservedBytes;
  readonly #parts: TenantParts;
  readonly #log: Logger;
  #link: WorkerLink | null = null;
  readonly #waiting = new Set<Forwarded>();
  #waitingBytes = 0;
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
    this.#parts = parts;
    this.#log = parts.log;
    this.live = new TenantLive(parts.hub, parts.routers > 1, () => this.#wakeForLive());
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
    return this.sockets > 0 || this.#waiting.size > 0 || (this.#link !== null && this.#link.inFlight > 0);
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
    return this.#waiting.size > 0 || this.live.size > 0 || this.pipes.size > 0;
  }

  /** @throws session.overloaded 503, op.quarantined 503; session.tenant_not_found 404, session.worker_unavailable 503: removed */
  forward(request: Forwarded): void {
    if (this.removed !== null) throw this.removed;
    if (this.#suspects !== null) this.#suspect(request, this.#suspects);
    if (this.#link !== null && (!request.bringsCode || this.#link.end.runsCode)) this.#link.send(request);
    else this.#wait(request);
  }

  workerReady(address: WorkerAddress): void {
    if (this.isRemoved) return;
    if (address.worker !== this.#lostWorker) this.#lostWorker = null;
    const current = this.#link;
    if (current !== null) {
      if (current.end.worker === address.worker) return;
      this.#dropLink(); // the new worker replaces it; its requests end when it closes
      this.#retire(current);
    }
    this.#isCodeWanted = false;
    const {live, pipes} = this;
    const connect: Connect = received => connectToWorker(address, received);
    const link = new WorkerLink(address, connect, this.#log, {live, pipes}, this.reserved, this.#parts.limits, {
      malformed: ({end: {worker}}, why) => this.#parts.malformed(worker, why),
      closed: closed => this.#linkClosed(closed),
    });
    this.#link = link;
    this.live.attach(link);
    this.pipes.attach(link);
    for (const request of this.#takeWaiting()) this.#again(request);
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
    this.#isCodeWanted = false;
    for (const request of this.#takeWaiting()) request.fail(error, retryAfterS);
    this.live.unavailable(error);
    this.pipes.unavailable(error);
    // Sockets that have a result keep it; their queries are sent again when the tenant can run again.
    if (this.live.size > 0) this.#wakeForLiveLater(Math.max(retryAfterS * 1000, WAKE_RETRY_MS));
  }

  /** Gives the worker up if nothing is under way. @returns whether it is still in use */
  release(): boolean {
    if (this.isBusy) return true;
    this.#dropLink()?.retire();
    return false;
  }

  /**
   * Sends nothing more to the worker, and reports when all requests that it has are answered.
   * @param why for endless answers, which are cut
   */
  giveUp(why: ServiceError): void {
    const link = this.#dropLink();
    if (link !== null) {
      link.cutStreams('endless', why);
      this.#retire(link);
    }
    this.#isGivingUp = true;
    this.#sayGivenUp();
    if (this.#needsWorker) this.#wake();
  }

  /** @param returns it is replaced: clients come back, instead of taking it for deleted */
  remove(returns: boolean): void {
    const why = returns ? tenantReplaced(this.id) : tenantNotFound(this.id);
    this.removed = why;
    for (const request of this.#takeWaiting()) request.fail(why);
    this.live.end(why);
    if (returns) this.pipes.unavailable(why);
    else this.pipes.end(why);
    const link = this.#dropLink();
    link?.cutStreams('all', why);
    link?.retire();
  }

  /** Fails requests that have waited too long. */
  expire(nowMs: number): void {
    this.pipes.expire(nowMs);
    for (const request of this.#waiting) {
      if (nowMs - request.waitingSinceMs < WAKE_TIMEOUT_MS) continue;
      this.abandon(request);
      request.fail(unavailable("the tenant's worker did not start in time"));
    }
  }

  /** Removes a waiting request: its client has disconnected, or it waited too long. */
  abandon(request: Forwarded): void {
    request.holder = null;
    if (!this.#waiting.delete(request)) return;
    this.#waitingBytes -= reservedBytes(request);
    // Later wakes do not move the tenant for a request that is gone.
    this.#isCodeWanted &&= [...this.#waiting].some(({bringsCode}) => bringsCode);
  }

  credit(): void {
    assert(false, 'a waiting request does not stream');
  }

  /** Replaces the list of suspected calls. */
  suspect(state: Omit<TenantSuspects, 'tenant'>): void {
    this.#suspects ??= new Suspects(this.#parts.answered);
    this.#suspects.replace(state, performance.now());
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
    const bytes = this.#waitingBytes + reservedBytes(request);
    if (this.#waiting.size >= this.#parts.limits.waitingRequests || bytes > this.#parts.limits.waitingBytes) {
      throw overloaded('too many requests wait for this tenant to wake; try again later');
    }
    if (request.waitingSinceMs === 0) request.waitingSinceMs = performance.now();
    request.holder = this;
    this.#waitingBytes = bytes;
    this.#waiting.add(request);
    const asksForCode = request.bringsCode && !this.#isCodeWanted;
    if (asksForCode) this.#isCodeWanted = true;
    if (asksForCode || (this.#waiting.size === 1 && this.#retryTimer === null)) this.#wake();
  }

  #wake(): void {
    this.#parts.wake(this.#isCodeWanted);
  }

  #retire(link: WorkerLink): void {
    this.#retired.add(link);
    link.retire();
  }

  #sayGivenUp(): void {
    if (!this.#isGivingUp || this.#retired.size > 0) return;
    this.#isGivingUp = false;
    this.#parts.givenUp();
  }

  /** Stops using the link; the requests it holds decide when it closes. */
  #dropLink(): WorkerLink | null {
    const link = this.#link;
    this.#link = null;
    if (link !== null) {
      this.live.detach();
      this.pipes.detach();
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

  #takeWaiting(): Forwarded[] {
    const requests = [...this.#waiting];
    for (const request of requests) request.holder = null;
    this.#waiting.clear();
    this.#waitingBytes = 0;
    return requests;
  }

  #linkClosed({link, wasOpen, retired, unanswered, calls}: LinkClosed): void {
    this.#retired.delete(link);
    // A retired link had nothing under way, unless its worker was replaced.
    if (!retired || calls.length > 0) this.#parts.lost(link.end.worker, calls);
    const isLostAgain = link.end.worker === this.#lostWorker;
    if (this.#link === link) {
      this.#dropLink();
      if (wasOpen && !retired) this.#lostWorker = link.end.worker;
    }
    if (!wasOpen || isLostAgain) this.#wakeLater();
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
  #wakeLater(): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null;
      if (this.#link === null && this.#needsWorker) this.#wake();
    }, WAKE_RETRY_MS);
  }
}

/** One message for both, so that an id that cannot exist and one that does not exist are indistinguishable. */
export function tenantNotFound(id: string): ServiceError {
  return new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
}

export function tenantReplaced(id: string): ServiceError {
  return unavailable(`the file of tenant ${JSON.stringify(id)} is being replaced; try again`);
}
