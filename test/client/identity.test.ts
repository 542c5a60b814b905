/** 7.4: who the caller is, on a client that reconnects. */
import {describe, expect, test, vi} from 'vitest';
import {scripted} from './clients.ts';
import {result, settled} from './scripted-server.ts';
import {all, fakeTime, fetcher, mine, refuse, send, signedIn, signingIn, token} from './signing-in.ts';

fakeTime();

describe('setAuth', () => {
  test('nothing but the greeting is sent until a token is there', async () => {
    const {client, socket, asked, answer, told} = await signingIn();
    void client.mutation(send);
    await settled();
    expect(socket.received.map(({type}) => type)).toEqual(['client_hello']);
    expect(asked).toEqual([false]);
    await answer(token('cached'));
    expect(socket.received.slice(1)).toMatchObject([
      {type: 'authenticate', token: token('cached'), base_version: 0, new_version: 1},
      {type: 'query_set'},
      {type: 'mutation'},
    ]);
    expect(told).toEqual([]);
  });

  test('confirmed by the server: onChange(true), and a fresh token is fetched at once, which calls it no more', async () => {
    const {client, socket, asked, answer, told} = await signingIn();
    await answer(token('cached'));
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    expect([told, asked]).toEqual([[true], [false, true]]);
    await answer(token('fresh'));
    expect(socket.sent('authenticate').at(-1)).toMatchObject({token: token('fresh'), base_version: 1, new_version: 2});
    socket.transition(2);
    expect([told, asked]).toEqual([[true], [false, true]]);
    expect(client.getAuth()).toEqual({
      token: token('fresh'),
      decoded: {iss: 'issuer', sub: 'ada', jti: 'fresh', iat: 1_000, exp: 1_060},
    });
  });

  test.each([
    ['no token, and none when asked again', [null, undefined]],
    ['exceptions', [new Error('no network'), new Error('no network')]],
  ] as const)('%s: onChange(false), and traffic goes on without a user', async (_, answers) => {
    const {client, socket, asked, answer, told} = await signingIn();
    await answer(...answers);
    expect([told, asked]).toEqual([[false], [false, true]]);
    expect(socket.received.map(({type}) => type)).toEqual(['client_hello', 'query_set']);
    expect(client.getAuth()).toBeUndefined();
    vi.runOnlyPendingTimers();
    expect(asked).toHaveLength(2);
  });

  test('no token at first and one when asked again: confirmed once', async () => {
    const {socket, asked, answer, told} = await signingIn();
    await answer(null, token('fresh'));
    expect(told).toEqual([]);
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    expect([told, asked]).toEqual([[true], [false, true]]);
  });

  test('takes no string', () => {
    expect(() => scripted().client.setAuth('token' as never)).toThrow('takes a function that fetches a token');
  });

  test('an onChange that throws stops nothing: tokens are refreshed', async () => {
    const {server, client, said} = scripted();
    const {fetchToken, asked, answer} = fetcher();
    client.setAuth(fetchToken, () => {
      throw new Error('mine');
    });
    const socket = server.open();
    await answer(token('cached'));
    socket.transition(1);
    await settled();
    expect(asked).toEqual([false, true]);
    expect(said).toEqual(['error: A listener of a svc client failed: mine']);
  });

  test('when the server ends it for good: onChange(false) for listeners that wait, and for later ones, without a fetch', async () => {
    const {client, socket, answer, told, asked} = await signingIn();
    await answer(token('cached'));
    const error = {code: 'protocol.unsupported_version', message: 'of another time'} as const;
    socket.say({type: 'fatal_error', error});
    expect(told).toEqual([false]);
    const later: boolean[] = [];
    client.setAuth(
      async () => {
        throw new Error('was asked');
      },
      isAuthenticated => later.push(isAuthenticated),
    );
    expect(later).toEqual([]);
    await settled();
    expect([later, asked]).toEqual([[false], [false]]);
  });

  test('where there is no WebSocket throws, and fetches nothing', async () => {
    vi.stubGlobal('WebSocket', undefined);
    const {client} = scripted({webSocketConstructor: undefined});
    const {fetchToken, asked} = fetcher();
    expect(() => client.setAuth(fetchToken)).toThrow('There is no WebSocket here');
    vi.unstubAllGlobals();
    await settled();
    expect(asked).toEqual([]);
  });

  test('opens the socket: whether a user is signed in is known without any query', async () => {
    const {server, client} = scripted();
    const told: boolean[] = [];
    client.setAuth(
      async () => token('t'),
      isAuthenticated => told.push(isAuthenticated),
    );
    await settled();
    server.open().transition(1);
    expect(told).toEqual([true]);
  });

  test('again: what was under way for the old one is void', async () => {
    const {client, socket, answer, told} = await signingIn();
    const other = fetcher();
    const toldOther: boolean[] = [];
    client.setAuth(other.fetchToken, isAuthenticated => toldOther.push(isAuthenticated));
    await answer(token('late'));
    expect(socket.sent('authenticate')).toEqual([]);
    await other.answer(token('other'));
    expect(socket.sent('authenticate')).toMatchObject([{token: token('other')}]);
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    expect([told, toldOther]).toEqual([[], [true]]);
  });

  test('again, for another user: getAuth names no user until their token is there', async () => {
    const {client, socket} = await signedIn();
    expect(client.getAuth()?.decoded.sub).toBe('ada');
    const other = fetcher();
    client.setAuth(other.fetchToken);
    expect(client.getAuth()).toBeUndefined();
    await other.answer(token('other', 60, 'grace'));
    expect(client.getAuth()?.decoded.sub).toBe('grace');
    client.setAuth(other.fetchToken);
    expect(client.getAuth()).toBeUndefined();
    await other.answer(null, null);
    expect([client.getAuth(), socket.sent('clear_auth').length]).toEqual([undefined, 1]);
  });

  test('again with the same token: is confirmed anew', async () => {
    const {client, socket} = await signedIn();
    const told: boolean[] = [];
    client.setAuth(
      async () => token('fresh'),
      isAuthenticated => told.push(isAuthenticated),
    );
    await settled();
    socket.transition(3);
    expect(told).toEqual([true]);
  });
});

