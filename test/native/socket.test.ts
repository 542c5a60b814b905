/** The socket of live queries of `svc/client` against one that the test speaks for: what comes in which order. */
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {createClient, type NativeClient, SvcClientError} from '../../sdk/native/index.ts';
import {NATIVE_SILENCE_MS, NATIVE_SOCKET_REFUSED_MS} from '../../shared/client-limits.ts';
import {until} from '../harness/until.ts';
import {stream} from './answers.ts';

const KEY = 'svc_key_of_a_page';

type Frame = {type: string; request_id?: string; subscription_id?: number; query?: {table: string}};

/** One socket, the service's end of it. */
class Scripted {
  static all: Scripted[] = [];
  onmessage: ((event: {data: unknown}) => void) | null = null;
  onclose: (() => void) | null = null;
  onerror: (() => void) | null = null;
  readonly received: Frame[] = [];
  isClosed = false;

  constructor() {
    Scripted.all.push(this);
  }

  send(text: string): void {
    this.received.push(JSON.parse(text) as Frame);
  }

  close(): void {
    this.isClosed = true;
  }

  say(frame: object): void {
    this.onmessage?.({data: JSON.stringify(frame)});
  }

  asked(type: string): Frame[] {
    return this.received.filter(frame => frame.type === type);
  }

  /** The subscriptions that are held on it after all that was asked, by table. */
  get tables(): string[] {
    return this.asked('subscribe').map(({query}) => query!.table);
  }
}

let db: NativeClient;
let requests: string[];
const ends: (() => void)[] = [];
/** What HTTP answers. */
let answer: () => Response;
beforeEach(() => {
  Scripted.all = [];
  requests = [];
  answer = () => Response.json({});
  const fetched = async (url: unknown) => {
    requests.push(new URL(String(url)).pathname);
    return answer();
  };
  db = createClient({url: 'http://svc', tenant: 't', key: KEY, webSocket: Scripted, fetch: fetched as typeof fetch});
  const live = db.live.bind(db);
  db.live = (...asked) => {
    const end = live(...asked);
    ends.push(end);
    return end;
  };
});

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const socketNo = (n: number) => until(`socket ${n}`, () => Scripted.all[n - 1]);

test('a query that is ended while its first result is on the way is unsubscribed when that comes, and gets nothing', async () => {
  const shown: unknown[] = [];
  const end = db.live('a', {}, result => shown.push(result));
  db.live('b', {}, () => {});
  const socket = await socketNo(1);
  socket.say({type: 'hello'});
  expect(socket.tables).toEqual(['a', 'b']);
  end();
  expect(socket.asked('unsubscribe')).toEqual([]);
  socket.say({type: 'subscription_result', subscription_id: 7, request_id: '1', data: [{n: 1}]});
  expect(socket.asked('unsubscribe')).toEqual([{type: 'unsubscribe', subscription_id: 7}]);
  await Promise.resolve();
  expect(shown).toEqual([]);
});

test('one that is ended while its first error is on the way does not get it', async () => {
  const errors: unknown[] = [];
  const end = db.live('a', {}, () => {}, {onError: error => errors.push(error)});
  db.live('b', {}, () => {});
  const socket = await socketNo(1);
  socket.say({type: 'hello'});
  end();
  socket.say({type: 'op.error', id: '1', error: {code: 'op.failed', message: 'm', detail: {code: 'op.invalid_input'}}});
  await new Promise(setImmediate);
  expect(errors).toEqual([]);
});

test('those that a connection listener begins and ends are requested once, and not at all', async () => {
  let isBack = false;
  const states: string[] = [];
  const onState = (state: string) => {
    states.push(state);
    if (state !== 'connected' || !isBack) return;
    isBack = false;
    end();
    db.live('begun', {}, () => {});
  };
  db.live('a', {}, () => {}, {onState});
  const end = db.live('ended', {}, () => {});
  const first = await socketNo(1);
  first.say({type: 'hello'});
  await until('the connection to be reported', () => states.length === 1);
  isBack = true;
  first.onclose!();
  const second = await socketNo(2);
  second.say({type: 'hello'});
  expect([states, second.tables.toSorted()]).toEqual([
    ['connected', 'waiting', 'connected'],
    ['a', 'begun'],
  ]);
});

