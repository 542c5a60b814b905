/** What sockets that read nothing may take of the router: bounded for all of them together, and nobody who owes little pays for it. */
import type {TemplatedApp, WebSocket} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {describe, expect, test} from 'vitest';
import {SocketHub, TenantLive} from '../../router/live/tenant-live.ts';
import type {TenantPipes} from '../../router/live/tenant-pipes.ts';
import type {PlacedTenant} from '../../router/tenants/placed-tenant.ts';
import type {WorkerLink} from '../../router/workers/link.ts';
import {Connection, type SocketData} from '../../router/ws/connection.ts';
import {FunctionSocket, type FunctionSocketData} from '../../router/ws/function-socket.ts';
import {BufferedBytes} from '../../shared/byte-accounts.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';

const MAX = 1_000_000;
const pipes = {
  unhandled: new BufferedBytes(MAX),
  credit: () => undefined,
  closed: () => undefined,
} as unknown as TenantPipes;

function newSocket(all: BufferedBytes) {
  let buffered = 0;
  let isOpen = true;
  const ws = {
    getUserData: () => ({origin: ''}),
    send: (message: Uint8Array) => {
      buffered += message.length;
    },
    getBufferedAmount: () => buffered,
    close: () => {
      isOpen = false;
      socket.closed();
    },
  };
  const socket: FunctionSocket = new FunctionSocket(
    ws as unknown as WebSocket<FunctionSocketData>,
    1,
    pipes,
    all,
    null,
    () => undefined,
  );
  return {
    send: (bytes: number) => socket.send(Buffer.alloc(bytes)),
    reads: () => {
      buffered = 0;
      socket.drained();
    },
    leaves: () => socket.closed(),
    get isOpen() {
      return isOpen;
    },
  };
}

test('sockets that read nothing are dropped once all together are owed more than the limit', () => {
  const all = new BufferedBytes(MAX);
  const silent = Array.from({length: 40}, () => newSocket(all));
  for (let round = 0; round < 10; round++) for (const socket of silent) if (socket.isOpen) socket.send(10_000);
  expect(all.buffered).toBeLessThanOrEqual(2 * MAX);
  expect(silent.some(({isOpen}) => !isOpen)).toBe(true);
});

test('who owes less than an equal share stays, though others owe more than there is', () => {
  const all = new BufferedBytes(MAX);
  const honest = newSocket(all);
  const [first, second] = [newSocket(all), newSocket(all)];
  first.send(MAX);
  honest.send(10_000);
  second.send(MAX);
  expect([honest.isOpen, first.isOpen, second.isOpen]).toEqual([true, true, false]);
});

test('what was read, and what was owed to who has left, counts no more', () => {
  const all = new BufferedBytes(MAX);
  const [reader, leaver] = [newSocket(all), newSocket(all)];
  for (let round = 0; round < 5; round++) {
    reader.send(MAX);
    reader.reads();
  }
  expect(reader.isOpen).toBe(true);
  leaver.send(MAX - 1);
  leaver.leaves();
  expect(all.buffered).toBe(0);
});

describe('sockets of svc.v2 count among the same', () => {
  /** One live query, and connections that hold it. Their networks take nothing unless they read. */
  class Live {
    readonly #topics = new Map<string, Set<(frame: Buffer) => void>>();
    readonly #all: BufferedBytes;
    readonly #live: TenantLive;
    #sequence = 0;

    constructor(all: BufferedBytes) {
      this.#all = all;
      const publish = (topic: string, frame: Buffer) => {
        for (const take of this.#topics.get(topic) ?? []) take(frame);
      };
      const hub = new SocketHub({publish} as unknown as TemplatedApp, new RouterMetrics());
      this.#live = new TenantLive(
        () => hub,
        false,
        () => undefined,
      );
      this.#live.attach({subscribe: () => undefined, unsubscribe: () => undefined} as unknown as WorkerLink);
    }

    open() {
      let buffered = 0;
      let isOpen = true;
      let reads = false;
      const take = (frame: Buffer | string) => {
        if (!reads) buffered += frame.length;
      };
      const topics = this.#topics;
      const ws = {
        send: take,
        subscribe: (topic: string) => topics.set(topic, (topics.get(topic) ?? new Set()).add(take)),
        unsubscribe: (topic: string) => topics.get(topic)?.delete(take),
        getBufferedAmount: () => buffered,
        close: () => {
          isOpen = false;
          for (const takers of topics.values()) takers.delete(take);
          connection.closed();
        },
      };
      const tenant = {live: this.#live} as unknown as PlacedTenant;
      const connection: Connection = new Connection(
        ws as unknown as WebSocket<SocketData>,
        tenant,
        null,
        this.#all,
        [],
      );
      const say = (message: object) => {
        connection.receive(Buffer.from(JSON.stringify(message)), false);
      };
      say({type: 'client_hello', protocol: 'svc.v2'});
      say({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
      return {
        reads: () => {
          reads = true;
          buffered = 0;
          connection.subscriptions.drained();
        },
        poll: () => connection.subscriptions.poll(),
        leaves: () => ws.close(),
        get isOpen() {
          return isOpen;
        },
      };
    }

    async shows(bytes: number): Promise<void> {
      this.#live.result(1, Buffer.from(JSON.stringify([{n: ++this.#sequence, text: 'x'.repeat(bytes)}])));
      this.#live.endBatch(this.#sequence, 0);
      await nextTurn();
      await nextTurn();
    }
  }

  test('many that each owe little are dropped once all together are owed more than the limit; who reads is not', async () => {
    const all = new BufferedBytes(MAX);
    const live = new Live(all);
    const reader = live.open();
    const silent = Array.from({length: 100}, () => live.open());
    for (let round = 0; round < 10; round++) {
      await live.shows(5_000);
      reader.reads();
      for (const socket of silent) if (socket.isOpen) socket.poll();
      expect(all.buffered).toBeLessThanOrEqual(2 * MAX);
    }
    expect(silent.some(({isOpen}) => !isOpen)).toBe(true);
    expect(reader.isOpen).toBe(true);
    for (const socket of [reader, ...silent]) if (socket.isOpen) socket.leaves();
    expect(all.buffered).toBe(0);
  });

  test('and leave no less to function sockets: what they owe is counted once, in one sum', async () => {
    const all = new BufferedBytes(MAX);
    const live = new Live(all);
    const slow = live.open();
    await live.shows(MAX);
    slow.poll();
    const honest = newSocket(all);
    honest.send(10_000);
    expect(honest.isOpen).toBe(true);
    const silent = newSocket(all);
    silent.send(MAX);
    expect(silent.isOpen).toBe(false);
    await live.shows(10);
    expect(slow.isOpen).toBe(false);
  });
});
