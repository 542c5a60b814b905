/** A worker that was taken over sends its router what no worker sends: that costs the worker its connection, and the router nothing. */
import {Buffer} from 'node:buffer';
import {chownSync, mkdtempSync, rmSync, symlinkSync} from 'node:fs';
import {createServer, type Server, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {SocketHub, TenantLive} from '../../router/live/tenant-live.ts';
import {connectToWorker} from '../../router/workers/worker-socket.ts';
import {
  FRAME_HEADER_BYTES,
  FrameFlag,
  FrameKind,
  FrameReader,
  FrameWriter,
  MalformedFrame,
} from '../../shared/ipc/frame.ts';
import {STREAM_WINDOW_BYTES} from '../../shared/limits.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {ACCESS, Edge, received, TENANT} from '../functions/edge/edge.ts';
import {until} from '../harness/until.ts';

/** What the worker does with a request that has come over this socket under this stream id. */
let attack: (socket: Socket, stream: number) => void;
let edge: Edge;

beforeAll(async () => {
  edge = await Edge.start(socket => {
    const reader = new FrameReader((kind, stream) => {
      if (kind === FrameKind.request) attack(socket, stream);
    });
    socket.on('data', chunk => reader.push(chunk as Buffer));
    socket.on('error', () => undefined);
  });
});
afterAll(() => edge.stop());
afterEach(() => void edge.malformed.splice(0));

const {none, streams, failed, end} = FrameFlag;

function frame(kind: number, stream: number, flags: number, meta: string, body: string | Buffer): Buffer {
  const chunks: Buffer[] = [];
  const writer = new FrameWriter(bytes => chunks.push(Buffer.from(bytes)));
  writer.frame(kind as FrameKind, stream, flags, meta, body);
  writer.flush();
  return Buffer.concat(chunks);
}

const REQUESTS = {
  read: `GET /api/tenants/${TENANT}/documents/t/x`,
  write: `POST /api/tenants/${TENANT}/documents/t`,
  stream: `GET /api/tenants/${TENANT}/journal/stream`,
  head: `HEAD /api/tenants/${TENANT}/documents/t/x`,
};

function headOf(request: string): string {
  const head = `${request} HTTP/1.1\r\nHost: 127.0.0.1:${edge.port}\r\nAuthorization: Bearer ${ACCESS}\r\nConnection: close\r\n`;
  if (!request.startsWith('POST')) return `${head}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{"n":1}`;
}

/** The first line of what a client gets; empty: nothing before its connection closes. */
async function statusOf(request: string): Promise<string> {
  const text = await received(edge.connect(headOf(request)));
  return text.split('\r\n', 1)[0]!.replace('HTTP/1.1 ', '');
}

const error = '{"code":"op.failed","message":"m"}';
const large = Buffer.alloc(STREAM_WINDOW_BYTES, 'x');

describe('a frame that no worker sends closes its link, and the supervisor learns why', () => {
  test.each<[string, (stream: number) => Buffer[]]>([
    ['an answer with a status that is none', id => [frame(FrameKind.response, id, none, '{"s":7}', '')]],
    [
      'an answer with a list of entity tags',
      id => [frame(FrameKind.response, id, none, '{"s":200,"e":["\\"1-2\\""]}', '{}')],
    ],
    ['an answer to nothing', () => [frame(FrameKind.response, 999, none, '', '{}')]],
    [
      'an answer after the beginning of a stream',
      id => [frame(FrameKind.response, id, streams, '', ''), frame(FrameKind.response, id, none, '', '{}')],
    ],
    [
      'a second beginning of a stream',
      id => [
        frame(FrameKind.response, id, streams, '', ''),
        frame(FrameKind.chunk, id, none, '', 'x'),
        frame(FrameKind.response, id, streams, '', ''),
      ],
    ],
    [
      'a stream that fails without an error',
      id => [frame(FrameKind.response, id, streams, '', ''), frame(FrameKind.chunk, id, end | failed, '{not json', '')],
    ],
    [
      'a stream that fails with an error of no code',
      id => [
        frame(FrameKind.response, id, streams, '', ''),
        frame(FrameKind.chunk, id, end | failed, '{"code":"toString","message":"m"}', ''),
      ],
    ],
    ['a live query that fails with no JSON', () => [frame(FrameKind.live, 1, failed, '', '{not json')]],
    ['a live query that fails with no error', () => [frame(FrameKind.live, 1, failed, '', '{"code":5}')]],
    ['a live query that fails at length', () => [frame(FrameKind.live, 1, failed, '', error.padEnd(70_000))]],
    ['a batch that ends at no moment', () => [frame(FrameKind.liveEnd, 0, none, '1', '')]],
    ['credit that is no number', id => [frame(FrameKind.credit, id, none, '-1', '')]],
    ['a socket that closes with no code', () => [frame(FrameKind.socketClose, 1, none, '70000', '')]],
    ['a message for sockets without numbers', () => [frame(FrameKind.socketMessage, 1, none, '1 x', 'm')]],
    ['a kind of the other direction', () => [frame(FrameKind.hello, 1, none, '', '')]],
  ])('%s', async (_, frames) => {
    attack = (socket, stream) => void socket.write(Buffer.concat(frames(stream)));
    await statusOf(REQUESTS.stream);
    expect(edge.malformed.length).toBeGreaterThan(0);
    attack = (socket, stream) => void socket.write(frame(FrameKind.response, stream, none, '', '{}'));
    expect(await statusOf(REQUESTS.read)).toBe('200 OK');
  });
});

test('more of a stream than its reader takes is held for it up to the window', async () => {
  attack = (socket, stream) => {
    const chunks = Array.from({length: 48}, () => frame(FrameKind.chunk, stream, none, '', large));
    socket.write(Buffer.concat([frame(FrameKind.response, stream, streams, '', ''), ...chunks]));
  };
  const client = edge.connect(headOf(REQUESTS.stream));
  await until('the link to be closed', () => edge.malformed.length > 0);
  expect(edge.malformed).toEqual(['more of a stream than was credited']);
  client.destroy();
});

/* ── fuzz ── */

const metas = [
  '',
  '{"s":200}',
  '{"s":204}',
  '{"s":200,"t":"text/event-stream"}',
  '"5.1"',
  '{"s":200,"h":[["a","b"]]}',
  '{"s":200,"e":["\\"5.1\\""]}',
  error,
  '1 2',
  '10',
];
const bodies = ['', '[]', '{"data":[]}', error, '{not json', `{"error":${error}}`, 'x'.repeat(5_000)];
/** How frames after the first are meant: for the request, or for another stream. */
const plausible = fc.record({
  kind: fc.integer({min: 1, max: 18}),
  isOwn: fc.boolean(),
  other: fc.constantFrom(0, 1, 2, 999, 0xffff_ffff),
  flags: fc.integer({min: 0, max: 31}),
  meta: fc.oneof(fc.constantFrom(...metas), fc.string({maxLength: 40})),
  body: fc.oneof(fc.constantFrom(...bodies), fc.string({maxLength: 40})),
});
const hostile = fc.record({
  request: fc.constantFrom(...Object.values(REQUESTS)),
  frames: fc.array(plausible, {minLength: 1, maxLength: 4}),
  /** Of the bytes. */
  flips: fc.array(fc.tuple(fc.nat(), fc.integer({min: 1, max: 255})), {maxLength: 2}),
  tail: fc.uint8Array({maxLength: 30}),
});
type Hostile = typeof hostile extends fc.Arbitrary<infer T> ? T : never;

function bytesOf({frames, flips, tail}: Hostile, stream: number): Buffer {
  const whole = frames.map(({kind, isOwn, other, flags, meta, body}) =>
    frame(kind, isOwn ? stream : other, flags, meta, body),
  );
  const bytes = Buffer.concat([...whole, tail]);
  for (const [at, by] of flips) bytes[at % Math.max(bytes.length, FRAME_HEADER_BYTES)]! ^= by;
  return bytes;
}

test('a thousand random and mutated runs of frames leave a router that serves', async () => {
  const runs = fc.sample(hostile, 1_000);
  for (const run of runs) {
    attack = (socket, stream) => {
      socket.write(bytesOf(run, stream));
      socket.end(frame(FrameKind.response, stream, none, '', '{}'));
    };
    await statusOf(run.request);
  }
  expect(edge.malformed.length).toBeGreaterThan(100);
  attack = (socket, stream) => void socket.write(frame(FrameKind.response, stream, none, '', '{}'));
  expect(await statusOf(REQUESTS.read)).toBe('200 OK');
}, 60_000);

/* ── what is not shown yet ── */

test('a live query has one result in a batch', () => {
  const hub = new SocketHub({publish: () => undefined} as never, new RouterMetrics());
  const live = new TenantLive(
    () => hub,
    false,
    () => undefined,
  );
  const holder = {await: () => undefined, hasEnded: true};
  live.subscribe(holder as never, 'r', {table: 't'});
  live.result(1, Buffer.from('[]'));
  expect(() => live.result(1, Buffer.from('[]'))).toThrow(MalformedFrame);
});

/* ── the socket of a worker ── */

describe('a router connects to a socket of the worker alone', () => {
  async function listening(): Promise<{path: string; directory: string; server: Server; connections: () => number}> {
    const directory = mkdtempSync(join(tmpdir(), 'svc-link-'));
    const path = join(directory, 's');
    let connections = 0;
    const server = createServer(() => void connections++);
    await new Promise<void>(resolve => server.listen(path, resolve));
    onTestFinished(() => {
      server.close();
      rmSync(directory, {recursive: true, force: true});
    });
    return {path, directory, server, connections: () => connections};
  }

  const addressed = (socketPath: string) => ({
    ...{tenant: 'a', worker: '1', socketPath, secret: 's', owner: process.geteuid!()},
    runsCode: true,
  });
  /** Why it is none; null: it was connected. */
  async function faultOf(socketPath: string): Promise<string | null> {
    const {socket, fault} = connectToWorker(addressed(socketPath), () => undefined);
    if (fault !== null) return fault;
    const outcome = await new Promise<string | null>(resolve => {
      socket.on('connect', () => resolve(null));
      socket.on('error', ({message}) => resolve(message));
    });
    socket.destroy();
    return outcome;
  }

  test('its own, by name', async () => {
    const {path} = await listening();
    expect(await faultOf(path)).toBeNull();
  });

  test('not what a link points to, nor another file, nor what is not there', async () => {
    const {path, directory, connections} = await listening();
    symlinkSync(path, join(directory, 'link'));
    expect(await faultOf(join(directory, 'link'))).toContain('no socket');
    expect(await faultOf(directory)).toContain('no socket');
    expect(await faultOf(join(directory, 'none'))).toContain('ENOENT');
    expect(connections()).toBe(0);
  });

  test("not another user's", async ({skip}) => {
    skip(process.geteuid!() !== 0, 'a file is given away by root alone');
    const {path} = await listening();
    chownSync(path, 12_345, 12_345);
    expect(await faultOf(path)).toContain('a socket of user 12345');
  });
});
