/**
 * A rate limiter that refills steadily and starts full; each request takes one token. It allows bursts but not floods.
 */
import type {RateLimit} from './rate-limit.ts';

export class TokenBucket {
  readonly #limit: RateLimit;
  #tokens: number;
  #countedMs: number;

  /** @param nowMs of the same clock as in `take`. While the clock is set back no tokens are added */
  constructor(limit: RateLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#countedMs = nowMs;
  }

  /** @returns whether there were enough tokens; if not, none is taken */
  take(nowMs: number, tokens = 1): boolean {
    const {requests_per_second, burst} = this.#limit;
    const earned = (Math.max(0, nowMs - this.#countedMs) / 1000) * requests_per_second;
    this.#tokens = Math.min(burst, this.#tokens + earned);
    this.#countedMs = nowMs;
    if (this.#tokens < tokens) return false;
    this.#tokens -= tokens;
    return true;
  }

  /** Whole tokens, as of the latest `take`. */
  get left(): number {
    return Math.floor(this.#tokens);
  }

  /** Whole seconds from the latest `take` until there are this many. */
  secondsUntil(tokens: number): number {
    return Math.ceil(Math.max(0, tokens - this.#tokens) / this.#limit.requests_per_second);
  }
}
