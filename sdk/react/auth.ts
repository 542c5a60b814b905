/**
 * Sign-in by a library of the app's choice: it says who the user is and fetches tokens, the client sends them, and the server has the
 * last word.
 */
import {
  createContext,
  createElement,
  Fragment,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
} from 'react';
import type {AuthTokenFetcher} from '../client/identity.ts';
import type {SvcReactClient} from './client.ts';
import {SvcProvider} from './context.ts';

export type SvcAuthState = {
  /** It is not known yet whether somebody is signed in. */
  isLoading: boolean;
  /** Somebody is signed in, and the server has confirmed it. */
  isAuthenticated: boolean;
};

/** What a library for signing in has to tell. Another `fetchAccessToken` than before: there may be another user. */
export type UseAuth = () => SvcAuthState & {fetchAccessToken: AuthTokenFetcher};

const AuthContext = createContext<SvcAuthState | undefined>(undefined);

/** `SvcProvider` for apps with users. @param useAuth a hook of the library for signing in; the same in every render */
export function SvcProviderWithAuth({
  client,
  useAuth,
  children,
}: {
  client: SvcReactClient;
  useAuth: UseAuth;
  children?: ReactNode;
}): ReactElement {
  const {isLoading, isAuthenticated, fetchAccessToken} = useAuth();
  // Null: the server has not said yet.
  const [confirmed, setConfirmed] = useState<boolean | null>(null);
  const state = useMemo(
    () => ({
      isLoading: isLoading || (isAuthenticated && confirmed === null),
      isAuthenticated: !isLoading && isAuthenticated && confirmed === true,
    }),
    [isLoading, isAuthenticated, confirmed],
  );
  const effect = {client, isAuthenticated, fetchAccessToken, setConfirmed};
  return createElement(
    AuthContext.Provider,
    {value: state},
    createElement(
      SvcProvider,
      {client},
      createElement(SetAuthFirst, effect),
      createElement(Fragment, null, children),
      createElement(ClearAuthLast, effect),
    ),
  );
}

/** @throws Error outside of `SvcProviderWithAuth` */
export function useSvcAuth(): SvcAuthState {
  const state = useContext(AuthContext);
  if (state !== undefined) return state;
  throw new Error(
    'Could not find SvcProviderWithAuth! useSvcAuth must be used in the React component tree under SvcProviderWithAuth, ' +
      'which SvcProvider is not',
  );
}

type AuthEffect = {
  client: SvcReactClient;
  isAuthenticated: boolean;
  fetchAccessToken: AuthTokenFetcher;
  setConfirmed: (isConfirmed: boolean | null) => void;
};

/** Its effect runs before those of the children: they subscribe as who is signed in. */
function SetAuthFirst({client, isAuthenticated, fetchAccessToken, setConfirmed}: AuthEffect): null {
  useEffect(() => {
    if (!isAuthenticated) return undefined;
    let isCurrent = true;
    client.setAuth(fetchAccessToken, isConfirmed => {
      if (isCurrent) setConfirmed(isConfirmed);
    });
    return () => {
      isCurrent = false;
    };
  }, [client, isAuthenticated, fetchAccessToken, setConfirmed]);
  return null;
}

/** What it cleans up comes after what the children clean up: they are not asked for again as nobody. */
function ClearAuthLast({client, isAuthenticated, setConfirmed}: AuthEffect): null {
  useEffect(() => {
    if (!isAuthenticated) return undefined;
    return () => {
      if (!client.store.engine.isClosed) client.clearAuth();
      setConfirmed(null);
    };
  }, [client, isAuthenticated, setConfirmed]);
  return null;
}
