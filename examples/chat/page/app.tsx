import {useSvcAuth} from 'svc/react';
import {Chat} from './chat';
import {useSession} from './session';
import {SignIn} from './sign-in';

/** Shows the chat once the server has accepted the token, and hides it as soon as the user signs out. */
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
