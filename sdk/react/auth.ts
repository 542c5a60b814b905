/**
 * Connects an authentication library to the client. The library says whether a user is signed in and fetches tokens,
 * the client sends them, and the server decides whether they are valid.
 */
import {
  createContext,
  createElement,
  Fragment,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
} from 'react';
import type {AuthTokenFetcher} from '../client/identity.ts';
import type {SvcReactClient} from './client.ts';
import {SvcProvider} from './context.ts';

export type SvcAuthState = {
  /** It is not known yet whether a user is signed in. */
  isLoading: boolean;
  /** A user is signed in, and the server has confirmed it. */
  isAuthenticated: boolean;
};

/** The state that an authentication library provides. A new `fetchAccessToken` function can mean another user. */
export type UseAuth = () => SvcAuthState & {fetchAccessToken: AuthTokenFetcher};

const AuthContext = createContext<SvcAuthState | undefined>(undefined);

/** The server's last answer. */
type Answer = {
  isConfirmed: boolean;
  /** The function whose token the answer is about. */
  of: AuthTokenFetcher;
  /** The same function was passed in a later render, so a new function means another user. */
  isOfOne: boolean;
};

/**
 * `SvcProvider` for apps with users.
 * @param useAuth a hook of the authentication library; it must be the same in every render
 */
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
  const [confirmed, answered] = useConfirmation(fetchAccessToken);
  const state = useMemo(
    () => ({
      isLoading: isLoading || (isAuthenticated && confirmed === null),
      isAuthenticated: !isLoading && isAuthenticated && confirmed === true,
    }),
    [isLoading, isAuthenticated, confirmed],
  );
  const effect = {client, isAuthenticated, fetchAccessToken, answered};
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

/** The current authentication state. @throws Error outside of `SvcProviderWithAuth` */
export function useSvcAuth(): SvcAuthState {
  const state = useContext(AuthContext);
  if (state !== undefined) return state;
  throw new Error(
    'Could not find SvcProviderWithAuth! useSvcAuth must be used in the React component tree under SvcProviderWithAuth, ' +
      'which SvcProvider is not',
  );
}

/** Null: no user is waiting for confirmation any more. */
type Answered = (answer: Pick<Answer, 'isConfirmed' | 'of'> | null) => void;

/**
 * Whether the server has confirmed the user; null while it has not answered. A confirmation holds until the next
 * answer. A refusal applies to one function: another function means another user, whose state is unknown and who must
 * not see the sign-in page for a moment. But if the function is new in every render, it says nothing about the user, so
 * the refusal holds; otherwise the client would ask the server forever.
 */
function useConfirmation(fetchAccessToken: AuthTokenFetcher): [boolean | null, Answered] {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const isOfThis = answer?.of === fetchAccessToken;
  if (answer?.isConfirmed === false) {
    if (isOfThis && !answer.isOfOne) setAnswer({...answer, isOfOne: true});
    if (!isOfThis && answer.isOfOne) setAnswer(null);
  }
  const answered = useCallback<Answered>(next => {
    setAnswer(before => {
      if (next === null) return null;
      return before?.isConfirmed === next.isConfirmed ? before : {...next, isOfOne: false};
    });
  }, []);
  return [answer?.isConfirmed ?? null, answered];
}

type AuthEffect = {
  client: SvcReactClient;
  isAuthenticated: boolean;
  fetchAccessToken: AuthTokenFetcher;
  answered: Answered;
};

/** Its effect runs before those of the children, so they subscribe as the signed-in user. */
function SetAuthFirst({client, isAuthenticated, fetchAccessToken, answered}: AuthEffect): null {
  useEffect(() => {
    if (!isAuthenticated) return undefined;
    let isCurrent = true;
    client.setAuth(fetchAccessToken, isConfirmed => {
      if (isCurrent) answered({isConfirmed, of: fetchAccessToken});
    });
    return () => {
      isCurrent = false;
    };
  }, [client, isAuthenticated, fetchAccessToken, answered]);
  return null;
}

/** Its cleanup runs after that of the children, so they do not subscribe again without a user. */
function ClearAuthLast({client, isAuthenticated, answered}: AuthEffect): null {
  useEffect(() => {
    if (!isAuthenticated) return undefined;
    return () => {
      if (!client.store.engine.isClosed) client.clearAuth();
      answered(null);
    };
  }, [client, isAuthenticated, answered]);
  return null;
}
