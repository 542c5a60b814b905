/** The run directory is taken away while the server runs, as whatever tidies temporary folders does. */
import {chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {firstOf} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {passedMode} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let base: string;
let service: Service;
let awake: Tenant;
let asleep: Tenant;
let run: string;
beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'run-'));
  chmodSync(base, 0o711);
  service = await Service.start({spares: 1, env: {XDG_RUNTIME_DIR: base}});
  service.showLogOnFailure();
  awake = await Tenant.make(service);
  asleep = await Tenant.make(service);
  await awake.insert('t', {n: 1});
  run = join(base, readdirSync(base)[0]!);
});
afterEach(async () => {
  await service.stop();
  rmSync(base, {recursive: true});
});

const sockets = (directory: string) => readdirSync(directory).filter(name => /^w\d+$/.test(name));

async function expectServed(): Promise<void> {
  const worker = await service.workerOf(awake.id);
  expect(await awake.list('t')).toMatchObject([{n: 1}]);
  await asleep.insert('t', {n: 1});
  expect(await service.workerOf(awake.id)).toBe(worker);
}

test('it is made again, for its owner alone: a tenant that sleeps is woken, and one that is awake is served', async () => {
  rmSync(run, {recursive: true});
  await expectServed();
  expect((statSync(run).mode & 0o777).toString(8)).toBe(passedMode(service));
  expect(service.log).toContain('the run directory was removed; it is made again');
});

test('a router that starts then finds the workers that are awake', async () => {
  const worker = await service.workerOf(awake.id);
  rmSync(run, {recursive: true});
  await until('the worker to listen again', () => {
    return service.log.includes('the socket of a worker was removed; it listens on a new one');
  });
  expect(sockets(run)).toHaveLength(1);
  const [router] = service.children('router');
  process.kill(router!, 'SIGKILL');
  await until('its end', () => !isAlive(router!));
  await until('another router', async () => (await service.get('/health').catch(() => null))?.status === 200);
  expect(await awake.list('t')).toMatchObject([{n: 1}]);
  expect(await service.workerOf(awake.id)).toBe(worker);
  expect((await awake.request('POST', '/documents', {table: 't', fields: {n: 2}})).status).toBe(201);
});

test('an operator who makes it as narrow as our own directories are: workers reach their sockets again', async () => {
  rmSync(run, {recursive: true});
  mkdirSync(run, {mode: 0o700});
  await until('workers to get through', () => (statSync(run).mode & 0o777).toString(8) === passedMode(service));
  await expectServed();
});

test('only its sockets are removed: the same', async () => {
  for (const name of sockets(run)) rmSync(join(run, name), {recursive: true});
  await expectServed();
  await until('sockets of both', () => sockets(run).length === 2);
});

describe('and something else has its name', () => {
  test.each<[string, () => void]>(
    firstOf(1, [
      ['a directory that others may enter', () => mkdirSync(run, {mode: 0o755})],
      ['a file', () => writeFileSync(run, '')],
    ]),
  )('%s: sockets lie in another directory, and what has the name is left alone', async (_, take) => {
    renameSync(run, join(base, 'elsewhere'));
    take();
    const others = new Set(mine());
    await expectServed();
    const [made] = mine().filter(name => !others.has(name));
    expect((statSync(join(tmpdir(), made!)).mode & 0o777).toString(8)).toBe(passedMode(service));
    await service.end('SIGTERM');
    expect(statSync(run).mode & 0o055).not.toBe(0);
    expect(mine()).toEqual([...others]);
  });

  const mine = () => readdirSync(tmpdir()).filter(name => name.startsWith(`svc-${service.pid}-`));
});

test('spares rehearse in it', async () => {
  await service.end('SIGTERM');
  await service.run(['--log-level', 'debug', '--spare-workers', '1']);
  await service.spareIsReady();
  const directory = join(base, readdirSync(base)[0]!, 'rehearsal');
  const files = ['owner.lock', 'tenant.sqlite', 'tenant.sqlite-shm', 'tenant.sqlite-wal'];
  expect(readdirSync(directory).sort()).toEqual(files);
  expect(service.log).not.toContain('a warm-up failed');
});
