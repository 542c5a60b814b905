/**
 * Who the caller is: which token the server is to be told, and when another one is fetched.
 *
 *                          ┌────────────── no token ──────────────┐
 *                          ▼                                      │
 *   setAuth ──▶ nobody   nobody ◀── none, twice ── fetching (paused: nothing is sent)
 *                 │                                  │ token
 *                 └─────────▶ fetching               ▼
 *                                           confirming, cached ──server confirms: onChange(true)──▶ refreshing
 *        ┌──────────────────────────────────────────────────────────────────────────────────────────┘ ▲
 *        │ another token                     the same one                      none                    │
 *        ▼                                        ▼                              ▼                     │
 *   confirming, fresh ──server confirms──▶ scheduled (or settled,        nobody, onChange(false)       │
 *        │                                 if nothing says till when)                                  │
 *        │                                       └───────── shortly before the token ends ─────────────┘
 *        │ refused for the 2nd time                           any of these but nobody and fetching, refused by the server
 *        ▼                                                            │
 *   nobody, onChange(false) ◀──the same token, or none── recovering (paused) ──another token──▶ confirming, fresh
 *
 * A fetch that fails with an exception says nothing about the caller: it is tried again, later each time. In the end the old token is used
 * until it is refused; if it was refused already, that counts as no token. The first fetch of setAuth is not tried again.
 * A token that is refused does not cost the socket: the server holds what was said under it until it is told who says so, and answers of
 * actions that are under way still come.
 * setAuth and clearAuth begin anew from anywhere; what was under way before is void.
 *
 * A call is of who it was made by (`who`), also if it is sent later, and is not sent for anybody else. One that is made while the first token
 * is fetched is of whom that token names.
 */
import {
  CLIENT_BACK_OFF_MS,
  CLIENT_TOKEN_ATTEMPTS_MAX,
  CLIENT_TOKEN_CONFIRMATIONS_MAX,
  CLIENT_TOKEN_KEPT_MS_MAX,
} from '../../shared/client-limits.ts';
import {clientBackOffMs} from './back-off.ts';
import {guarded, type Logger} from './logger.ts';
import {decodedToken, tokenLifetimeMs, userOf} from './token-lifetime.ts';

/** @returns null or undefined: nobody is signed in */
export type AuthTokenFetcher = (options: {forceRefreshToken: boolean}) => Promise<string | null | undefined>;

/** Undefined: it is not known yet. */
export type Who = {user?: string};

type State =
  | 'nobody'
  | 'fetching'
  | 'confirming_cached'
  | 'confirming_fresh'
  | 'refreshing'
  | 'scheduled'
  | 'settled'
  | 'recovering';

export class Identity {
  readonly #logger: Logger;
  readonly #leewayMs: number;
  readonly #changed: () => void;
  #state: State = 'nobody';
  /** Of the last `set`; not asked or told once somebody was cleared. */
  #fetchToken!: AuthTokenFetcher;
  #onChange: ((isAuthenticated: boolean) => void) | undefined;
  #isToldTrue = false;
  #isFailed = false;
  #token: string | null = null;
  #who: Who = {user: userOf(null)};
  #revision = 0;
  /** Of what is under way: anything of an older one is void. */
  #round = 0;
  #freshTokensSent = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Nothing is sent before `set` or `clear`. */
  #isExpected: boolean;

  /** @param changed there is another token to tell, or `isPaused` is not what it was */
  constructor(logger: Logger, leewayMs: number, changed: () => void, isExpected = false) {
    this.#isExpected = isExpected;
    // Calls that are made before are of whom the first token names.
    if (isExpected) this.#who = {};
    this.#logger = logger;
    this.#leewayMs = leewayMs;
    this.#changed = changed;
  }

  /** What the server is to be told. Null: nobody. */
  get token(): string | null {
    return this.#token;
  }

  /** Grows whenever the server is to be told, the same token included. */
  get revision(): number {
    return this.#revision;
  }

  /** Who makes the calls that are made now. */
  get who(): Who {
    return this.#who;
  }

  /** Nothing is to be sent: it is about to be known who the caller is. */
  get isPaused(): boolean {
    return this.#isExpected || this.#state === 'fetching' || this.#state === 'recovering';
  }

  /** Undefined: nobody, or it is not known yet who; the one before is not the one who is fetched for. */
  get(): {token: string; decoded: Record<string, unknown>} | undefined {
    const token = this.#token;
    return token === null || this.#state === 'fetching' ? undefined : {token, decoded: decodedToken(token) ?? {}};
  }

