/** The worker of a tenant is killed under open sockets: they stay open, and the next worker goes on with their clients. */
import {expect, onTestFinished, test} from 'vitest';
import {SvcClient} from '../../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../../sdk/server/function-reference.ts';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {rounds} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const STEPS = `
import {api} from './_generated/api';
import {action, mutation, query} from './_generated/server';
export const all = query(async ctx => (await ctx.db.query('steps').collect()).map(({n}) => n));
export const add = mutation(async (ctx, {n}) => { await ctx.db.insert('steps', {n}); return n; });
export const stay = action(async (ctx, {n}) => {
  await ctx.runMutation(api.steps.add, {n});
  await new Promise(resolve => setTimeout(resolve, 60_000));
});
`;
const all = makeFunctionReference<'query', Record<string, never>, number[]>('steps:all');
const add = makeFunctionReference<'mutation', {n: number}, number>('steps:add');
const stay = makeFunctionReference<'action', {n: number}, null>('steps:stay');
const KILLS = rounds({commit: 3, nightly: 20});

const service = await sharedService();

test('each mutation is made once and shown, and the sockets stay', async () => {
  const app = await App.deploy(service, {'steps.ts': STEPS});
  const clients = [1, 2].map(() => new SvcClient(`${service.url}/svc/${app.tenant}`, {logger: false}));
  onTestFinished(() => Promise.all(clients.map(client => client.close())).then(() => undefined));
  const shown = clients.map(client => {
    const results: number[][] = [];
    client.onUpdate(all, {}, value => results.push(value));
    return results;
  });
  let sent = 0;
  let isOver = false;
  const writers = clients.map(async client => {
    while (!isOver) {
      const mine = [sent++, sent++, sent++];
      expect(await Promise.all(mine.map(n => client.mutation(add, {n})))).toEqual(mine);
    }
  });
  for (let kill = 0; kill < KILLS; kill++) {
    const before = sent;
    await until('writes', () => sent > before + 12);
    process.kill(await service.workerOf(app.tenant), 'SIGKILL');
  }
  isOver = true;
  await Promise.all(writers);
  for (const [i, client] of clients.entries()) {
    await until('the last result', () => shown[i]!.at(-1)?.length === sent);
    expect(shown[i]!.at(-1)!.toSorted((a, b) => a - b)).toEqual([...Array(sent).keys()]);
    for (const [at, result] of shown[i]!.entries())
      expect(result.slice(0, shown[i]![at - 1]?.length ?? 0)).toEqual(shown[i]![at - 1] ?? []);
    expect(client.connectionState()).toMatchObject({connectionCount: 1, isWebSocketConnected: true});
  }
});

test('an action that was under way fails, and the next one runs', async () => {
  const app = await App.deploy(service, {'steps.ts': STEPS});
  const client = new SvcClient(`${service.url}/svc/${app.tenant}`, {logger: false});
  onTestFinished(() => client.close());
  const failed = client.action(stay, {n: 1}).catch((error: Error) => error.message);
  await until('the action to run', async () => (await client.query(all)).includes(1));
  process.kill(await service.workerOf(app.tenant), 'SIGKILL');
  expect(await failed).toBe('Connection lost while action was in flight');
  expect(await client.query(all)).toEqual([1]);
  expect(client.connectionState().connectionCount).toBe(1);
});

test('a client that has not announced that it resumes is closed, and comes back', async () => {
  const app = await App.deploy(service, {'steps.ts': STEPS});
  const [old, able] = [
    await FunctionSocket.established(service, app.tenant),
    await FunctionSocket.established(service, app.tenant, {resumes: true}),
  ];
  onTestFinished(() => able.close());
  await Promise.all([old, able].map(socket => socket.query('steps:all')));
  process.kill(await service.workerOf(app.tenant), 'SIGKILL');
  expect(await old.closed).toEqual({code: 1012, reason: "the tenant's worker has ended"});
  await able.until(() => able.messages.at(-1)?.type === 'hello');
  expect(able.messages.at(-1)).toMatchObject({session: {resumed: 'lost'}});
});
