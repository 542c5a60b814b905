import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {SvcClient} from '../../sdk/browser/client.ts';
import {SvcHttpClient} from '../../sdk/browser/http-client.ts';
import {anyApi, makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {scripted, scriptedEngine} from './clients.ts';
import {result, settled, stateOf} from './scripted-server.ts';

const list = makeFunctionReference<'query'>('messages:list');
const count = makeFunctionReference<'query'>('messages:count');

beforeEach(() => void vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']}));
afterEach(() => void vi.useRealTimers());

describe('the socket of a client', () => {
  test('is opened with the first use, at the address of the deployment, with the protocol of live functions', async () => {
    const {server, client} = scripted();
    await settled();
    expect(server.sockets).toHaveLength(0);
    client.onUpdate(list, {}, () => {});
    client.onUpdate(count, {}, () => {});
    expect(server.sockets).toHaveLength(1);
    expect(server.last).toMatchObject({url: 'wss://svc.example/svc/acme/ws', protocol: 'svc.functions.v1'});
  });

  test('gets everything at once, without waiting for hello; actions wait until the server is there', async () => {
    const {server, client} = scripted();
    client.onUpdate(list, {}, () => {});
    void client.mutation(makeFunctionReference<'mutation'>('messages:send'), {text: 'a'});
    void client.action(makeFunctionReference<'action'>('messages:report'));
    await settled();
    server.last.open();
    expect(server.last.received).toEqual([
      {
        type: 'client_hello',
        protocol: 'svc.functions.v1',
        client_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        connection_count: 0,
        resumes: true,
      },
      {
        type: 'query_set',
        base_version: 0,
        new_version: 1,
        changes: [{type: 'add', query_id: 0, path: 'messages:list', args: {}}],
      },
      {type: 'mutation', request_id: 0, path: 'messages:send', args: {text: 'a'}, settled_below: 0},
    ]);
    server.last.hello();
    expect(server.last.sent('action')).toEqual([{type: 'action', request_id: 1, path: 'messages:report', args: {}}]);
  });
});

describe('onUpdate', () => {
  test('calls back with the first result and with each other one, not with an equal one', async () => {
    const {server, client} = scripted();
    const seen: unknown[] = [];
    const subscription = client.onUpdate(list, {}, value => seen.push(value));
    expect(subscription.getCurrentValue()).toBeUndefined();
    await settled();
    const socket = server.open();
    const id = socket.idOf('messages:list');
    socket.transition(1, [result(id, ['a'])]);
    socket.transition(2, []);
    socket.transition(3, [result(id, ['a'])]);
    socket.transition(4, [result(id, ['a', 'b'])]);
    expect(seen).toEqual([['a'], ['a', 'b']]);
    expect(subscription.getCurrentValue()).toBe(seen[1]);
  });

  test('never calls back before it returns, and tells of a result at hand soon', async () => {
    const {server, client} = scripted();
    client.onUpdate(list, {}, () => {});
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), ['a'])]);
    const told: string[] = [];
    client.onUpdate(list, {}, () => told.push('first'));
    client.onUpdate(list, {}, () => told.push('second'));
    expect(told).toEqual([]);
    await settled();
    expect(told).toEqual(['first', 'second']);
  });

  test('tells onError when the query fails, once for each other error; without it the logger', async () => {
    const {server, client, said} = scripted();
    const errors: string[] = [];
    client.onUpdate(
      list,
      {},
      () => {},
      error => errors.push(error.message),
    );
    const silent = client.onUpdate(list, {}, () => {});
    await settled();
    const socket = server.open();
    const query_id = socket.idOf('messages:list');
    const error = '[Request ID: 1] Server Error\nUncaught Error: boom';
    socket.transition(1, [{query_id, error}]);
    socket.transition(2, [{query_id, error}]);
    const message = `[SVC Q(messages:list)] ${error}\n  Called by client`;
    expect(errors).toEqual([message]);
    expect(said).toEqual([`error: ${message}`]);
    expect(() => silent.getCurrentValue()).toThrow('boom');
  });

  test('a callback that throws does not keep others from being called', async () => {
    const {server, client, said} = scripted();
    const told: unknown[] = [];
    client.onUpdate(list, {}, () => {
      throw new Error('mine');
    });
    client.onUpdate(list, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), 1)]);
    expect(told).toEqual([1]);
    expect(said).toEqual(['error: A callback of onUpdate failed: mine']);
  });

  test('does not call back any more once it was ended, by another callback, too', async () => {
    const {server, client} = scripted();
    const told: unknown[] = [];
    let second = () => {};
    client.onUpdate(list, {}, () => second());
    second = client.onUpdate(list, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), 1)]);
    expect(told).toEqual([]);
  });
});