  set(fetchToken: AuthTokenFetcher, onChange: ((isAuthenticated: boolean) => void) | undefined): void {
    if (typeof fetchToken !== 'function') {
      throw new Error('setAuth takes a function that fetches a token: a token itself is for SvcHttpClient');
    }
    this.#begin(this.#isFailed ? 'nobody' : 'fetching');
    this.#fetchToken = fetchToken;
    this.#onChange = onChange;
    if (this.#isFailed) {
      const round = this.#round;
      queueMicrotask(() => {
        if (round === this.#round) this.#report(false);
      });
      return;
    }
    if (!this.#isExpected) this.#who = {};
    this.#isExpected = false;
    this.#changed();
    this.#first();
  }

  clear(): void {
    this.#begin('nobody');
    if (!this.#isExpected) this.#who = {};
    this.#isExpected = false;
    this.#tell(null);
  }

  /** The server has confirmed the present revision. */
  confirmed(): void {
    if (this.#state === 'confirming_cached') {
      this.#state = 'refreshing';
      this.#report(true);
      // It may have been about to end: a fresh one tells for how long tokens are good.
      if (this.#state === 'refreshing') this.#refresh(0);
    } else if (this.#state === 'confirming_fresh') {
      this.#freshTokensSent = 0;
      this.#schedule(this.#token ?? '');
      this.#report(true);
    }
  }

  /** The server does not take the present revision, or no longer. */
  refused(message: string): void {
    if (this.#state === 'nobody' || this.#state === 'fetching' || this.#state === 'recovering') return;
    if (this.#state === 'confirming_fresh' && this.#freshTokensSent >= CLIENT_TOKEN_CONFIRMATIONS_MAX) {
      this.#giveUp(message);
      return;
    }
    this.#recover(message);
  }

  /** For good. */
  end(): void {
    this.#begin('nobody');
  }

  /** The server will confirm nobody any more. Who waits for that is told so, and who asks later, too. */
  fail(): void {
    const isAwaited = this.#state !== 'nobody' && !this.#isToldTrue;
    this.#isFailed = true;
    this.end();
    if (isAwaited) this.#report(false);
  }

  #begin(state: State): void {
    this.#round++;
    clearTimeout(this.#timer);
    this.#freshTokensSent = 0;
    this.#isToldTrue = false;
    this.#state = state;
  }

  #first(): void {
    this.#fetch(false, cached => {
      if (cached !== null) {
        this.#state = 'confirming_cached';
        this.#tell(cached);
      } else this.#fetch(true, fresh => (fresh === null ? this.#giveUp() : this.#confirmFresh(fresh)));
    });
  }

  #refresh(attempt: number): void {
    this.#state = 'refreshing';
    this.#fetch(true, (token, hasFailed) => {
      if (hasFailed && attempt + 1 < CLIENT_TOKEN_ATTEMPTS_MAX) {
        this.#later(clientBackOffMs(CLIENT_BACK_OFF_MS, attempt, Math.random()), attempt + 1);
      } else if (hasFailed || token === this.#token) this.#state = 'settled';
      else if (token === null) this.#giveUp();
      else this.#confirmFresh(token);
    });
  }

  /** @param message why the token was refused: without a word about a token that there is no other for, a page just stays as for nobody */
  #recover(message: string, attempt = 0): void {
    const refused = this.#token;
    clearTimeout(this.#timer);
    this.#state = 'recovering';
    this.#fetch(true, (token, hasFailed) => {
      if (hasFailed && attempt + 1 < CLIENT_TOKEN_ATTEMPTS_MAX) {
        const waitMs = clientBackOffMs(CLIENT_BACK_OFF_MS, attempt, Math.random());
        this.#timer = setTimeout(() => this.#recover(message, attempt + 1), waitMs);
      } else if (token === null) this.#giveUp();
      else if (token === refused) this.#giveUp(message);
      else this.#confirmFresh(token);
    });
  }

  /** @param then is called unless it does not matter any more. Null: there is no token, or there was an exception */
  #fetch(forceRefreshToken: boolean, then: (token: string | null, hasFailed: boolean) => void): void {
    const round = ++this.#round;
    const who = this.#who;
    const settle = (token: string | null | undefined, hasFailed: boolean) => {
      if (round === this.#round) then(token ?? null, hasFailed);
    };
    const fetched = async () => await this.#fetchToken({forceRefreshToken});
    fetched().then(
      token => {
        // Also if it is void: it says whose the calls are that were made meanwhile.
        if (token != null) who.user ??= userOf(token);
        settle(token, false);
      },
      caught => {
        this.#logger.error('Fetching a token failed:', caught);
        settle(null, true);
      },
    );
  }

  #confirmFresh(token: string): void {
    this.#state = 'confirming_fresh';
    this.#freshTokensSent++;
    this.#tell(token);
  }

  #schedule(token: string): void {
    this.#state = 'settled';
    const lifetimeMs = tokenLifetimeMs(token);
    if (lifetimeMs === null || lifetimeMs <= 2_000) {
      const why = lifetimeMs === null ? 'it is no JWT with iat and exp' : `it is good for ${lifetimeMs / 1000} s only`;
      this.#logger.error(`The token cannot be refreshed before it ends: ${why}`);
      return;
    }
    const leftMs = lifetimeMs - this.#leewayMs;
    this.#later(Math.min(leftMs > 0 ? leftMs : lifetimeMs / 2, CLIENT_TOKEN_KEPT_MS_MAX), 0);
  }

  #later(ms: number, attempt: number): void {
    this.#state = 'scheduled';
    this.#timer = setTimeout(() => this.#refresh(attempt), ms);
  }

  /** @param refusal what is wrong with a token that there is no other for */
  #giveUp(refusal?: string): void {
    if (refusal !== undefined) {
      this.#logger.error(`Failed to authenticate: ${refusal}. Does svc/auth.config.ts fit the tokens?`);
    }
    const onChange = this.#onChange;
    this.#begin('nobody');
    this.#tell(null);
    guarded(this.#logger, () => onChange?.(false));
  }

  #tell(token: string | null): void {
    if (token !== null || this.#token !== null) this.#revision++;
    this.#token = token;
    const user = userOf(token);
    this.#who.user ??= user;
    if (this.#who.user !== user) this.#who = {user};
    this.#changed();
  }

  #report(isAuthenticated: boolean): void {
    if (this.#isToldTrue) return;
    this.#isToldTrue = isAuthenticated;
    guarded(this.#logger, () => this.#onChange?.(isAuthenticated));
  }
}
