/**
 * Messages about sessions of the dashboard between the supervisor, which stores them on disk, and the routers, which
 * check requests against a copy. A session's own secret is a message once, to the router that sets the cookie.
 */
import type {Actor} from './keys.ts';

/** The credential that opened a session: a secret of a key, or (null) an admin credential. */
export type Holder = {readonly key: string; readonly sha256: string} | null;

export type SessionRecord = {
  readonly id: string;
  /** The key whose rights it has; null: an admin credential. */
  readonly key: Actor;
  /** Digest of the credential that opened it: the session ends with it. */
  readonly credential_sha256: string;
  /** Digest of the session's own secret. */
  readonly sha256: string;
  /** Epoch milliseconds, as all times here. */
  readonly created_at: number;
  readonly ends_at: number;
  /** Where it was opened: address, and what the browser calls itself. */
  readonly address: string;
  readonly browser: string;
};

export type SessionRequest =
  /** Answered by `OpenedSession`. */
  | {action: 'session_open'; holder: Holder; address: string; browser: string}
  | {action: 'session_list'; actor: Actor}
  /** Without an id: all sessions of the actor's own credential. */
  | {action: 'session_end'; actor: Actor; session: string | null}
  /** Answered by the code of a one-time link, and its end. */
  | {action: 'code_make'; holder: Holder}
  /** Answered by its holder. The code is used up. */
  | {action: 'code_take'; code: string};

/** `secret`: the value of its cookie. */
export type OpenedSession = {id: string; secret: string; ends_at: number; idle_ends_at: number};

const SEPARATOR = '.';

/** The value of a session's cookie. */
export function cookieValueOf(id: string, secret: string): string {
  return `${id}${SEPARATOR}${secret}`;
}

/** Empty: it names none. */
export function sessionIdIn(cookieValue: string): string {
  return cookieValue.slice(0, Math.max(0, cookieValue.indexOf(SEPARATOR)));
}
