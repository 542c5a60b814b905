/**
 * What is left of sandboxes and sessions when a process ends at any point of their lives: what was acknowledged is there, no
 * sandbox is found empty, and no process is left over.
 */
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {nightly, rounds} from '../harness/nightly.ts';
import {childrenOf, isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {
  execute,
  executeIn,
  newSandbox,
  openSession,
  RUNTIMES,
  type Runtime,
  type Sandbox,
  sandboxOf,
  sessionOf,
} from './sandbox-client.ts';

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

/** Processes of sandboxes: what a worker of documents has started. */
function sandboxProcesses(of: number): number[] {
  return childrenOf(of).filter(isAlive);
}

async function start(): Promise<Tenant> {
  const tenant = await Tenant.make(service);
  tenants.push(tenant);
  return tenant;
}

/** Each ends a process of the tenant, and resolves when what it served is served again. */
const ENDS: [string, (tenant: Tenant) => Promise<void>][] = [
  [
    'kill -9 of the worker',
    async tenant => {
      const worker = await service.workerOf(tenant.id);
      const [host] = sandboxProcesses(worker);
      process.kill(worker, 'SIGKILL');
      await until('the worker to be gone', () => !isAlive(worker));
      if (host !== undefined) await until('no process of sandboxes is left over', () => !isAlive(host));
    },
  ],
  [
    'kill -9 of every process of the server',
    async () => {
      await service.killAll();
      await service.run();
    },
  ],
  [
    'an orderly restart',
    async () => {
      await service.end('SIGTERM');
      await service.run();
    },
  ],
];

describe.each(ENDS)('%s', (name, end) => {
  const isFirst = name === ENDS[0]![0];
  /** A commit runs all states with the first end, and the ones that run with each. */
  const later = isFirst ? test : nightly.test;
  const all = Object.keys(RUNTIMES) as Runtime[];
  const runtimes = rounds<Runtime[]>({commit: isFirst ? ['node'] : [], nightly: all});
  test.each(rounds<Runtime[]>({commit: isFirst ? all : ['isolate'], nightly: all}))(
    '%s: running → failed, with what it held gone and not another one in its place',
    async runtime => {
      const tenant = await start();
      const made = await newSandbox(tenant, {...RUNTIMES[runtime], env: {A: 'b'}});
      await execute(tenant, made.id, {code: 'globalThis.n = 1'});
      const left = sandboxProcesses(await service.workerOf(tenant.id));
      expect(left.length).toBeGreaterThan(0);
      await end(tenant);
      await until('no process of it is left over', () => !left.some(isAlive));
      const {state, error, ended_at, ...rest} = await sandboxOf(tenant, made.id);
      expect(rest).toEqual((({state: _s, error: _e, ended_at: _a, ...kept}) => kept)(made));
      expect([state, error, ended_at]).toEqual(['failed', expect.stringContaining('its worker'), expect.any(Number)]);
      const reply = await tenant.request('POST', `/sandboxes/${made.id}/execute`, {code: 'return typeof n'});
      expect(expectError(reply, 409, 'op.conflict').detail).toEqual({state: 'failed'});
    },
  );

  later('stopped, closed: they stay what was acknowledged', async () => {
    const tenant = await start();
    const sandbox = await newSandbox(tenant);
    const session = await openSession(service, {tenant: tenant.id});
    await executeIn(service, session.id, {code: 'return 1'});
    const {sandbox_id} = await sessionOf(service, session.id);
    await tenant.request('POST', `/sandboxes/${sandbox.id}/stop`);
    await service.post(`/api/sessions/${session.id}/close`);
    const before = [
      await sandboxOf(tenant, sandbox.id),
      await sandboxOf(tenant, sandbox_id!),
      await sessionOf(service, session.id),
    ];
    await end(tenant);
    const after = [
      await sandboxOf(tenant, sandbox.id),
      await sandboxOf(tenant, sandbox_id!),
      await sessionOf(service, session.id),
    ];
    expect(after).toEqual(before);
    expect(after.map(({state}) => state)).toEqual(['stopped', 'stopped', 'closed']);
  });

  later('an open session stays open; its sandbox has failed', async () => {
    const tenant = await start();
    const unused = await openSession(service, {tenant: tenant.id, metadata: {a: 1}, ttl_ms: 600_000});
    const used = await openSession(service, {tenant: tenant.id, ttl_ms: 600_000});
    await executeIn(service, used.id, {code: 'globalThis.n = 1'});
    await end(tenant);
    expect(await sessionOf(service, unused.id)).toEqual(unused);
    expect((await sessionOf(service, used.id)).state).toBe('open');
    expect((await executeIn(service, unused.id, {code: 'return 1'})).value).toBe(1);
    const reply = await service.post(`/api/sessions/${used.id}/execute`, {code: 'return typeof n'});
    expect(expectError(reply, 409, 'op.conflict').message).toContain('is failed');
  });

  test.each(runtimes)('%s: being made → not there, or failed: never one that runs', async runtime => {
    const tenant = await start();
    await tenant.insert('t', {}); // It is awake.
    const worker = await service.workerOf(tenant.id);
    const made = tenant.request('POST', '/sandboxes', {...RUNTIMES[runtime]}).catch(() => null);
    await until('its process is being started', () => sandboxProcesses(worker).length > 0);
    const left = sandboxProcesses(worker);
    await end(tenant);
    await made;
    await until('no process of it is left over', () => !left.some(isAlive));
    const {sandboxes}: {sandboxes: Sandbox[]} = (await tenant.request('GET', '/sandboxes')).body;
    expect(sandboxes.map(({state}) => state).filter(state => state !== 'failed')).toEqual([]);
  });

  test.each(runtimes)('%s: executing → failed, and its caller gets an error', async runtime => {
    const tenant = await start();
    const {id} = await newSandbox(tenant, {...RUNTIMES[runtime], cpu_ms: 30_000, network: true});
    await execute(tenant, id, {code: 'return 1'});
    const code = 'await new Promise(done => setTimeout(done, 20_000))';
    const running = tenant.request('POST', `/sandboxes/${id}/execute`, {code}).catch(() => null);
    const waiting = tenant.request('POST', `/sandboxes/${id}/execute`, {code}).catch(() => null);
    await execute(tenant, (await newSandbox(tenant)).id, {code: 'return 1'});
    await end(tenant);
    for (const reply of [await running, await waiting]) {
      if (reply !== null) expect([409, 422, 503]).toContain(reply.status);
    }
    expect((await sandboxOf(tenant, id)).state).toBe('failed');
  });

  test.each(runtimes)('%s: being stopped → stopped or failed, and what was acknowledged stays', async runtime => {
    const tenant = await start();
    const {id} = await newSandbox(tenant, {...RUNTIMES[runtime]});
    const stopping = tenant.request('POST', `/sandboxes/${id}/stop`).catch(() => null);
    await end(tenant);
    const reply = await stopping;
    const {state} = await sandboxOf(tenant, id);
    expect(['stopped', 'failed']).toContain(state);
    if (reply?.status === 200) expect(state).toBe((reply.body as {sandbox: Sandbox}).sandbox.state);
  });

  later('a lease that ended meanwhile has expired', async () => {
    const tenant = await start();
    const {id, expires_at} = await openSession(service, {tenant: tenant.id, ttl_ms: 1_000});
    await end(tenant);
    await until('its time is over', () => Date.now() > expires_at);
    expect((await sessionOf(service, id)).state).toBe('expired');
  });
});

test('kill -9 of the process of the sandboxes: all of them fail, running executions get an error, and the tenant serves on', async () => {
  const tenant = await start();
  const [a, b] = [await newSandbox(tenant), await newSandbox(tenant, {cpu_ms: 30_000})];
  const worker = await service.workerOf(tenant.id);
  const [host] = sandboxProcesses(worker);
  const running = tenant.request('POST', `/sandboxes/${b.id}/execute`, {code: 'for (;;);'});
  // Its code runs when an execution that was asked for later waits for it.
  await execute(tenant, a.id, {code: 'return 1'});
  process.kill(host!, 'SIGKILL');
  const error = expectError(await running, 422, 'sandbox.execution_failed');
  expect(error.detail).toMatchObject({reason: 'ended', state: 'failed'});
  for (const {id} of [a, b]) expect((await sandboxOf(tenant, id)).state).toBe('failed');
  expect(await service.workerOf(tenant.id)).toBe(worker);
  await tenant.insert('t', {a: 1});
  const {id} = await newSandbox(tenant);
  expect((await execute(tenant, id, {code: 'return 1'})).value).toBe(1);
});

test('kill -9 of the worker under many creations: what was acknowledged is there, and all that runs is what a new one made', async () => {
  const tenant = await start();
  const acknowledged: string[] = [];
  const creations = Array.from({length: 24}, async () => {
    const reply = await tenant.request('POST', '/sandboxes', {memory_mb: 8});
    const {sandbox}: {sandbox?: Sandbox} = reply.body;
    if (reply.status === 201) acknowledged.push(sandbox!.id);
    else expect(reply.status).toBe(503);
  });
  await until('some are there', () => acknowledged.length > 3);
  const worker = await service.workerOf(tenant.id);
  process.kill(worker, 'SIGKILL');
  await Promise.all(creations);
  const {sandboxes}: {sandboxes: Sandbox[]} = (await tenant.request('GET', '/sandboxes')).body;
  const states = new Map(sandboxes.map(({id, state}) => [id, state]));
  expect(acknowledged.filter(id => !states.has(id))).toEqual([]);
  for (const [id, state] of states) {
    const {status} = await tenant.request('POST', `/sandboxes/${id}/execute`, {code: 'return 1'});
    expect([state, status]).toEqual(state === 'running' ? ['running', 200] : ['failed', 409]);
  }
});

test('a tenant with a sandbox that runs or a session that is open does not fall asleep', async () => {
  service = await Service.start({args: ['--idle-stop', '300ms']});
  const [busy, leased, idle] = [await Tenant.make(service), await Tenant.make(service), await Tenant.make(service)];
  const {id} = await newSandbox(busy);
  await execute(busy, id, {code: 'globalThis.n = 1'});
  const session = await openSession(service, {tenant: leased.id});
  await idle.insert('t', {});
  await service.asleep(idle.id);
  await until('others had the time to', async () => {
    await idle.insert('t', {});
    await service.asleep(idle.id);
    return true;
  });
  expect(service.ownerOf(busy.id)).not.toBeNull();
  expect(service.ownerOf(leased.id)).not.toBeNull();
  expect((await execute(busy, id, {code: 'return n'})).value).toBe(1);
  await busy.request('POST', `/sandboxes/${id}/stop`);
  await service.post(`/api/sessions/${session.id}/close`);
  await service.asleep(busy.id);
  await service.asleep(leased.id);
});
