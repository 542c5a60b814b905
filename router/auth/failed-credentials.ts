/**
 * Throttles wrong credentials: an address may fail AUTH_FAILURES_AT_ONCE times and regains one failure per
 * AUTH_FAILURE_EARNED_MS, over all routers, each of which has its share. Beyond that its wrong credentials get a
 * delayed 429. A correct credential is always served, because behind a proxy all clients share one address, and one
 * client must not lock out the others.
 */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import {AUTH_FAILURE_ADDRESSES_MAX, AUTH_FAILURE_DELAY_MS, AUTH_FAILURE_EARNED_MS} from '../limits.ts';
import type {RouterLimits} from '../router-limits.ts';

/** The time after which one failure expires. */
export const RATE_LIMIT_RETRY_S = AUTH_FAILURE_EARNED_MS / 1000;

type CredentialLimits = Pick<RouterLimits, 'authFailuresAtOnce' | 'authFailureEarnedMs' | 'authFailuresDelayed'>;
type Failures = {count: number; countedMs: number};

export class FailedCredentials {
  /** By address, the most recent failure last. */
  readonly #failures = new Map<string, Failures>();
  readonly #clock: () => number;
  readonly #limits: CredentialLimits;
  #delayed = 0;

  /** @param clock milliseconds, monotonic */
  constructor(clock: () => number, limits: CredentialLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Counts a failure. @returns whether the address has failed too often */
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

  /** Calls `answer` after a delay, or at once if too many answers are delayed already. */
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

/** A request without credentials does not count as a failed attempt. */
export function showsCredential(req: HttpRequest): boolean {
  return req.getHeader('authorization') !== '' || req.getHeader('x-svc-admin-token') !== '';
}

export function tooManyFailures(): ServiceError {
  return new ServiceError(
    'op.rate_limited',
    'too many wrong credentials came from this address; this one is wrong too',
  );
}
