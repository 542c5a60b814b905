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
  /** It is not known yet whether somebody is signed in. */
  isLoading: boolean;
  /** Somebody is signed in, and the server has confirmed it. */
  isAuthenticated: boolean;
};

/** What a library for signing in has to tell. Another `fetchAccessToken` than before: there may be another user. */
export type UseAuth = () => SvcAuthState & {fetchAccessToken: AuthTokenFetcher};

const AuthContext = createContext<SvcAuthState | undefined>(undefined);

/** What the server said last. */
type Answer = {
  isConfirmed: boolean;
  /** The function whose token it is about. */
  of: AuthTokenFetcher;
  /** That function came again in a later render: it is another one only when there is another user. */
  isOfOne: boolean;
};

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

/** @throws Error outside of `SvcProviderWithAuth` */
export function useSvcAuth(): SvcAuthState {
  const state = useContext(AuthContext);
  if (state !== undefined) return state;
  throw new Error(
    'Could not find SvcProviderWithAuth! useSvcAuth must be used in the React component tree under SvcProviderWithAuth, ' +
      'which SvcProvider is not',
  );
}

/** Null: nobody is to be confirmed any more. */
type Answered = (answer: Pick<Answer, 'isConfirmed' | 'of'> | null) => void;

/**
 * Whether the server has confirmed the user; null: it has not said yet. A confirmation holds until the next answer. A refusal is about one
 * function: with another one there is another user, of whom nothing is known, and who is not to be sent to the sign-in page for a moment.
 * A function that is another in every render says nothing of users: there the refusal holds, or it would be asked for ever.
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

/** Its effect runs before those of the children: they subscribe as who is signed in. */
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

/** What it cleans up comes after what the children clean up: they are not asked for again as nobody. */
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
