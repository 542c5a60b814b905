/** Clients of functions on a socket, while their tenant is moved between three real hosts, and while its host is lost. */
import {expect, onTestFinished, test} from 'vitest';
import {SvcClient} from '../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {App} from '../functions/app.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 180_000;
const MOVES = 6;
const COUNTER = `
import {api} from './_generated/api';
import {action, mutation, query} from './_generated/server';
export const all = query(async ctx => (await ctx.db.query('steps').collect()).map(({n}) => n));
export const add = mutation(async (ctx, {n}) => { await ctx.db.insert('steps', {n}); return n; });
export const act = action(async (ctx, {n}) => await ctx.runMutation(api.counter.add, {n}));
`;
const all = makeFunctionReference<'query', Record<string, never>, number[]>('counter:all');
const add = makeFunctionReference<'mutation', {n: number}, number>('counter:add');
const act = makeFunctionReference<'action', {n: number}, number>('counter:act');

const cluster = await hostsOfFile();

/** Clients of one tenant that write all the time, and what each is shown. */
class Clients {
  readonly clients: SvcClient[];
  readonly shown: number[][][] = [];
  sent = 0;
  readonly #writers: Promise<void>[];
  #isOver = false;

  /** @param writes one call, with this number */
  constructor(hosts: readonly SvcHost[], tenant: string, writes: (client: SvcClient, n: number) => Promise<number>) {
    this.clients = hosts.map(({service}) => new SvcClient(`${service.url}/svc/${tenant}`, {logger: false}));
    onTestFinished(() => Promise.all(this.clients.map(client => client.close())).then(() => undefined));
    for (const client of this.clients) {
      const results: number[][] = [];
      client.onUpdate(all, {}, value => results.push(value));
      this.shown.push(results);
    }
    this.#writers = this.clients.map(async client => {
      while (!this.#isOver) {
        const n = this.sent++;
        expect(await writes(client, n)).toBe(n);
      }
    });
  }

  async writeMore(): Promise<void> {
    const before = this.sent;
    await until('more writes', () => this.sent > before + 2 * this.clients.length);
  }

  /** Each write was made once, each client was shown all of them, never fewer than before, and kept its socket. */
  async check(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#writers);
    const expected = [...Array(this.sent).keys()];
    for (const results of this.shown) {
      await until('the last result', () => results.at(-1)?.length === this.sent);
      expect(results.at(-1)!.toSorted((x, y) => x - y)).toEqual(expected);
      for (const [i, result] of results.entries())
        expect(result.slice(0, results[i - 1]?.length ?? 0)).toEqual(results[i - 1] ?? []);
    }
    for (const client of this.clients)
      expect(client.connectionState()).toMatchObject({connectionCount: 1, isWebSocketConnected: true});
  }
}

async function move(tenant: string, to: SvcHost): Promise<void> {
  const {status, text} = await to.service.post('/api/cluster/move', {tenant, host: to.name});
  expect([status, text]).toEqual([200, expect.any(String)]);
}

async function deployed(id: string): Promise<string> {
  const tenant = await cluster.tenant(id);
  await new App(cluster.hosts[0]!.service, tenant).deploy({'counter.ts': COUNTER});
  return tenant;
}

test.each([
  ['mutation', (client: SvcClient, n: number) => client.mutation(add, {n})],
  ['action', (client: SvcClient, n: number) => client.action(act, {n})],
])('moves keep every socket open, and make each %s once', {timeout: TIMEOUT_MS}, async (kind, writes) => {
  const tenant = await deployed(`moved-${kind}`);
  const clients = new Clients(cluster.hosts, tenant, writes);
  await clients.writeMore();
  for (let i = 0; i < MOVES; i++) {
    await move(tenant, cluster.hosts[i % cluster.hosts.length]!);
    await clients.writeMore();
  }
  await clients.check();
});

test('a host is killed, and the sockets of its tenant at other hosts go on', {timeout: TIMEOUT_MS}, async () => {
  const tenant = await deployed('taken');
  const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await move(tenant, c);
  const clients = new Clients([a, b], tenant, (client, n) => client.mutation(add, {n}));
  await clients.writeMore();
  await c.service.workerOf(tenant);
  await c.service.killAll();
  await clients.writeMore();
  await clients.check();
  await c.service.run();
});
