/** Fills steadily and is full at first; each request takes one. So bursts are fine, and a flood is not. */
import type {RateLimit} from './rate-limit.ts';

export class TokenBucket {
  readonly #limit: RateLimit;
  #tokens: number;
  #countedMs: number;

  /** @param nowMs of the clock that `take` is given, too. While a clock is set back nothing is earned */
  constructor(limit: RateLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#countedMs = nowMs;
  }

  /** @returns whether there were so many; if not, none is taken */
  take(nowMs: number, tokens = 1): boolean {
    const {requests_per_second, burst} = this.#limit;
    const earned = (Math.max(0, nowMs - this.#countedMs) / 1000) * requests_per_second;
    this.#tokens = Math.min(burst, this.#tokens + earned);
    this.#countedMs = nowMs;
    if (this.#tokens < tokens) return false;
    this.#tokens -= tokens;
    return true;
  }

  /** Whole ones, as of the latest `take`. */
  get left(): number {
    return Math.floor(this.#tokens);
  }

  /** Whole seconds from the latest `take` until there are so many. */
  secondsUntil(tokens: number): number {
    return Math.ceil(Math.max(0, tokens - this.#tokens) / this.#limit.requests_per_second);
  }
}
