/**
 * One tenant as the router sees it: which link serves it, and which requests wait until one does.
 *
 *   asleep ──request: wake──▶ waking ──worker_ready──▶ linked ──release, nothing under way──▶ asleep
 *              ▲                │  ▲                      │
 *              │                │  └── link lost, reads go again: wake ──┐
 *              └─worker_failed──┘                         └─────────────┘
 *
 * A request that brings code waits while the link is to a worker that cannot run any, and asks for one that can; all others are
 * served until the supervisor says `give_up`. From then on everything waits for the next worker (0063).
 *
 * When a worker dies, two notices come in either order: its socket closes here, and the supervisor says worker_failed. The
 * second of them must not fail what already waits for the next worker, so the lost worker is remembered until the
 * supervisor has spoken of it, and that worker_failed only repeats the wake.
 *
 * Calls of functions that were under way at a death are told to the supervisor, who hears of them from all routers and says
 * what is suspected and refused from then on: before it names the next worker, so nothing waits there unchecked.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {TenantSuspects, UserCall, WorkerAddress} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import {WAKE_RETRY_MS, WAKE_TIMEOUT_MS} from '../limits.ts';
import type {PipeTraffic} from '../live/pipe-traffic.ts';
import {type SocketHub, TenantLive} from '../live/tenant-live.ts';
import {TenantPipes} from '../live/tenant-pipes.ts';
import type {RouterLimits} from '../router-limits.ts';
import {type Forwarded, type Holder, heldBytes} from '../workers/forwarded.ts';
import {HeldBytes, type RouterBytes} from '../workers/held-bytes.ts';
import {type LinkClosed, WorkerLink} from '../workers/link.ts';
import {Suspects} from './suspects.ts';

export type TenantParts = {
  log: Logger;
  hub: () => SocketHub;
  pipeTraffic: () => PipeTraffic;
  bytes: RouterBytes;
  limits: RouterLimits;
  /** Routers there are: with one, a result that is current here is so everywhere. */
  routers: number;
  /** Asks for a worker. @param forCode for one that runs code */
  wake: (forCode: boolean) => void;
  /** All that was under way in a worker that the tenant moves from is answered. */
  givenUp: () => void;
  /** The link to this worker is gone, with these calls under way. */
  lost: (socketPath: string, calls: UserCall[]) => void;
  /** This worker sent what no worker sends; `lost` follows. */
  malformed: (socketPath: string, why: string) => void;
  /** A suspected call was answered. */
  answered: (key: string) => void;
  /** A call was refused because it ended workers before. */
  onRefused: () => void;
};

export class PlacedTenant implements Holder {
  readonly id: string;
  /** Had traffic since the last activity report; set here, cleared by the directory. */
  isActive = false;
  /** It is being deleted: what still arrives for it is 404. */
  isRemoved = false;
  /** Its sockets' live queries. */
  readonly live: TenantLive;
  /** Its function sockets. */
  readonly pipes: TenantPipes;
  /** What the router holds for it. */
  readonly held: HeldBytes;
  readonly #parts: TenantParts;
  readonly #log: Logger;
  #link: WorkerLink | null = null;
  readonly #waiting = new Set<Forwarded>();
  #waitingBytes = 0;
  /** A worker that runs code was asked for. */
  #isCodeWanted = false;
  /** Links that take no more requests, and have some under way. */
  readonly #retired = new Set<WorkerLink>();
  /** The supervisor waits until all of those are answered. */
  #isGivingUp = false;
  /** Socket of the worker whose link was lost while the supervisor has not spoken of it; null: none. */
  #lostSocketPath: string | null = null;
  /** Null: nothing is suspected. */
  #suspects: Suspects | null = null;
  /** Set after a failed connect: the next wake is sent when it fires. */
  #retryTimer: NodeJS.Timeout | null = null;
  /** Set while live queries wait until a worker may be had again. */
  #liveTimer: NodeJS.Timeout | null = null;

  constructor(id: string, parts: TenantParts) {
    this.id = id;
    this.held = new HeldBytes(parts.bytes);
    this.#parts = parts;
    this.#log = parts.log;
    this.live = new TenantLive(parts.hub, parts.routers > 1, () => this.#wakeForLive());
    const {functionSocketsUnhandledBytes} = parts.limits;
    this.pipes = new TenantPipes(parts.pipeTraffic, this.held, functionSocketsUnhandledBytes, () =>
      this.#wakeForLive(),
    );
  }

  get link(): WorkerLink | null {
    return this.#link;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get isBusy(): boolean {
    const hasSockets = this.live.connections.size > 0 || this.pipes.size > 0;
    return hasSockets || this.#waiting.size > 0 || (this.#link !== null && this.#link.inFlight > 0);
  }

  /** Something waits that only a worker can answer. */
  get #needsWorker(): boolean {
    return this.#waiting.size > 0 || this.live.size > 0 || this.pipes.size > 0;
  }

