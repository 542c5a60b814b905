/** What a service does from its start to its end: every state, every way out of it, by every policy. */
import {beforeAll, describe, expect, test} from 'vitest';
import type {ServiceRecord} from '../../../shared/protocol/services.ts';
import {nightly} from '../../harness/nightly.ts';
import {isAlive} from '../../harness/processes.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {Tenant} from '../../harness/tenant.ts';
import {until} from '../../harness/until.ts';
import {ServiceClient, serviceProcesses} from '../service-client.ts';

const service = await sharedService();
let tenant: Tenant;
let services: ServiceClient;
beforeAll(async () => {
  tenant = await Tenant.make(service);
  services = new ServiceClient(tenant);
});

/** Runs until its signal. */
const STAYS = `export default async (ctx, signal, log) => {
  log.info('here', process.pid);
  await new Promise(done => signal.addEventListener('abort', done));
  log.info('leaving');
};`;
const FAILS = 'export default async () => { throw new RangeError("no more"); };';
const RETURNS = 'export default async (ctx, signal, log) => { log.info("done"); };';
const DEAF = `export default async (ctx, signal, log) => {
  signal.addEventListener('abort', () => log.info('heard it'));
  await new Promise(() => setInterval(() => {}, 1_000));
};`;

describe('stopped → starting → running', () => {
  test('autostart: it runs without being asked to', async () => {
    const made = await services.inline('auto', STAYS);
    expect([made.state, made.desired_state]).toEqual(['starting', 'running']);
    const record = await services.is('auto', 'running');
    expect(record).toMatchObject({restarts: 0, last_exit: null, started_at: expect.any(Number)});
    expect(record.started_at).toBeGreaterThanOrEqual(made.created_at);
  });

  test('autostart false: it is started when somebody asks for it', async () => {
    const made = await services.inline('asked', STAYS, {autostart: false});
    expect([made.state, made.desired_state, made.started_at]).toEqual(['stopped', 'stopped', null]);
    const started = await services.act('asked', 'start');
    expect(started.desired_state).toBe('running');
    await services.is('asked', 'running');
    const again = await services.act('asked', 'start');
    expect(again.started_at).toBe((await services.get('asked')).started_at);
  });
});

describe('running → stopping → stopped', () => {
  test('stop: its signal says so, what it logs then is kept, and it is answered when it has stopped', async () => {
    await services.inline('stops', STAYS);
    await services.is('stops', 'running');
    const stopped = await services.act('stops', 'stop');
    expect(stopped).toMatchObject({
      state: 'stopped',
      desired_state: 'stopped',
      last_exit: {reason: 'stopped', message: null},
    });
    expect(await services.lines('stops')).toContain("'leaving'");
    expect((await services.act('stops', 'stop')).state).toBe('stopped');
  });

  nightly.test('one that does not end is `stopping`, until it is killed', async () => {
    await services.inline('deaf', DEAF);
    await services.is('deaf', 'running');
    const stopping = services.act('deaf', 'stop');
    await services.is('deaf', 'stopping');
    await services.says('deaf', "'heard it'");
    const {state, last_exit} = await stopping;
    expect([state, last_exit?.reason, last_exit?.message]).toEqual([
      'stopped',
      'stopped',
      expect.stringContaining('it was killed'),
    ]);
  });

  test('stop while it starts: nothing is left of it', async () => {
    await services.inline('early', STAYS);
    expect((await services.act('early', 'stop')).state).toBe('stopped');
    expect((await services.get('early')).desired_state).toBe('stopped');
  });
});

