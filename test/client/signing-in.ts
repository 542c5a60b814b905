/** A client that signs in to a scripted server, by a clock that only the test moves. */
import {afterEach, beforeEach, vi} from 'vitest';
import type {SvcClientOptions} from '../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {scripted} from './clients.ts';
import {result, settled} from './scripted-server.ts';

export const mine = makeFunctionReference<'query'>('tasks:mine');
export const all = makeFunctionReference<'query'>('tasks:all');
export const send = makeFunctionReference<'mutation'>('messages:send');
export const act = makeFunctionReference<'action'>('messages:act');

export function fakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']});
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

/** Of one user, unless another is named. Unsigned; good for so many seconds. */
export function token(name: string, seconds = 60, sub = 'ada'): string {
  const claims = {iss: 'issuer', sub, jti: name, iat: 1_000, exp: 1_000 + seconds};
  return `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
}

export type Answer = string | null | undefined | Error;

/** Answers in this order, each when `next` is called. */
export function fetcher() {
  const asked: boolean[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  const fetchToken = ({forceRefreshToken}: {forceRefreshToken: boolean}) =>
    new Promise<string | null | undefined>((resolve, reject) => {
      asked.push(forceRefreshToken);
      waiting.push(answer => (answer instanceof Error ? reject(answer) : resolve(answer)));
    });
  const answer = async (...answers: Answer[]) => {
    for (const one of answers) {
      waiting.shift()!(one);
      await settled();
    }
  };
  return {fetchToken, asked, answer};
}

export async function signingIn(options: SvcClientOptions = {}) {
  const {server, client, said} = scripted(options);
  client.onUpdate(mine, {}, () => {});
  const {fetchToken, asked, answer} = fetcher();
  const told: boolean[] = [];
  client.setAuth(fetchToken, isAuthenticated => told.push(isAuthenticated));
  await settled();
  const socket = server.open();
  return {server, client, said, asked, answer, told, socket};
}

/** Signed in with a fresh token that ends in a minute. */
export async function signedIn(options: SvcClientOptions = {}) {
  const parts = await signingIn(options);
  const {socket, answer} = parts;
  await answer(token('cached'));
  socket.transition(1, [result(socket.idOf('tasks:mine'), 'of cached')]);
  await answer(token('fresh'));
  socket.transition(2);
  return parts;
}

export const refuse = (socket: {say: (message: never) => void; identity: number}, identity = socket.identity) =>
  socket.say({type: 'auth_error', identity, error: {code: 'auth.unauthorized', message: 'no good'}} as never);
