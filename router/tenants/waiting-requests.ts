/** Requests that wait for a tenant's worker, in the order of their arrival, within limits. */
import {overloaded, unavailable} from '../../shared/errors.ts';
import {WAKE_TIMEOUT_MS} from '../limits.ts';
import type {RouterLimits} from '../router-limits.ts';
import {type Forwarded, type Holder, reservedBytes} from '../workers/forwarded.ts';

export class WaitingRequests {
  readonly #limits: Pick<RouterLimits, 'waitingRequests' | 'waitingBytes'>;
  readonly #requests = new Set<Forwarded>();
  #bytes = 0;

  constructor(limits: Pick<RouterLimits, 'waitingRequests' | 'waitingBytes'>) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#requests.size;
  }

  /** Whether one of them needs a worker that can run code. */
  get bringCode(): boolean {
    return [...this.#requests].some(({bringsCode}) => bringsCode);
  }

  /** @param holder notified when the client disconnects. @throws session.overloaded 503 */
  add(request: Forwarded, holder: Holder): void {
    const bytes = this.#bytes + reservedBytes(request);
    if (this.#requests.size >= this.#limits.waitingRequests || bytes > this.#limits.waitingBytes) {
      throw overloaded('too many requests wait for this tenant to wake; try again later');
    }
    if (request.waitingSinceMs === 0) request.waitingSinceMs = performance.now();
    request.holder = holder;
    this.#bytes = bytes;
    this.#requests.add(request);
  }

  /** @returns false: it does not wait */
  remove(request: Forwarded): boolean {
    request.holder = null;
    if (!this.#requests.delete(request)) return false;
    this.#bytes -= reservedBytes(request);
    return true;
  }

  /** None waits afterwards. */
  take(): Forwarded[] {
    const requests = [...this.#requests];
    for (const request of requests) request.holder = null;
    this.#requests.clear();
    this.#bytes = 0;
    return requests;
  }

  /** Fails those that have waited too long. @param removed called for each of them before */
  expire(nowMs: number, removed: (request: Forwarded) => void): void {
    for (const request of this.#requests) {
      if (nowMs - request.waitingSinceMs < WAKE_TIMEOUT_MS) continue;
      removed(request);
      request.fail(unavailable("the tenant's worker did not start in time"));
    }
  }
}
