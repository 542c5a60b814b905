/**
 * Who the client of one session is. Its identity is one of
 *
 *   settled ──authenticate──▶ verifying ──good──▶ settled      nothing is shown, and what it says waits, also while the
 *      │ ▲                        └──bad──▶ refused            provider's keys cannot be had; auth_error: its calls wait
 *      │ └──────authenticate | clear_auth──────┘
 *      └──its token has ended, and a result that looks at it is new──▶ refused
 */
import {backOffMs} from '../../../../shared/back-off.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import type {SocketFailure} from '../../../../shared/metrics/worker-metrics.ts';
import type {ClientMessage} from '../../../../shared/protocol/function-socket/client-message.ts';
import {claimedUser} from '../../auth/unverified.ts';
import {TOKEN_VERIFY_AGAIN_MS, TOKEN_VERIFY_AGAIN_MS_MAX} from '../../limits.ts';
import {type CaughtParts, caughtError} from '../queries/caught.ts';
import {type Caller, callerOf, isGood, isSameUser, refusedCaller} from './caller.ts';
import type {RunsAs} from './session-calls.ts';

/** The user of a verified token. `identity`: JSON. */
export type Verified = {identity: string; expMs: number};

export type IdentityParts = CaughtParts & {
  /** @throws auth.unauthorized; session.auth_unavailable: a later attempt may succeed */
  verify: (token: string) => Promise<Verified>;
  clock: () => number;
};

/** The session, as its identity sees it. */
export interface Identified {
  /** @param identity JSON; null: anonymous */
  settledAs(identity: string | null): void;
  refused(error: ServiceError): void;
  guarded(what: SocketFailure, act: () => void): void;
  receive(message: ClientMessage, bytes: number): void;
}

export class SessionIdentity {
  readonly #parts: IdentityParts;
  readonly #session: Identified;
  #state: 'settled' | 'verifying' | 'refused' = 'settled';
  /** Messages that the client sent while a token was being verified. */
  #inbox: {message: ClientMessage; bytes: number}[] = [];
  /** The token that proves the identity. */
  #token: string | null = null;
  /** Bumped when the auth configuration changes: verifications with an older number are stale. */
  #verifiers = 0;
  /** Runs until the token is verified again. */
  #verifyTimer: NodeJS.Timeout | undefined;
  #caller: Caller = callerOf(null, Number.POSITIVE_INFINITY, 0);
  #hasEnded = false;

  constructor(parts: IdentityParts, session: Identified) {
    this.#parts = parts;
    this.#session = session;
  }

  /** The caller of new calls. */
  get caller(): Caller {
    return this.#caller;
  }

  get isSettled(): boolean {
    return this.#state === 'settled';
  }

  get isExpired(): boolean {
    return this.#parts.clock() >= this.#caller.untilMs;
  }

  /** Keeps a message until the token is verified. @returns false: no token is being verified */
  defers(message: ClientMessage, bytes: number): boolean {
    if (this.#state !== 'verifying') return false;
    this.#inbox.push({message, bytes});
    return true;
  }

  async authenticate(token: string): Promise<void> {
    this.#state = 'verifying';
    let verified: Verified | ServiceError;
    let verifiers: number;
    for (let attempt = 0; ; attempt++) {
      verifiers = this.#verifiers;
      try {
        verified = await this.#parts.verify(token);
      } catch (caught) {
        verified = caughtError(this.#parts, 'token', caught);
      }
      if (this.#hasEnded) return;
      // A result of the previous auth configuration is stale.
      if (verifiers !== this.#verifiers) continue;
      if (!(verified instanceof ServiceError) || verified.code !== 'session.auth_unavailable') break;
      const waitMs = backOffMs(TOKEN_VERIFY_AGAIN_MS, TOKEN_VERIFY_AGAIN_MS_MAX, attempt);
      await new Promise(resolve => (this.#verifyTimer = setTimeout(resolve, waitMs)));
    }
    this.#session.guarded('token', () => {
      if (verified instanceof ServiceError) {
        this.#caller = refusedCaller(claimedUser(token), this.#verifiers);
        this.#refuse(verified);
        return;
      }
      this.#token = token;
      this.#settle(verified.identity, verified.expMs);
    });
    this.#readInbox();
  }

  /** The client is anonymous from now on. */
  clear(): void {
    this.#token = null;
    this.#settle(null, Number.POSITIVE_INFINITY);
  }

  /** The auth configuration has changed: nothing accepted before is accepted any longer. */
  verifyAgain(): void {
    this.#verifiers++;
    if (this.#state === 'settled' && this.#token !== null) void this.authenticate(this.#token);
  }

  /** The identity that a call of this caller runs as now. */
  runsAs(caller: Caller): RunsAs {
    if (isGood(caller, this.#parts.clock(), this.#verifiers)) return {identity: caller.identity};
    if (this.isExpired) this.expired();
    if (this.#state !== 'settled') return 'later';
    return isSameUser(caller, this.#caller) ? {identity: this.#caller.identity} : 'never';
  }

  expired(): void {
    if (this.#state !== 'settled') return;
    const seconds = Math.floor((this.#parts.clock() - this.#caller.untilMs) / 1000);
    this.#refuse(
      new ServiceError('auth.unauthorized', `Token expired ${seconds} seconds ago`, {reason: 'InvalidAuthHeader'}),
    );
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#verifyTimer);
    this.#inbox = [];
  }

  #settle(identity: string | null, expMs: number): void {
    this.#state = 'settled';
    this.#caller = callerOf(identity, expMs, this.#verifiers);
    this.#session.settledAs(identity);
  }

  #refuse(error: ServiceError): void {
    this.#state = 'refused';
    this.#session.refused(error);
  }

  #readInbox(): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const [i, {message, bytes}] of inbox.entries()) {
      this.#session.guarded('message', () => this.#session.receive(message, bytes));
      if (this.#hasEnded) return;
      if (this.#state !== 'verifying') continue;
      this.#inbox = inbox.slice(i + 1);
      return;
    }
  }
}
