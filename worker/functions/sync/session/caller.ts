/**
 * The caller of a mutation or action: the identity that the client had when it sent the call. The call runs as that
 * user or not at all, however long it waits and whatever the client's identity is by then. So a request of one user is
 * never carried out as another user, nor anonymously.
 */
import type {Identity} from '../../auth/identity.ts';

export type Caller = {
  /** `iss|sub`, equal in all tokens of one user; '': anonymous; null: a refused token that names no user. */
  readonly user: string | null;
  /** The identity for functions, as JSON. Null: none, until another token of the user is accepted. */
  readonly identity: string | null;
  /** When the token expires; 0: it was refused. */
  readonly untilMs: number;
  /** Number of the auth configuration that accepted the token; see `SessionIdentity.verifyAgain`. */
  readonly verifiers: number;
};

const ANONYMOUS = '';

export function callerOf(identity: string | null, untilMs: number, verifiers: number): Caller {
  const user = identity === null ? ANONYMOUS : (JSON.parse(identity) as Identity).tokenIdentifier;
  return {user, identity, untilMs, verifiers};
}

/** @param user the user that the token claims, unverified */
export function refusedCaller(user: string | null, verifiers: number): Caller {
  return {user, identity: null, untilMs: 0, verifiers};
}

/** The identity is still verified. Anonymous callers need no token. */
export function isGood({user, untilMs, verifiers}: Caller, nowMs: number, verifiersNow: number): boolean {
  return user === ANONYMOUS || (nowMs < untilMs && verifiers === verifiersNow);
}

export function isSameUser(a: Caller, b: Caller): boolean {
  return a.user !== null && a.user === b.user;
}
