/**
 * Stands in for a login provider: it takes everybody's word for their name, and signs short-lived OpenID Connect tokens with a
 * key that it made when it started. Pages keep no secret: the session is a cookie that scripts cannot read, and tokens live in memory.
 *
 *   POST /sign-in {"name"}   a session (cookie), and its first token
 *   POST /token              a new token for the session; null when there is none
 *   POST /sign-out           ends the session
 *   GET  /.well-known/openid-configuration, /jwks.json   for services that check tokens
 */
import {randomBytes} from 'node:crypto';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {exportJWK, generateKeyPair, SignJWT} from 'jose';
import {answer, type Handler, readObject} from '../run/beside.ts';

type User = {subject: string; name: string};
type Options = {
  /** Its own URL. */
  issuer: string;
  audience: string;
  /** How long a token is good. Short, so that pages have to get new ones. */
  tokenSeconds: number;
};

const ALGORITHM = 'ES256';
const COOKIE = 'chat_session';
const NAME_CHARS_MAX = 30;
const SESSIONS_MAX = 10_000;

export async function createIssuer({issuer, audience, tokenSeconds}: Options): Promise<Handler> {
  const {publicKey, privateKey} = await generateKeyPair(ALGORITHM);
  const kid = randomBytes(8).toString('hex');
  const keys = {keys: [{...(await exportJWK(publicKey)), kid, alg: ALGORITHM, use: 'sig'}]};
  /** By the cookie's value, oldest first. */
  const sessions = new Map<string, User>();

  const sign = ({subject, name}: User) =>
    new SignJWT({name})
      .setProtectedHeader({alg: ALGORITHM, kid})
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime(`${tokenSeconds}s`)
      .sign(privateKey);

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = (await readObject(request))?.name;
    const name = typeof given === 'string' ? given.trim().replace(/\s+/g, ' ') : '';
    if (name === '' || name.length > NAME_CHARS_MAX) {
      return answer(response, 400, {message: `A name has 1 to ${NAME_CHARS_MAX} characters`});
    }
    const user = {subject: name.toLowerCase().replaceAll(' ', '-'), name};
    const session = randomBytes(24).toString('base64url');
    sessions.set(session, user);
    for (const [oldest] of sessions) {
      if (sessions.size <= SESSIONS_MAX) break;
      sessions.delete(oldest);
    }
    answer(response, 200, {...user, token: await sign(user)}, {'set-cookie': cookie(session, issuer)});
  }

  async function newToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const user = sessions.get(sessionOf(request));
    answer(response, 200, user === undefined ? null : {...user, token: await sign(user)});
  }

  function signOut(request: IncomingMessage, response: ServerResponse): void {
    sessions.delete(sessionOf(request));
    answer(response, 204, null, {'set-cookie': `${cookie('', issuer)}; Max-Age=0`});
  }

  return async (request, response, path) => {
    switch (`${request.method} ${path}`) {
      case 'GET /.well-known/openid-configuration':
        return answer(response, 200, {
          issuer,
          jwks_uri: `${issuer}/jwks.json`,
          id_token_signing_alg_values_supported: [ALGORITHM],
        });
      case 'GET /jwks.json':
        return answer(response, 200, keys);
      case 'POST /sign-in':
        return signIn(request, response);
      case 'POST /token':
        return newToken(request, response);
      case 'POST /sign-out':
        return signOut(request, response);
      default:
        return answer(response, 404, {message: `There is no ${request.method} ${path} here`});
    }
  };
}

/** Other sites' pages cannot make a browser send it. */
function cookie(session: string, issuer: string): string {
  return `${COOKIE}=${session}; Path=${new URL(issuer).pathname}; HttpOnly; SameSite=Strict`;
}

function sessionOf(request: IncomingMessage): string {
  const pairs = (request.headers.cookie ?? '').split(';').map(pair => pair.trim().split('='));
  return pairs.find(([name]) => name === COOKIE)?.[1] ?? '';
}
