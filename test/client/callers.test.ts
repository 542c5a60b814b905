/** Mutations and actions of a client that reconnects: each is sent as the user that made it, or not at all. */
import {describe, expect, test, vi} from 'vitest';
import {scripted} from './clients.ts';
import {type ScriptedServer, settled, stateOf} from './scripted-server.ts';
import {
  type Answer,
  act,
  all,
  fakeTime,
  fetcher,
  mine,
  refuse,
  send,
  signedIn,
  signingIn,
  token,
} from './signing-in.ts';

fakeTime();

describe('a call is sent as who made it, or not at all', () => {
  const NOT_SENT = 'rejected [SVC M(messages:send)] Not sent: another user is signed in\n  Called by client';
  const REPEATED = NOT_SENT.replace('Not sent:', 'Not sent again, though it may have run:');

  /** Its caller looks at it later. */
  const awaited = (call: Promise<unknown>) => {
    call.catch(() => undefined);
    return call;
  };

  /** Signed in, and offline. */
  async function offline() {
    const parts = await signedIn();
    parts.socket.drop();
    return parts;
  }
  const back = (server: ScriptedServer) => {
    vi.advanceTimersByTime(1_000);
    return server.open();
  };
  const next = (...tokens: Answer[]) => {
    const {fetchToken, answer} = fetcher();
    return {fetchToken, answered: () => answer(...tokens)};
  };

  test.each(['mutation', 'action'] as const)(
    '%s made offline: another user signs in before the client is back',
    async kind => {
      const {server, client} = await offline();
      const call = awaited(kind === 'mutation' ? client.mutation(send) : client.action(act));
      const {fetchToken, answered} = next(token('other', 60, 'grace'));
      client.setAuth(fetchToken);
      await answered();
      const socket = back(server);
      expect(await stateOf(call)).toBe(
        kind === 'mutation' ? NOT_SENT : NOT_SENT.replace('M(messages:send)', 'A(messages:act)'),
      );
      expect(socket.sent(kind)).toEqual([]);
      const ofGrace = client.mutation(send);
      expect(socket.sent('mutation')).toHaveLength(1);
      expect(await stateOf(ofGrace)).toBe('pending');
    },
  );

  test('the user has signed out before it is back', async () => {
    const {server, client} = await offline();
    const call = awaited(client.mutation(send));
    client.clearAuth();
    back(server);
    expect(await stateOf(call)).toBe(NOT_SENT);
  });

  test('one that was made without a user, before a user signs in', async () => {
    const {server, client} = scripted();
    client.onUpdate(all, {}, () => {});
    const call = awaited(client.mutation(send));
    client.setAuth(async () => token('cached'));
    await settled();
    expect(server.open().sent('mutation')).toEqual([]);
    expect(await stateOf(call)).toBe(NOT_SENT);
  });

  test('the same user by another token, or who went and came back: it is sent', async () => {
    const {server, client} = await offline();
    const call = awaited(client.mutation(send));
    client.clearAuth();
    const {fetchToken, answered} = next(token('later'));
    client.setAuth(fetchToken);
    await answered();
    expect(back(server).sent('mutation')).toHaveLength(1);
    expect(await stateOf(call)).toBe('pending');
  });

  test('one that was sent before is not sent again for another user, and its optimistic update goes', async () => {
    const {server, client, socket} = await signedIn();
    const shown: unknown[] = [];
    client.onUpdate(mine, {}, value => shown.push(value));
    await settled();
    const call = awaited(client.mutation(send, {}, {optimisticUpdate: store => store.setQuery(mine, {}, 'sending')}));
    socket.drop();
    client.clearAuth();
    back(server);
    expect(await stateOf(call)).toBe(REPEATED);
    expect(shown).toEqual(['of cached', 'sending', 'of cached']);
  });

  test('made while a refused token is replaced: of who the refused one named', async () => {
    const {client, socket, answer} = await signedIn();
    refuse(socket);
    const call = awaited(client.mutation(send));
    await answer(token('other', 60, 'grace'));
    expect(socket.sent('mutation')).toEqual([]);
    expect(await stateOf(call)).toBe(NOT_SENT);
  });

  test('made while the first token is fetched: of whom it names', async () => {
    const {client, socket, answer} = await signingIn();
    const call = awaited(client.mutation(send));
    await answer(token('cached'));
    expect(socket.sent('mutation')).toHaveLength(1);
    expect(await stateOf(call)).toBe('pending');
  });

  test.each([
    ['another user', token('other', 60, 'grace'), NOT_SENT],
    ['the same user', token('other'), 'pending'],
    ['no user', null, NOT_SENT],
  ])('made while a token is fetched that does not matter any more, as %s signs in', async (_, fetched, state) => {
    const {client, answer} = await signingIn();
    const call = awaited(client.mutation(send));
    const {fetchToken, answered} = next(fetched, null);
    client.setAuth(fetchToken);
    await answer(token('void'));
    await answered().catch(() => undefined);
    expect(await stateOf(call)).toBe(state);
  });

  test('made while the sign-out becomes known: it is a call without a user', async () => {
    const {client, socket, answer} = await signingIn();
    void client.mutation(send);
    await answer(null, null);
    expect(socket.sent('mutation')).toHaveLength(1);
  });
});