  /** @throws session.overloaded 503, op.quarantined 503, session.tenant_not_found 404 */
  forward(request: Forwarded): void {
    if (this.isRemoved) throw tenantNotFound(this.id);
    if (this.#suspects !== null) this.#suspect(request, this.#suspects);
    if (this.#link !== null && (!request.bringsCode || this.#link.address.runsCode)) this.#link.send(request);
    else this.#wait(request);
  }

  workerReady(address: WorkerAddress): void {
    if (this.isRemoved) return;
    if (address.socketPath !== this.#lostSocketPath) this.#lostSocketPath = null;
    const current = this.#link;
    if (current !== null) {
      if (current.address.socketPath === address.socketPath) return;
      this.#dropLink(); // the new worker replaces it; its requests end when it closes
      this.#retire(current);
    }
    this.#isCodeWanted = false;
    const {live, pipes} = this;
    const link = new WorkerLink(address, this.#log, {live, pipes}, this.held, this.#parts.limits, {
      malformed: ({address: {socketPath}}, why) => this.#parts.malformed(socketPath, why),
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
      link.destroy(); // its closing decides about what it holds
      if (this.#waiting.size > 0) this.#wake(); // what waits for another worker than this one
      return;
    }
    if (this.#lostSocketPath !== null) {
      this.#lostSocketPath = null;
      if (this.#needsWorker) this.#wake();
      return;
    }
    this.#isCodeWanted = false;
    for (const request of this.#takeWaiting()) request.fail(error, retryAfterS);
    this.live.unavailable(error);
    this.pipes.unavailable(error);
    // Sockets that have a result keep it, and their queries are asked for again when the tenant may run again.
    if (this.live.size > 0) this.#wakeForLiveLater(Math.max(retryAfterS * 1000, WAKE_RETRY_MS));
  }

  /** Gives the worker up if nothing is under way. @returns whether it is still in use */
  release(): boolean {
    if (this.isBusy) return true;
    this.#dropLink()?.retire();
    return false;
  }

  /** Sends the worker nothing more, and says so when all that it has of this tenant is answered. */
  giveUp(): void {
    const link = this.#dropLink();
    if (link !== null) {
      link.cutStreams('endless', new ServiceError('session.worker_unavailable', MOVES));
      this.#retire(link);
    }
    this.#isGivingUp = true;
    this.#sayGivenUp();
    if (this.#needsWorker) this.#wake();
  }

  remove(): void {
    this.isRemoved = true;
    for (const request of this.#takeWaiting()) request.fail(tenantNotFound(this.id));
    this.live.end(tenantNotFound(this.id));
    this.pipes.end(tenantNotFound(this.id));
    const link = this.#dropLink();
    link?.cutStreams('all', tenantNotFound(this.id));
    link?.retire();
  }

  /** Fails what has waited for too long. */
  expire(nowMs: number): void {
    this.pipes.expire(nowMs);
    for (const request of this.#waiting) {
      if (nowMs - request.waitingSinceMs < WAKE_TIMEOUT_MS) continue;
      this.abandon(request);
      request.fail(new ServiceError('session.worker_unavailable', "the tenant's worker did not start in time"));
    }
  }

  /** A waiting request leaves the queue: its client has gone, or it waited for too long. */
  abandon(request: Forwarded): void {
    request.holder = null;
    if (this.#waiting.delete(request)) this.#waitingBytes -= heldBytes(request);
  }

  credit(): void {
    assert(false, 'a waiting request does not stream');
  }

  /** What is suspected from now on. */
  suspect(state: Omit<TenantSuspects, 'tenant'>): void {
    this.#suspects ??= new Suspects(this.#parts.answered);
    this.#suspects.replace(state, performance.now());
  }

  /** Another router answered this call. */
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
    const bytes = this.#waitingBytes + heldBytes(request);
    if (this.#waiting.size >= this.#parts.limits.waitingRequests || bytes > this.#parts.limits.waitingBytes) {
      throw new ServiceError('session.overloaded', 'too many requests wait for this tenant to wake; try again later');
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

  /** The link is not used any more; what holds it decides how it ends. */
  #dropLink(): WorkerLink | null {
    const link = this.#link;
    this.#link = null;
    if (link !== null) {
      this.live.detach();
      this.pipes.detach();
    }
    return link;
  }

  /** No worker can be had for a while. Requests and new live queries ask at once all the same, and are told so. */
  #wakeForLiveLater(afterMs: number): void {
    this.#liveTimer ??= setTimeout(() => {
      this.#liveTimer = null;
      if (this.live.size > 0) this.#wakeForLive();
    }, afterMs);
  }

  /** A live query, or a function socket, needs the worker; requests that wait have asked for it already. */
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
    // A link that was given up had nothing under way, unless its worker was replaced.
    if (!retired || calls.length > 0) this.#parts.lost(link.address.socketPath, calls);
    const isLostAgain = link.address.socketPath === this.#lostSocketPath;
    if (this.#link === link) {
      this.#dropLink();
      if (wasOpen && !retired) this.#lostSocketPath = link.address.socketPath;
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

  /** The address did not answer: the worker is just ending, or its queue of connections is full. */
  #wakeLater(): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null;
      if (this.#link === null && this.#needsWorker) this.#wake();
    }, WAKE_RETRY_MS);
  }
}

const MOVES = 'the tenant moves to a worker that runs its code; ask again';

/** One wording, so that an id that cannot exist and one that does not are told apart by nobody. */
export function tenantNotFound(id: string): ServiceError {
  return new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
}
