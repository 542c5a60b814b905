/**
 * Slows down whoever shows wrong credentials: an address may fail AUTH_FAILURES_AT_ONCE times, and earns one failure back in
 * AUTH_FAILURE_EARNED_MS, over all routers: each has its share. Beyond that its wrong ones are answered late, and as 429. A right credential is served whatever its
 * address did before: behind a proxy all clients have one address, and nobody shall lock the others out.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import {AUTH_FAILURE_ADDRESSES_MAX, AUTH_FAILURE_DELAY_MS, AUTH_FAILURE_EARNED_MS} from '../limits.ts';
import type {RouterLimits} from '../router-limits.ts';

/** As long as one failure counts. */
export const RATE_LIMIT_RETRY_S = AUTH_FAILURE_EARNED_MS / 1000;

type CredentialLimits = Pick<RouterLimits, 'authFailuresAtOnce' | 'authFailureEarnedMs' | 'authFailuresDelayed'>;
type Failures = {count: number; countedMs: number};

export class FailedCredentials {
  /** By address, the one that failed last at the end. */
  readonly #failures = new Map<string, Failures>();
  readonly #clock: () => number;
  readonly #limits: CredentialLimits;
  #delayed = 0;

  /** @param clock milliseconds that never go back */
  constructor(clock: () => number, limits: CredentialLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Counts one. @returns whether the address has failed too often */
  failed(address: string): boolean {
    const nowMs = this.#clock();
    const {count, countedMs} = this.#failures.get(address) ?? {count: 0, countedMs: nowMs};
    const left = Math.max(0, count - (nowMs - countedMs) / this.#limits.authFailureEarnedMs);
    const isTooMany = left + 1 > this.#limits.authFailuresAtOnce;
    this.#failures.delete(address);
    this.#failures.set(address, {count: isTooMany ? left : left + 1, countedMs: nowMs});
    if (this.#failures.size > AUTH_FAILURE_ADDRESSES_MAX) this.#failures.delete(this.#failures.keys().next().value!);
    return isTooMany;
  }

  /** Calls `answer` a little later; at once when too many wait already. */
  delay(answer: () => void): void {
    if (this.#delayed >= this.#limits.authFailuresDelayed) {
      answer();
      return;
    }
    this.#delayed++;
    setTimeout(() => {
      this.#delayed--;
      answer();
    }, AUTH_FAILURE_DELAY_MS);
  }
}

/** A request without any is no guess. */
export function showsCredential(req: HttpRequest): boolean {
  return req.getHeader('authorization') !== '' || req.getHeader('x-svc-admin-token') !== '';
}

export function tooManyFailures(): ServiceError {
  return new ServiceError(
    'op.rate_limited',
    'too many wrong credentials came from this address; this one is wrong too',
  );
}
