/** Parts of a page for users who are signed in, for those who are not, and for the time before it is known. */
import type {ReactNode} from 'react';
import {useSvcAuth} from './auth.ts';

type Props = {children?: ReactNode};

/** Shown once the server has confirmed the user. */
export function Authenticated({children}: Props): ReactNode {
  return useSvcAuth().isAuthenticated ? children : null;
}

/** Shown when no user is signed in. */
export function Unauthenticated({children}: Props): ReactNode {
  const {isLoading, isAuthenticated} = useSvcAuth();
  return isLoading || isAuthenticated ? null : children;
}

/** Shown while it is not known yet whether a user is signed in. */
export function AuthLoading({children}: Props): ReactNode {
  return useSvcAuth().isLoading ? children : null;
}