describe('equal queries are one subscription', () => {
  test('whatever the order of the keys, undefined ones, the suffix of the module and the name of the default', async () => {
    const {server, client} = scripted();
    client.onUpdate(list, {a: 1, b: 2}, () => {});
    client.onUpdate(anyApi.messages!.list! as typeof list, {b: 2, a: 1, c: undefined}, () => {});
    client.onUpdate(makeFunctionReference<'query'>('messages.js:list'), {b: 2, a: 1}, () => {});
    client.onUpdate(makeFunctionReference<'query'>('other:default'), {}, () => {});
    client.onUpdate(makeFunctionReference<'query'>('other'), {}, () => {});
    await settled();
    const socket = server.open();
    expect([...socket.queries.values()].map(({path, args}) => [path, args])).toEqual([
      ['messages:list', {a: 1, b: 2}],
      ['other', {}],
    ]);
  });

  test('62: a fresh equal arguments object has the same result reference, and sends nothing', async () => {
    const {server, engine} = scriptedEngine();
    const first = engine.subscribe(list, {a: 1});
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), {deep: [1]})]);
    const before = socket.received.length;
    const second = engine.subscribe(list, {a: 1});
    first.unsubscribe();
    await settled();
    expect(second.token).toBe(first.token);
    expect(engine.localResult(second.token)).toEqual({ok: true, value: {deep: [1]}});
    expect(socket.received).toHaveLength(before);
  });

  test('the last one to unsubscribe removes it, and late results of it are ignored', async () => {
    const {server, client} = scripted();
    const told: unknown[] = [];
    const first = client.onUpdate(list, {}, value => told.push(value));
    const second = client.onUpdate(list, {}, value => told.push(value));
    await settled();
    const socket = server.open();
    const id = socket.idOf('messages:list');
    first();
    first.unsubscribe();
    await settled();
    expect(socket.sent('query_set')).toHaveLength(1);
    second.unsubscribe();
    await settled();
    expect(socket.sent('query_set').at(-1)).toEqual({
      type: 'query_set',
      base_version: 1,
      new_version: 2,
      changes: [{type: 'remove', query_id: id}],
    });
    socket.say({
      type: 'transition',
      from: socket.version,
      to: {query_set: 1, identity: 0, ts: 1},
      changes: [result(id, 1)],
    });
    expect(told).toEqual([]);
    expect(socket.isClosedByClient).toBe(false);
  });

  test('unsubscribing and subscribing in one go keeps the result and sends nothing', async () => {
    const {server, engine} = scriptedEngine();
    const first = engine.subscribe(list, {});
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), ['a'])]);
    const shown = engine.localResult(first.token);
    first.unsubscribe();
    const second = engine.subscribe(list, {});
    expect(engine.localResult(second.token)).toBe(shown);
    await settled();
    expect(socket.sent('query_set')).toHaveLength(1);
    second.unsubscribe();
    await settled();
    expect(engine.localResult(second.token)).toBeUndefined();
  });

  test('a plain and a paginated one of the same function are two', async () => {
    const {server, engine} = scriptedEngine();
    const plain = engine.subscribe(list, {});
    const paginated = engine.subscribe(list, {}, {paginated: true, journal: 'end'});
    expect(plain.token).not.toBe(paginated.token);
    expect(engine.queryToken(list, {}, {paginated: true})).toBe(paginated.token);
    await settled();
    expect([...server.open().queries.values()]).toEqual([
      {type: 'add', query_id: 0, path: 'messages:list', args: {}},
      {type: 'add', query_id: 1, path: 'messages:list', args: {}, paginated: true, journal: 'end'},
    ]);
  });
});

describe('arguments are checked before anything is sent', () => {
  test.each([
    [
      '8: a Date',
      {a: {b: new Date(0)}},
      'Date 1970-01-01T00:00:00.000Z is not a supported svc type (present at path .a.b',
    ],
    ['8: a Map', {a: {b: new Map()}}, 'Map is not a supported svc type (present at path .a.b'],
    ['8: a bigint', {a: {b: 1n}}, 'bigint 1n is not a supported svc type (present at path .a.b'],
    ['an array', [], 'The arguments of messages:list must be an object, like {name: value}. Received: an array'],
    ['null', null, 'Received: null'],
    ['a string', 'x', 'Received: string'],
    ['too much', {text: 'x'.repeat(9 * 1024 * 1024)}, 'Arguments for messages:list are too large'],
  ])('%s', async (_, args, message) => {
    const {server, client} = scripted();
    const wrong = args as Record<string, unknown>;
    expect(() => client.onUpdate(list, wrong, () => {})).toThrow(message);
    await expect(client.query(list, wrong)).rejects.toThrow(message);
    await expect(client.mutation(makeFunctionReference<'mutation'>('messages:list'), wrong)).rejects.toThrow(message);
    await expect(client.action(makeFunctionReference<'action'>('messages:list'), wrong)).rejects.toThrow(message);
    expect(server.sockets).toHaveLength(0);
  });

  test('what is no reference is named', () => {
    const {client} = scripted();
    const nothing = {} as unknown as typeof list;
    expect(() => client.onUpdate(nothing, {}, () => {})).toThrow('is not a functionReference');
  });
});