describe('refreshing', () => {
  test('a token is replaced 10 s before it ends, by its own clock', async () => {
    const {socket, asked, answer, told} = await signedIn();
    await vi.advanceTimersByTimeAsync(49_999);
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([false, true, true]);
    await answer(token('next', 120));
    socket.transition(3);
    expect(told).toEqual([true]);
    await vi.advanceTimersByTimeAsync(109_999);
    expect(asked).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toHaveLength(4);
  });

  test.each([
    ['a leeway of its own', 60, 30, 30_000],
    ['a leeway longer than the token is good', 8, 10, 4_000],
    ['a token for years: after 20 days', 400 * 86_400, 10, 20 * 86_400_000],
  ])('%s', async (_, seconds, authRefreshTokenLeewaySeconds, ms) => {
    const {socket, asked, answer} = await signingIn({authRefreshTokenLeewaySeconds});
    await answer(null, token('fresh', seconds));
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    vi.advanceTimersByTime(Math.min(ms - 1, 59_999));
    if (ms > 60_000) {
      // The socket is silent meanwhile, and another one is opened: only the token's timer counts here.
      vi.advanceTimersByTime(ms - 60_000);
    }
    expect(asked).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(asked).toHaveLength(3);
  });

  test.each([
    ['is good for 2 s', token('short', 2), 'good for 2 s only'],
    ['is no JWT', 'opaque', 'no JWT with iat and exp'],
  ])('a token that %s is used, and not refreshed', async (_, fresh, why) => {
    const {socket, asked, answer, said, told} = await signingIn();
    await answer(null, fresh);
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    expect(told).toEqual([true]);
    expect(said.join()).toContain(why);
    vi.advanceTimersByTime(50_000);
    expect(asked).toHaveLength(2);
  });

  test('the same token again: it is used until it is refused', async () => {
    const {socket, asked, answer, told} = await signingIn();
    await answer(token('one'));
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    await answer(token('one'));
    expect(socket.sent('authenticate')).toHaveLength(1);
    vi.advanceTimersByTime(59_000);
    expect([told, asked]).toEqual([[true], [false, true]]);
  });

  test('the user has signed out: onChange(false), and the server is notified', async () => {
    const {socket, answer, told} = await signedIn();
    await vi.advanceTimersByTimeAsync(50_000);
    await answer(null);
    expect(told).toEqual([true, false]);
    expect(socket.sent('clear_auth')).toEqual([{type: 'clear_auth', base_version: 2, new_version: 3}]);
  });

  test('an exception: it is tried again soon, and the caller stays who they are', async () => {
    const {asked, answer, told, said, socket} = await signedIn();
    await vi.advanceTimersByTimeAsync(50_000);
    await answer(new Error('no network'));
    await vi.advanceTimersByTimeAsync(1_000);
    await answer(new Error('no network'));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked).toHaveLength(5);
    await answer(token('next'));
    expect(socket.sent('authenticate').at(-1)).toMatchObject({token: token('next')});
    expect(told).toEqual([true]);
    expect(said).toContain('error: Fetching a token failed: no network');
  });

  test('eight exceptions: the old token is used until it is refused', async () => {
    const {server, asked, answer, told} = await signedIn();
    await vi.advanceTimersByTimeAsync(50_000);
    for (let attempt = 0; attempt < 8; attempt++) {
      await answer(new Error('no network'));
      server.last.say({type: 'ping'});
      await vi.advanceTimersByTimeAsync(16_000);
    }
    expect([told, asked.length]).toEqual([[true], 10]);
  });
});

