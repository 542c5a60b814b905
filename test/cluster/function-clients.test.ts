/** Clients of functions on a socket, while their tenant is moved between three real hosts again and again. */
import {afterAll, beforeAll, expect, onTestFinished, test} from 'vitest';
import {SvcClient} from '../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {App} from '../functions/app.ts';
import {until} from '../harness/until.ts';
import {type SvcHost, SvcHosts} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 180_000;
const MOVES = 6;
const COUNTER = `
import {mutation, query} from './_generated/server';
export const all = query(async ctx => (await ctx.db.query('steps').collect()).map(({n}) => n));
export const add = mutation(async (ctx, {n}) => { await ctx.db.insert('steps', {n}); return n; });
`;
const all = makeFunctionReference<'query', Record<string, never>, number[]>('counter:all');
const add = makeFunctionReference<'mutation', {n: number}, number>('counter:add');
let cluster: SvcHosts;

beforeAll(async () => {
  cluster = await SvcHosts.start();
}, TIMEOUT_MS);
afterAll(() => cluster.stop(), TIMEOUT_MS);

test('no mutation is lost or made twice, and results only go forward', {timeout: TIMEOUT_MS}, async () => {
  const tenant = await cluster.tenant('app');
  const [a] = cluster.hosts as [SvcHost];
  await new App(a.service, tenant).deploy({'counter.ts': COUNTER});
  const clients = cluster.hosts.map(({service}) => new SvcClient(`${service.url}/svc/${tenant}`, {logger: false}));
  onTestFinished(() => Promise.all(clients.map(client => client.close())).then(() => undefined));
  const shown = clients.map(client => {
    const results: number[][] = [];
    client.onUpdate(all, {}, value => results.push(value));
    return results;
  });
  let sent = 0;
  let isMoving = true;
  const writers = clients.map(async client => {
    while (isMoving) {
      const n = sent++;
      expect(await client.mutation(add, {n})).toBe(n);
    }
  });
  for (let i = 0; i < MOVES; i++) {
    const to = cluster.hosts[i % cluster.hosts.length]!;
    const before = sent;
    const {status, text} = await a.service.post('/api/cluster/move', {tenant, host: to.name});
    expect([status, text]).toEqual([200, expect.any(String)]);
    await until('writes after the move', () => sent > before + 6);
  }
  isMoving = false;
  await Promise.all(writers);
  const expected = [...Array(sent).keys()];
  for (const results of shown) {
    await until('the last result', () => results.at(-1)?.length === sent);
    expect(results.at(-1)!.toSorted((x, y) => x - y)).toEqual(expected);
    for (const [i, result] of results.entries())
      expect(result.slice(0, results[i - 1]?.length ?? 0)).toEqual(results[i - 1] ?? []);
  }
});
