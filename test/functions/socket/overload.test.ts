/** More than the service takes of one socket, or of all: close 1013, which says to come again later. */
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {
  FUNCTION_SOCKET_MESSAGE_BYTES_MAX,
  FUNCTION_SOCKET_UNHANDLED_BYTES_MAX,
  FUNCTION_SOCKETS_UNHANDLED_BYTES_MAX,
} from '../../../router/limits.ts';
import {TENANT_FILE} from '../../../shared/tenant-directory.ts';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const SIZES = `
  import {mutation} from './_generated/server';
  export const size = mutation((ctx, {text}) => text.length);`;

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

async function connect(app: App): Promise<FunctionSocket> {
  const socket = await FunctionSocket.established(service, app.tenant);
  onTestFinished(() => socket.close());
  await socket.helloOfServer();
  return socket;
}

async function newApp(): Promise<App> {
  service.showLogOnFailure();
  return await App.deploy(service, {'sizes.ts': SIZES});
}

/** Nearly as long as a message may be. */
const TEXT = 'x'.repeat(FUNCTION_SOCKET_MESSAGE_BYTES_MAX - 1_000);

/** Does this while the worker handles nothing. */
async function whileStopped(app: App, act: () => void | Promise<void>): Promise<void> {
  const worker = await service.workerOf(app.tenant);
  process.kill(worker, 'SIGSTOP');
  try {
    await act();
  } finally {
    process.kill(worker, 'SIGCONT');
  }
}

describe('messages that the worker has not handled', () => {
  test('are taken up to the limit, and answered', async () => {
    const app = await newApp();
    const socket = await connect(app);
    const count = Math.floor(FUNCTION_SOCKET_UNHANDLED_BYTES_MAX / FUNCTION_SOCKET_MESSAGE_BYTES_MAX);
    let ids: number[] = [];
    await whileStopped(app, () => {
      ids = Array.from({length: count}, () => socket.sendMutation('sizes:size', {text: TEXT}));
    });
    for (const id of ids) expect(await socket.result(id)).toMatchObject({ok: true, value: TEXT.length});
    // What was handled counts no more: as much fits again.
    const again = Array.from({length: count}, () => socket.sendMutation('sizes:size', {text: TEXT}));
    for (const id of again) expect(await socket.result(id)).toMatchObject({ok: true});
  });

  test('beyond it close the socket with 1013, and no other', async () => {
    const app = await newApp();
    const socket = await connect(app);
    const other = await connect(app);
    const count = Math.ceil(FUNCTION_SOCKET_UNHANDLED_BYTES_MAX / TEXT.length);
    await whileStopped(app, async () => {
      for (let n = 0; n < count; n++) socket.sendMutation('sizes:size', {text: TEXT});
      expect(await socket.closed).toEqual({code: 1013, reason: 'session.overloaded'});
    });
    expect(await other.mutation('sizes:size', {text: 'abc'})).toBe(3);
  });
});

nightly.test(
  'of all sockets of a tenant together they are bounded: who has most of them is closed with 1013, and who has few is answered',
  async () => {
    const app = await newApp();
    const sockets = await Promise.all(Array.from({length: 10}, () => connect(app)));
    const quiet = await connect(app);
    const closed = new Set<FunctionSocket>();
    for (const socket of sockets) void socket.closed.then(({code}) => code === 1013 && closed.add(socket));
    const count = Math.floor(FUNCTION_SOCKET_UNHANDLED_BYTES_MAX / FUNCTION_SOCKET_MESSAGE_BYTES_MAX);
    const most = Math.floor(FUNCTION_SOCKETS_UNHANDLED_BYTES_MAX / (count * TEXT.length));
    let answer: number | undefined;
    const sent = new Map<FunctionSocket, number[]>();
    await whileStopped(app, async () => {
      for (const socket of sockets) {
        sent.set(
          socket,
          Array.from({length: count}, () => socket.sendMutation('sizes:size', {text: TEXT})),
        );
      }
      answer = quiet.sendMutation('sizes:size', {text: 'abc'});
      await until('as many closed as are too many', () => closed.size >= sockets.length - most - 1);
    });
    expect(await quiet.result(answer!)).toMatchObject({ok: true, value: 3});
    const open = sockets.filter(socket => !closed.has(socket));
    expect(open.length).toBeGreaterThan(0);
    for (const socket of open) {
      for (const id of sent.get(socket)!) expect(await socket.result(id)).toMatchObject({ok: true, value: TEXT.length});
    }
  },
);

test('of a tenant whose worker cannot start sockets are closed with 1013', async () => {
  const tenant = await service.tenant('app');
  const file = join(service.directoryOf(tenant)!, TENANT_FILE);
  await service.end('SIGTERM');
  writeFileSync(file, 'this is no database, and of no use to anybody'.repeat(1_000));
  await service.run();
  const socket = await FunctionSocket.open(service, tenant);
  expect(await socket.closed).toMatchObject({code: 1013});
});