test('a query that is refused for now is requested again, and gets its next result', async () => {
  const told: unknown[] = [];
  const busy = {code: 'op.failed', message: 'm', detail: {code: 'session.overloaded'}};
  db.live('a', {}, result => told.push(result), {onState: state => told.push(state)});
  const socket = await socketNo(1);
  socket.say({type: 'hello'});
  socket.say({type: 'op.error', id: '1', error: busy});
  await until('the query to be asked for again', () => socket.asked('subscribe').length === 2);
  socket.say({type: 'subscription_result', subscription_id: 1, request_id: '1', data: []});
  const lost = {
    type: 'error',
    error: {...busy, code: 'session.subscription_error', detail: {...busy.detail, subscription_id: 1}},
  };
  socket.say(lost);
  await until('the query to be asked for a third time', () => socket.asked('subscribe').length === 3);
  socket.say({type: 'subscription_result', subscription_id: 2, request_id: '1', data: [{n: 1}]});
  expect(told).toEqual(['connected', 'waiting', 'connected', [], 'waiting', 'connected', [{n: 1}]]);
  expect(Scripted.all).toHaveLength(1);
});

test('all end at once when their tenant is gone, also where one callback throws', async () => {
  const errors: unknown[] = [];
  const thrown: unknown[] = [];
  const caught = (error: unknown) => thrown.push(error);
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', caught);
  try {
    for (const table of ['a', 'b', 'c']) {
      const onError = (error: unknown) => {
        errors.push(error);
        if (table === 'b') throw new Error('of the app');
      };
      db.live(table, {}, () => {}, {onError});
    }
    const socket = await socketNo(1);
    socket.say({type: 'hello'});
    socket.say({type: 'fatal_error', error: {code: 'session.tenant_not_found', message: 'm'}});
    await until('the error of the app', () => thrown.length > 0);
    expect(thrown).toMatchObject([{message: 'of the app'}]);
    expect(errors.map(error => error instanceof SvcClientError && error.code)).toEqual(
      Array(3).fill('session.tenant_not_found'),
    );
    expect([socket.isClosed, Scripted.all.length, requests]).toEqual([true, 1, []]);
  } finally {
    process.off('uncaughtException', caught);
    for (const listener of others) process.on('uncaughtException', listener);
  }
});

test('a way on which sockets open and nothing comes is left after 15 seconds twice', async () => {
  vi.useFakeTimers({toFake: ['setInterval', 'clearInterval']});
  try {
    answer = () =>
      requests.at(-1)!.endsWith('/stream') ? stream(['id: 1\ndata: {"data":[]}\n\n'])() : Response.json({});
    const shown = new Promise(resolve => void db.live('a', {}, resolve));
    for (const n of [1, 2]) {
      const socket = await socketNo(n);
      await vi.advanceTimersByTimeAsync(NATIVE_SILENCE_MS / 3 - 1);
      expect([socket.isClosed, Scripted.all.length]).toEqual([false, n]);
      await vi.advanceTimersByTimeAsync(1);
      expect(socket.isClosed).toBe(true);
    }
    expect(await shown).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test('one that falls silent is left after 45 seconds, whatever was asked of it', async () => {
  vi.useFakeTimers({toFake: ['setInterval', 'clearInterval']});
  try {
    db.live('a', {}, () => {});
    const socket = await socketNo(1);
    socket.say({type: 'hello'});
    for (let i = 0; i < 4; i++) {
      await vi.advanceTimersByTimeAsync(NATIVE_SILENCE_MS / 3);
      socket.say({type: 'authenticated', is_authenticated: false});
    }
    expect([socket.asked('clear_auth').length, socket.isClosed]).toEqual([4, false]);
    await vi.advanceTimersByTimeAsync(NATIVE_SILENCE_MS);
    expect(socket.isClosed).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test('without a socket, a query that ends in its waiting callback leaves no socket behind', async () => {
  let streams = 0;
  answer = () => {
    if (!requests.at(-1)!.endsWith('/stream')) return Response.json({});
    streams++;
    return stream([])();
  };
  const left = new Promise<void>(resolve => {
    const onState = (state: string) => {
      if (state !== 'waiting' || streams === 0) return;
      vi.setSystemTime(Date.now() + NATIVE_SOCKET_REFUSED_MS); // a socket may be tried again
      end();
      resolve();
    };
    const end = db.live('a', {}, () => {}, {onState});
  });
  vi.useFakeTimers({toFake: ['Date']});
  try {
    for (const n of [1, 2]) (await socketNo(n)).onclose!();
    await left;
    for (let i = 0; i < 3; i++) await new Promise(setImmediate);
    expect([Scripted.all.length, streams]).toEqual([2, 1]);
  } finally {
    vi.useRealTimers();
  }
});
