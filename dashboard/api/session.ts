/** Who is signed in, and what the credential allows. The credential itself is in a cookie that scripts cannot read. */
import {useQuery} from '@tanstack/react-query';
import {createContext, useContext} from 'react';
import {RIGHTS, type Scope} from '../../shared/rights.ts';
import {type AnyOperation, send} from './client.ts';
import {ApiFailure} from './failure.ts';

const PATH = '/_dashboard/session';

export type Session = {
  /** Of the session, as the list of sessions names it. */
  readonly id: string;
  readonly who: {readonly id: string | null; readonly name: string};
  readonly scopes: readonly Scope[];
  /** Null: all. */
  readonly tenants: readonly string[] | null;
  readonly ends_at: number;
  readonly idle_ends_at: number;
};

/** Null: no one is signed in. */
async function currentSession(): Promise<Session | null> {
  try {
    return (await (await send(PATH, {})).json()) as Session;
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 401) return null;
    throw error;
  }
}

export const SESSION_KEY = ['session'];

export function useSessionQuery() {
  return useQuery({queryKey: SESSION_KEY, queryFn: currentSession, staleTime: Number.POSITIVE_INFINITY});
}

/** Stays what it was until the sign-in page replaces all others, even where a request has just ended it. */
export const SessionContext = createContext<Session | null>(null);

/** Of a page, which is shown only to someone who is signed in. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('a page is shown without a session');
  return session;
}

export async function signIn(credential: {token: string} | {code: string}): Promise<void> {
  const headers = {'Content-Type': 'application/json'};
  await send(PATH, {method: 'POST', headers, body: JSON.stringify(credential)});
}

export async function signOut(): Promise<void> {
  await send(PATH, {method: 'DELETE'});
}

/** The scopes that an operation needs and this session lacks. */
export function missingScopes({scopes}: Session, operation: AnyOperation): readonly Scope[] {
  return RIGHTS[operation].scopes.filter(scope => !scopes.includes(scope));
}

/** Whether the session's credential allows the operation, as far as the operation alone decides. */
export function useMay(): (operation: AnyOperation) => boolean {
  const session = useSession();
  return operation => {
    if (missingScopes(session, operation).length > 0) return false;
    return RIGHTS[operation].concerns !== 'service' || session.tenants === null;
  };
}
