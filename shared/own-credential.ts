/**
 * How the server's own credentials begin. A token that should be a user's is told from one of them by it, without a secret to
 * compare it with: nothing can be guessed by trying.
 */
import {KEY_PREFIX} from './key-prefix.ts';

export const ACCESS_TOKEN_PREFIX = 'svc_access_';
export const ADMIN_TOKEN_PREFIX = 'svc_admin_';

const KINDS = [
  [ACCESS_TOKEN_PREFIX, 'the access token of a server, which opens /api and nothing else'],
  [ADMIN_TOKEN_PREFIX, 'the admin token of a server, which belongs in X-Svc-Admin-Token'],
  [KEY_PREFIX, 'a key of a server, which belongs in X-Svc-Admin-Token'],
] as const;

/** Why this token is no user's, for people; null: it is none of the server's own. Never has any of it. */
export function misplacedCredential(token: string): string | null {
  const kind = KINDS.find(([prefix]) => token.startsWith(prefix))?.[1];
  return kind === undefined
    ? null
    : `This is ${kind}. A user's token is a JWT that one of the tenant's auth providers signed; a request without one is anonymous`;
}
