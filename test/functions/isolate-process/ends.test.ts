/** The process of a tenant's isolates ends, by what its code does or by somebody's hand: that costs calls, not the tenant. */
import {afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test} from 'vitest';
import {parentWatch} from '../../../worker/runtime/process/parent-watch.ts';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {firstOf, nightly, rounds} from '../../harness/nightly.ts';
import {cpuMsOf, isAlive} from '../../harness/processes.ts';
import {type Reply, Service} from '../../harness/service.ts';
import {expectError, Tenant} from '../../harness/tenant.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {isolateProcesses} from './processes.ts';

const FILES = {
  'notes.ts': `
    import {v} from 'svc/values';
    import {api} from './_generated/api';
    import {action, mutation, query} from './_generated/server';
    export const add = mutation({args: {text: v.string()}, handler: async (ctx, {text}) => { await ctx.db.insert('notes' as never, {text} as never); }});
    export const clear = mutation({args: {}, handler: async ctx => { for (const {_id} of await ctx.db.query('notes' as never).collect() as any[]) await ctx.db.delete(_id); }});
    export const texts = query({args: {}, handler: async ctx => ((await ctx.db.query('notes' as never).collect()) as any[]).map(({text}) => text)});
    export const echo = query({args: {text: v.string()}, handler: (_ctx, {text}) => text});
    export const slow = query({args: {text: v.string()}, handler: (_ctx, {text}) => {
      let x = 0;
      for (let i = 0; i < 40_000_000; i++) x = (x * 31 + i) % 1_000_003;
      return text + (x < 0);
    }});
    export const hang = action({args: {text: v.string()}, handler: async (ctx, {text}) => {
      await ctx.runMutation(api.notes.add, {text});
      await new Promise(resolve => setTimeout(resolve, 600_000));
    }});
    export const echoed = action({args: {text: v.string()}, handler: async (ctx, {text}) => await ctx.runQuery(api.notes.echo, {text})});
  `,
  'bombs.ts': `
    import {action, query} from './_generated/server';
    const largeArray = () => new Array(2 ** 27).fill(1.5).length;
    const split = () => 'x'.repeat(400_000_000).split('').length;
    export const array = query({args: {}, handler: largeArray});
    export const pieces = query({args: {}, handler: split});
    export const arrayAction = action({args: {}, handler: async () => largeArray()});
  `,
};

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

/** An app for tests that kill its processes, and not its worker. It may have several of them. */
let kept: App | null = null;
async function sharedApp(): Promise<App> {
  kept ??= await App.deploy(service, FILES);
  await kept.mutation('notes:clear', {});
  return kept;
}

const workerOf = (app: App) => service.workerOf(app.tenant);
const processesOf = async (app: App) => isolateProcesses(await workerOf(app));

let runs = 0;

/** The one that has run a query. */
async function processOf(app: App): Promise<number> {
  // No kept result answers it.
  await app.query('notes:echo', {text: `run ${++runs}`});
  return (await processesOf(app))[0]!;
}

function call(app: App, kind: 'query' | 'action', path: string, args: object): Promise<Reply> {
  return app.svc('POST', `/${kind}`, {path, args});
}

/** An action that has called a mutation and waits; the answer to its caller. */
async function hanging(app: App, text: string): Promise<{told: Promise<Reply>}> {
  const told = call(app, 'action', 'notes:hang', {text});
  await until('the action to wait', async () => ((await app.query('notes:texts', {})) as string[]).includes(text));
  return {told};
}

