import {mkdtempSync, rmSync} from 'node:fs';
import {connect, createServer, type Server, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {FrameFlag, FrameKind, FrameWriter, IPC_VERSION} from '../../shared/ipc/frame.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {createLogger} from '../../shared/log.ts';
import {LinkShare} from '../../worker/ipc/link-share.ts';
import {RouterLink} from '../../worker/ipc/router-link.ts';
import {NO_SOCKETS} from './no-sockets.ts';

const SECRET = 'the secret';
const log = createLogger({}, {write: () => undefined});
const directory = mkdtempSync(join(tmpdir(), 'svc-link-'));
const path = join(directory, 's');
const received: RequestMeta[] = [];
let server: Server;

beforeAll(async () => {
  const events = {
    onRequest: (_link: RouterLink, _stream: number, meta: RequestMeta) => void received.push(meta),
    onSubscribe: () => undefined,
    onUnsubscribe: () => undefined,
    onClose: () => undefined,
    sockets: NO_SOCKETS,
  };
  server = createServer((socket: Socket) => void new RouterLink(socket, SECRET, new LinkShare(1), events, log));
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
