/**
 * Rate limits per tenant and per key. Each router has its share of a limit, as of all limits (decision 0024), and
 * counts by itself. The counters belong to the object of the tenant or key, and are freed with it.
 *
 * Every answer states what is left, in the format of the IETF draft since its seventh version (`RateLimit-Policy`,
 * `RateLimit`): for each limit its name, the burst and the seconds in which the burst is regained; the requests left,
 * and the seconds until the limit is full again.
 */
import {rateLimited, type ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import type {RateLimit} from '../../shared/rate-limit.ts';
import {TokenBucket} from '../../shared/token-bucket.ts';

export type RateLimitSettings = {
  /** For each tenant; null: none. */
  tenant: RateLimit | null;
  /** For each key without a limit of its own; null: none. */
  key: RateLimit | null;
};

export class RateLimits {
  readonly #settings: RateLimitSettings;
  readonly #routers: number;
  readonly #clock: () => number;
  readonly #ofTenants = new WeakMap<object, Allowance>();
  readonly #ofKeys = new WeakMap<object, Allowance>();
  readonly #metrics: RouterMetrics;

  /** @param clock milliseconds, monotonic */
  constructor(settings: RateLimitSettings, routers: number, clock: () => number, metrics: RouterMetrics) {
    this.#settings = settings;
    this.#routers = routers;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Null: unlimited. */
  ofTenant(tenant: object): Allowance | null {
    const limit = this.#settings.tenant;
    return limit === null ? null : this.#allowance('tenant', this.#ofTenants, tenant, limit);
  }

  /** Null: unlimited. Admin credentials are not keys, so they have no limit. */
  ofKey(key: {readonly rateLimit: RateLimit | null} | null): Allowance | null {
    const limit = key === null ? null : (key.rateLimit ?? this.#settings.key);
    return limit === null ? null : this.#allowance('key', this.#ofKeys, key!, limit);
  }

  #allowance(name: string, known: WeakMap<object, Allowance>, whose: object, limit: RateLimit): Allowance {
    let allowance = known.get(whose);
    if (allowance === undefined) {
      allowance = new Allowance(name, limit, this.#routers, this.#clock, () =>
        this.#metrics.count('svc_rate_limited_total', {limit: name}),
      );
      known.set(whose, allowance);
    }
    return allowance;
  }
}

/** Takes one request from each allowance. @throws op.rate_limited 429 */
export function spendAll(allowances: readonly (Allowance | null)[]): void {
  for (const allowance of allowances) {
    const error = allowance?.spend() ?? null;
    if (error !== null) throw error;
  }
}

export class Allowance {
  readonly #name: string;
  readonly #limit: RateLimit;
  readonly #burst: number;
  readonly #clock: () => number;
  readonly #bucket: TokenBucket;
  readonly #policy: string;
  readonly #onRefused: () => void;

  constructor(name: string, limit: RateLimit, routers: number, clock: () => number, onRefused: () => void) {
    const requests_per_second = limit.requests_per_second / routers;
    const burst = Math.max(1, Math.floor(limit.burst / routers));
    this.#name = name;
    this.#limit = limit;
    this.#burst = burst;
    this.#clock = clock;
    this.#onRefused = onRefused;
    this.#bucket = new TokenBucket({requests_per_second, burst}, clock());
    this.#policy = `"${name}";q=${burst};w=${Math.ceil(burst / requests_per_second)}`;
  }

  /** Takes one request. @returns op.rate_limited 429 if none is left, else null */
  spend(): ServiceError | null {
    if (this.#bucket.take(this.#clock())) return null;
    this.#onRefused();
    const retry_after_seconds = Math.max(1, this.#bucket.secondsUntil(1));
    const {requests_per_second, burst} = this.#limit;
    return rateLimited(
      `this ${this.#name} may have ${requests_per_second} requests a second, and ${burst} at once: try again in ${retry_after_seconds} s`,
      {limit: this.#name, retry_after_seconds},
    );
  }

  /** The remaining requests, as of the latest `spend`. */
  headers(): HeaderList {
    const {left} = this.#bucket;
    return [
      ['RateLimit-Policy', this.#policy],
      ['RateLimit', `"${this.#name}";r=${left};t=${this.#bucket.secondsUntil(this.#burst)}`],
    ];
  }
}
