/**
 * Caches and renews the keys of one provider.
 *
 * - Fetches of a provider never overlap: concurrent requests share one fetch.
 * - Keys older than AUTH_KEYS_FRESH_MS are fetched again before they are used. If that fails, the old keys stay in use
 *   up to AUTH_KEYS_STALE_MS_MAX, so a provider outage does not sign users out.
 * - An unknown key id may be newer than the cached keys, so the keys are fetched again. As after a failure, this
 *   happens at most once per AUTH_REFETCH_PAUSE_MS, so forged tokens cannot cause more fetches.
 */
import type {JSONWebKeySet, LocalJWKSet} from 'jose';
import {AUTH_KEYS_FRESH_MS, AUTH_KEYS_STALE_MS_MAX, AUTH_REFETCH_PAUSE_MS} from '../limits.ts';

type CachedKeys = {ids: Set<unknown>; keys: LocalJWKSet; fetchedMs: number};

export class ProviderKeys {
  readonly #fetch: () => Promise<JSONWebKeySet>;
  readonly #clock: () => number;
  #cached: CachedKeys | null = null;
  #underWay: Promise<void> | null = null;
  #triedMs = Number.NEGATIVE_INFINITY;
  /** Why the newest fetch failed; null: it succeeded. */
  #failure: unknown = null;

  constructor(fetch: () => Promise<JSONWebKeySet>, clock: () => number) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /**
   * The key set to look `keyId` up in, refetched if needed.
   * @throws the fetch's error when no recent enough keys are cached
   */
  async keysFor(keyId: string): Promise<LocalJWKSet> {
    if (!this.#isWithin(AUTH_KEYS_FRESH_MS) || !this.#cached!.ids.has(keyId)) await this.#renew();
    if (!this.#isWithin(AUTH_KEYS_STALE_MS_MAX)) throw this.#failure;
    return this.#cached!.keys;
  }

  /** Ids of the cached keys. */
  get ids(): unknown[] {
    return [...(this.#cached?.ids ?? [])];
  }

  /** Compares the absolute difference, so keys "from the future" (the clock was set back) age like old ones. */
  #isWithin(ageMs: number): boolean {
    return this.#cached !== null && Math.abs(this.#clock() - this.#cached.fetchedMs) < ageMs;
  }

  async #renew(): Promise<void> {
    if (this.#underWay === null) {
      if (Math.abs(this.#clock() - this.#triedMs) < AUTH_REFETCH_PAUSE_MS) return;
      this.#triedMs = this.#clock();
      this.#underWay = this.#fetchNow().finally(() => {
        this.#underWay = null;
      });
    }
    await this.#underWay;
  }

  async #fetchNow(): Promise<void> {
    try {
      const set = await this.#fetch();
      const {createLocalJWKSet} = await import('jose');
      this.#cached = {
        ids: new Set(set.keys.map(key => key.kid)),
        keys: createLocalJWKSet(set),
        fetchedMs: this.#clock(),
      };
      this.#failure = null;
    } catch (error) {
      this.#failure = error;
    }
  }
}
