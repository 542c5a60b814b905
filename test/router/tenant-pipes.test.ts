/** Messages of function sockets whose tenant sleeps: kept in order, counted with what they cost, and limited in number. */
import {Buffer} from 'node:buffer';
import {expect, test} from 'vitest';
import {MESSAGE_OVERHEAD_BYTES, SOCKET_MESSAGES_WAITING_MAX} from '../../router/limits.ts';
import {TenantPipes} from '../../router/live/tenant-pipes.ts';
import {limitsOfOne, reservedTotal} from '../../router/router-limits.ts';
import type {WorkerLink} from '../../router/workers/link.ts';
import type {FunctionSocket} from '../../router/ws/function-socket.ts';
import {ReservedBytes} from '../../shared/byte-accounts.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';

function newPipes() {
  const reserved = new ReservedBytes(reservedTotal(limitsOfOne(1)));
  const pipes = new TenantPipes(new RouterMetrics(), reserved, 1_000_000, () => undefined);
  const told: string[] = [];
  const link = {
    openSocket: (stream: number) => told.push(`open ${stream}`),
    socketMessage: (stream: number, message: Buffer) => told.push(`${stream}: ${message}`),
  };
  const open = (stream: number) => {
    const ended: [number, string][] = [];
    const socket = {stream, origin: '', end: (code: number, reason: string) => ended.push([code, reason])};
    pipes.opened(socket as unknown as FunctionSocket);
    return {socket: socket as unknown as FunctionSocket, ended};
  };
  return {pipes, reserved, told, open, attach: () => pipes.attach(link as unknown as WorkerLink)};
}

test('what waited is sent in order once there is a worker, and gives back its room', () => {
  const {pipes, reserved, told, open, attach} = newPipes();
  const [first, second, gone] = [open(1), open(2), open(3)];
  for (const text of ['a', 'b'])
    for (const {socket} of [first, second, gone]) pipes.receive(socket, Buffer.from(text), false);
  expect(reserved.reserved).toBe(6 * (1 + MESSAGE_OVERHEAD_BYTES));
  pipes.closed(gone.socket);
  attach();
  expect(told).toEqual(['open 1', 'open 2', '1: a', '1: b', '2: a', '2: b']);
  expect(reserved.reserved).toBe(0);
});

test('more messages than may wait end their socket, and no other', () => {
  const {pipes, open} = newPipes();
  const [many, few] = [open(1), open(2)];
  for (let i = 0; i < SOCKET_MESSAGES_WAITING_MAX; i++) pipes.receive(many.socket, Buffer.from('{}'), false);
  expect(many.ended).toEqual([]);
  pipes.receive(many.socket, Buffer.from('{}'), false);
  pipes.receive(few.socket, Buffer.from('{}'), false);
  expect(many.ended).toEqual([[1013, 'session.overloaded']]);
  expect(few.ended).toEqual([]);
});
