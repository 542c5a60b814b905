/** 9.8: when sockets are opened again. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {clientBackOffMs} from '../../sdk/client/back-off.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {scripted} from './clients.ts';
import {result, settled} from './scripted-server.ts';

const list = makeFunctionReference<'query'>('messages:list');
const send = makeFunctionReference<'mutation'>('messages:send');

beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']});
  vi.spyOn(Math, 'random').mockReturnValue(0.5); // No jitter.
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

async function watching() {
  const {server, client} = scripted();
  client.onUpdate(list, {}, () => {});
  await settled();
  return {server, client};
}

/** After how long the next socket is opened. */
function waitedMs(server: {sockets: unknown[]}): number {
  const before = server.sockets.length;
  const start = Date.now();
  while (server.sockets.length === before) vi.advanceTimersByTime(10);
  return Date.now() - start;
}

describe('where there is no WebSocket', () => {
  test.each([
    ['none is there', undefined],
    ['what was passed is none', {default: class {}} as never],
  ])(
    'a client is made all the same, as pages rendered on a server need it; its first use says what to do (%s)',
    async (_, webSocketConstructor) => {
      vi.stubGlobal('WebSocket', undefined);
      const {client} = scripted({webSocketConstructor});
      expect(client.connectionState().isWebSocketConnected).toBe(false);
      const advice =
        'There is no WebSocket here: pass one as webSocketConstructor (for Node 20, of the package ws), or use SvcHttpClient';
      expect(() => client.onUpdate(list, {}, () => {})).toThrow(advice);
      await expect(client.query(list)).rejects.toThrow(advice);
      await expect(client.mutation(send)).rejects.toThrow(advice);
      await expect(client.action(makeFunctionReference<'action'>('messages:report'))).rejects.toThrow(advice);
      expect(client.connectionState().hasInflightRequests).toBe(false);
      await client.close();
    },
  );

  test('what was refused is not asked for later, when there is one', async () => {
    vi.stubGlobal('WebSocket', undefined);
    const {server, client} = scripted({webSocketConstructor: undefined});
    expect(() => client.onUpdate(list, {a: 1}, () => {})).toThrow('There is no WebSocket here');
    await expect(client.mutation(send)).rejects.toThrow('There is no WebSocket here');
    vi.stubGlobal('WebSocket', server.WebSocket);
    client.onUpdate(list, {a: 2}, () => {});
    await settled();
    const socket = server.open();
    expect([...socket.queries.values()].map(({args}) => args)).toEqual([{a: 2}]);
    expect(socket.sent('mutation')).toEqual([]);
  });
});

describe('the wait before the next socket', () => {
  test.each([
    ['the network broke', 1006, 1_000],
    ['the server had an error', 1011, 1_000],
    ['closed as meant', 1000, 100],
    ['the server goes away', 1001, 100],
    ['the worker was replaced', 1012, 100],
    ['overload', 1013, 3_000],
  ])('%s (%i): %i ms', async (_, code, ms) => {
    const {server} = await watching();
    server.open().drop(code);
    expect(waitedMs(server)).toBe(ms);
  });

  test('doubles with each failure, up to 16 s', async () => {
    const {server} = await watching();
    const waits = [];
    for (let failure = 0; failure < 6; failure++) {
      server.last.drop();
      waits.push(waitedMs(server));
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 16_000]);
  });

  test('is a half more or less, by chance', () => {
    expect([clientBackOffMs(1_000, 0, 0), clientBackOffMs(1_000, 0, 0.5), clientBackOffMs(1_000, 10, 1)]).toEqual([
      500, 1_000, 24_000,
    ]);
  });

  test('is short again once the client has caught up, not with an open socket alone', async () => {
    const {server, client} = await watching();
    for (let failure = 0; failure < 3; failure++) {
      server.open().drop();
      vi.runOnlyPendingTimers();
    }
    expect(client.connectionState().connectionRetries).toBe(3);
    const socket = server.open();
    expect(client.connectionState().connectionRetries).toBe(3);
    socket.transition(1, [result(socket.idOf('messages:list'), 1)]);
    expect(client.connectionState().connectionRetries).toBe(0);
    socket.drop();
    expect(waitedMs(server)).toBe(1_000);
  });

  test('a client that sent a mutation again has caught up when it is answered', async () => {
    const {server, client} = await watching();
    void client.mutation(send);
    server.open().drop();
    vi.runOnlyPendingTimers();
    const socket = server.open();
    socket.transition(1, [result(socket.idOf('messages:list'), 1)]);
    expect(client.connectionState().connectionRetries).toBe(1);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 1});
    expect(client.connectionState().connectionRetries).toBe(0);
  });
});

