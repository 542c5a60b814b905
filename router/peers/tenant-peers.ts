/**
 * The links of routers of other hosts to one tenant's worker on this host. They keep the tenant awake, as sockets do.
 * While the tenant has no worker, they wait for one.
 */
import {type ServiceError, unavailable} from '../../shared/errors.ts';
import type {TenantSuspects, UserCall, WorkerAddress, WorkerName} from '../../shared/ipc/control.ts';
import {PEER_REPORT_MS, WAKE_TIMEOUT_MS} from '../limits.ts';

/** A link of another host's router, which the peer port holds. */
export interface PeerLink {
  /** The same object for all links of one router. */
  readonly router: object;
  /** The worker has ended it, or its host. */
  readonly isCut: boolean;
  readonly forCode: boolean;
  readonly sinceMs: number;
  /** The worker that it leads to; null: it waits for one. */
  readonly worker: WorkerName | null;
  /** From now on it leads to this worker. */
  serve(address: WorkerAddress): void;
  /** Another host serves the tenant. */
  moved(): void;
  refuse(error: ServiceError, retryAfterS: number): void;
  /** Its router sends the worker nothing more, and ends it once everything is answered. */
  giveUp(why: ServiceError): void;
  /** Calls that its router is to refuse. */
  suspects(state: Omit<TenantSuspects, 'tenant'>): void;
  end(): void;
}

/** A worker that ended. `known`: gets all calls that were under way. */
type Loss = {worker: WorkerName; calls: UserCall[]; known: (calls: UserCall[]) => void; timer: NodeJS.Timeout};

export class TenantPeers {
  readonly #waiting = new Set<PeerLink>();
  readonly #linked = new Set<PeerLink>();
  /** Links that ended with their worker, and the calls that their routers report; null: not yet. */
  readonly #cut = new Map<PeerLink, UserCall[] | null>();
  readonly #losses = new Set<Loss>();

  get waiting(): number {
    return this.#waiting.size;
  }

  get isBusy(): boolean {
    return this.#waiting.size > 0 || this.#linked.size > 0;
  }

  get wantsCode(): boolean {
    return [...this.#waiting].some(({forCode}) => forCode);
  }

  wait(link: PeerLink): void {
    this.#waiting.add(link);
  }

  /** @returns whether links lead to another worker than this one. @param worker null: none */
  usesOther(worker: WorkerName | null): boolean {
    return [...this.#linked].some(link => link.worker !== worker);
  }

  /** The link is closed. */
  closed(link: PeerLink): void {
    this.#waiting.delete(link);
    if (this.#linked.delete(link) && link.isCut) this.#cutOff(link, null);
    this.#settle();
  }

  /** The worker has ended. @param known called once with the calls of all routers, or those that reported in time */
  lost(worker: WorkerName, calls: UserCall[], known: (calls: UserCall[]) => void): void {
    const timer = setTimeout(() => {
      this.#losses.delete(loss);
      known([...calls, ...this.#reportedBy(worker)]);
    }, PEER_REPORT_MS);
    const loss = {worker, calls, known, timer};
    this.#losses.add(loss);
    this.#settle();
  }

  /** A router of another host has lost its link to this worker. */
  reported(router: object, worker: WorkerName, calls: UserCall[]): void {
    const link = [...this.#linked, ...this.#cut.keys()].find(one => one.router === router && one.worker === worker);
    if (link === undefined) return;
    this.#linked.delete(link);
    this.#cutOff(link, calls);
    this.#settle();
  }

  suspects(state: Omit<TenantSuspects, 'tenant'>): void {
    for (const link of [...this.#waiting, ...this.#linked]) link.suspects(state);
  }

  #cutOff(link: PeerLink, calls: UserCall[] | null): void {
    if (!this.#cut.has(link)) {
      setTimeout(() => {
        this.#cut.delete(link);
        this.#settle();
      }, PEER_REPORT_MS);
    }
    this.#cut.set(link, calls);
  }

  #reportedBy(worker: WorkerName): UserCall[] {
    return [...this.#cut].flatMap(([link, calls]) => (link.worker === worker ? (calls ?? []) : []));
  }

  #settle(): void {
    for (const loss of this.#losses) {
      const {worker, calls, known, timer} = loss;
      const isOpen = [...this.#linked].some(link => link.worker === worker);
      const isUnreported = [...this.#cut].some(([link, reported]) => link.worker === worker && reported === null);
      if (isOpen || isUnreported) continue;
      clearTimeout(timer);
      this.#losses.delete(loss);
      known([...calls, ...this.#reportedBy(worker)]);
    }
  }

  /** A worker of this host serves the tenant. */
  serve(address: WorkerAddress): void {
    for (const link of this.#waiting) {
      if (link.forCode && !address.runsCode) continue;
      this.#waiting.delete(link);
      this.#linked.add(link);
      link.serve(address);
    }
  }

  moved(): void {
    for (const link of this.#takeWaiting()) link.moved();
  }

  unavailable(error: ServiceError, retryAfterS: number): void {
    for (const link of this.#takeWaiting()) link.refuse(error, retryAfterS);
  }

  /** Links that lead to this worker are to end. */
  giveUp(worker: WorkerName, why: ServiceError): void {
    for (const link of this.#linked) if (link.worker === worker) link.giveUp(why);
  }

  /** The tenant is being deleted or replaced. */
  end(why: ServiceError): void {
    this.unavailable(why, 0);
    for (const link of [...this.#linked]) link.end();
  }

  expire(nowMs: number): void {
    for (const link of this.#waiting) {
      if (nowMs - link.sinceMs < WAKE_TIMEOUT_MS) continue;
      this.#waiting.delete(link);
      link.refuse(unavailable("the tenant's worker did not start in time"), 1);
    }
  }

  #takeWaiting(): PeerLink[] {
    const links = [...this.#waiting];
    this.#waiting.clear();
    return links;
  }
}
