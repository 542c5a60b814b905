/**
 * What is left of services when a process ends at any point of their lives: what was asked for is wanted, what is wanted runs,
 * once, and no process is left over.
 */
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {nightly} from '../../harness/nightly.ts';
import {isAlive} from '../../harness/processes.ts';
import {Service} from '../../harness/service.ts';
import {Tenant} from '../../harness/tenant.ts';
import {until} from '../../harness/until.ts';
import {NODE_VERSION, ServiceClient, serviceProcesses} from '../service-client.ts';

/** Of the tests that need no options. */
let shared: Service;
let service: Service;
let tenants: Tenant[] = [];
beforeAll(async () => {
  shared = await Service.start();
});
afterAll(() => shared.stop());
beforeEach(() => {
  service = shared;
});
afterEach(async () => {
  if (service !== shared) await service.stop();
  else for (const {id} of tenants) await service.request('DELETE', `/api/tenants/${id}`);
  tenants = [];
});

const STAYS = `export default async (ctx, signal, log) => {
  log.info('here');
  await new Promise(done => signal.addEventListener('abort', done));
};`;
/** Does not end on request, and logs the request. */
const DEAF = `export default async (ctx, signal, log) => {
  signal.addEventListener('abort', () => log.info('heard it'));
  await new Promise(() => setInterval(() => {}, 1_000));
};`;
/** Its code never comes to an end of loading. */
const LOADS = 'await new Promise(() => setInterval(() => {}, 1_000)); export default () => {};';
const FAILS = 'export default async () => { throw new Error("no"); };';

async function start(args: string[] = []): Promise<{tenant: Tenant; services: ServiceClient}> {
  if (args.length > 0) service = await Service.start({args});
  const tenant = await Tenant.make(service);
  tenants.push(tenant);
  return {tenant, services: new ServiceClient(tenant)};
}

/** Each ends processes of the tenant, and resolves when nothing of what they had started is left. */
const ENDS: [string, (tenant: Tenant) => Promise<void>][] = [
  [
    'kill -9 of the worker',
    async tenant => {
      const worker = await service.workerOf(tenant.id);
      const left = serviceProcesses(worker);
      process.kill(worker, 'SIGKILL');
      await until('the worker to be gone', () => !isAlive(worker));
      await until('its services to be gone', () => !left.some(isAlive));
    },
  ],
  [
    'kill -9 of every process of the server',
    async tenant => {
      const left = serviceProcesses(await service.workerOf(tenant.id));
      await service.killAll();
      await until('its services to be gone', () => !left.some(isAlive));
      await service.run();
    },
  ],
  [
    'an orderly restart',
    async tenant => {
      const left = serviceProcesses(await service.workerOf(tenant.id));
      await service.end('SIGTERM');
      expect(left.filter(isAlive)).toEqual([]);
      await service.run();
    },
  ],
];

/** The worker that the tenant has by itself: nobody asks for it here. */
async function nextWorker(tenant: Tenant, before: number): Promise<number> {
  return await until('the tenant to be awake again by itself', () => {
    const owner = service.ownerOf(tenant.id);
    return owner === null || owner === before ? null : owner;
  });
}