describe('query', () => {
  test('resolves with the first result, and unsubscribes', async () => {
    const {server, client} = scripted();
    const answer = client.query(list, {a: 1});
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), ['a'])]);
    expect(await answer).toEqual(['a']);
    await settled();
    expect(socket.queries.size).toBe(0);
  });

  test('resolves with what is there already', async () => {
    const {server, client} = scripted();
    client.onUpdate(list, {}, () => {});
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), ['a'])]);
    expect(await client.query(list)).toEqual(['a']);
  });

  test('rejects when the function failed', async () => {
    const {server, client} = scripted();
    const answer = client.query(list);
    await settled();
    const socket = server.open();
    socket.transition(1, [{query_id: socket.idOf('messages:list'), error: 'boom'}]);
    await expect(answer).rejects.toThrow('[SVC Q(messages:list)] boom\n  Called by client');
  });
});

describe('close', () => {
  test('ends subscriptions and the socket; later calls throw; promises stay pending', async () => {
    const {server, client} = scripted();
    const told: unknown[] = [];
    const subscription = client.onUpdate(list, {}, value => told.push(value));
    const mutation = client.mutation(makeFunctionReference<'mutation'>('m:n'));
    await settled();
    const socket = server.open();
    const action = client.action(makeFunctionReference<'action'>('m:a'));
    await settled();
    const id = socket.idOf('messages:list');
    const closed = client.close();
    expect(socket.isClosedByClient).toBe(true);
    socket.onmessage?.({data: JSON.stringify({type: 'transition', changes: [result(id, 1)]})});
    socket.drop(1000);
    await closed;
    expect(client.closed).toBe(true);
    expect(told).toEqual([]);
    expect(() => client.onUpdate(list, {}, () => {})).toThrow('has already been closed');
    expect(() => client.setAuth(async () => 't')).toThrow('has already been closed');
    await expect(client.query(list)).rejects.toThrow('has already been closed');
    await expect(client.mutation(list as never)).rejects.toThrow('has already been closed');
    expect(await stateOf(mutation)).toBe('pending');
    expect(await stateOf(action)).toBe('pending');
    subscription();
    vi.runAllTimers();
    expect(server.sockets).toHaveLength(1);
  });

  test('does not wait for a server that does not close', async () => {
    const {server, client} = scripted();
    client.onUpdate(list, {}, () => {});
    await settled();
    server.open();
    const closed = client.close();
    await vi.advanceTimersByTimeAsync(1_000);
    await closed;
  });
});

describe('fatal_error', () => {
  test('ends the client: calls reject, what is shown stays, what has no result has this error', async () => {
    const {server, client, said} = scripted();
    const errors: string[] = [];
    const shown = client.onUpdate(list, {}, () => {});
    await settled();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), 1)]);
    client.onUpdate(
      count,
      {},
      () => {},
      error => errors.push(error.message),
    );
    const mutation = client.mutation(makeFunctionReference<'mutation'>('m:n'));
    const error = {code: 'protocol.unsupported_version', message: 'of another time'} as const;
    socket.say({type: 'fatal_error', error});
    const message = 'The server ended the connection: of another time (protocol.unsupported_version)';
    await expect(mutation).rejects.toThrow(message);
    await expect(client.mutation(makeFunctionReference<'mutation'>('m:n'))).rejects.toThrow(message);
    await expect(client.query(makeFunctionReference<'query'>('x:y'))).rejects.toThrow(message);
    expect(errors).toEqual([message]);
    expect(said).toContain(`error: ${message}`);
    expect(shown.getCurrentValue()).toBe(1);
    vi.runAllTimers();
    expect(server.sockets).toHaveLength(1);
  });
});

describe('disabled', () => {
  test('every method does nothing, and promises stay pending', async () => {
    const {server, client} = scripted({disabled: true});
    const subscription = client.onUpdate(list, {}, () => {});
    expect(subscription.getCurrentValue()).toBeUndefined();
    subscription.unsubscribe();
    const calls = [client.query(list), client.mutation(list as never), client.action(list as never)];
    for (const call of calls) expect(await stateOf(call)).toBe('pending');
    client.setAuth(async () => 'token');
    client.clearAuth();
    expect(client.getAuth()).toBeUndefined();
    expect(client.connectionState()).toMatchObject({isWebSocketConnected: false, connectionCount: 0});
    client.subscribeToConnectionState(() => {})();
    await client.close();
    expect([client.disabled, server.sockets.length]).toEqual([true, 0]);
  });
});

describe('the address', () => {
  test.each([
    [undefined, 'Client created with undefined deployment address'],
    [7, 'Invalid deployment address: it must be a string'],
    ['svc.example', 'Must start with "https://" or "http://"'],
    ['https://', 'is not a valid URL'],
  ])('%s is refused', (url, message) => {
    expect(() => new SvcClient(url as string)).toThrow(message);
    expect(() => new SvcHttpClient(url as string)).toThrow(message);
  });

  test('may end with a slash', () => {
    expect(new SvcClient('http://127.0.0.1:8080/svc/acme/').url).toBe('http://127.0.0.1:8080/svc/acme');
  });
});
