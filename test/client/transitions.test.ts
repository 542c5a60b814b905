/** Results as they come: of one moment, as deltas, and on the socket after the one that was lost. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import type {Unsubscribe} from '../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {scripted} from './clients.ts';
import {digestOf, result, settled} from './scripted-server.ts';

const list = makeFunctionReference<'query'>('messages:list');
const count = makeFunctionReference<'query'>('messages:count');

beforeEach(() => void vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']}));
afterEach(() => void vi.useRealTimers());

describe('a transition', () => {
  test('57: all results change before any listener is called', async () => {
    const {server, client} = scripted();
    const pairs: unknown[] = [];
    const both = (): void => void pairs.push([first.getCurrentValue(), second.getCurrentValue()]);
    const first: Unsubscribe<unknown> = client.onUpdate(list, {}, both);
    const second: Unsubscribe<unknown> = client.onUpdate(count, {}, both);
    await settled();
    const socket = server.open();
    const [a, b] = [socket.idOf('messages:list'), socket.idOf('messages:count')];
    for (let n = 1; n <= 100; n++) socket.transition(n, [result(a, n), result(b, n)]);
    expect(pairs).toHaveLength(200);
    expect(pairs.every(pair => (pair as number[])[0] === (pair as number[])[1])).toBe(true);
  });

  test('keeps parts of a result that did not change', async () => {
    const {server, client} = scripted();
    const subscription = client.onUpdate(list, {}, () => {});
    await settled();
    const socket = server.open();
    const id = socket.idOf('messages:list');
    const documents = [
      {_id: 'a', tags: ['x']},
      {_id: 'b', tags: ['y']},
    ];
    socket.transition(1, [result(id, documents)]);
    const before = subscription.getCurrentValue() as typeof documents;
    socket.transition(2, [result(id, [{_id: 'c', tags: []}, documents[0], {_id: 'b', tags: ['y'], n: 1}])]);
    const after = subscription.getCurrentValue() as typeof documents;
    expect(after[1]).toBe(before[0]);
    expect(after[2]!.tags).toBe(before[1]!.tags);
    expect(before).toEqual(documents);
  });

  test('7: numbers that JSON cannot hold arrive as they are', async () => {
    const {server, client} = scripted();
    const subscription = client.onUpdate(list, {x: -0}, () => {});
    await settled();
    const socket = server.open();
    expect(socket.sent('query_set')[0]!.changes[0]).toMatchObject({args: {x: {$float: 'AAAAAAAAAIA='}}});
    socket.transition(1, [result(socket.idOf('messages:list'), [Number.NaN, -0, Number.POSITIVE_INFINITY])]);
    expect(subscription.getCurrentValue()).toEqual([Number.NaN, -0, Number.POSITIVE_INFINITY]);
  });

  test('that comes in parts is applied when it is complete', async () => {
    const {server, client} = scripted();
    const told: unknown[] = [];
    client.onUpdate(list, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    const to = {query_set: 1, identity: 0, ts: 1};
    const changes = [result(socket.idOf('messages:list'), 'long')];
    const text = JSON.stringify({type: 'transition', from: socket.version, to, changes});
    const cut = [text.slice(0, 20), text.slice(20, 40), text.slice(40)];
    for (const [index, part] of cut.entries()) {
      expect(told).toEqual([]);
      socket.say({type: 'transition_part', index, count: 3, text: part});
    }
    expect(told).toEqual(['long']);
  });

  test.each([
    [
      'from another version',
      {
        type: 'transition',
        from: {query_set: 0, identity: 0, ts: 7},
        to: {query_set: 1, identity: 0, ts: 9},
        changes: [],
      },
    ],
    ['part out of order', {type: 'transition_part', index: 1, count: 2, text: ''}],
    [
      'change of nothing',
      {
        type: 'transition',
        from: {query_set: 0, identity: 0, ts: 0},
        to: {query_set: 1, identity: 0, ts: 9},
        changes: [{query_id: 0, digest: 'd', delta: []}],
      },
    ],
  ])('%s: the client begins again on another socket', async (_, message) => {
    const {server, client} = scripted();
    client.onUpdate(list, {}, () => {});
    await settled();
    const socket = server.open();
    socket.say(message as never);
    expect(socket.isClosedByClient).toBe(true);
    vi.runOnlyPendingTimers();
    expect(server.sockets).toHaveLength(2);
  });

  test('says with explain why each query ran', async () => {
    const facts: unknown[] = [];
    const {server, client} = scripted({onExplain: explained => facts.push(explained)});
    client.onUpdate(list, {a: 1}, () => {});
    await settled();
    const socket = server.open();
    expect(socket.sent('client_hello')[0]).toMatchObject({explain: true});
    const id = socket.idOf('messages:list');
    const because = {cause: 'written', ts: 4, table: 'messages', id: 'm1'};
    socket.transition(4, [result(id, 1, {because})]);
    expect(facts).toEqual([{ts: 4, queries: [{path: 'messages:list', args: {a: 1}, because}]}]);
  });

  test('echoes what the function wrote, at its level', async () => {
    const {server, client, said} = scripted();
    client.onUpdate(list, {}, () => {});
    await settled();
    const socket = server.open();
    const log_lines = ["[LOG] 'a'", "[WARN] 'b'\nc", "[ERROR] 'd'", 'plain'];
    socket.transition(1, [result(socket.idOf('messages:list'), 1, {log_lines})]);
    expect(said).toEqual([
      "log: [SVC Q(messages:list)] 'a'",
      "warn: [SVC Q(messages:list)] 'b'\nc",
      "error: [SVC Q(messages:list)] 'd'",
      'log: [SVC Q(messages:list)] plain',
    ]);
  });
});

describe('deltas', () => {
  const before = {text: 'abc', list: [1, 2, 3]};
  const after = {text: 'abc', list: [1, 5, 3]};
  // {"list":[1,2,3],"text":"abc"}
  const delta: [number, number, string][] = [[11, 1, '5']];

  async function watching() {
    const {server, client} = scripted();
    const told: unknown[] = [];
    client.onUpdate(list, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    const id = socket.idOf('messages:list');
    socket.transition(1, [result(id, before)]);
    return {server, socket, id, told};
  }

  test('change the result, one after the other', async () => {
    const {socket, id, told} = await watching();
    socket.transition(2, [{query_id: id, digest: digestOf(after), delta}]);
    socket.transition(3, [{query_id: id, digest: digestOf(before), delta: [[11, 1, '2']]}]);
    expect(told).toEqual([before, after, before]);
  });

  test('that lead to another text are not shown: the client asks for the whole result on another socket', async () => {
    const {server, socket, id, told} = await watching();
    socket.transition(2, [{query_id: id, digest: digestOf('something else'), delta}]);
    expect(told).toEqual([before]);
    expect(socket.isClosedByClient).toBe(true);
    vi.runOnlyPendingTimers();
    const next = server.open();
    expect(next.sent('query_set')[0]!.changes[0]).not.toHaveProperty('known');
    next.transition(2, [result(id, after)]);
    expect(told).toEqual([before, after]);
  });

  test('of several queries: if one cannot be followed, none is applied', async () => {
    const {server, client} = scripted();
    const told: unknown[] = [];
    client.onUpdate(list, {}, value => told.push(value));
    client.onUpdate(count, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    const [a, b] = [socket.idOf('messages:list'), socket.idOf('messages:count')];
    socket.transition(1, [result(a, before), result(b, 1)]);
    told.length = 0;
    socket.transition(2, [result(b, 2), {query_id: a, digest: 'wrong', delta}]);
    expect(told).toEqual([]);
    vi.runOnlyPendingTimers();
    const next = server.open();
    expect(next.sent('query_set')[0]!.changes).toMatchObject([{query_id: a}, {query_id: b, known: digestOf(1)}]);
  });
});

describe('on the next socket', () => {
  test('what is shown stays, is asked for by its digest and moment, and equal results do not come again', async () => {
    const {server, client} = scripted();
    const told: unknown[] = [];
    const subscription = client.onUpdate(list, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    const id = socket.idOf('messages:list');
    socket.transition(5, [result(id, ['a'], {journal: 'j1'})]);
    socket.drop(1006, 'cable');
    expect(subscription.getCurrentValue()).toEqual(['a']);
    vi.runOnlyPendingTimers();
    const next = server.open();
    expect(next.sent('client_hello')).toMatchObject([
      {connection_count: 1, last_close_reason: '1006 cable', seen: {timeline: 'first', ts: 5}},
    ]);
    expect(next.sent('client_hello')[0]!.client_id).toBe(socket.sent('client_hello')[0]!.client_id);
    expect(next.sent('query_set')).toEqual([
      {
        type: 'query_set',
        base_version: 0,
        new_version: 1,
        changes: [{type: 'add', query_id: id, path: 'messages:list', args: {}, journal: 'j1', known: digestOf(['a'])}],
      },
    ]);
    next.transition(6, [{query_id: id, digest: digestOf(['a']), unchanged: true}]);
    expect(told).toEqual([['a']]);
    next.transition(7, [result(id, ['b'])]);
    expect(told).toEqual([['a'], ['b']]);
  });

  test('queries that were ended meanwhile are not asked for', async () => {
    const {server, client} = scripted();
    const one = client.onUpdate(list, {}, () => {});
    client.onUpdate(count, {}, () => {});
    await settled();
    server.open().drop();
    one();
    await settled();
    vi.runOnlyPendingTimers();
    expect([...server.open().queries.values()].map(({path}) => path)).toEqual(['messages:count']);
  });

  test('of another history the client forgets which moment it has seen, and shows what comes', async () => {
    const {server, client} = scripted();
    const told: unknown[] = [];
    client.onUpdate(list, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    socket.transition(50, [result(socket.idOf('messages:list'), 'old')]);
    socket.drop();
    vi.runOnlyPendingTimers();
    const next = server.last.open().hello('second');
    next.transition(2, [result(next.idOf('messages:list'), 'restored')]);
    expect(told).toEqual(['old', 'restored']);
    next.drop();
    vi.runOnlyPendingTimers();
    expect(server.last.open().sent('client_hello')[0]!.seen).toEqual({timeline: 'second', ts: 2});
  });
});

describe('sets of queries that are longer than a frame', () => {
  test('are sent in several, each from the version of the one before', async () => {
    const {server, client} = scripted();
    const text = 'x'.repeat(700_000);
    for (let n = 0; n < 7; n++) client.onUpdate(list, {n, text}, () => {});
    await settled();
    const sets = server.open().sent('query_set');
    expect(sets.map(({base_version, new_version, changes}) => [base_version, new_version, changes.length])).toEqual([
      [0, 1, 2],
      [1, 2, 2],
      [2, 3, 2],
      [3, 4, 1],
    ]);
  });
});