describe('the server refuses a token', () => {
  test('a new one is fetched, nothing is sent meanwhile, and it goes on with it', async () => {
    const {client, socket, asked, answer, told} = await signedIn();
    refuse(socket);
    expect(asked).toEqual([false, true, true]);
    void client.mutation(send);
    expect(socket.sent('mutation')).toEqual([]);
    await answer(token('new'));
    expect(socket.sent('authenticate').at(-1)).toMatchObject({token: token('new'), base_version: 2, new_version: 3});
    expect(socket.sent('mutation')).toHaveLength(1);
    socket.transition(3);
    expect(told).toEqual([true]);
    vi.advanceTimersByTime(50_000);
    expect(asked).toHaveLength(4);
  });

  test.each([
    [
      'the same token again',
      token('fresh'),
      ['error: Failed to authenticate: no good. Does svc/auth.config.ts fit the tokens?'],
    ],
    ['none', null, []],
  ])('%s: no user, onChange(false), and traffic goes on', async (_, fetched, lines) => {
    const {client, socket, answer, told, said} = await signedIn();
    refuse(socket);
    await answer(fetched);
    expect(told).toEqual([true, false]);
    expect(said).toEqual(lines);
    expect(socket.sent('clear_auth')).toHaveLength(1);
    expect(client.getAuth()).toBeUndefined();
    void client.mutation(send);
    expect(socket.sent('mutation')).toHaveLength(1);
  });

  test('an exception: nothing is sent, and it is tried again until there is an answer', async () => {
    const {client, socket, asked, answer, told} = await signedIn();
    refuse(socket);
    void client.mutation(send);
    for (const waitMs of [1_000, 2_000, 4_000]) {
      await answer(new Error('no network'));
      expect([told, socket.sent('mutation')]).toEqual([[true], []]);
      await vi.advanceTimersByTimeAsync(waitMs);
    }
    expect(asked).toHaveLength(6);
    await answer(token('new'));
    expect(socket.sent('authenticate').at(-1)).toMatchObject({token: token('new')});
    expect([told, socket.sent('mutation').length]).toEqual([[true], 1]);
  });

  test('eight exceptions: no user, onChange(false), and traffic goes on', async () => {
    const {server, client, asked, answer, told} = await signedIn();
    refuse(server.last);
    for (let attempt = 0; attempt < 8; attempt++) {
      await answer(new Error('no network'));
      server.last.say({type: 'ping'});
      await vi.advanceTimersByTimeAsync(16_000);
    }
    expect([told, asked.length]).toEqual([[true, false], 10]);
    void client.mutation(send);
    expect(server.last.sent('mutation')).toHaveLength(1);
  });

  test('clearAuth while a fetch is to be tried again: nothing is fetched any more', async () => {
    const {client, socket, asked, answer} = await signedIn();
    refuse(socket);
    await answer(new Error('no network'));
    client.clearAuth();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked).toHaveLength(3);
  });

  test('the cached one, before it was ever confirmed: onChange(true) comes with the fresh one', async () => {
    const {socket, answer, told} = await signingIn();
    await answer(token('cached'));
    refuse(socket);
    await answer(token('fresh'));
    expect(told).toEqual([]);
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    expect(told).toEqual([true]);
  });

  test('two fresh ones after each other: it gives up', async () => {
    const {socket, asked, answer, told, said} = await signingIn();
    await answer(token('cached'));
    refuse(socket);
    await answer(token('fresh 1'));
    refuse(socket);
    await answer(token('fresh 2'));
    refuse(socket);
    expect([told, asked]).toEqual([[false], [false, true, true]]);
    expect(said.join()).toContain('Failed to authenticate: no good');
  });

  test('fresh ones that were confirmed between do not count', async () => {
    const {socket, answer, told} = await signedIn();
    for (let n = 0; n < 3; n++) {
      refuse(socket);
      await answer(token(`fresh ${n}`));
      socket.transition(3 + n);
    }
    expect(told).toEqual([true]);
  });

  test('while a fresh one is being fetched: that fetch is void', async () => {
    const {socket, asked, answer} = await signingIn();
    await answer(token('cached'));
    socket.transition(1, [result(socket.idOf('tasks:mine'), 1)]);
    refuse(socket);
    expect(asked).toEqual([false, true, true]);
    await answer(token('void'), token('fresh'));
    expect(socket.sent('authenticate').map(message => message.token)).toEqual([token('cached'), token('fresh')]);
  });

  test('of an older version than the present one: is ignored', async () => {
    const {socket, asked} = await signedIn();
    refuse(socket, 1);
    expect(asked).toHaveLength(2);
  });
});