describe('code that V8 ends the process for', () => {
  const bombs = [
    ['a text of 400 MB that is split, in a query', 'query', 'bombs:pieces', 'session.worker_unavailable'],
    ['a large array, in a query', 'query', 'bombs:array', 'session.worker_unavailable'],
    ['a large array, in an action', 'action', 'bombs:arrayAction', 'session.outcome_unknown'],
  ] as const;
  test.each(firstOf(1, bombs))(
    '%s: its caller gets an error, the worker lives, and other calls are answered',
    {timeout: 180_000},
    async (_title, kind, path, code) => {
      const app = await App.deploy(service, FILES);
      const worker = await workerOf(app);
      await app.mutation('notes:add', {text: 'before'});
      const bomb = call(app, kind, path, {});
      let isOver = false;
      void bomb.finally(() => (isOver = true));
      do {
        expect((await app.admin('GET', '/documents/notes')).status).toBe(200);
        expect(await app.query('notes:echo', {text: `meanwhile ${++runs}`})).toBe(`meanwhile ${runs}`);
      } while (!isOver);
      expectError(await bomb, 503, code);
      expect(await app.query('notes:texts', {})).toEqual(['before']);
      expect(await app.action('notes:echoed', {text: 'next'})).toBe('next');
      expect(await workerOf(app)).toBe(worker);
    },
  );

  test('again and again: it is refused with op.quarantined, other functions are answered', {
    timeout: 300_000,
  }, async () => {
    const app = await App.deploy(service, FILES);
    let refused = await call(app, 'query', 'bombs:pieces', {});
    for (let calls = 1; calls < 4 && !refused.text.includes('op.quarantined'); calls++) {
      refused = await call(app, 'query', 'bombs:pieces', {});
      expect(await app.query('notes:echo', {text: `other ${calls}`})).toBe(`other ${calls}`);
    }
    expectError(refused, 503, 'op.quarantined');
    const {detail} = (refused.body as {error: {detail: {retry_after_seconds: number}}}).error;
    expect(detail.retry_after_seconds).toBeGreaterThan(1);
    expect(refused.headers['retry-after']).toBe(String(detail.retry_after_seconds));
    expect(await app.query('notes:echo', {text: 'another'})).toBe('another');
  });
});

describe('a process that is killed', () => {
  test('queries under way are run again and answered', async () => {
    const app = await sharedApp();
    const process_ = await processOf(app);
    const beforeMs = cpuMsOf(process_);
    const answers = ['a', 'b', 'c'].map(text => app.query('notes:slow', {text}));
    await until('the queries to compute', () => cpuMsOf(process_) > beforeMs + 100);
    process.kill(process_, 'SIGKILL');
    expect(await Promise.all(answers)).toEqual(['afalse', 'bfalse', 'cfalse']);
    expect(isAlive(process_)).toBe(false);
  });

  test('an action under way is 503 session.outcome_unknown; what it had written once stays, once', async () => {
    const app = await App.deploy(service, FILES);
    const process_ = await processOf(app);
    const worker = await workerOf(app);
    const {told} = await hanging(app, 'once');
    process.kill(process_, 'SIGKILL');
    expectError(await told, 503, 'session.outcome_unknown');
    expect(await app.query('notes:texts', {})).toEqual(['once']);
    expect(await app.action('notes:echoed', {text: 'next'})).toBe('next');
    expect(await workerOf(app)).toBe(worker);
  });

  test('mutations go on meanwhile, and all that were acknowledged are there', {timeout: 180_000}, async () => {
    const app = await sharedApp();
    const texts = Array.from({length: rounds({commit: 3, nightly: 5})}, (_, i) => `note ${i}`);
    for (const text of texts) {
      const process_ = await processOf(app);
      const written = app.mutation('notes:add', {text});
      process.kill(process_, 'SIGKILL');
      await written;
    }
    expect(await app.query('notes:texts', {})).toEqual(texts);
  });

  test('a live query goes on', async () => {
    const app = await sharedApp();
    const process_ = await processOf(app);
    await app.mutation('notes:add', {text: 'one'});
    const socket = await FunctionSocket.established(service, app.tenant);
    onTestFinished(() => socket.close());
    const texts = await socket.query('notes:texts');
    expect(socket.value(texts)).toEqual(['one']);
    process.kill(process_, 'SIGKILL');
    await app.mutation('notes:add', {text: 'two'});
    await socket.until(() => (socket.value(texts) as string[]).includes('two'));
    expect(socket.value(texts)).toEqual(['one', 'two']);
  });
});

