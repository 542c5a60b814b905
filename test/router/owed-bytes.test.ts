/** What sockets that read nothing may take of the router: bounded for all of them together, and nobody who owes little pays for it. */
import type {WebSocket} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {expect, test} from 'vitest';
import {FunctionSocket, type FunctionSocketData} from '../../router/ws/function-socket.ts';
import type {TenantPipes} from '../../router/ws/tenant-pipes.ts';
import {OwedBytes} from '../../shared/owed-bytes.ts';

const MAX = 1_000_000;
const pipes = {
  unhandled: new OwedBytes(MAX),
  credit: () => undefined,
  closed: () => undefined,
} as unknown as TenantPipes;

function newSocket(all: OwedBytes) {
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
  const socket: FunctionSocket = new FunctionSocket(ws as unknown as WebSocket<FunctionSocketData>, 1, pipes, all);
  return {
    send: (bytes: number) => socket.send(Buffer.alloc(bytes)),
    reads: () => {
      buffered = 0;
      socket.credit();
    },
    leaves: () => socket.closed(),
    get isOpen() {
      return isOpen;
    },
  };
}

test('sockets that read nothing are dropped once all together are owed more than the limit', () => {
  const all = new OwedBytes(MAX);
  const silent = Array.from({length: 40}, () => newSocket(all));
  for (let round = 0; round < 10; round++) for (const socket of silent) if (socket.isOpen) socket.send(10_000);
  expect(all.owed).toBeLessThanOrEqual(2 * MAX);
  expect(silent.some(({isOpen}) => !isOpen)).toBe(true);
});

test('who owes less than an equal share stays, though others owe more than there is', () => {
  const all = new OwedBytes(MAX);
  const honest = newSocket(all);
  const [first, second] = [newSocket(all), newSocket(all)];
  first.send(MAX);
  honest.send(10_000);
  second.send(MAX);
  expect([honest.isOpen, first.isOpen, second.isOpen]).toEqual([true, true, false]);
});

test('what was read, and what was owed to who has left, counts no more', () => {
  const all = new OwedBytes(MAX);
  const [reader, leaver] = [newSocket(all), newSocket(all)];
  for (let round = 0; round < 5; round++) {
    reader.send(MAX);
    reader.reads();
  }
  expect(reader.isOpen).toBe(true);
  leaver.send(MAX - 1);
  leaver.leaves();
  expect(all.owed).toBe(0);
});
