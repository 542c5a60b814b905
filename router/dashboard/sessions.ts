/** Signing in and out of the dashboard, one-time links, and the list of sessions. The supervisor stores them. */
import type {Buffer} from 'node:buffer';
import {Compile} from 'typebox/compile';
import {ServiceError} from '../../shared/errors.ts';
import {ALL_RIGHTS} from '../../shared/ipc/keys.ts';
import type {OpenedSession} from '../../shared/ipc/sessions.ts';
import {type DashboardOperation, OWN_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {type DashboardCode, SignInBody} from '../../shared/protocol/dashboard.ts';
import {parseJson} from '../../shared/values/json.ts';
import {type Credentials, holderOf, keyOf, type Principal, sessionIdOf} from '../auth/credentials.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import {setCookie} from './cookie.ts';

const signInBody = Compile(SignInBody);

export type SessionOperation =
  | Extract<RouterOperation, `dashboard.${string}`>
  | Exclude<DashboardOperation, 'dashboard.download'>;

/** What is read of the request's head. */
export type SessionCall = {
  /** The `Origin` of the dashboard's pages; null: they cannot be reached from the host that the request names. */
  readonly origin: string | null;
  /** `User-Agent` */
  readonly browser: string;
  /** The path's session. */
  readonly session: string;
};

/**
 * The principal that a sign-in shows: a credential, or the code of a one-time link, which is used up.
 * @throws auth.unauthorized 401, op.invalid_input 400
 */
export async function signInPrincipal(
  credentials: Credentials,
  control: ControlChannel,
  bytes: Buffer,
): Promise<Principal> {
  const body = parseJson(bytes);
  if (!signInBody.Check(body)) {
    throw new ServiceError('op.invalid_input', 'the body must be an object with the string token, or the string code');
  }
  if ('code' in body) {
    const principal = credentials.ofHolder(await control.takeCode(body.code));
    if (principal !== undefined) return principal;
    throw new ServiceError('auth.unauthorized', 'the credential that made this link is not valid any more');
  }
  const principal = credentials.ofToken(body.token);
  if (principal !== undefined) return principal;
  const otherwise = 'this is neither the access token nor the admin token of this server, nor a key';
  throw new ServiceError('auth.unauthorized', credentials.refusal('', body.token, otherwise));
}

/** Performs what its audit record allows, if it has one. @throws the supervisor's ServiceError */
export async function answerSessions(
  control: ControlChannel,
  exchange: Exchange,
  own: SessionOperation,
  {origin, browser, session}: SessionCall,
): Promise<void> {
  const {principal} = exchange;
  const {success} = OWN_OPERATIONS[own];
  const actor = keyOf(principal)?.id ?? null;
  switch (own) {
    case 'dashboard.sign_in': {
      const {address} = exchange;
      const opened = (await control.sessions({
        ...{action: 'session_open', holder: holderOf(principal), address, browser},
      })) as OpenedSession;
      const seconds = (opened.ends_at - Date.now()) / 1000;
      const cookie = setCookie(origin!, opened.secret, seconds);
      exchange.reply(success, JSON.stringify(viewOf(principal, opened)), [['Set-Cookie', cookie]]);
      return;
    }
    case 'dashboard.session': {
      const id = sessionIdOf(principal);
      const {sessions} = await control.sessionsOf(actor);
      const found = sessions.find(one => one.id === id);
      if (found === undefined) throw new ServiceError('auth.unauthorized', 'the session has ended');
      exchange.reply(success, JSON.stringify(viewOf(principal, found)));
      return;
    }
    case 'dashboard.sign_out':
      await control.sessions({action: 'session_end', actor, session: sessionIdOf(principal)});
      exchange.reply(success, '', [['Set-Cookie', setCookie(origin!, '', 0)]]);
      return;
    case 'dashboard.code': {
      const made = (await control.sessions({action: 'code_make', holder: holderOf(principal)})) as Omit<
        DashboardCode,
        'url'
      >;
      const url = origin === null ? null : `${origin}/_dashboard/#code=${made.code}`;
      exchange.reply(
        success,
        JSON.stringify({code: made.code, url, expires_at: made.expires_at} satisfies DashboardCode),
      );
      return;
    }
    case 'dashboard.sessions':
      exchange.reply(success, JSON.stringify(await control.sessionsOf(actor)));
      return;
    case 'dashboard.end':
    case 'dashboard.end_all':
      await control.sessions({action: 'session_end', actor, session: own === 'dashboard.end' ? session : null});
      exchange.reply(success, '');
      return;
  }
}

function viewOf(principal: Principal, {id, ends_at, idle_ends_at}: Omit<OpenedSession, 'secret'>): object {
  const key = keyOf(principal);
  const {scopes, tenants, tables} = key?.grant ?? ALL_RIGHTS;
  return {id, who: {id: key?.id ?? null, name: key?.name ?? 'admin'}, scopes, tenants, tables, ends_at, idle_ends_at};
}
