/**
 * One tenant as the router sees it: which link serves it, and which requests wait until one does.
 *
 *   asleep ──request: wake──▶ waking ──worker_ready──▶ linked ──release, nothing under way──▶ asleep
 *              ▲                │  ▲                      │
 *              │                │  └── link lost, reads go again: wake ──┐
 *              └─worker_failed──┘                         └─────────────┘
 *
 * When a worker dies, two notices come in either order: its socket closes here, and the supervisor says worker_failed. The
 * second of them must not fail what already waits for the next worker, so the lost worker is remembered until the
 * supervisor has spoken of it, and that worker_failed only repeats the wake.
 *
 * Calls of functions that were under way at a death are the quarantine's, and the supervisor is told not to hold that death
 * against the tenant.
 */
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {WorkerAddress} from '../../shared/ipc/control.ts';
import {WAITING_BYTES_MAX, WAITING_REQUESTS_MAX, WAKE_RETRY_MS, WAKE_TIMEOUT_MS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import {type Forwarded, type Holder, heldBytes} from '../workers/forwarded.ts';
import {HeldBytes, type RouterBytes} from '../workers/held-bytes.ts';
import {type LinkClosed, WorkerLink} from '../workers/link.ts';
import {type SocketHub, TenantLive} from '../ws/tenant-live.ts';
import {Quarantine} from './quarantine.ts';

export type TenantParts = {
  log: Logger;
  hub: () => SocketHub;
  bytes: RouterBytes;
  /** Asks for a worker. */
  wake: () => void;
  /** The death of this worker is held against calls, not against the tenant. */
  held: (socketPath: string) => void;
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
  /** What the router holds for it. */
  readonly held: HeldBytes;
  readonly #parts: TenantParts;
  readonly #log: Logger;
  readonly #wake: () => void;
  #link: WorkerLink | null = null;
  readonly #waiting = new Set<Forwarded>();
  #waitingBytes = 0;
  /** Socket of the worker whose link was lost while the supervisor has not spoken of it; null: none. */
  #lostSocketPath: string | null = null;
  /** The worker whose death was looked into last: it may take another connection before it is gone. */
  #blamedSocketPath: string | null = null;
  /** Made at the first death with calls under way, gone when nothing is suspected any more. */
  #quarantine: Quarantine | null = null;
  /** Set after a failed connect: the next wake is sent when it fires. */
  #retryTimer: NodeJS.Timeout | null = null;
  /** Set while live queries wait until a worker may be had again. */
  #liveTimer: NodeJS.Timeout | null = null;

  constructor(id: string, parts: TenantParts) {
    this.id = id;
    this.held = new HeldBytes(parts.bytes);
    this.#parts = parts;
    this.#log = parts.log;
    this.#wake = parts.wake;
    this.live = new TenantLive(parts.hub, () => this.#wakeForLive());
  }

  get link(): WorkerLink | null {
    return this.#link;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get isBusy(): boolean {
    return this.#waiting.size > 0 || this.live.connections.size > 0 || (this.#link !== null && this.#link.inFlight > 0);
  }

  /** @throws session.overloaded 503, op.quarantined 503, session.tenant_not_found 404 */
  forward(request: Forwarded): void {
    if (this.isRemoved) throw tenantNotFound(this.id);
    if (this.#quarantine !== null) this.#suspect(request, this.#quarantine);
    if (this.#link !== null) this.#link.send(request);
    else this.#wait(request);
  }

  workerReady(address: WorkerAddress): void {
    if (this.isRemoved) return;
    if (address.socketPath !== this.#lostSocketPath) this.#lostSocketPath = null;
    const current = this.#link;
    if (current !== null) {
      if (current.address.socketPath === address.socketPath) return;
      this.#dropLink(); // the new worker replaces it; its requests end when it closes
      current.retire();
    }
    const link = new WorkerLink(address, this.#log, this.live, this.held, closed => this.#linkClosed(closed));
    this.#link = link;
    this.live.attach(link);
    for (const request of this.#takeWaiting()) this.#send(link, request);
  }

  workerFailed(error: ServiceError, retryAfterS: number): void {
    const link = this.#dropLink();
    if (link !== null) {
      link.destroy(); // its closing decides about what it holds
      return;
    }
    if (this.#lostSocketPath !== null) {
      this.#lostSocketPath = null;
      if (this.#waiting.size > 0 || this.live.size > 0) this.#wake();
      return;
    }
    for (const request of this.#takeWaiting()) request.fail(error, retryAfterS);
    this.live.unavailable(error);
    // Sockets that have a result keep it, and their queries are asked for again when the tenant may run again.
    if (this.live.size > 0) this.#wakeForLiveLater(Math.max(retryAfterS * 1000, WAKE_RETRY_MS));
  }

  /** Gives the worker up if nothing is under way. @returns whether it is still in use */
  release(): boolean {
    if (this.isBusy) return true;
    this.#dropLink()?.retire();
    return false;
  }

  remove(): void {
    this.isRemoved = true;
    for (const request of this.#takeWaiting()) request.fail(tenantNotFound(this.id));
    this.live.end(tenantNotFound(this.id));
    const link = this.#dropLink();
    link?.cutStreams();
    link?.retire();
  }

  /** Fails what has waited for too long. */
  expire(nowMs: number): void {
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

  #suspect(request: Forwarded, quarantine: Quarantine): void {
    const nowMs = performance.now();
    if (quarantine.isEmpty(nowMs)) {
      this.#quarantine = null;
      return;
    }
    const {call} = request;
    if (call === null) return;
    try {
      quarantine.check(call, nowMs);
    } catch (caught) {
      this.#parts.onRefused();
      throw caught;
    }
    request.suspectedBy = quarantine;
  }

  #wait(request: Forwarded): void {
    const bytes = this.#waitingBytes + heldBytes(request);
    if (this.#waiting.size >= WAITING_REQUESTS_MAX || bytes > WAITING_BYTES_MAX) {
      throw new ServiceError('session.overloaded', 'too many requests wait for this tenant to wake; try again later');
    }
    if (request.waitingSinceMs === 0) request.waitingSinceMs = performance.now();
    request.holder = this;
    this.#waitingBytes = bytes;
    this.#waiting.add(request);
    if (this.#waiting.size === 1 && this.#retryTimer === null) this.#wake();
  }

  /** The link is not used any more; what holds it decides how it ends. */
  #dropLink(): WorkerLink | null {
    const link = this.#link;
    this.#link = null;
    if (link !== null) this.live.detach();
    return link;
  }

  /** No worker can be had for a while. Requests and new live queries ask at once all the same, and are told so. */
  #wakeForLiveLater(afterMs: number): void {
    this.#liveTimer ??= setTimeout(() => {
      this.#liveTimer = null;
      if (this.live.size > 0) this.#wakeForLive();
    }, afterMs);
  }

  /** A live query needs the worker; requests that wait have asked for it already. */
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

  #send(link: WorkerLink, request: Forwarded): void {
    try {
      link.send(request);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      request.fail(caught);
    }
  }

  #linkClosed({link, wasOpen, retired, unanswered, calls}: LinkClosed): void {
    if (calls.length > 0 && link.address.socketPath !== this.#blamedSocketPath) {
      this.#blamedSocketPath = link.address.socketPath;
      this.#quarantine ??= new Quarantine();
      const {isHeld, refused} = this.#quarantine.died(calls, performance.now());
      if (isHeld) this.#parts.held(link.address.socketPath);
      for (const refusal of refused)
        this.#log.error('a call ended its worker too often', {tenant: this.id, ...refusal});
    }
    const isLostAgain = link.address.socketPath === this.#lostSocketPath;
    if (this.#link === link) {
      this.#dropLink();
      if (wasOpen && !retired) this.#lostSocketPath = link.address.socketPath;
    }
    if (!wasOpen || isLostAgain) this.#wakeLater();
    for (const request of unanswered) this.#again(request);
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
      if (this.#link === null && (this.#waiting.size > 0 || this.live.size > 0)) this.#wake();
    }, WAKE_RETRY_MS);
  }
}

/** One wording, so that an id that cannot exist and one that does not are told apart by nobody. */
export function tenantNotFound(id: string): ServiceError {
  return new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
}
