import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {firstOf} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const BANK = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const open = mutation({args: {accounts: v.number()}, handler: async (ctx, {accounts}) => {
    for (let n = 0; n < accounts; n++) await ctx.db.insert('accounts' as never, {n, balance: 100, moves: 0} as never);
  }});
  const all = async (ctx: any) => await ctx.db.query('accounts').collect() as any[];
  export const balance = query({args: {n: v.number()}, handler: async (ctx, {n}) => (await all(ctx)).find(a => a.n === n).balance});
  export const slowBalance = query({args: {n: v.number()}, handler: async (ctx, {n}) => {
    let x = 0; for (let i = 0; i < 3e6; i++) x += i % 7;
    return (await all(ctx)).find(a => a.n === n).balance + (x < 0 ? 1 : 0);
  }});
  export const moves = query({args: {}, handler: async ctx => (await all(ctx)).reduce((sum, {moves}) => sum + moves, 0)});
  export const slowMoves = query({args: {}, handler: async ctx => {
    let x = 0; for (let i = 0; i < 2e6; i++) x += i % 7;
    return (await all(ctx)).reduce((sum, {moves}) => sum + moves, x < 0 ? 1 : 0);
  }});
  export const move = mutation({args: {from: v.number(), to: v.number(), by: v.number()}, handler: async (ctx, {from, to, by}) => {
    const accounts = await all(ctx);
    const [a, b] = [accounts.find(({n}) => n === from), accounts.find(({n}) => n === to)];
    await ctx.db.patch(a._id, {balance: a.balance - by, moves: a.moves + 1});
    await ctx.db.patch(b._id, {balance: b.balance + by});
  }});
  export const slowest = query({args: {}, handler: async ctx => {
    const before = await all(ctx);
    let x = 0; for (let i = 0; i < 1e8; i++) x += i % 7;
    return before.reduce((sum, {moves}) => sum + moves, x < 0 ? 1 : 0);
  }});
  export const version = query({args: {}, handler: () => 'VERSION'});`;
const ACCOUNTS = 4;
const bank = (version: string) => ({'bank.ts': BANK.replace('VERSION', version)});

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

async function newBank(): Promise<App> {
  const app = await App.deploy(service, bank('one'));
  await app.mutation('bank:open', {accounts: ACCOUNTS});
  return app;
}

/** A client that holds every balance, and fails when the sum of a state is not what there is. */
async function watcher(app: App, path: string, wrong: unknown[]): Promise<FunctionSocket> {
  const socket = await FunctionSocket.established(service, app.tenant);
  onTestFinished(() => socket.close());
  const ids = socket.queries(Array.from({length: ACCOUNTS}, (_, n) => ({path, args: {n}})));
  socket.onState = shown => {
    if (!ids.every(id => shown.has(id))) return;
    const sum = ids.reduce((total, id) => total + (socket.value(id) as number), 0);
    if (sum !== 100 * ACCOUNTS) wrong.push(ids.map(id => socket.value(id)));
  };
  return socket;
}

describe('every state that a client is shown has the right total', () => {
  test.each(firstOf(1, ['bank:slowBalance', 'bank:balance']))('while others transfer, by %s', async path => {
    const app = await newBank();
    const wrong: unknown[] = [];
    const [socket, writer] = [await watcher(app, path, wrong), await FunctionSocket.established(service, app.tenant)];
    onTestFinished(() => writer.close());
    await socket.until(() => socket.shown.size === ACCOUNTS);
    const before = socket.transitions.length;
    const sent = Array.from({length: 60}, (_, n) =>
      writer.sendMutation('bank:move', {from: n % ACCOUNTS, to: (n + 1) % ACCOUNTS, by: 1 + (n % 7)}),
    );
    await Promise.all(sent.map(id => writer.result(id)));
    const {ts} = (await writer.result(sent.at(-1)!)) as {ts: number};
    await socket.until(() => socket.version.ts >= ts || socket.transitions.length > before + 3);
    expect(wrong).toEqual([]);
    expect(socket.transitions.length).toBeGreaterThan(before);
  });

  test('and every state of a moment has all that was answered with that moment or an older one, a slow query beside a fast one', async () => {
    const app = await newBank();
    const [watching, ...writers] = await Promise.all(
      Array.from({length: 5}, () => FunctionSocket.established(service, app.tenant)),
    );
    onTestFinished(() => {
      for (const socket of [watching!, ...writers]) socket.close();
    });
    const [moves, slowMoves] = watching!.queries([{path: 'bank:moves'}, {path: 'bank:slowMoves'}]);
    /** The moment of each transfer, in the order of the moments. */
    const moments: number[] = [];
    const states: {ts: number; shown: unknown[]}[] = [];
    watching!.onState = (shown, {ts}) => {
      if (shown.has(moves!)) states.push({ts, shown: [moves!, slowMoves!].map(id => watching!.value(id))});
    };
    await watching!.until(() => watching!.shown.has(slowMoves!));
    const move = {from: 0, to: 1, by: 1};
    const sent = writers.map(writer => Array.from({length: 50}, () => writer.sendMutation('bank:move', move)));
    for (const [i, writer] of writers.entries()) {
      for (const id of sent[i]!) moments.push(((await writer.result(id)) as {ts: number}).ts);
    }
    await watching!.until(() => watching!.version.ts >= Math.max(...moments));
    for (const {ts, shown} of states) {
      const made = moments.filter(moment => moment <= ts).length;
      expect({ts, shown}).toEqual({ts, shown: [made, made]});
    }
    expect(states.at(-1)!.shown).toEqual([200, 200]);
  });

  test('and each transfer is made once, over deaths of workers', async () => {
    const app = await newBank();
    const client_id = FunctionSocket.newClient();
    const wrong: unknown[] = [];
    for (let n = 1; n <= 6; n++) {
      if (n % 2 === 0) process.kill(await service.workerOf(app.tenant), 'SIGKILL');
      await until('the transfer', async () => {
        try {
          const socket = await FunctionSocket.established(service, app.tenant, {client_id});
          onTestFinished(() => socket.close());
          const result = socket.result(socket.sendMutation('bank:move', {from: 0, to: 1, by: 1}, n, n));
          return (await result).ok;
        } catch {
          return false; // closed: the client comes again
        }
      });
    }
    const socket = await watcher(app, 'bank:balance', wrong);
    const moves = await socket.query('bank:moves');
    expect([socket.value(moves), wrong]).toEqual([6, []]);
  });
});

test('[70] a deploy is shown on the sockets that are open, and results that it leaves equal are not sent', async () => {
  const app = await newBank();
  const socket = await watcher(app, 'bank:balance', []);
  const version = await socket.query('bank:version');
  expect(socket.value(version)).toBe('one');
  const before = socket.transitions.length;
  await app.deploy(bank('two'));
  await socket.until(() => socket.value(version) === 'two');
  expect(socket.transitions.slice(before).flatMap(({changes}) => changes.map(({query_id}) => query_id))).toEqual([
    version,
  ]);
  await app.deploy({'bank.ts': bank('three')['bank.ts'].replace('export const version', 'const version')});
  await socket.until(() => 'error' in socket.shown.get(version)!);
  expect(socket.error(version)).toContain("Could not find public function for 'bank:version'");
});

test('when its router ends, a client comes back to what it was shown', async () => {
  const app = await newBank();
  const socket = await FunctionSocket.established(service, app.tenant);
  const query = await socket.query('bank:balance', {n: 0});
  const {timeline} = (await socket.helloOfServer()).session;
  for (const pid of service.children('router')) process.kill(pid, 'SIGKILL');
  await socket.closed;
  const again = await until('the next router', async () => {
    try {
      return await FunctionSocket.established(service, app.tenant, {seen: {timeline, ts: socket.version.ts}});
    } catch {
      return null; // nobody listens yet
    }
  });
  onTestFinished(() => again.close());
  again.queries([{path: 'bank:balance', args: {n: 0}, ...socket.known(query)}]);
  await again.until(() => again.transitions.length > 0);
  expect(again.transitions[0]!.changes).toMatchObject([{unchanged: true}]);
  expect(again.version.ts).toBeGreaterThanOrEqual(socket.version.ts);
});

test('a large result comes in pieces, a small change of it as a delta', async () => {
  const app = await App.deploy(service, {
    'big.ts': `
      import {v} from 'svc/values';
      import {mutation, query} from './_generated/server';
      export const put = mutation({args: {n: v.number(), chars: v.number()}, handler: async (ctx, {n, chars}) => {
        await ctx.db.insert('big' as never, {n, text: 'x'.repeat(chars)} as never);
      }});
      export const list = query({args: {}, handler: async ctx => (await ctx.db.query('big' as never).collect() as any[]).map(({n, text}) => ({n, text}))});`,
  });
  const socket = await FunctionSocket.established(service, app.tenant);
  onTestFinished(() => socket.close());
  for (let n = 0; n < 3; n++) await app.mutation('big:put', {n, chars: 200_000});
  const list = await socket.query('big:list');
  expect(socket.messages.filter(({type}) => type === 'transition_part').length).toBeGreaterThan(8);
  expect((socket.value(list) as unknown[]).length).toBe(3);
  await socket.mutation('big:put', {n: 3, chars: 10});
  expect(socket.deltas).toBe(1);
  expect((socket.value(list) as {n: number}[]).map(({n}) => n)).toEqual([0, 1, 2, 3]);
});

test('a client that comes after a write was acknowledged is shown it, while the query still runs for those before', async () => {
  const app = await newBank();
  const connect = async () => {
    const socket = await FunctionSocket.established(service, app.tenant);
    onTestFinished(() => socket.close());
    return socket;
  };
  const before = await connect();
  const [slow] = before.queries([{path: 'bank:slowest'}]);
  await before.until(() => before.shown.has(slow!));
  for (let n = 1; n <= 3; n++) {
    await app.mutation('bank:move', {from: 0, to: 1, by: 1});
    const after = await connect();
    const [same] = after.queries([{path: 'bank:slowest'}]);
    const firsts: unknown[] = [];
    after.onState = shown => {
      if (shown.has(same!)) firsts.push(after.value(same!));
    };
    await after.until(() => after.shown.has(same!));
    expect(firsts[0]).toBe(n);
  }
});
