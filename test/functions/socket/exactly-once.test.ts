import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {type CheckedColumns, rowChecksum} from '../../../engine/storage/row-checksum.ts';
import {TENANT_FILE} from '../../../shared/tenant-directory.ts';
import {CRASHES_BEFORE_COOL_DOWN} from '../../../supervisor/limits.ts';
import {CLIENT_MUTATIONS_SETTLED_AT_ONCE} from '../../../worker/functions/limits.ts';
import {FunctionSocket, type MutationResult} from '../../harness/function-socket.ts';
import {nightly, rounds} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const COUNTER = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const add = mutation({args: {by: v.number()}, handler: async (ctx, {by}) => {
    await ctx.db.insert('adds' as never, {by} as never);
    return (await ctx.db.query('adds' as never).collect() as any[]).length;
  }});
  export const fails = mutation({args: {}, handler: async ctx => {
    if ((await ctx.db.query('adds' as never).collect() as any[]).length === 0) throw new Error('nothing there yet');
    return 'there';
  }});
  export const sum = query({args: {}, handler: async ctx => (await ctx.db.query('adds' as never).collect() as any[]).reduce((sum, {by}) => sum + by, 0)});`;

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

async function connect(app: App, hello: object = {}): Promise<FunctionSocket> {
  const socket = await FunctionSocket.established(service, app.tenant, hello);
  onTestFinished(() => socket.close());
  return socket;
}
const newApp = () => App.deploy(service, {'counter.ts': COUNTER});
const fileOf = ({tenant}: App) => join(service.directoryOf(tenant)!, TENANT_FILE);
const cached = async (app: App) => {
  const db = new Database(fileOf(app), {readonly: true});
  const rows = db.prepare<[], {request_id: number}>('SELECT request_id FROM client_mutations').all();
  db.close();
  return rows.map(({request_id}) => request_id);
};

describe('[58] a mutation that comes again', () => {
  test('on another socket of its client is answered as before, as another one refused, and of another client is another one', async () => {
    const app = await newApp();
    const client_id = FunctionSocket.newClient();
    const first = await connect(app, {client_id});
    const id = first.sendMutation('counter:add', {by: 5});
    const answer = await first.result(id);
    const again = await connect(app, {client_id, connection_count: 1});
    again.sendMutation('counter:add', {by: 5}, id);
    expect(await again.result(id)).toEqual(answer);
    expect(await app.query('counter:sum', {})).toBe(5);
    await again.until(() => again.version.ts >= (answer as MutationResult & {ok: true}).ts);

    const other = await connect(app, {client_id});
    expect(await other.result(other.sendMutation('counter:add', {by: 2}, id))).toMatchObject({
      ok: false,
      code: 'op.conflict',
    });
    expect(await app.query('counter:sum', {})).toBe(5);

    const another = await connect(app);
    another.sendMutation('counter:add', {by: 5}, id);
    expect(await another.result(id)).toMatchObject({ok: true, value: 2});
    expect(await app.query('counter:sum', {})).toBe(10);
  });

  test('after its worker was killed before it could answer is answered, and its effect is there once', async () => {
    const app = await newApp();
    const client_id = FunctionSocket.newClient();
    // One more death and the tenant would rest.
    const kills = rounds({commit: 2, nightly: CRASHES_BEFORE_COOL_DOWN - 1});
    for (let round = 1; round <= kills; round++) {
      const socket = await connect(app, {client_id});
      socket.sendMutation('counter:add', {by: 1}, round, round);
      if (round % 2 === 0) await socket.result(round);
      process.kill(await service.workerOf(app.tenant), 'SIGKILL');
      await socket.closed;
      const answer = await until('an answer', async () => {
        const next = await connect(app, {client_id, connection_count: 1});
        next.sendMutation('counter:add', {by: 1}, round, round);
        // The worker that died may take a socket once more before it is gone.
        return await next.result(round).catch(() => null);
      });
      expect(answer).toMatchObject({ok: true, value: round});
    }
    expect(await app.query('counter:sum', {})).toBe(kills);
  });

  test('also when what was called is not there any more', async () => {
    const app = await newApp();
    const client_id = FunctionSocket.newClient();
    const first = await connect(app, {client_id});
    await first.mutation('counter:add', {by: 1});
    await app.deploy({'counter.ts': COUNTER.replace('export const add', 'const add')});
    const again = await connect(app, {client_id});
    again.sendMutation('counter:add', {by: 1}, 1);
    expect(await again.result(1)).toMatchObject({ok: true, value: 1});
  });

  test('after it failed runs again: it had left nothing', async () => {
    const app = await newApp();
    const client_id = FunctionSocket.newClient();
    const first = await connect(app, {client_id});
    expect(await first.result(first.sendMutation('counter:fails', {}, 1))).toMatchObject({ok: false});
    await app.mutation('counter:add', {by: 1});
    const again = await connect(app, {client_id});
    expect(await again.result(again.sendMutation('counter:fails', {}, 1))).toMatchObject({ok: true, value: 'there'});
  });
});

test('what a client has settled is not kept', async () => {
  const app = await newApp();
  const socket = await connect(app);
  for (let id = 1; id <= 3; id++) await socket.result(socket.sendMutation('counter:add', {by: 1}, id));
  expect(await cached(app)).toEqual([1, 2, 3]);
  await socket.result(socket.sendMutation('counter:add', {by: 1}, 4, 3));
  expect(await cached(app)).toEqual([3, 4]);
});

test('many that are settled at once go some at a time', async () => {
  const app = await newApp();
  const socket = await connect(app);
  const count = CLIENT_MUTATIONS_SETTLED_AT_ONCE + 20;
  for (let id = 1; id <= count; id++) socket.sendMutation('counter:add', {by: 1}, id);
  await socket.result(count);
  await socket.result(socket.sendMutation('counter:add', {by: 1}, count + 1, count + 1));
  expect(await cached(app)).toHaveLength(21);
  await socket.result(socket.sendMutation('counter:add', {by: 1}, count + 2, count + 1));
  expect(await cached(app)).toEqual([count + 1, count + 2]);
});

nightly.test(
  'an outcome that an earlier version stored, which did not note the caller, is returned as it was',
  async () => {
    const app = await newApp();
    const client_id = FunctionSocket.newClient();
    await (await connect(app, {client_id})).mutation('counter:add', {by: 1});
    await service.end('SIGTERM');
    const db = new Database(fileOf(app));
    const row = db.prepare('SELECT * FROM client_mutations').get() as CheckedColumns<'client_mutations'>;
    const older = {...row, request: String(row.request).split(' ')[0]!};
    db.prepare('UPDATE client_mutations SET request = ?, checksum = ?').run(
      older.request,
      rowChecksum('client_mutations', older),
    );
    db.close();
    await service.run();
    const again = await connect(app, {client_id});
    again.sendMutation('counter:add', {by: 1}, 1);
    expect(await again.result(1)).toMatchObject({ok: true, value: 1});
    expect(await app.query('counter:sum', {})).toBe(1);
  },
);

test('a client has one socket: one before is closed, and what waits on it is not run', async () => {
  const app = await newApp();
  const client_id = FunctionSocket.newClient();
  const before = await connect(app, {client_id});
  await before.helloOfServer();
  await before.mutation('counter:add', {by: 1});
  const sent = Array.from({length: 50}, (_, n) => ({id: n + 2, by: 1}));
  for (const {id, by} of sent) before.sendMutation('counter:add', {by}, id);
  const now = await connect(app, {client_id});
  for (const {id, by} of sent) now.sendMutation('counter:add', {by}, id);
  const results = await Promise.all(sent.map(({id}) => now.result(id)));
  expect(results.map(result => (result.ok ? result.value : null))).toEqual(sent.map(({id}) => id));
  expect(await before.closed).toMatchObject({code: 1000});
  expect(await app.query('counter:sum', {})).toBe(51);
});