describe('clearAuth', () => {
  test('the server is notified, and nothing is fetched any more', async () => {
    const {client, socket, asked, told} = await signedIn();
    client.clearAuth();
    expect(socket.sent('clear_auth')).toEqual([{type: 'clear_auth', base_version: 2, new_version: 3}]);
    vi.advanceTimersByTime(55_000);
    socket.transition(3);
    expect([asked.length, told, client.getAuth()]).toEqual([2, [true], undefined]);
  });

  test('before a token came: traffic goes on without a user', async () => {
    const {client, socket, answer} = await signingIn();
    client.clearAuth();
    expect(socket.received.map(({type}) => type)).toEqual(['client_hello', 'query_set']);
    await answer(token('late'));
    expect(socket.sent('authenticate')).toEqual([]);
  });
});

describe('on the next socket', () => {
  test('the caller says who they are first, and onChange is not called again', async () => {
    const {server, socket, asked, told} = await signedIn();
    socket.drop();
    vi.advanceTimersByTime(1_000);
    const next = server.open();
    expect(next.received.map(({type}) => type)).toEqual(['client_hello', 'authenticate', 'query_set']);
    expect(next.sent('authenticate')).toMatchObject([{token: token('fresh'), base_version: 0, new_version: 1}]);
    next.transition(3);
    expect([told, asked.length]).toEqual([[true], 2]);
  });

  test('a token that was not confirmed before is confirmed there', async () => {
    const {server, socket, answer, told} = await signingIn();
    await answer(token('cached'));
    socket.drop();
    vi.advanceTimersByTime(1_000);
    const next = server.open();
    next.transition(1, [result(next.idOf('tasks:mine'), 1)]);
    expect(told).toEqual([true]);
  });

  test('a client without a user meanwhile need not say so', async () => {
    const {server, client, socket} = await signedIn();
    socket.drop();
    client.clearAuth();
    vi.advanceTimersByTime(1_000);
    expect(server.open().received.map(({type}) => type)).toEqual(['client_hello', 'query_set']);
  });
});

describe('63: results of another caller', () => {
  test('old ones stay until all change at once; those that do not depend on the caller stay the same', async () => {
    const {client, socket} = await signedIn();
    const shown: unknown[] = [];
    const other = client.onUpdate(all, {}, () => {});
    client.onUpdate(mine, {}, value => shown.push([value, other.getCurrentValue()]));
    await settled();
    socket.transition(3, [result(socket.idOf('tasks:all'), ['shared'])]);
    const before = other.getCurrentValue();
    client.setAuth(async () => token('grace'));
    await settled();
    expect(shown).toEqual([['of cached', undefined]]);
    socket.transition(4, [result(socket.idOf('tasks:mine'), 'of grace')]);
    expect(shown).toEqual([
      ['of cached', undefined],
      ['of grace', ['shared']],
    ]);
    expect(other.getCurrentValue()).toBe(before);
  });
});
