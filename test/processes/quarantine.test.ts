/** Calls that are under way when their worker ends, on a real service: the tenant goes on. */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {QUARANTINE_MS_MIN} from '../../shared/limits.ts';
import {CRASHES_BEFORE_COOL_DOWN} from '../../supervisor/limits.ts';
import {App} from '../functions/app.ts';
import {nightly} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {RoutedClient, routersOf} from '../harness/routed.ts';
import {type Reply, Service} from '../harness/service.ts';
import {expectError} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const FILES = {
  'calls.ts': `
    import {v} from 'svc/values';
    import {api} from './_generated/api';
    import {action, mutation, query} from './_generated/server';
    export const begin = mutation({args: {name: v.string()}, handler: async (ctx, {name}) => {
      await ctx.db.insert('begun' as never, {name} as never);
    }});
    export const begun = query({args: {name: v.string()}, handler: async (ctx, {name}) =>
      ((await ctx.db.query('begun' as never).collect()) as any[]).filter(row => row.name === name).length});
    export const hang = action({args: {name: v.string(), which: v.string()}, handler: async (ctx, {name}) => {
      await ctx.runMutation(api.calls.begin, {name});
      await new Promise(() => setTimeout(() => undefined, 600_000));
    }});
    export const echo = action({args: {which: v.string()}, handler: async (_, {which}) => which});`,
};

let service: Service;
beforeAll(async () => {
  service = await Service.start({spares: 1});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

let calls = 0;

type Args = {name: string; which: string};
const callOf = (args: Args) => ({path: 'calls:hang', args});

/** Calls `hang`, ends the worker while it runs, and returns the answer to the caller. */
function dieDuring(app: App, args: Args): Promise<Reply> {
  return dieWhile(app, args, () => app.svc('POST', '/action', callOf(args)));
}

/** @param call calls `hang` with these arguments, in whatever way */
async function dieWhile<Told>(app: App, args: Args, call: () => Promise<Told>): Promise<Told> {
  const {service} = app;
  const times = async () => (await app.query('calls:begun', {name: args.name})) as number;
  const before = await times();
  const reply = call();
  await until('the call to have begun', async () => (await times()) > before);
  const worker = await service.workerOf(app.tenant);
  process.kill(worker, 'SIGKILL');
  await until('its end', () => !isAlive(worker));
  const told = await reply;
  // The tenant answers at once: such a death does not rest it.
  await until('the tenant', async () => (await app.admin('GET', '/documents/begun')).status === 200);
  return told;
}

describe('an action under way in two deaths of its worker', () => {
  test('is refused with op.quarantined and Retry-After; other calls and the native API go on', async () => {
    const app = await App.deploy(service, FILES);
    const args = {name: 'same', which: 'bomb'};
    expectError(await dieDuring(app, args), 503, 'session.outcome_unknown');
    expectError(await dieDuring(app, args), 503, 'session.outcome_unknown');
    const refused = await app.svc('POST', '/action', {path: 'calls:hang', args});
    expectError(refused, 503, 'op.quarantined');
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(QUARANTINE_MS_MIN / 1_000);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1);
    expect(await app.action('calls:echo', {which: 'fine'})).toBe('fine');
    expect((await app.admin('GET', '/documents/begun')).status).toBe(200);
    expect((await service.get('/metrics')).text).toMatch(/^svc_quarantined_calls_total 1$/m);
  });
});

nightly.describe('an anonymous caller with ever new arguments', () => {
  test('never switches the tenant off: these deaths do not rest it', {timeout: 180_000}, async () => {
    const app = await App.deploy(service, FILES);
    for (let crashes = 0; crashes <= CRASHES_BEFORE_COOL_DOWN; crashes++) {
      const args = {name: `call ${++calls}`, which: 'any'};
      expectError(await dieDuring(app, args), 503, 'session.outcome_unknown');
    }
    expect(await app.action('calls:echo', {which: 'fine'})).toBe('fine');
  });
});

nightly.describe('with two routers', () => {
  test('deaths are judged over both: what ended workers through one and the other is refused by each', async () => {
    const two = await Service.start({spares: 1, args: ['--routers', '2']});
    try {
      const app = await App.deploy(two, FILES);
      const args = {name: 'same', which: 'bomb'};
      const clients: RoutedClient[] = [];
      for (const router of await routersOf(two, 2)) clients.push(await RoutedClient.of(two, router));
      const call = (client: RoutedClient) => client.request('POST', `/svc/${app.tenant}/action`, callOf(args));
      for (const client of clients) expect((await dieWhile(app, args, () => call(client))).status).toBe(503);
      for (const client of clients) expect((await call(client)).text).toContain('op.quarantined');
      // A router that is replaced knows it, too.
      const [first] = await routersOf(two, 2);
      process.kill(first!, 'SIGKILL');
      await until(
        'another router',
        () => !two.children('router').includes(first!) && two.children('router').length === 2,
      );
      const replaced = await RoutedClient.of(two, two.children('router').at(-1)!);
      expect((await call(replaced)).text).toContain('op.quarantined');
      expect(await app.action('calls:echo', {which: 'fine'})).toBe('fine');
      for (const client of [...clients, replaced]) client.close();
    } finally {
      await two.stop();
    }
  });
});

nightly.describe('large bodies of anonymous callers to actions that wait', () => {
  test('are bounded by bytes for their tenant, the router lets go of them, and other tenants go on', async () => {
    const [app, other] = [await App.deploy(service, FILES), await App.deploy(service, FILES)];
    const which = 'x'.repeat(8_000_000);
    // A refused client that is still sending after DROPPED_BODY_MS, on a busy machine, has its connection closed.
    const answers = Array.from({length: 24}, (_, i) =>
      app
        .svc('POST', '/action', {path: 'calls:hang', args: {name: `wait ${i}`, which}})
        .catch((error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? null : Promise.reject(error))),
    );
    const refused = await Promise.race(answers);
    if (refused !== null) expectError(refused, 503, 'session.overloaded');
    const held = await until('the router to let go of what it sent', async () => {
      const {text} = await service.get('/metrics');
      const [, bytes] = /^svc_router_held_bytes (\d+)$/m.exec(text) ?? [];
      return Number(bytes) < 20_000_000 && text;
    });
    const inFlight = Number(/^svc_ipc_in_flight_bytes (\d+)$/m.exec(held)?.[1]);
    expect(inFlight).toBeGreaterThan(which.length);
    expect(inFlight).toBeLessThanOrEqual(128 * 1024 * 1024);
    expect(await other.action('calls:echo', {which: 'fine'})).toBe('fine');
    expect((await app.admin('GET', '/documents/begun')).status).toBe(200);
    process.kill(await service.workerOf(app.tenant), 'SIGKILL');
    const outcomes = (await Promise.all(answers)).flatMap(reply => reply?.status ?? []);
    expect(new Set(outcomes)).toEqual(new Set([503]));
  });
});
