/**
 * Recognises the server's own credentials by their prefix, so that one sent instead of a user's token is detected. No
 * secret is compared, so trying values reveals nothing.
 */
import {KEY_PREFIX} from './key-prefix.ts';

export const ACCESS_TOKEN_PREFIX = 'svc_access_';
export const ADMIN_TOKEN_PREFIX = 'svc_admin_';

const KINDS = [
  [ACCESS_TOKEN_PREFIX, 'the access token of a server, which opens /api and nothing else'],
  [ADMIN_TOKEN_PREFIX, 'the admin token of a server, which belongs in X-Svc-Admin-Token'],
  [KEY_PREFIX, 'a key of a server, which belongs in X-Svc-Admin-Token'],
] as const;

/**
 * Why this token is not a user's, for people; null: it is not one of the server's own credentials. Never contains a
 * part of it.
 */
export function misplacedCredential(token: string): string | null {
  const kind = KINDS.find(([prefix]) => token.startsWith(prefix))?.[1];
  return kind === undefined
    ? null
    : `This is ${kind}. A user's token is a JWT that one of the tenant's auth providers signed; a request without one is anonymous`;
}
