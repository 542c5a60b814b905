import {mkdtempSync, rmSync} from 'node:fs';
import {connect, createServer, type Server, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test, vi} from 'vitest';
import {FrameFlag, FrameKind, FrameReader, FrameWriter, IPC_VERSION} from '../../shared/ipc/frame.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {createLogger} from '../../shared/log.ts';
import {LinkShare} from '../../worker/ipc/link-share.ts';
import {RouterCaches} from '../../worker/ipc/router-caches.ts';
import {RouterLink} from '../../worker/ipc/router-link.ts';
import {NO_SOCKETS} from './no-sockets.ts';

const SECRET = 'the secret';
const log = createLogger({}, {write: () => undefined});
const directory = mkdtempSync(join(tmpdir(), 'svc-link-'));
const path = join(directory, 's');
const received: RequestMeta[] = [];
const links: RouterLink[] = [];
let server: Server;

beforeAll(async () => {
  const events = {
    onRequest: (_link: RouterLink, _stream: number, meta: RequestMeta) => void received.push(meta),
    onSubscribe: () => undefined,
    onUnsubscribe: () => undefined,
    onFence: () => undefined,
    onAnswered: () => undefined,
    onClose: () => undefined,
    sockets: NO_SOCKETS,
  };
  server = createServer((socket: Socket) => {
    links.push(new RouterLink(socket, SECRET, new LinkShare(1, RouterCaches.of(1, false)), events, log));
  });
  await new Promise<void>(resolve => server.listen(path, resolve));
});
afterAll(() => {
  server.close();
  rmSync(directory, {recursive: true});
});

/** Sends a request with this meta after a proper hello; resolves when the worker's end closes the connection. */
function closedAfter(meta: string): Promise<void> {
  const socket = connect({path});
  const writer = new FrameWriter(bytes => socket.write(bytes));
  writer.frame(FrameKind.hello, 0, FrameFlag.none, SECRET, String(IPC_VERSION));
  writer.frame(FrameKind.request, 1, FrameFlag.none, meta, '');
  writer.flush();
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}

describe('a request whose meta is not one costs its connection, never the process', () => {
  test.each([
    '',
    '{',
    'null',
    '5',
    '"documents.get"',
    '[]',
    '{}',
    '{"op":"documents.drop"}',
    '{"op":"toString"}',
    '{"op":"documents.get","p":"t"}',
    '{"op":"documents.get","p":["t",7]}',
    '{"op":"journal.page","q":{}}',
    '{"op":"documents.insert","k":1}',
    '{"op":"functions.query","a":{}}',
    '{"op":"functions.query","o":["x"]}',
    '{"op":"functions.query","w":true}',
    '{"op":"functions.http","m":1}',
    '{"op":"functions.http","h":{"a":"b"}}',
    '{"op":"functions.http","h":[["a"]]}',
    '{"op":"functions.http","h":[["a",1]]}',
  ])('%s', async meta => {
    await closedAfter(meta);
    expect(received).toEqual([]);
  });

  test('a proper one is handed on', async () => {
    const socket = connect({path});
    const writer = new FrameWriter(bytes => socket.write(bytes));
    writer.frame(FrameKind.hello, 0, FrameFlag.none, SECRET, String(IPC_VERSION));
    writer.frame(FrameKind.request, 1, FrameFlag.none, '{"op":"documents.get","p":["t","x"]}', '');
    writer.frame(FrameKind.request, 2, FrameFlag.none, 'null', '');
    writer.flush();
    await new Promise<void>(resolve => socket.on('close', () => resolve()));
    expect(received).toEqual([{op: 'documents.get', p: ['t', 'x']}]);
  });
});

test('a router counts the subscriptions of a live query; one that is silent counts as one, and one that is gone as none', async () => {
  const socket = connect({path});
  const counted: number[] = [];
  const writer = new FrameWriter(bytes => socket.write(bytes));
  const reader = new FrameReader((kind, stream) => {
    expect(kind).toBe(FrameKind.subscriptions);
    counted.push(stream);
    if (stream === 5) writer.frame(FrameKind.subscriptions, stream, FrameFlag.none, '40', '');
    writer.flush();
  });
  socket.on('data', chunk => reader.push(chunk as Buffer));
  const before = links.length;
  writer.frame(FrameKind.hello, 0, FrameFlag.none, SECRET, String(IPC_VERSION));
  writer.flush();
  const link = await vi.waitUntil(() => links[before]);
  // Readers of one list at a time share the question.
  expect(await Promise.all([link.subscriptions(5), link.subscriptions(5)])).toEqual([40, 40]);
  expect(await link.subscriptions(6)).toBe(1);
  expect(counted).toEqual([5, 6]);
  const last = link.subscriptions(6);
  socket.destroy();
  expect(await last).toBe(0);
});