describe('silence', () => {
  test('of 60 s ends the socket; any frame is a sign of life', async () => {
    const {server} = await watching();
    const socket = server.open();
    vi.advanceTimersByTime(59_000);
    socket.say({type: 'ping'});
    vi.advanceTimersByTime(59_000);
    expect(socket.isClosedByClient).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(socket.isClosedByClient).toBe(true);
    expect(waitedMs(server)).toBe(100);
  });
});

describe('a socket that does not open', () => {
  test('is given up after 10 s', async () => {
    const {server, client} = await watching();
    vi.advanceTimersByTime(9_999);
    expect(server.sockets[0]!.isClosedByClient).toBe(false);
    vi.advanceTimersByTime(1);
    expect(server.sockets[0]!.isClosedByClient).toBe(true);
    expect([waitedMs(server), client.connectionState().connectionRetries]).toEqual([1_000, 1]);
  });

  test.each([
    ['error alone, as in Node 22', () => {}, 'error'],
    ['error and then close, as in browsers', (drop: () => void) => drop(), '1006'],
  ])('%s: counts as one failure', async (_, then, reason) => {
    const {server, client} = await watching();
    const socket = server.sockets[0]!;
    socket.onerror?.();
    then(() => socket.drop());
    vi.advanceTimersByTime(1);
    expect(client.connectionState().connectionRetries).toBe(1);
    vi.advanceTimersByTime(1_000);
    expect(server.sockets).toHaveLength(2);
    server.open();
    expect(server.last.received[0]).toMatchObject({last_close_reason: reason});
  });

  test('an error of an open socket waits for its close', async () => {
    const {server} = await watching();
    const socket = server.open();
    socket.onerror?.();
    vi.advanceTimersByTime(1_000);
    expect(server.sockets).toHaveLength(1);
    socket.drop(1013);
    expect(waitedMs(server)).toBe(3_000);
  });
});

describe('frames that are none', () => {
  test.each([
    ['binary', new Uint8Array(1)],
    ['no JSON', '{'],
  ])('%s: the client begins again', async (_, data) => {
    const {server} = await watching();
    const socket = server.open();
    socket.onmessage?.({data});
    expect(socket.isClosedByClient).toBe(true);
    expect(waitedMs(server)).toBe(100);
  });

  test('of a type that it does not know are ignored', async () => {
    const {server} = await watching();
    const socket = server.open();
    socket.say({type: 'news'} as never);
    expect(socket.isClosedByClient).toBe(false);
  });
});

describe('signs of the page', () => {
  class Page extends EventTarget {
    visibilityState = 'visible';
    document = this;
  }

  function onPage() {
    const page = new Page();
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
    vi.stubGlobal('document', page);
    return page;
  }

  test('the network is back: the next attempt is at once', async () => {
    const page = onPage();
    const {server} = await watching();
    server.open().drop();
    page.dispatchEvent(new Event('online'));
    expect(server.sockets).toHaveLength(2);
    vi.runOnlyPendingTimers();
    expect(server.sockets).toHaveLength(2);
  });

  test('the network is back while a socket is being opened: another one is opened at once', async () => {
    const page = onPage();
    const {server} = await watching();
    page.dispatchEvent(new Event('online'));
    expect(server.sockets).toHaveLength(2);
    expect(server.sockets[0]!.isClosedByClient).toBe(true);
    vi.advanceTimersByTime(9_000);
    expect(server.sockets).toHaveLength(2);
    server.open();
    page.dispatchEvent(new Event('online'));
    expect(server.sockets).toHaveLength(2);
  });

  test('the network is back, in a hidden page: the next attempt is at once, too', async () => {
    const page = onPage();
    const {server} = await watching();
    server.open().drop();
    page.visibilityState = 'hidden';
    page.dispatchEvent(new Event('online'));
    expect(server.sockets).toHaveLength(2);
  });

  test('the page is seen again: the next attempt is at once if it was due while timers stood still, else in its time', async () => {
    const page = onPage();
    const {server} = await watching();
    server.open().drop(1013); // In 3 s.
    page.dispatchEvent(new Event('visibilitychange'));
    expect(server.sockets).toHaveLength(1);
    vi.setSystemTime(Date.now() + 3_000);
    page.visibilityState = 'hidden';
    page.dispatchEvent(new Event('visibilitychange'));
    expect(server.sockets).toHaveLength(1);
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    expect(server.sockets).toHaveLength(2);
  });

  test('the page is seen after a sleep in which timers stood still: a silent socket is given up', async () => {
    const page = onPage();
    const {server} = await watching();
    const socket = server.open();
    vi.setSystemTime(Date.now() + 10 * 60_000);
    page.dispatchEvent(new Event('visibilitychange'));
    expect(socket.isClosedByClient).toBe(true);
  });

  test('a closed client does not listen any more', async () => {
    const page = onPage();
    const {server, client} = await watching();
    void client.close();
    page.dispatchEvent(new Event('online'));
    expect(server.sockets).toHaveLength(1);
  });
});

