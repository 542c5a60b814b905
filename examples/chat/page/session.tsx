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

  const take = useCallback((issued: Issued | null) => {
    token.current = issued?.token ?? null;
    setSession(issued === null ? {state: 'signedOut'} : {state: 'signedIn', name: issued.name});
    return token.current;
  }, []);

  useEffect(() => {
    void nextToken().then(take);
  }, [take]);

  const sessions = useMemo<Sessions>(
    () => ({
      session,
      async signIn(name) {
        const response = await post('/auth/sign-in', {name});
        const body = (await response.json()) as Issued & {message?: string};
        if (!response.ok) throw new Error(body.message);
        take(body);
      },
      async signOut() {
        take(null);
        await post('/auth/sign-out');
      },
      fetchAccessToken: async ({forceRefreshToken}) =>
        forceRefreshToken || token.current === null ? take(await nextToken()) : token.current,
    }),
    [session, take],
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
  // A provider that cannot be reached is no reason to be signed out, so the function must not change with the name.
  const latest = useRef(fetchAccessToken);
  latest.current = fetchAccessToken;
  const fetchToken = useCallback<FetchToken>(options => latest.current(options), []);
  return useMemo(
    () => ({isLoading: state === 'asking', isAuthenticated: state === 'signedIn', fetchAccessToken: fetchToken}),
    [state, fetchToken],
  );
}

/** Null: there is no session. Whoever is offline is not signed out: it goes on asking. */
async function nextToken(): Promise<Issued | null> {
  for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
    const response = await post('/auth/token').catch(() => null);
    if (response?.status === 401) return null;
    if (response?.ok) return (await response.json()) as Issued;
    await new Promise(resolve => setTimeout(resolve, pauseMs));
  }
}

function post(path: string, body: object = {}): Promise<Response> {
  return fetch(path, {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)});
}
