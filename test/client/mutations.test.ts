/** 9.4 and 9.8: mutations in order and once, actions at most once. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {scripted} from './clients.ts';
import {result, settled, stateOf} from './scripted-server.ts';

const list = makeFunctionReference<'query'>('messages:list');
const send = makeFunctionReference<'mutation', {text: string}, string>('messages:send');
const report = makeFunctionReference<'action', {n: number}, number>('messages:report');

beforeEach(() => void vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']}));
afterEach(() => void vi.useRealTimers());

async function watching() {
  const {server, client, said} = scripted();
  const subscription = client.onUpdate(list, {}, () => {});
  await settled();
  const socket = server.open();
  socket.transition(1, [result(socket.idOf('messages:list'), [])]);
  return {server, client, said, subscription, socket};
}

describe('a mutation', () => {
  test('56: resolves after subscriptions show it', async () => {
    const {client, socket, subscription} = await watching();
    const mutation = client.mutation(send, {text: 'a'}).then(value => [value, subscription.getCurrentValue()]);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: 'id', ts: 3});
    expect(await stateOf(mutation)).toBe('pending');
    socket.transition(2);
    expect(await stateOf(mutation)).toBe('pending');
    socket.transition(3, [result(socket.idOf('messages:list'), ['a'])]);
    expect(await mutation).toEqual(['id', ['a']]);
  });

  test('resolves at once when what it did is shown already', async () => {
    const {client, socket} = await watching();
    const mutation = client.mutation(send, {text: 'a'});
    socket.transition(3);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: {$float: 'AAAAAAAA+H8='}, ts: 3});
    expect(await mutation).toBe(Number.NaN);
  });

  test('rejects as soon as it has failed', async () => {
    const {client, socket} = await watching();
    const mutation = client.mutation(send, {text: 'a'});
    const error = '[Request ID: 2] Server Error\nUncaught Error: boom';
    socket.say({type: 'mutation_result', request_id: 0, ok: false, error, log_lines: ["[LOG] 'x'"]});
    await expect(mutation).rejects.toThrow(`[SVC M(messages:send)] ${error}\n  Called by client`);
    expect(client.connectionState().hasInflightRequests).toBe(false);
  });

  test('is sent after the queries that were subscribed to before it', async () => {
    const {client, socket} = await watching();
    client.onUpdate(list, {n: 1}, () => {});
    void client.mutation(send, {text: 'a'});
    expect(socket.received.slice(-2).map(({type}) => type)).toEqual(['query_set', 'mutation']);
  });

  test('while there is no connection waits for one, in order', async () => {
    const {server, client, socket} = await watching();
    socket.drop();
    for (const text of ['a', 'b', 'c']) void client.mutation(send, {text});
    vi.runOnlyPendingTimers();
    const sent = server.open().sent('mutation');
    expect(sent.map(({request_id, args}) => [request_id, args])).toEqual([
      [0, {text: 'a'}],
      [1, {text: 'b'}],
      [2, {text: 'c'}],
    ]);
  });

  test('58: sent again on the next socket under its number, resolves with its outcome', async () => {
    const {server, client, socket} = await watching();
    const first = client.mutation(send, {text: 'a'});
    const second = client.mutation(send, {text: 'b'});
    const third = client.mutation(send, {text: 'c'});
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: 'A', ts: 9});
    socket.drop();
    vi.runOnlyPendingTimers();
    const next = server.open();
    // The first is not sent again, but what is shown has to have it.
    expect(next.sent('client_hello')[0]!.seen).toEqual({timeline: 'first', ts: 9});
    expect(next.sent('mutation')).toEqual([
      {type: 'mutation', request_id: 1, path: 'messages:send', args: {text: 'b'}, settled_below: 1},
      {type: 'mutation', request_id: 2, path: 'messages:send', args: {text: 'c'}, settled_below: 1},
    ]);
    expect(await stateOf(first)).toBe('pending');
    next.say({type: 'mutation_result', request_id: 1, ok: true, value: 'B', ts: 10});
    next.say({type: 'mutation_result', request_id: 2, ok: true, value: 'C', ts: 11});
    next.transition(11, [result(next.idOf('messages:list'), ['a', 'b', 'c'])]);
    expect(await Promise.all([first, second, third])).toEqual(['A', 'B', 'C']);
  });

  test('tells the server which outcomes it will not ask for again', async () => {
    const {client, socket} = await watching();
    const settledBelow = () => socket.sent('mutation').at(-1)!.settled_below;
    void client.mutation(send, {text: 'a'});
    void client.mutation(send, {text: 'b'});
    expect(settledBelow()).toBe(0);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 9});
    void client.mutation(send, {text: 'c'});
    expect(settledBelow()).toBe(1);
    void client.action(report, {n: 1}).catch(() => {});
    socket.say({type: 'mutation_result', request_id: 1, ok: true, value: null, ts: 9});
    socket.say({type: 'mutation_result', request_id: 2, ok: true, value: null, ts: 9});
    void client.mutation(send, {text: 'd'});
    expect(settledBelow()).toBe(4);
  });

  test('whose outcome is known does not wait for a moment of a history that is gone', async () => {
    const {server, client, socket} = await watching();
    const mutation = client.mutation(send, {text: 'a'});
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: 'A', ts: 900});
    socket.drop();
    vi.runOnlyPendingTimers();
    const next = server.last.open().hello('second');
    next.transition(2, [result(next.idOf('messages:list'), [])]);
    expect(await mutation).toBe('A');
  });

  test('nor when the server has less than was shown, in the same history', async () => {
    const {server, client, socket} = await watching();
    socket.transition(100);
    const mutation = client.mutation(send, {text: 'a'});
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: 'A', ts: 900});
    socket.drop();
    vi.runOnlyPendingTimers();
    const next = server.open();
    next.transition(2, [result(next.idOf('messages:list'), [])]);
    expect(await mutation).toBe('A');
  });

  test('whose outcome is known resolves on the next socket when nothing is watched: no transition will come', async () => {
    const {server, client} = scripted();
    const mutation = client.mutation(send, {text: 'a'});
    const socket = server.open();
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: 'A', ts: 9});
    expect(await stateOf(mutation)).toBe('pending');
    socket.drop();
    vi.runOnlyPendingTimers();
    server.open();
    expect(await stateOf(mutation)).toBe('resolved "A"');
    expect(server.last.sent('mutation')).toEqual([]);
    expect(client.connectionState().hasInflightRequests).toBe(false);
  });

  test('before the first transition: its moment is asked for in the history that the server has named', async () => {
    const {server, client} = scripted();
    client.onUpdate(list, {}, () => {});
    await settled();
    const mutation = client.mutation(send, {text: 'a'});
    server.open().say({type: 'mutation_result', request_id: 0, ok: true, value: 'A', ts: 9});
    server.last.drop();
    vi.runOnlyPendingTimers();
    const next = server.open();
    expect(next.sent('client_hello')[0]!.seen).toEqual({timeline: 'first', ts: 9});
    expect(await stateOf(mutation)).toBe('pending');
    next.transition(9, [result(next.idOf('messages:list'), ['a'])]);
    expect(await mutation).toBe('A');
  });

  test('no more are under way than servers take: the next is sent with an answer', async () => {
    const {client, socket} = await watching();
    for (let n = 0; n < 300; n++) void client.mutation(send, {text: String(n)});
    expect(socket.sent('mutation')).toHaveLength(256);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 2});
    expect(socket.sent('mutation')).toHaveLength(257);
    expect(socket.sent('mutation').map(({request_id}) => request_id)).toEqual([...Array(257).keys()]);
  });

  test('large ones are sent one by one', async () => {
    const {client, socket} = await watching();
    const text = 'x'.repeat(3_000_000);
    for (let n = 0; n < 3; n++) void client.mutation(send, {text});
    expect(socket.sent('mutation')).toHaveLength(1);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 2});
    expect(socket.sent('mutation')).toHaveLength(2);
  });

  test('the 10,001st without an answer is refused', async () => {
    const {client} = scripted();
    for (let n = 0; n < 10_000; n++) void client.mutation(send, {text: ''});
    await expect(client.mutation(send, {text: ''})).rejects.toThrow('Too many calls without an answer (10000)');
  });
});

describe('an action', () => {
  test('resolves with its answer, in any order', async () => {
    const {client, socket} = await watching();
    const first = client.action(report, {n: 1});
    const second = client.action(report, {n: 2});
    socket.say({type: 'action_result', request_id: 1, ok: true, value: 2});
    socket.say({type: 'action_result', request_id: 0, ok: false, error: 'boom'});
    expect(await second).toBe(2);
    await expect(first).rejects.toThrow('[SVC A(messages:report)] boom\n  Called by client');
  });

  test('58: under way when the connection is lost rejects, and is not sent again', async () => {
    const {server, client, socket} = await watching();
    const sent = client.action(report, {n: 1});
    const outcome = stateOf(sent);
    socket.drop();
    expect(await outcome).toBe('rejected Connection lost while action was in flight');
    const queued = client.action(report, {n: 2});
    vi.runOnlyPendingTimers();
    const next = server.open();
    expect(next.sent('action')).toEqual([{type: 'action', request_id: 1, path: 'messages:report', args: {n: 2}}]);
    next.say({type: 'action_result', request_id: 1, ok: true, value: 2});
    expect(await queued).toBe(2);
  });

  test('an answer to the other kind of call is none', async () => {
    const {client, socket} = await watching();
    const action = client.action(report, {n: 1});
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: 2, ts: 1});
    expect(await stateOf(action)).toBe('pending');
  });
});
