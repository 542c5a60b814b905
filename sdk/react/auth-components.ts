/** Components for users who are signed in, for users who are not, and for the time before this is known. */
import type {ReactNode} from 'react';
import {useSvcAuth} from './auth.ts';

type Props = {children?: ReactNode};

/** Renders its children once the server has confirmed the user. */
export function Authenticated({children}: Props): ReactNode {
  return useSvcAuth().isAuthenticated ? children : null;
}

/** Renders its children when no user is signed in. */
export function Unauthenticated({children}: Props): ReactNode {
  const {isLoading, isAuthenticated} = useSvcAuth();
  return isLoading || isAuthenticated ? null : children;
}

/** Renders its children while it is not known whether a user is signed in. */
export function AuthLoading({children}: Props): ReactNode {
  return useSvcAuth().isLoading ? children : null;
}