nightly.test(
  'a process that is stopped is ended, and its queries are answered by another',
  async () => {
    const app = await App.deploy(service, FILES);
    const process_ = await processOf(app);
    process.kill(process_, 'SIGSTOP');
    const answer = app.query('notes:echo', {text: 'late'});
    expect((await app.admin('GET', '/documents/notes')).status).toBe(200);
    expect(await answer).toBe('late');
    expect(isAlive(process_)).toBe(false);
  },
  120_000,
);

test('a worker that is killed takes its processes along', async () => {
  const app = await App.deploy(service, FILES);
  const {told} = await hanging(app, 'waits');
  const [process_] = await processesOf(app);
  process.kill(await workerOf(app), 'SIGKILL');
  await until('its end', () => !isAlive(process_!));
  expect((await told).status).toBe(503);
});

test('a worker that is killed takes a stopped process along', async ({skip}) => {
  const {command} = await parentWatch();
  skip(command.length === 0, 'this machine has no setpriv');
  const app = await App.deploy(service, FILES);
  const process_ = await processOf(app);
  process.kill(process_, 'SIGSTOP');
  process.kill(await workerOf(app), 'SIGKILL');
  await until('its end', () => !isAlive(process_));
});

nightly.describe('a worker or a process that is killed while the process starts or closes', () => {
  /** Of a worker that is new, before it can be ready. */
  async function starting(app: App): Promise<{worker: number; process_: number; answer: Promise<Reply>}> {
    const before = await workerOf(app);
    process.kill(before, 'SIGKILL');
    await until('its end', () => !isAlive(before));
    expect((await app.admin('GET', '/documents/notes')).status).toBe(200);
    const answer = call(app, 'query', 'notes:echo', {text: `starting ${++runs}`});
    const process_ = await until('a process', async () => (await processesOf(app))[0]);
    return {worker: await workerOf(app), process_, answer};
  }

  test('a process that is killed as soon as it is there: the query is answered', async () => {
    const app = await App.deploy(service, FILES);
    const {process_, answer} = await starting(app);
    process.kill(process_, 'SIGKILL');
    expect(await answer).toMatchObject({status: 200});
    expect(await app.query('notes:echo', {text: 'after'})).toBe('after');
  });

  test('a worker that is killed as soon as its process is there takes it along', async () => {
    const app = await App.deploy(service, FILES);
    const {worker, process_, answer} = await starting(app);
    process.kill(worker, 'SIGKILL');
    await until('the end of the process', () => !isAlive(process_));
    await answer;
    // It may be sent to the worker that ends.
    expect(await until('an answer', () => app.query('notes:echo', {text: 'after'}).catch(() => null))).toBe('after');
  });
});

test('a tenant that keeps documents has no such process; one with functions has it ready for its first call', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('notes', {text: 'a'});
  expect(await tenant.list('notes')).toHaveLength(1);
  expect(isolateProcesses(await service.workerOf(tenant.id))).toEqual([]);
  const app = await App.deploy(service, FILES);
  const before = await workerOf(app);
  process.kill(before, 'SIGKILL');
  await until('its end', () => !isAlive(before));
  expect((await app.admin('GET', '/documents/notes')).status).toBe(200);
  await until('the process', async () => (await processesOf(app)).length === 1);
});

test('metrics tell of processes and of their ends', async () => {
  const app = await sharedApp();
  const process_ = await processOf(app);
  const figures = async () => (await service.get('/metrics')).text;
  expect(await figures()).toMatch(/^svc_isolate_processes [1-9]/m);
  expect(await figures()).toMatch(/^svc_isolate_process_bytes [1-9]/m);
  process.kill(process_, 'SIGKILL');
  await until('the end to be reported', async () =>
    /^svc_isolate_process_ends_total\{cause="crash"\} [1-9]/m.test(await figures()),
  );
});