describe('the connection state', () => {
  test('is reported to all listeners, also if one throws', async () => {
    const {server, client, said} = scripted();
    client.onUpdate(list, {}, () => {});
    const told: boolean[] = [];
    client.subscribeToConnectionState(() => {
      throw new Error('mine');
    });
    client.subscribeToConnectionState(({isWebSocketConnected}) => told.push(isWebSocketConnected));
    server.open();
    await settled();
    expect(told).toEqual([true]);
    expect(said).toEqual(['error: A listener of a svc client failed: mine']);
  });

  test('tells of each change once, on a microtask, and stays the same object meanwhile', async () => {
    const {server, client} = await watching();
    const states: object[] = [];
    const stop = client.subscribeToConnectionState(state => states.push(state));
    const socket = server.open();
    expect(states).toEqual([]);
    await settled();
    const connected = client.connectionState();
    expect(connected).toEqual({
      isWebSocketConnected: true,
      hasEverConnected: true,
      connectionCount: 1,
      connectionRetries: 0,
      hasInflightRequests: false,
      timeOfOldestInflightRequest: null,
      inflightMutations: 0,
      inflightActions: 0,
      fatalError: null,
    });
    expect(states).toEqual([connected]);
    socket.transition(1, [result(socket.idOf('messages:list'), 1)]);
    socket.transition(2, [result(socket.idOf('messages:list'), 2)]);
    await settled();
    expect(states).toHaveLength(1);
    expect(client.connectionState()).toBe(connected);
    socket.drop();
    await settled();
    expect(client.connectionState()).toMatchObject({
      isWebSocketConnected: false,
      hasEverConnected: true,
      connectionRetries: 1,
    });
    expect(states).toHaveLength(2);
    stop();
    vi.runOnlyPendingTimers();
    server.open();
    await settled();
    expect(states).toHaveLength(2);
  });

  test('counts a mutation until its effects are shown, and an action until its answer', async () => {
    const {server, client} = await watching();
    const socket = server.open();
    const startedMs = Date.now();
    const mutation = client.mutation(send);
    vi.advanceTimersByTime(5);
    const action = client.action(makeFunctionReference<'action'>('m:a'));
    const flight = () => {
      const {hasInflightRequests, inflightMutations, inflightActions} = client.connectionState();
      return [hasInflightRequests, inflightMutations, inflightActions];
    };
    expect(flight()).toEqual([true, 1, 1]);
    expect(client.connectionState().timeOfOldestInflightRequest).toEqual(new Date(startedMs));
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 3});
    expect(flight()).toEqual([true, 1, 1]);
    socket.transition(3, [result(socket.idOf('messages:list'), 1)]);
    await mutation;
    expect(flight()).toEqual([true, 0, 1]);
    socket.say({type: 'action_result', request_id: 1, ok: true, value: 1});
    await action;
    expect(flight()).toEqual([false, 0, 0]);
  });
});

describe('the warning before a page is left', () => {
  function onWindow() {
    const window = new EventTarget();
    vi.stubGlobal('window', window);
    const leave = () => {
      const event = new Event('beforeunload', {cancelable: true});
      window.dispatchEvent(event);
      return event.defaultPrevented;
    };
    return leave;
  }

  test('is given while a call has no answer, and not otherwise', async () => {
    const leave = onWindow();
    const {server, client} = await watching();
    const socket = server.open();
    expect(leave()).toBe(false);
    void client.mutation(send);
    expect(leave()).toBe(true);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 3});
    socket.transition(3, [result(socket.idOf('messages:list'), 1)]);
    expect(leave()).toBe(false);
    void client.mutation(send);
    await Promise.race([client.close(), settled()]);
    expect(leave()).toBe(false);
  });

  test('is not given where it is not wanted, and cannot be wanted without a page', () => {
    const leave = onWindow();
    const {client} = scripted({unsavedChangesWarning: false});
    void client.mutation(send);
    expect(leave()).toBe(false);
    vi.unstubAllGlobals();
    expect(() => scripted({unsavedChangesWarning: true})).toThrow('there is no window.addEventListener');
  });
});