describe('it ends by itself', () => {
  test.each<[ServiceRecord['restart'], string, string, Partial<ServiceRecord>]>([
    ['never', 'returns', RETURNS, {state: 'stopped', desired_state: 'stopped'}],
    ['never', 'throws', FAILS, {state: 'failed', desired_state: 'running'}],
    ['on_failure', 'returns', RETURNS, {state: 'stopped', desired_state: 'stopped'}],
  ])('restart %s, it %s', async (restart, how, code, expected) => {
    const name = `${restart}-${how}`;
    await services.inline(name, code, {restart});
    const record = await services.is(name, expected.state!);
    expect(record).toMatchObject({...expected, restarts: 0});
    expect(record.last_exit?.reason).toBe(how === 'returns' ? 'returned' : 'threw');
  });

  test.each<[ServiceRecord['restart'], string, string]>([
    ['on_failure', 'throws', FAILS],
    ['always', 'throws', FAILS],
    ['always', 'returns', RETURNS],
  ])('restart %s, it %s: backoff → starting, again and again', async (restart, how, code) => {
    const name = `${restart}-${how}`;
    await services.inline(name, code, {restart});
    await services.is(name, 'backoff');
    const {last_exit, desired_state} = await services.untilIt(
      name,
      'it was started again',
      ({restarts}) => restarts >= 2,
    );
    expect([desired_state, last_exit?.reason]).toEqual(['running', how === 'returns' ? 'returned' : 'threw']);
    await services.is(name, 'backoff');
    expect((await services.act(name, 'stop')).state).toBe('stopped');
  });

  test.each([
    ['throws where nobody catches', 'setTimeout(() => { throw new Error("late"); })', 'threw', 'late'],
    ['leaves a promise that rejects', 'void Promise.reject(new Error("dropped"))', 'threw', 'dropped'],
    ['ends its process', 'process.exit(3)', 'crashed', 'exit code 3'],
    ['has no default export', null, 'threw', 'must have a default export'],
    [
      'takes more than its memory',
      'const all = []; for (;;) all.push(new Array(1e5).fill(0).map(Math.random))',
      'out_of_memory',
      'memory',
    ],
  ])('one that %s: last_exit says so', async (what, statement, reason, message) => {
    const name = what.replaceAll(' ', '-');
    const body = `export default async () => { ${statement}; await new Promise(() => setInterval(() => {}, 1e3)); };`;
    await services.inline(name, statement === null ? 'export const a = 1;' : body, {restart: 'never', memory_mb: 32});
    const {last_exit} = await services.is(name, 'failed');
    expect(last_exit).toEqual({
      at: expect.any(Number),
      reason,
      message: expect.stringContaining(message),
    });
  });

  test('failed → starting: somebody starts it', async () => {
    await services.inline('again', FAILS, {restart: 'never'});
    const {last_exit} = await services.is('again', 'failed');
    await services.act('again', 'start');
    const next = await services.untilIt('again', 'it failed anew', record => record.last_exit!.at > last_exit!.at);
    expect(next.restarts).toBe(0);
  });

  test('failed → stopped: somebody stops it', async () => {
    await services.inline('given-up', FAILS, {restart: 'never'});
    await services.is('given-up', 'failed');
    expect(await services.act('given-up', 'stop')).toMatchObject({state: 'stopped', desired_state: 'stopped'});
  });

  test('kill -9 of its process: it is started again, and there is one', async () => {
    await services.inline('killed', STAYS);
    await services.is('killed', 'running');
    const worker = await service.workerOf(tenant.id);
    await services.says('killed', "'here'");
    const [, pid] = /'here' (\d+)/.exec((await services.lines('killed')).join('\n'))!;
    expect(serviceProcesses(worker)).toContain(Number(pid));
    process.kill(Number(pid), 'SIGKILL');
    const record = await services.untilIt(
      'killed',
      'it runs again',
      ({state, restarts}) => state === 'running' && restarts === 1,
    );
    expect(record.last_exit).toMatchObject({reason: 'crashed', message: expect.stringContaining('SIGKILL')});
    expect(await service.workerOf(tenant.id)).toBe(worker);
    await until('the one that was killed is gone', () => !isAlive(Number(pid)));
  });
});

describe('restart and update', () => {
  test('restart: another process, the same definition', async () => {
    await services.inline('renewed', STAYS);
    const before = await services.is('renewed', 'running');
    await services.act('renewed', 'restart');
    const after = await services.untilIt(
      'renewed',
      'it runs anew',
      ({state, started_at}) => state === 'running' && started_at! > before.started_at!,
    );
    expect(after).toMatchObject({restarts: 0, last_exit: {reason: 'stopped'}});
    await until('both processes to have said that they are here', async () => {
      const said = (await services.lines('renewed')).filter(line => line.startsWith("'here'"));
      return new Set(said).size === 2;
    });
  });

  test('restart of a stopped one starts it', async () => {
    await services.inline('roused', STAYS, {autostart: false});
    expect((await services.act('roused', 'restart')).desired_state).toBe('running');
    await services.is('roused', 'running');
  });

  test('an update of one that runs restarts it with the new definition', async () => {
    await services.inline('updated', STAYS, {env: {WHO: 'a'}});
    await services.is('updated', 'running');
    const source = {type: 'inline', code: STAYS.replace("'here', process.pid", "'new', process.env.WHO")};
    await services.update('updated', {source, env: {WHO: 'b'}});
    await services.says('updated', "'new' 'b'");
    expect((await services.is('updated', 'running')).env).toEqual({WHO: 'b'});
  });

  test('an update of a stopped one leaves it stopped', async () => {
    await services.inline('resting', STAYS, {autostart: false});
    const updated = await services.update('resting', {source: {type: 'inline', code: RETURNS}});
    expect([updated.state, updated.desired_state]).toEqual(['stopped', 'stopped']);
  });

  test('delete of one that runs stops it first', async () => {
    await services.inline('deleted', STAYS);
    await services.is('deleted', 'running');
    const worker = await service.workerOf(tenant.id);
    await services.says('deleted', "'here'");
    const [, pid] = /'here' (\d+)/.exec((await services.lines('deleted')).join('\n'))!;
    expect((await tenant.request('DELETE', '/services/deleted')).status).toBe(204);
    expect(serviceProcesses(worker)).not.toContain(Number(pid));
  });
});

test('the metrics tell how many are in which state, what they take, and why their processes ended', async () => {
  const own = new ServiceClient(await Tenant.make(service));
  await own.inline('counted', STAYS);
  await own.is('counted', 'running');
  await own.inline('failing', FAILS, {restart: 'never'});
  await own.is('failing', 'failed');
  const {text} = await service.get('/metrics');
  const sumOf = (name: string) =>
    text
      .split('\n')
      .filter(line => line.startsWith(name))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  expect(sumOf('svc_services{state="running"')).toBeGreaterThanOrEqual(1);
  expect(sumOf('svc_services{state="failed"')).toBeGreaterThanOrEqual(1);
  expect(sumOf('svc_service_exits_total{reason="threw"')).toBeGreaterThanOrEqual(1);
  expect(sumOf('svc_service_bytes')).toBeGreaterThan(1024 * 1024);
});
