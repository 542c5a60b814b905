/**
 * Cache of verified tokens, by digest. Clients send the same token with every request, and a signature check costs more
 * than most queries. The token itself is not stored.
 */
import {createHash} from 'node:crypto';
import {TOKENS_VERIFIED_KEEP, TOKENS_VERIFIED_KEEP_MS} from '../limits.ts';
import type {Identity} from './identity.ts';

export type VerifiedToken = {
  identity: Identity;
  /** The token is rejected from this time on: its `exp` plus the clock tolerance. Epoch milliseconds. */
  expMs: number;
};

type Entry = {verified: VerifiedToken; sinceMs: number};

export class VerifiedTokens {
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get(token: string): VerifiedToken | null {
    const key = digest(token);
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    const now = this.#clock();
    // Before `sinceMs`: the clock was set back, so the token may not be valid yet.
    if (now < entry.sinceMs || now >= Math.min(entry.verified.expMs, entry.sinceMs + TOKENS_VERIFIED_KEEP_MS))
      return null;
    this.#entries.set(key, entry);
    return entry.verified;
  }

  add(token: string, verified: VerifiedToken): void {
    this.#entries.set(digest(token), {verified, sinceMs: this.#clock()});
    if (this.#entries.size > TOKENS_VERIFIED_KEEP) this.#entries.delete(this.#entries.keys().next().value!);
  }
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
