/**
 * Decides which token the server gets, and when the client fetches another one.
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
 * A fetch that throws says nothing about the caller. It is tried again, later each time. After the last attempt the old
 * token is used until it is refused; if it was refused already, that counts as no token. The first fetch of `setAuth`
 * is not tried again.
 * A refused token does not close the socket: the server holds messages sent under it until it knows the caller, and
 * responses to actions that are under way still arrive.
 * `setAuth` and `clearAuth` start over from any state and cancel what was under way.
 *
 * A call belongs to the user who made it (`who`), even if it is sent later, and is not sent as any other user. A call
 * made while the first token is being fetched belongs to the user whom that token names.
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

/** @returns null or undefined when no user is signed in */
export type AuthTokenFetcher = (options: {forceRefreshToken: boolean}) => Promise<string | null | undefined>;

/** `user` is undefined while it is not known. */
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
  /** From the last `set`; neither called after `clear`. */
  #fetchToken!: AuthTokenFetcher;
  #onChange: ((isAuthenticated: boolean) => void) | undefined;
  #isNotifiedTrue = false;
  #isFailed = false;
  #token: string | null = null;
  #who: Who = {user: userOf(null)};
  #revision = 0;
  /** Generation counter: results of an older generation are discarded. */
  #round = 0;
  #freshTokensSent = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Nothing is sent before `set` or `clear`. */
  #isExpected: boolean;

  /** @param changed called when the server must get another token, or `isPaused` has changed */
  constructor(logger: Logger, leewayMs: number, changed: () => void, isExpected = false) {
    this.#isExpected = isExpected;
    // Calls made before then belong to the user whom the first token names.
    if (isExpected) this.#who = {};
    this.#logger = logger;
    this.#leewayMs = leewayMs;
    this.#changed = changed;
  }

  /** The token that the server must get. Null: no user. */
  get token(): string | null {
    return this.#token;
  }

  /** Increases whenever a token must be sent, even if it is the same token. */
  get revision(): number {
    return this.#revision;
  }

  /** The user to whom calls made now belong. */
  get who(): Who {
    return this.#who;
  }

  /** Nothing can be sent now: the caller will be known shortly. */
  get isPaused(): boolean {
    return this.#isExpected || this.#state === 'fetching' || this.#state === 'recovering';
  }

  /**
   * Undefined: no user, or the user is not known yet. While a token is fetched, the previous token might belong to
   * another user.
   */
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

  /** The server has confirmed the current revision. */
  confirmed(): void {
    if (this.#state === 'confirming_cached') {
      this.#state = 'refreshing';
      this.#report(true);
      // The cached token might be about to expire, and only a fresh one shows the lifetime of tokens.
      if (this.#state === 'refreshing') this.#refresh(0);
    } else if (this.#state === 'confirming_fresh') {
      this.#freshTokensSent = 0;
      this.#schedule(this.#token ?? '');
      this.#report(true);
    }
  }

  /** The server has refused the current revision, possibly after confirming it. */
  refused(message: string): void {
    if (this.#state === 'nobody' || this.#state === 'fetching' || this.#state === 'recovering') return;
    if (this.#state === 'confirming_fresh' && this.#freshTokensSent >= CLIENT_TOKEN_CONFIRMATIONS_MAX) {
      this.#giveUp(message);
      return;
    }
    this.#recover(message);
  }

  /** Stops permanently. */
  end(): void {
    this.#begin('nobody');
  }

  /** The server will confirm no more users: reports false to a listener that waits for an answer, and to later ones. */
  fail(): void {
    const isAwaited = this.#state !== 'nobody' && !this.#isNotifiedTrue;
    this.#isFailed = true;
    this.end();
    if (isAwaited) this.#report(false);
  }

  #begin(state: State): void {
    this.#round++;
    clearTimeout(this.#timer);
    this.#freshTokensSent = 0;
    this.#isNotifiedTrue = false;
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

  /**
   * @param message why the token was refused. It is logged when there is no other token, because otherwise the page
   * would just look signed out
   */
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

  /** @param then is called unless this fetch is obsolete. A null token: there is none, or the fetch threw */
  #fetch(forceRefreshToken: boolean, then: (token: string | null, hasFailed: boolean) => void): void {
    const round = ++this.#round;
    const who = this.#who;
    const settle = (token: string | null | undefined, hasFailed: boolean) => {
      if (round === this.#round) then(token ?? null, hasFailed);
    };
    const fetched = async () => await this.#fetchToken({forceRefreshToken});
    fetched().then(
      token => {
        // Also for an obsolete fetch: the token says to whom the calls made meanwhile belong.
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

  /** @param refusal why the server refused a token that has no replacement */
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
    if (this.#isNotifiedTrue) return;
    this.#isNotifiedTrue = isAuthenticated;
    guarded(this.#logger, () => this.#onChange?.(isAuthenticated));
  }
}
