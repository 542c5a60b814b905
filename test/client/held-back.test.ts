/** What a client keeps from its server: queries beyond the limit, everything before the caller is known, and what a newer server says. */
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {CLIENT_QUERIES_MAX} from '../../shared/client-limits.ts';
import {scripted} from './clients.ts';
import {result, settled} from './scripted-server.ts';

const row = makeFunctionReference<'query', {n: number}>('rows:get');
const send = makeFunctionReference<'mutation'>('messages:send');

beforeEach(() => void vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']}));
afterEach(() => void vi.useRealTimers());

test('9,000 queries: those beyond the limit are errors and are not sent, until others have gone', async () => {
  const {server, client} = scripted();
  const failed = new Set<number>();
  const rows = Array.from({length: 9_000}, (_, n) =>
    client.onUpdate(
      row,
      {n},
      () => {},
      () => failed.add(n),
    ),
  );
  await settled();
  const socket = server.open().hello();
  await settled();
  expect([socket.queries.size, failed.size, failed.has(CLIENT_QUERIES_MAX)]).toEqual([4_096, 4_904, true]);
  expect(() => rows[5_000]!.getCurrentValue()).toThrow('a client watches at most 4096 queries');
  void client.mutation(send);
  expect(socket.sent('mutation')).toHaveLength(1);
  for (const gone of rows.slice(0, 3)) gone.unsubscribe();
  await settled();
  expect(socket.queries.size).toBe(4_096);
  const [id] = [...socket.queries.values()]
    .filter(({args}) => (args as {n: number}).n === 4_096)
    .map(one => one.query_id);
  socket.transition(1, [result(id!, 'there')]);
  expect(rows[4_096]!.getCurrentValue()).toBe('there');
  // One that waits and is not wanted any more leaves no trace, also on the next socket.
  rows[8_999]!.unsubscribe();
  await settled();
  socket.drop();
  vi.runOnlyPendingTimers();
  expect(server.open().hello().queries.size).toBe(4_096);
});

test('a change of a kind that is not known: the client asks for the whole again', async () => {
  const {server, client} = scripted();
  const seen: unknown[] = [];
  client.onUpdate(row, {n: 1}, value => seen.push(value));
  await settled();
  const socket = server.open().hello();
  socket.transition(1, [result(socket.idOf('rows:get'), 'old')]);
  socket.transition(2, [{query_id: socket.idOf('rows:get'), digest: 'of something', rows: []} as never]);
  expect([seen, socket.isClosedByClient]).toEqual([['old'], true]);
});

test('expectAuth: nothing is asked before the first token, and calls made before are of its user', async () => {
  const {server, client} = scripted({expectAuth: true});
  client.onUpdate(row, {n: 1}, () => {});
  void client.mutation(send);
  await settled();
  const socket = server.open().hello();
  expect(socket.received.map(({type}) => type)).toEqual(['client_hello']);
  client.setAuth(async () => `h.${btoa(JSON.stringify({iss: 'i', sub: 'ada'}))}.s`);
  await settled();
  expect(socket.received.map(({type}) => type)).toEqual(['client_hello', 'authenticate', 'query_set', 'mutation']);
});

test('expectAuth: clearAuth says that there is no user', async () => {
  const {server, client} = scripted({expectAuth: true});
  client.onUpdate(row, {n: 1}, () => {});
  void client.mutation(send);
  await settled();
  const socket = server.open().hello();
  client.clearAuth();
  expect(socket.received.map(({type}) => type)).toEqual(['client_hello', 'query_set', 'mutation']);
});

test('a fatal error is in the connection state', async () => {
  const {server, client} = scripted();
  client.onUpdate(row, {n: 1}, () => {});
  await settled();
  const told: (string | undefined)[] = [];
  client.subscribeToConnectionState(({fatalError}) => told.push(fatalError?.message));
  const error = {code: 'protocol.unsupported_version', message: 'too old'} as const;
  server.open().say({type: 'fatal_error', error});
  await settled();
  expect(told.at(-1)).toContain('too old');
  expect(client.connectionState().fatalError?.message).toContain('protocol.unsupported_version');
});