describe.each(ENDS)('%s', (name, end) => {
  /** A commit runs all states with the first end, and some with each. */
  const later = name === ENDS[0]![0] ? test : nightly.test;

  test('running → running, without anybody asking, and there is one', async () => {
    const {tenant, services} = await start();
    await services.inline('it', STAYS, {restart: 'never', env: {A: 'b'}});
    const before = await services.is('it', 'running');
    const worker = await service.workerOf(tenant.id);
    expect(serviceProcesses(worker)).toHaveLength(1);
    await end(tenant);
    const next = await nextWorker(tenant, worker);
    await until('its service to run again', () => serviceProcesses(next).length === 1);
    const {started_at, last_exit, ...rest} = await services.is('it', 'running');
    expect(rest).toEqual((({started_at: _s, last_exit: _l, ...kept}) => kept)(before));
    expect(started_at!).toBeGreaterThan(before.started_at!);
    expect(serviceProcesses(next)).toHaveLength(1);
    await services.says('it', "'here'");
    expect(last_exit?.reason ?? 'stopped').toBe('stopped');
  });

  later('starting, its code being loaded → starting; then it is stopped', async () => {
    const {tenant, services} = await start();
    await services.inline('it', LOADS);
    const worker = await service.workerOf(tenant.id);
    await until('its process', () => serviceProcesses(worker).length === 1);
    expect((await services.get('it')).state).toBe('starting');
    await end(tenant);
    const next = await nextWorker(tenant, worker);
    await until('its process, again', () => serviceProcesses(next).length === 1);
    expect(await services.act('it', 'stop')).toMatchObject({state: 'stopped', desired_state: 'stopped'});
    expect(serviceProcesses(next)).toEqual([]);
  });

  later('stopping → stopped: what was asked for is on disk before anything is done', async () => {
    const {tenant, services} = await start();
    await services.inline('it', DEAF);
    await services.is('it', 'running');
    // Its connection may break.
    const stopping = tenant.request('POST', '/services/it/stop').catch(() => undefined);
    await services.says('it', 'heard it');
    await end(tenant);
    await stopping;
    expect(await services.get('it')).toMatchObject({state: 'stopped', desired_state: 'stopped'});
    expect(serviceProcesses(await service.workerOf(tenant.id))).toEqual([]);
  });

  later('an update under way → the definition before or the new one, whole, and it runs once', async () => {
    const {tenant, services} = await start();
    await services.inline('it', STAYS, {env: {WHO: 'a'}});
    await services.is('it', 'running');
    const worker = await service.workerOf(tenant.id);
    const body = {
      source: {type: 'inline', code: STAYS.replace("'here'", "'new'")},
      env: {WHO: 'b'},
      node_version: NODE_VERSION,
    };
    const updating = tenant.request('PUT', '/services/it', body).catch(() => null);
    await services.untilIt('it', 'the update is known', ({env}) => env.WHO === 'b').catch(() => undefined);
    await end(tenant);
    const reply = await updating;
    const next = await nextWorker(tenant, worker);
    await until('its service to run again', () => serviceProcesses(next).length === 1);
    const {env, source} = await services.is('it', 'running');
    const isNew = env.WHO === 'b';
    if (reply?.status === 200) expect(isNew).toBe(true);
    expect(source).toEqual({type: 'inline', code: isNew ? body.source.code : STAYS});
    await services.says('it', isNew ? "'new'" : "'here'");
    expect(serviceProcesses(next)).toHaveLength(1);
  });

  later('a delete under way → gone, or stopped for good: nothing of it runs', async () => {
    const {tenant, services} = await start();
    await services.inline('it', DEAF);
    await services.is('it', 'running');
    const deleting = tenant.request('DELETE', '/services/it').catch(() => null);
    await services.says('it', 'heard it');
    await end(tenant);
    await deleting;
    const {services: left}: {services: {state: string; desired_state: string}[]} = (
      await tenant.request('GET', '/services')
    ).body;
    expect(left.filter(({state, desired_state}) => state !== 'stopped' || desired_state !== 'stopped')).toEqual([]);
    expect(serviceProcesses(await service.workerOf(tenant.id))).toEqual([]);
  });

  later('backoff → it is tried again', async () => {
    const {tenant, services} = await start();
    await services.inline('it', FAILS);
    await services.is('it', 'backoff');
    const worker = await service.workerOf(tenant.id);
    const before = await services.get('it');
    await end(tenant);
    await nextWorker(tenant, worker);
    const after = await services.untilIt(
      'it',
      'it failed again',
      ({last_exit}) => (last_exit?.at ?? 0) > before.last_exit!.at,
    );
    expect(after.desired_state).toBe('running');
  });

  later('stopped and failed stay what they are', async () => {
    const {tenant, services} = await start();
    await services.inline('failed', FAILS, {restart: 'never'});
    await services.inline('stopped', STAYS);
    await services.is('failed', 'failed');
    await services.act('stopped', 'stop');
    // What a service does by itself is on disk a moment later: with the next write of the tenant.
    await tenant.insert('t', {});
    const before = [await services.get('failed'), await services.get('stopped')];
    await end(tenant);
    expect([await services.get('failed'), await services.get('stopped')]).toEqual(before);
    expect(serviceProcesses(await service.workerOf(tenant.id))).toEqual([]);
  });

  later('deleted: nothing of it comes back', async () => {
    const {tenant, services} = await start();
    await services.inline('it', STAYS);
    await services.is('it', 'running');
    await tenant.request('DELETE', '/services/it');
    await end(tenant);
    expect((await tenant.request('GET', '/services')).body).toEqual({services: []});
    expect(serviceProcesses(await service.workerOf(tenant.id))).toEqual([]);
  });
});

test('a tenant with a service that runs does not fall asleep; one with stopped services does', async () => {
  const {tenant, services} = await start(['--idle-stop', '300ms']);
  await services.inline('it', STAYS);
  await services.is('it', 'running');
  const idle = await Tenant.make(service);
  await idle.insert('t', {});
  await service.asleep(idle.id);
  expect(service.ownerOf(tenant.id)).not.toBeNull();
  await services.act('it', 'stop');
  await service.asleep(tenant.id);
});

nightly.test('a tenant whose place others need comes back by itself, and its service with it', async () => {
  const {tenant, services} = await start(['--max-awake', '1']);
  await services.inline('it', STAYS);
  await services.is('it', 'running');
  const worker = await service.workerOf(tenant.id);
  const other = await Tenant.make(service);
  await other.insert('t', {});
  expect(isAlive(worker)).toBe(false);
  const next = await nextWorker(tenant, worker);
  await until('its service to run again', () => serviceProcesses(next).length === 1);
});

test('a tenant that is deleted takes its services with it', async () => {
  const {tenant, services} = await start();
  await services.inline('it', DEAF);
  await services.is('it', 'running');
  const [pid] = serviceProcesses(await service.workerOf(tenant.id));
  expect((await service.request('DELETE', `/api/tenants/${tenant.id}`)).status).toBe(204);
  await until('its service to be gone', () => !isAlive(pid!));
});
