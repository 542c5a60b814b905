/**
 * The links of routers of other hosts to one tenant's worker on this host. They keep the tenant awake, as sockets do.
 * While the tenant has no worker, they wait for one.
 */
import {type ServiceError, unavailable} from '../../shared/errors.ts';
import type {WorkerAddress, WorkerName} from '../../shared/ipc/control.ts';
import {WAKE_TIMEOUT_MS} from '../limits.ts';

/** A link of another host's router, which the peer port holds. */
export interface PeerLink {
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
  end(): void;
}

export class TenantPeers {
  readonly #waiting = new Set<PeerLink>();
  readonly #linked = new Set<PeerLink>();

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
    this.#linked.delete(link);
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
