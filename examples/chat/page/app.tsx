import {useSvcAuth} from 'svc/react';
import {Chat} from './chat';
import {useSession} from './session';
import {SignIn} from './sign-in';

/** Nobody is let in before the server has accepted their token, and the chat goes the moment that they sign out. */
export function App() {
  const {session} = useSession();
  const {isLoading, isAuthenticated} = useSvcAuth();
  if (session.state === 'signedOut') return <SignIn />;
  if (session.state === 'asking' || isLoading)
    return (
      <p className="notice" role="status">
        One moment…
      </p>
    );
  return isAuthenticated ? <Chat /> : <SignIn problem="The server does not accept this session. Sign in again." />;
}
