/** Messages of function sockets whose tenant sleeps: kept in order, counted with what they cost, and limited in number. */
import {Buffer} from 'node:buffer';
import {describe, expect, test} from 'vitest';
import {MESSAGE_OVERHEAD_BYTES, SOCKET_MESSAGES_WAITING_MAX, WAKE_TIMEOUT_MS} from '../../router/limits.ts';
import {TenantPipes} from '../../router/live/tenant-pipes.ts';
import {limitsOfOne, reservedTotal} from '../../router/router-limits.ts';
import {LinkSockets} from '../../router/workers/link-sockets.ts';
import type {FunctionSocket} from '../../router/ws/function-socket.ts';
import {ReservedBytes} from '../../shared/byte-accounts.ts';
import {FrameFlag, FrameKind} from '../../shared/ipc/frame.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';

function newPipes() {
  const reserved = new ReservedBytes(reservedTotal(limitsOfOne(1)));
  const pipes = new TenantPipes(new RouterMetrics(), reserved, 1_000_000, () => undefined);
  const told: string[] = [];
  const newLink = (name = '') => {
    const frames: Record<number, string> = {
      [FrameKind.socketOpen]: 'open',
      [FrameKind.socketLeave]: 'leave',
      [FrameKind.socketClose]: 'close',
    };
    const send = (kind: FrameKind, stream: number, flags: number, _meta: string, body: Buffer | string) => {
      const resumed = (flags & FrameFlag.resumed) === 0 ? '' : (flags & FrameFlag.failed) === 0 ? ' answered' : ' lost';
      told.push(
        `${name}${kind === FrameKind.socketMessage ? `${stream}: ${body}` : `${frames[kind]} ${stream}${resumed}`}`,
      );
    };
    return new LinkSockets(pipes, send, () => told.push(`${name}all left`));
  };
  const open = (stream: number) => {
    const ended: [number, string][] = [];
    const sent: string[] = [];
    const handled: number[] = [];
    const socket = {
      stream,
      origin: '',
      send: (message: Buffer) => sent.push(String(message)),
      handled: (bytes: number) => handled.push(bytes),
      moves: () => undefined,
      end: (code: number, reason: string) => {
        ended.push([code, reason]);
        pipes.closed(socket as unknown as FunctionSocket);
      },
    };
    pipes.opened(socket as unknown as FunctionSocket);
    return {socket: socket as unknown as FunctionSocket, ended, sent, handled};
  };
  const attach = (name?: string) => {
    const link = newLink(name);
    pipes.attach(link);
    return link;
  };
  return {pipes, reserved, told, open, attach};
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

describe('when the tenant gets another worker', () => {
  const frame = (link: LinkSockets, kind: FrameKind, stream: number, meta = '', body = '') =>
    link.receive(kind, stream, Buffer.from(meta), Buffer.from(body));

  test('sockets whose clients can resume stay open, and what they send meanwhile is dropped', () => {
    const {pipes, reserved, told, open, attach} = newPipes();
    const [able, old] = [open(1), open(2)];
    frame(attach('a '), FrameKind.socketResumes, 1);
    pipes.detach(false);
    expect(old.ended).toEqual([[1012, "the tenant's worker has ended"]]);
    pipes.receive(able.socket, Buffer.from('early'), false);
    expect([able.handled, reserved.reserved]).toEqual([[5], 0]);
    const fresh = open(3);
    pipes.receive(fresh.socket, Buffer.from('kept'), false);
    attach('b ');
    pipes.receive(able.socket, Buffer.from('late'), false);
    expect(told.filter(frame => frame.startsWith('b '))).toEqual([
      'b open 1 lost',
      'b open 3',
      'b 3: kept',
      'b 1: late',
    ]);
    expect([able.ended, fresh.ended]).toEqual([[], []]);
    // It announces itself once: the next worker is lost before it greets.
    pipes.detach(false);
    expect([able.ended, fresh.ended.length]).toEqual([[], 1]);
  });

  test('a worker that is left in order still answers, and the next one learns that it did', () => {
    const {pipes, told, open, attach} = newPipes();
    const [answered, slow, gone, broken] = [open(1), open(2), open(3), open(4)];
    const former = attach('a ');
    for (const stream of [1, 2, 3, 4]) frame(former, FrameKind.socketResumes, stream);
    pipes.detach(true);
    expect(told.slice(4)).toEqual(['a leave 1', 'a leave 2', 'a leave 3', 'a leave 4']);
    frame(former, FrameKind.socketMessage, 1, '', 'answer');
    frame(former, FrameKind.socketClose, 1, '1012');
    frame(former, FrameKind.socketClose, 4, '1008', 'op.too_large');
    pipes.closed(gone.socket);
    expect([former.areLeaving, answered.sent, broken.ended]).toEqual([true, ['answer'], [[1008, 'op.too_large']]]);
    attach('b ');
    expect(told.slice(-2)).toEqual(['b open 1 answered', 'b open 2 lost']);
    frame(former, FrameKind.socketMessage, 2, '', 'too late');
    frame(former, FrameKind.socketClose, 2, '1012');
    expect([slow.sent, slow.ended, told.at(-1)]).toEqual([[], [], 'a all left']);
  });

  test('and sockets are closed if there is none for a while', () => {
    const {pipes, open, attach} = newPipes();
    const {ended} = open(1);
    frame(attach(), FrameKind.socketResumes, 1);
    pipes.detach(false);
    pipes.expire(performance.now() + WAKE_TIMEOUT_MS);
    expect(ended).toEqual([[1013, 'session.worker_unavailable']]);
  });
});
