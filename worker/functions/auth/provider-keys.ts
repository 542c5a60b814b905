/**
 * One provider's keys, kept and renewed.
 *
 * - Fetches of a provider never overlap: who comes meanwhile waits for the same one.
 * - Keys older than AUTH_KEYS_FRESH_MS are fetched again before they are used. If that fails the old ones serve on, until
 *   AUTH_KEYS_STALE_MS_MAX: a provider that is down for a while signs nobody out.
 * - A key id that is not there may be newer than what is kept, so the keys are fetched again; but, like after a failure, at
 *   most once in AUTH_REFETCH_PAUSE_MS, whatever tokens somebody makes up.
 */
import type {JSONWebKeySet, LocalJWKSet} from 'jose';
import {AUTH_KEYS_FRESH_MS, AUTH_KEYS_STALE_MS_MAX, AUTH_REFETCH_PAUSE_MS} from '../limits.ts';

type Kept = {ids: Set<unknown>; keys: LocalJWKSet; fetchedMs: number};

export class ProviderKeys {
  readonly #fetch: () => Promise<JSONWebKeySet>;
  readonly #clock: () => number;
  #kept: Kept | null = null;
  #underWay: Promise<void> | null = null;
  #triedMs = Number.NEGATIVE_INFINITY;
  /** Why the newest fetch failed; null when it did not. */
  #failure: unknown = null;

  constructor(fetch: () => Promise<JSONWebKeySet>, clock: () => number) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** Keys among which `keyId` is, if the provider has it. @throws what the fetch threw, when there is nothing to go by */
  async keysFor(keyId: string): Promise<LocalJWKSet> {
    if (!this.#isWithin(AUTH_KEYS_FRESH_MS) || !this.#kept!.ids.has(keyId)) await this.#renew();
    if (!this.#isWithin(AUTH_KEYS_STALE_MS_MAX)) throw this.#failure;
    return this.#kept!.keys;
  }

  /** A clock that was set back makes keys of the future: they are as good as old ones. */
  #isWithin(ageMs: number): boolean {
    return this.#kept !== null && Math.abs(this.#clock() - this.#kept.fetchedMs) < ageMs;
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
      this.#kept = {ids: new Set(set.keys.map(key => key.kid)), keys: createLocalJWKSet(set), fetchedMs: this.#clock()};
      this.#failure = null;
    } catch (error) {
      this.#failure = error;
    }
  }
}
