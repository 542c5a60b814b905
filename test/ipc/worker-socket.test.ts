/**
 * The socket a worker listens on, as another program of this machine would meet it: without the secret nothing comes back,
 * and whatever is sent, it costs that connection alone.
 */
import {randomBytes} from 'node:crypto';
import {existsSync, readdirSync, statSync} from 'node:fs';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {FRAME_HEADER_BYTES, FrameKind, FrameWriter} from '../../shared/ipc/frame.ts';
import {FRAME_BODY_BYTES_MAX} from '../../shared/limits.ts';
import {SOCKET_PATH_BYTES_MAX} from '../../supervisor/limits.ts';
import {missingLayer, passedMode} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

let service: Service;
let tenant: Tenant;
let worker: number;
let runDirectory: string;
beforeAll(async () => {
  service = await Service.start({args: ['--spare-workers', '0']});
  tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
  worker = await service.workerOf(tenant.id);
  const name = readdirSync(tmpdir()).find(entry => entry.startsWith(`svc-${service.pid}-`))!;
  runDirectory = join(tmpdir(), name);
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

function socketPath(): string {
  const names = readdirSync(runDirectory).map(name => join(runDirectory, name));
  // Where tenants have users of their own, each socket lies in a directory, and that of the way out is there before its socket.
  const paths = missingLayer(service, 'users') === null ? names.map(name => join(name, 's')) : names;
  const [path, ...others] = paths.filter(found => existsSync(found));
  expect(others).toEqual([]);
  return path!;
}

/** What comes back until the worker closes the connection. Our end stays open: closing is the worker's decision. */
function answerTo(bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = connect({path: socketPath()});
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', chunk => received.push(chunk as Buffer));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The worker closed while we were still sending.
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error);
    });
    socket.on('close', () => resolve(Buffer.concat(received)));
  });
}

function frames(...given: [kind: FrameKind, meta: string, body?: string][]): Buffer {
  const chunks: Buffer[] = [];
  const writer = new FrameWriter(bytes => chunks.push(bytes));
  for (const [kind, meta, body = ''] of given) writer.frame(kind, 1, 0, meta, body);
  writer.flush();
  return Buffer.concat(chunks);
}

const LIST = JSON.stringify({op: 'documents.list', p: ['t']});

describe('the run directory', () => {
  test('is for its owner alone, and for workers to go through', () => {
    expect((statSync(runDirectory).mode & 0o777).toString(8)).toBe(passedMode(service));
  });

  test('holds one socket for each worker with a tenant, under a short numbered name', () => {
    expect(socketPath()).toMatch(/\/w\d+(\/s)?$/);
    expect(statSync(socketPath()).isSocket()).toBe(true);
    expect(Buffer.byteLength(socketPath())).toBeLessThanOrEqual(SOCKET_PATH_BYTES_MAX);
  });
});

describe("a connection to a worker's socket is closed without an answer, and the worker lives on, after", () => {
  const tooLarge = Buffer.alloc(FRAME_HEADER_BYTES);
  tooLarge.writeUInt32LE(FRAME_BODY_BYTES_MAX + 1);
  tooLarge[8] = FrameKind.hello;

  test.each<[what: string, bytes: Buffer]>([
    ['a request without a hello', frames([FrameKind.request, LIST])],
    ['a hello without a secret', frames([FrameKind.hello, ''], [FrameKind.request, LIST])],
    ['a hello with a wrong secret', frames([FrameKind.hello, 'x'.repeat(43)], [FrameKind.request, LIST])],
    ['a hello with the longest secret', frames([FrameKind.hello, 'x'.repeat(65_535)], [FrameKind.request, LIST])],
    ['a live query without a hello', frames([FrameKind.subscribe, '', '{"table":"t","filters":[]}'])],
    ['a fence without a hello', frames([FrameKind.fence, ''])],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    ['zeros', Buffer.alloc(64)],
    ['ones', Buffer.alloc(64, 0xff)],
    ['a frame that announces too large a body', tooLarge],
    ['a megabyte of noise', Buffer.concat([Buffer.alloc(FRAME_HEADER_BYTES), randomBytes(1024 * 1024)])],
  ])('%s', async (_, bytes) => {
    expect((await answerTo(bytes)).length).toBe(0);
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    expect(service.ownerOf(tenant.id)).toBe(worker);
  });

  test('many of these at once, while requests are served', async () => {
    const noise = Array.from({length: 50}, (_, i) => answerTo(Buffer.alloc(64, i % 2 === 0 ? 0xee : 0)));
    const served = Array.from({length: 200}, () => tenant.list('t'));
    expect((await Promise.all(noise)).every(answer => answer.length === 0)).toBe(true);
    for (const list of await Promise.all(served)) expect(list).toMatchObject([{n: 1}]);
    expect(service.ownerOf(tenant.id)).toBe(worker);
  });
});

test('connections that say nothing, or only half of something, disturb nobody', async () => {
  const half = frames([FrameKind.hello, 'secret']).subarray(0, 7);
  const sockets = await Promise.all(
    [Buffer.alloc(0), half].map(
      bytes =>
        new Promise<ReturnType<typeof connect>>(resolve => {
          const socket = connect({path: socketPath()}, () => socket.write(bytes, () => resolve(socket)));
        }),
    ),
  );
  expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  for (const socket of sockets) socket.destroy();
  expect(service.ownerOf(tenant.id)).toBe(worker);
});
