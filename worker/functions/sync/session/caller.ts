/**
 * Who makes a call: who its client had said that it was when it sent the call. It is run as them or not at all, however long it waits and
 * whoever its client is by then: what one user asked for is never done in the name of another, nor in nobody's.
 */
import type {Identity} from '../../auth/identity.ts';

export type Caller = {
  /** `iss|sub`, the same in all tokens of one user; '': nobody; null: a token was refused that names nobody. */
  readonly user: string | null;
  /** What functions learn of them, as JSON. Null: nothing, until another token of theirs is good. */
  readonly identity: string | null;
  /** When the token ends that says so; 0: it was refused. */
  readonly untilMs: number;
  /** Whose word that was: a count of those who said who somebody is. */
  readonly verifiers: number;
};

const NOBODY = '';

export function callerOf(identity: string | null, untilMs: number, verifiers: number): Caller {
  const user = identity === null ? NOBODY : (JSON.parse(identity) as Identity).tokenIdentifier;
  return {user, identity, untilMs, verifiers};
}

/** @param user whom the token names, though nobody says that it is true */
export function refusedCaller(user: string | null, verifiers: number): Caller {
  return {user, identity: null, untilMs: 0, verifiers};
}

/** It is still known that they are who they are. Nobody needs no token. */
export function isGood({user, untilMs, verifiers}: Caller, nowMs: number, verifiersNow: number): boolean {
  return user === NOBODY || (nowMs < untilMs && verifiers === verifiersNow);
}

export function isSameUser(a: Caller, b: Caller): boolean {
  return a.user !== null && a.user === b.user;
}
