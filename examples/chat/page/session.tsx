/**
 * Who is signed in, as far as the login provider says. The session is a cookie that no script can read; this page holds tokens of
 * a minute in memory, and gets the next one when the client asks for it.
 */
import {createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState} from 'react';

export type Session = {state: 'asking'} | {state: 'signedOut'} | {state: 'signedIn'; name: string};
type Issued = {name: string; token: string};
type FetchToken = (options: {forceRefreshToken: boolean}) => Promise<string | null>;

type Sessions = {
  session: Session;
  /** @throws Error with the provider's words */
  signIn(name: string): Promise<void>;
  signOut(): Promise<void>;
  fetchAccessToken: FetchToken;
};

const RETRY_MS = 500;
const RETRY_MS_MAX = 8_000;

const Context = createContext<Sessions | null>(null);

export function SessionProvider({children}: {children: ReactNode}) {
  const [session, setSession] = useState<Session>({state: 'asking'});
  const token = useRef<string | null>(null);
  /** Counts who came and went: a token that was asked for before is of a session that has ended. */
  const comings = useRef(0);

  const take = useCallback((issued: Issued | null) => {
    token.current = issued?.token ?? null;
    setSession(issued === null ? {state: 'signedOut'} : {state: 'signedIn', name: issued.name});
    return token.current;
  }, []);

  const renew = useCallback(async () => {
    const asked = comings.current;
    const issued = await nextToken();
    return asked === comings.current ? take(issued) : token.current;
  }, [take]);

  const newFetch = useCallback(
    (): FetchToken =>
      async ({forceRefreshToken}) =>
        forceRefreshToken || token.current === null ? await renew() : token.current,
    [renew],
  );
  // Another function is another session, and is asked at once, also when the server refused the one before. A provider that cannot
  // be reached is no reason to be signed out, so the function changes with nothing else.
  const [fetchAccessToken, setFetch] = useState(newFetch);

  useEffect(() => {
    void renew();
  }, [renew]);

  const sessions = useMemo<Sessions>(
    () => ({
      session,
      async signIn(name) {
        const response = await post('/auth/sign-in', {name});
        const body = (await response.json()) as Issued & {message?: string};
        if (!response.ok) throw new Error(body.message);
        comings.current++;
        take(body);
        setFetch(newFetch);
      },
      async signOut() {
        comings.current++;
        take(null);
        await retried(async () => await post('/auth/sign-out'));
      },
      fetchAccessToken,
    }),
    [session, take, newFetch, fetchAccessToken],
  );
  return <Context.Provider value={sessions}>{children}</Context.Provider>;
}

export function useSession(): Sessions {
  const sessions = useContext(Context);
  if (sessions === null) throw new Error('useSession is for components below SessionProvider');
  return sessions;
}

/** For SvcProviderWithAuth. */
export function useAuth() {
  const {session, fetchAccessToken} = useSession();
  const {state} = session;
  return useMemo(
    () => ({isLoading: state === 'asking', isAuthenticated: state === 'signedIn', fetchAccessToken}),
    [state, fetchAccessToken],
  );
}

/** Null: there is no session. */
async function nextToken(): Promise<Issued | null> {
  const {issued} = await retried(async () => {
    const answer = await post('/auth/token');
    return answer.ok ? {issued: (await answer.json()) as Issued | null} : null;
  });
  return issued;
}

/** A client that is offline is not signed out: it goes on asking until there is an answer that can be read, and so never rejects. */
async function retried<T>(ask: () => Promise<T | null>): Promise<T> {
  for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
    const answer = await ask().catch(() => null);
    if (answer !== null) return answer;
    await new Promise(resolve => setTimeout(resolve, pauseMs));
  }
}

function post(path: string, body: object = {}): Promise<Response> {
  return fetch(path, {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)});
}
