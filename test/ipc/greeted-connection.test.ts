/** The worker's end of a connection, past the greeting: what a router with a bug could send costs its connection alone. */
import {Buffer} from 'node:buffer';
import {mkdtempSync, rmSync} from 'node:fs';
import {connect, createServer, type Server} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {FrameFlag, FrameKind, FrameReader, FrameWriter, IPC_VERSION} from '../../shared/ipc/frame.ts';
import type {RequestMeta} from '../../shared/ipc/operations.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {LinkShare} from '../../worker/ipc/link-share.ts';
import {RouterCaches} from '../../worker/ipc/router-caches.ts';
import {RouterLink} from '../../worker/ipc/router-link.ts';
import {NO_SOCKETS} from './no-sockets.ts';

const SECRET = 'the secret of this worker';
const log = createLogger({}, {write: () => undefined});

let directory: string;
let path: string;
let server: Server;
let requests: {stream: number; meta: RequestMeta}[] = [];
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  path = join(directory, 'w');
  server = createServer(socket => {
    const ignored = () => undefined;
    new RouterLink(
      socket,
      SECRET,
      new LinkShare(1, RouterCaches.of(1, false)),
      {
        onRequest: (link, stream, meta) => {
          if (meta.op === 'functions.http') return; // its body is left unread
          requests.push({stream, meta});
          link.reply(stream, 200, 'answer');
        },
        onSubscribe: ignored,
        onUnsubscribe: ignored,
        onFence: ignored,
        onAnswered: ignored,
        onClose: ignored,
        sockets: NO_SOCKETS,
      },
      log,
    );
  });
  await new Promise<void>(resolve => server.listen(path, resolve));
});
afterAll(() => {
  server.close();
  rmSync(directory, {recursive: true});
});

function bytesOf(write: (writer: FrameWriter) => void): Buffer {
  const chunks: Buffer[] = [];
  const writer = new FrameWriter(bytes => chunks.push(bytes));
  write(writer);
  writer.flush();
  return Buffer.concat(chunks);
}

const hello = bytesOf(writer => writer.frame(FrameKind.hello, 0, 0, SECRET, String(IPC_VERSION)));
const request = bytesOf(writer => writer.frame(FrameKind.request, 7, 0, '{"op":"schema.all"}', ''));

const upload = bytesOf(writer => writer.frame(FrameKind.request, 9, FrameFlag.streams, '{"op":"functions.http"}', ''));
const chunk = bytesOf(writer => writer.frame(FrameKind.chunk, 9, 0, '', Buffer.alloc(STREAM_WINDOW_BYTES)));

/** What comes back for these bytes. `end`: our end closes after them; else closing is the worker's decision. */
function exchange(bytes: Buffer, end: boolean): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const kinds: number[] = [];
    const reader = new FrameReader(kind => kinds.push(kind));
    const socket = connect({path}, () => (end ? socket.end(bytes) : socket.write(bytes)));
    socket.on('data', chunk => reader.push(chunk as Buffer));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error); // closed while we were sending
    });
    socket.on('close', () => resolve(kinds));
  });
}

describe('a greeted connection', () => {
  test('serves requests', async () => {
    requests = [];
    expect(await exchange(Buffer.concat([hello, request, request]), true)).toEqual([
      FrameKind.response,
      FrameKind.response,
    ]);
    expect(requests).toEqual(Array(2).fill({stream: 7, meta: {op: 'schema.all'}}));
  });

  test('takes no notice of pieces of a body that nobody waits for', async () => {
    requests = [];
    expect(await exchange(Buffer.concat([hello, chunk, request]), true)).toEqual([FrameKind.response]);
  });

  test.each([
    ['an unknown kind', Buffer.alloc(12, 0xee)],
    ['a second hello', hello],
    ['what only workers send', bytesOf(writer => writer.frame(FrameKind.response, 1, 0, '', ''))],
    ['credit that is no number', bytesOf(writer => writer.frame(FrameKind.credit, 1, 0, 'much', ''))],
    ['two bodies of one stream', Buffer.concat([upload, upload])],
    ['a body beyond the window', Buffer.concat([upload, ...Array(3).fill(chunk)])],
    ['credit below zero', bytesOf(writer => writer.frame(FrameKind.credit, 1, 0, '-1', ''))],
  ])('is closed after %s; requests behind it are not taken', async (_, bytes) => {
    requests = [];
    await exchange(Buffer.concat([hello, bytes, request]), false);
    expect(requests).toEqual([]);
  });

  test('of another version, or of none, is closed before its first request', async () => {
    requests = [];
    for (const version of [String(IPC_VERSION + 1), String(IPC_VERSION - 1), '', 'x'.repeat(1_000)]) {
      const other = bytesOf(writer => writer.frame(FrameKind.hello, 0, 0, SECRET, version));
      expect(await exchange(Buffer.concat([other, request]), false)).toEqual([]);
    }
    expect(requests).toEqual([]);
  });

  test('that sends anything at all ends without an error of ours, and the next one is served', async () => {
    const frames = fc.record({
      kind: fc.constantFrom(...Object.values(FrameKind)),
      stream: fc.nat(0xffff_ffff),
      flags: fc.nat(7),
      meta: fc.oneof(fc.constantFrom('', '0', '1', '-1', '1e99', '{"op":"x"}'), fc.string({maxLength: 20})),
      body: fc.string({maxLength: 50}),
    });
    const anyBytes = fc.oneof(
      frames.map(({kind, stream, flags, meta, body}) =>
        bytesOf(writer => writer.frame(kind, stream, flags, meta, body)),
      ),
      fc.uint8Array({maxLength: 60}).map(bytes => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyBytes, {maxLength: 6}), async chunks => {
        await exchange(Buffer.concat([hello, ...chunks]), true);
      }),
      {numRuns: 300},
    );
    expect(await exchange(Buffer.concat([hello, request]), true)).toEqual([FrameKind.response]);
  });
});
