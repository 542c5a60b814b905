/** A server that goes on at another worker of the tenant: the socket stays, and the client says again what still matters. */
import {expect, onTestFinished, test} from 'vitest';
import {SvcClient} from '../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {digestOf, result, ScriptedServer, settled, stateOf} from './scripted-server.ts';

const list = makeFunctionReference<'query', Record<string, never>, unknown>('messages:list');
const send = makeFunctionReference<'mutation', {text: string}, string>('messages:send');
const act = makeFunctionReference<'action', {n: number}, string>('messages:act');

async function connected() {
  const server = new ScriptedServer();
  const client = new SvcClient('https://app.example/svc/acme', {webSocketConstructor: server.WebSocket, logger: false});
  onTestFinished(() => void client.close());
  const shown: unknown[] = [];
  client.onUpdate(list, {}, value => shown.push(value));
  await settled();
  const socket = server.open();
  socket.transition(3, [result(socket.idOf('messages:list'), ['one'])]);
  return {server, client, socket, shown};
}

test('it greets the new session, with its queries and what it shows of them', async () => {
  const {server, socket, shown, client} = await connected();
  const id = socket.idOf('messages:list');
  socket.resume('second', 'answered');
  expect(socket.sent('client_hello')).toMatchObject([
    {resumes: true, connection_count: 0},
    {resumes: true, connection_count: 0, session: 'second', seen: {timeline: 'first', ts: 3}},
  ]);
  expect(socket.sent('client_hello')[0]).not.toHaveProperty('session');
  expect(socket.queries.get(id)).toMatchObject({known: digestOf(['one'])});
  socket.transition(4, [{query_id: id, digest: digestOf(['one']), unchanged: true}]);
  socket.transition(5, [result(id, ['one', 'two'])]);
  await settled();
  expect(shown).toEqual([['one'], ['one', 'two']]);
  expect(server.sockets).toHaveLength(1);
  expect(client.connectionState()).toMatchObject({
    isWebSocketConnected: true,
    connectionCount: 1,
    connectionRetries: 0,
  });
});

test('mutations without an answer are sent again under their numbers, and resolve with what shows them', async () => {
  const {client, socket} = await connected();
  const [answered, open] = [client.mutation(send, {text: 'a'}), client.mutation(send, {text: 'b'})];
  const [first, second] = socket.sent('mutation').map(({request_id}) => request_id);
  socket.say({type: 'mutation_result', request_id: first!, ok: true, value: 'A', ts: 4});
  socket.resume('second', 'lost');
  expect(socket.sent('client_hello').at(-1)).toMatchObject({seen: {ts: 4}});
  expect(socket.sent('mutation').map(({request_id}) => request_id)).toEqual([first, second, second]);
  socket.say({type: 'mutation_result', request_id: second!, ok: true, value: 'B', ts: 5});
  expect([await stateOf(answered), await stateOf(open)]).toEqual(['pending', 'pending']);
  socket.transition(5);
  expect(await Promise.all([answered, open])).toEqual(['A', 'B']);
});

test('actions that the former worker cannot have run are sent again', async () => {
  const {client, socket} = await connected();
  const action = client.action(act, {n: 1});
  socket.resume('second', 'answered');
  const [first, again] = socket.sent('action');
  expect(again).toEqual(first);
  socket.say({type: 'action_result', request_id: again!.request_id, ok: true, value: 'done'});
  expect(await action).toBe('done');
});

test('those that it may have run fail, and are not sent again', async () => {
  const {client, socket} = await connected();
  const action = client.action(act, {n: 1});
  socket.resume('second', 'lost');
  await expect(action).rejects.toThrow('Connection lost while action was in flight');
  expect(socket.sent('action')).toHaveLength(1);
  const next = client.action(act, {n: 2});
  socket.say({type: 'action_result', request_id: socket.sent('action')[1]!.request_id, ok: true, value: 'two'});
  expect(await next).toBe('two');
});

test('a worker that is lost before it was understood is followed by another one', async () => {
  const {client, socket} = await connected();
  const sent = client.mutation(send, {text: 'a'});
  socket.resume('second', 'answered');
  socket.resume('third', 'lost');
  expect(socket.sent('client_hello').map(({session}) => session)).toEqual([undefined, 'second', 'third']);
  const {request_id} = socket.sent('mutation').at(-1)!;
  socket.say({type: 'mutation_result', request_id, ok: true, value: 'A', ts: 4});
  socket.transition(4, [result(socket.idOf('messages:list'), ['one', 'a'])]);
  expect(await sent).toBe('A');
});
