/**
 * What the machine may do to a tenant while clients of it write and watch: syncs of its file fail, files vanish under it, the clock is set.
 * Nothing that was acknowledged is lost or there twice, nothing that was shown is taken back, and clients come back by themselves.
 */
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {afterEach, describe, expect, onTestFinished, test} from 'vitest';
import {SvcClient} from '../../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../../sdk/server/function-reference.ts';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {MovableClock} from '../../harness/movable-clock.ts';
import {firstOf, nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const FUNCTIONS = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const add = mutation({args: {n: v.number()}, handler: async (ctx, {n}) => { await ctx.db.insert('entries' as never, {n} as never); }});
  export const all = query({args: {}, handler: async ctx => (await ctx.db.query('entries' as never).collect() as any[]).map(({n}) => n)});`;
const add = makeFunctionReference<'mutation', {n: number}, null>('entries:add');
const all = makeFunctionReference<'query', Record<string, never>, number[]>('entries:all');
const WRITERS = 3;

let service: Service | null = null;
let load: Load | null = null;
afterEach(async () => {
  await load?.end();
  await service?.stop();
  service = load = null;
});

/** Clients that write one entry after another, and one that watches. */
class Load {
  readonly app: App;
  readonly #clients: SvcClient[] = [];
  #entries = 0;
  #isEnding = false;
  readonly acknowledged = new Set<number>();
  readonly refused = new Map<number, string>();
  readonly shown = new Set<number>();
  /** What was shown and then was not any more. */
  readonly takenBack: number[] = [];
  readonly #writers: Promise<void>[];

  constructor(of: Service, app: App) {
    this.app = app;
    const connect = () => {
      const client = new SvcClient(`${of.url}/svc/${app.tenant}`, {logger: false});
      this.#clients.push(client);
      return client;
    };
    connect().onUpdate(
      all,
      {},
      entries => {
        const now = new Set(entries);
        for (const n of this.shown) if (!now.has(n)) this.takenBack.push(n);
        for (const n of now) this.shown.add(n);
      },
      () => undefined,
    );
    this.#writers = Array.from({length: WRITERS}, () => this.#write(connect()));
  }

  async #write(client: SvcClient): Promise<void> {
    while (!this.#isEnding) {
      const n = ++this.#entries;
      try {
        await client.mutation(add, {n});
        this.acknowledged.add(n);
      } catch (caught) {
        this.refused.set(n, (caught as Error).message);
      }
    }
  }

  async progress(by = 30): Promise<void> {
    const from = this.acknowledged.size;
    await until(`${by} more acknowledged writes`, () => this.acknowledged.size >= from + by);
  }

  async expectCached(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#writers);
    const there = (await this.app.query('entries:all', {})) as number[];
    expect(there.length).toBe(new Set(there).size);
    expect([...this.acknowledged].filter(n => !there.includes(n))).toEqual([]);
    expect([...this.shown].filter(n => !there.includes(n))).toEqual([]);
    expect(this.takenBack).toEqual([]);
    await until('the newest to be shown', () => there.every(n => this.shown.has(n)));
  }

  /** How often each client has connected. */
  connections(): number[] {
    return this.#clients.map(client => client.connectionState().connectionCount);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#clients.map(client => client.close()));
  }
}

async function started(options: Parameters<typeof Service.start>[0] = {}): Promise<{service: Service; load: Load}> {
  service = await Service.start(options);
  service.showLogOnFailure();
  load = new Load(service, await App.deploy(service, {'entries.ts': FUNCTIONS}));
  await load.progress();
  return {service, load};
}

const hasStrace = spawnSync('strace', ['-V']).status === 0;

/** Makes syncs of a process fail, while it is attached. */
class FailingSyncs {
  readonly #strace: ChildProcess;
  #said = '';

  constructor(pid: number, when: string) {
    const inject = `inject=fsync,fdatasync:error=EIO${when}`;
    this.#strace = spawn('strace', ['-f', '-p', String(pid), '-e', 'trace=fsync,fdatasync', '-e', inject], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#strace.stderr!.on('data', chunk => {
      this.#said += String(chunk);
    });
  }

  get injected(): number {
    return this.#said.split('(INJECTED)').length - 1;
  }

  async end(): Promise<void> {
    if (this.#strace.exitCode !== null) return;
    const ended = new Promise(resolve => this.#strace.once('exit', resolve));
    // The kernel lets go of what a killed tracer held. By SIGINT, strace waits for ever for a process whose main thread has ended.
    this.#strace.kill('SIGKILL');
    await ended;
  }
}

nightly.describe('syncs of the file that fail (EIO)', () => {
  test.skipIf(!hasStrace).each([
    ['once', ':when=2'],
    ['as long as the disk is broken', ''],
  ])('%s', async (_, when) => {
    const {service, load} = await started();
    const syncs = new FailingSyncs(await service.workerOf(load.app.tenant), when);
    try {
      await until('a sync to fail', () => syncs.injected > 0);
    } finally {
      await syncs.end();
    }
    await load.progress();
    await load.expectCached();
  });
});

describe('files that vanish under it', () => {
  test.each(
    firstOf(1, [
      ['its log', ['-wal']],
      ['its log and the index of that', ['-wal', '-shm']],
    ] as const),
  )('%s: what is said from then on is refused, not lost, and what is shown stays', async (_, suffixes) => {
    const {service, load} = await started();
    const path = join(service.directoryOf(load.app.tenant)!, 'tenant.sqlite');
    for (const suffix of suffixes) rmSync(`${path}${suffix}`);
    await until('the finding in the log', () =>
      service.log.includes("the tenant's file is not the one that was opened"),
    );
    await until('the tenant to be refused', async () => {
      return (await load.app.admin('GET', '/documents/entries')).text.includes('op.storage_damaged');
    });
    // The commits that were in it are gone with it: an older state is not shown, and nothing more is acknowledged.
    const acknowledged = load.acknowledged.size;
    const socket = await FunctionSocket.open(service, load.app.tenant).then(one => one.closed);
    expect(socket.code).toBe(1013);
    expect(load.acknowledged.size).toBe(acknowledged);
    expect(load.takenBack).toEqual([]);
  });
});

nightly.test(
  'the index of its log vanishes under it: the next worker makes it again, and nothing is lost',
  async () => {
    const {service, load} = await started();
    const worker = await service.workerOf(load.app.tenant);
    rmSync(join(service.directoryOf(load.app.tenant)!, 'tenant.sqlite-shm'));
    await until('another worker', () => {
      const owner = service.ownerOf(load.app.tenant);
      return owner !== null && owner !== worker;
    });
    expect(service.log).toMatch(/the tenant's file is not the one that was opened[^\n]*-shm was (removed|replaced)/); // A query that opened the file since made another.
    await load.progress();
    await load.expectCached();
  },
);

const DAY_MS = 24 * 60 * 60 * 1000;

describe('a clock that is set', () => {
  test('forward and back, by seconds and by days: writes go on, once each and in order, and sockets stay', async () => {
    const clock = new MovableClock();
    try {
      const {load} = await started({dist: clock.dist});
      for (const offset of [2_000, -2_000, 2 * DAY_MS, 0, -2 * DAY_MS, 3_600_000]) {
        clock.set(offset);
        await load.progress();
      }
      await load.expectCached();
      expect([...load.refused]).toEqual([]);
      expect(load.connections()).toEqual(Array(WRITERS + 1).fill(1));
    } finally {
      clock.remove();
    }
  });

  nightly.test(
    'forward by days does not make a mutation forgotten that was just answered: sent again, it does not run again',
    async () => {
      const clock = new MovableClock();
      try {
        const {service, load} = await started({dist: clock.dist});
        const client_id = FunctionSocket.newClient();
        const sent = async () => {
          const socket = await FunctionSocket.established(service, load.app.tenant, {client_id});
          onTestFinished(() => socket.close());
          return await socket.result(socket.sendMutation('entries:add', {n: -1}, 1));
        };
        const answer = await sent();
        clock.set(2 * DAY_MS);
        await load.progress();
        expect(await sent()).toEqual(answer);
        await load.expectCached();
      } finally {
        clock.remove();
      }
    },
  );

  nightly.test('while the worker is killed: what it has written is there, and no mutation runs twice', async () => {
    const clock = new MovableClock();
    try {
      const {service, load} = await started({dist: clock.dist});
      for (const offset of [-DAY_MS / 2, DAY_MS / 2]) {
        clock.set(offset);
        process.kill(await service.workerOf(load.app.tenant), 'SIGKILL');
        await load.progress();
      }
      await load.expectCached();
    } finally {
      clock.remove();
    }
  });
});
