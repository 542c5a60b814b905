/** A server on which tenants have users of their own, over its starts. Skipped by name where the machine does not give them. */
import {spawn, spawnSync} from 'node:child_process';
import {chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {startOrRefusal} from '../harness/data-directory.ts';
import {nightly} from '../harness/nightly.ts';
import {isAlive, userOf} from '../harness/processes.ts';
import {missingLayer, runDirectoryOf} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start({spares: 1});
});
beforeEach(async ({skip}) => {
  if (!isAlive(service.pid)) await service.run();
  service.showLogOnFailure();
  const missing = missingLayer(service, 'users');
  skip(missing !== null, `no wall "users" on this machine: ${missing}`);
  tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
});
afterAll(() => service.stop());

const owner = (path: string) => statSync(path).uid;
const ownersIn = (directory: string) => new Set(readdirSync(directory).map(name => owner(join(directory, name))));

/** A process that code in the tenant's worker started, and that does not end with it. It is of the tenant's user when it is given. */
async function leftBehind(directory: string, command = ['sleep', '1000']): Promise<number> {
  const id = owner(directory);
  const args = [`--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--', ...command];
  const child = spawn('setpriv', args, {detached: true, stdio: 'ignore'});
  child.unref();
  await until('its user, or its end', () => !isAlive(child.pid!) || userOf(child.pid!) === id);
  return child.pid!;
}

test("a worker and all files of its tenant are one user, who is no other tenant's", async () => {
  const directory = service.directoryOf(tenant.id)!;
  expect(userOf(await service.workerOf(tenant.id))).toBe(owner(directory));
  expect(ownersIn(directory)).toEqual(new Set([owner(directory)]));
  const other = await Tenant.make(service);
  await other.insert('t', {n: 1});
  expect(owner(service.directoryOf(other.id)!)).not.toBe(owner(directory));
  expect(userOf(service.pid)).toBe(0);
});

test('a tenant keeps its user over a restart, and one that was killed', async () => {
  const before = owner(service.directoryOf(tenant.id)!);
  await service.end('SIGTERM');
  await service.run();
  expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  await service.killAll();
  await service.run();
  expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  expect(owner(service.directoryOf(tenant.id)!)).toBe(before);
});

test('tenants of a server that gave none get them, and lose them again with --worker-users none', async () => {
  await service.end('SIGTERM');
  await service.run(['--worker-users', 'none']);
  expect(missingLayer(service, 'users')).toBe('it is switched off (--worker-users none)');
  await tenant.insert('t', {n: 2});
  const directory = service.directoryOf(tenant.id)!;
  expect(userOf(await service.workerOf(tenant.id))).toBe(0);
  expect(new Set([owner(directory), ...ownersIn(directory)])).toEqual(new Set([0]));
  await service.end('SIGTERM');
  await service.run();
  await tenant.insert('t', {n: 3});
  expect(owner(directory)).toBeGreaterThan(1_000_000);
  expect(ownersIn(directory)).toEqual(new Set([owner(directory)]));
  expect(await tenant.list('t')).toHaveLength(3);
});

test("a file that root put back is the tenant's when it is opened", async () => {
  await service.end('SIGTERM');
  const file = join(service.directoryOf(tenant.id)!, 'tenant.sqlite');
  chownSync(file, 0, 0);
  await service.run();
  await tenant.insert('t', {n: 2});
  expect(owner(file)).toBe(owner(service.directoryOf(tenant.id)!));
});

nightly.test('a copy of the data directory has other users', async () => {
  await service.end('SIGTERM');
  const base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(base, 0o711);
  const data = join(base, 'copy');
  cpSync(service.data, data, {recursive: true});
  const copy = await Service.start({spares: 1, data});
  try {
    expect(await Tenant.of(copy, tenant.id).list('t')).toMatchObject([{n: 1}]);
    expect(owner(copy.directoryOf(tenant.id)!)).not.toBe(owner(service.directoryOf(tenant.id)!));
  } finally {
    await copy.stop();
    rmSync(base, {recursive: true, force: true});
  }
});

describe("what code left running under its tenant's user", () => {
  test('ends with the worker', async () => {
    const left = await leftBehind(service.directoryOf(tenant.id)!);
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGKILL');
    await until('its end', () => !isAlive(left));
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  });

  test("ends also when it ends all processes of its user, and the user is not the next tenant's", async () => {
    const directory = service.directoryOf(tenant.id)!;
    const id = owner(directory);
    const left = await leftBehind(directory, ['sh', '-c', 'while :; do kill -KILL -1; done']);
    await until('its end', () => !isAlive(left));
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    const again = await leftBehind(directory, ['sh', '-c', 'while :; do kill -KILL -1; done']);
    expect((await service.request('DELETE', `/api/tenants/${tenant.id}`)).status).toBe(204);
    expect(isAlive(again)).toBe(false);
    await service.end('SIGTERM');
    await service.run();
    const next = await Tenant.make(service);
    await next.insert('t', {n: 1});
    expect(owner(service.directoryOf(next.id)!)).toBeGreaterThan(id);
  });

  test('ends with the next start, when the server was killed', async () => {
    const directory = service.directoryOf(tenant.id)!;
    await service.killAll();
    const left = await leftBehind(directory);
    await service.run();
    await until('its end', () => !isAlive(left));
    expect(service.log).toContain('processes of an earlier server are ended');
  });
});

test('the socket of a worker that has ended is taken away', async () => {
  const run = runDirectoryOf(service);
  const sockets = () => readdirSync(run).filter(name => name.startsWith('w'));
  const before = sockets();
  process.kill(await service.workerOf(tenant.id), 'SIGKILL');
  await until('its end', () => before.some(name => !existsSync(join(run, name))));
  expect(await tenant.list('t')).toMatchObject([{n: 1}]);
});

test('a start as another user says what to do', async () => {
  await service.end('SIGTERM');
  const NOBODY = '65534';
  const cli = join(import.meta.dirname, '../../dist/cli.js');
  const args = [
    '--reuid',
    NOBODY,
    '--regid',
    NOBODY,
    '--clear-groups',
    '--',
    process.execPath,
    cli,
    'start',
    '--port',
    '0',
  ];
  const {status, stderr} = spawnSync('setpriv', [...args, '--data', service.data], {encoding: 'utf8'});
  expect(status).toBe(1);
  expect(stderr).toContain('this user may not read and write it');
  expect(stderr).toContain('chown -R');
});

describe('--require-sandbox', () => {
  nightly.test('starts where all walls stand', async () => {
    await service.end('SIGTERM');
    await service.run(['--require-sandbox']);
    expect((await service.get('/health')).status).toBe(200);
  });

  test('refuses where one is missing, and says which and why', async () => {
    const refusal = await startOrRefusal(mkdtempSync(join(tmpdir(), 'svc-test-')), [
      '--require-sandbox',
      '--worker-users',
      'none',
    ]);
    expect(refusal).toContain('--require-sandbox was given, and not every wall around workers can be had here:');
    expect(refusal).toContain('  users: it is switched off (--worker-users none)');
  });

  test('refuses where a directory above the data is closed, and names it', async () => {
    const closed = mkdtempSync(join(tmpdir(), 'svc-test-'));
    const refusal = await startOrRefusal(join(closed, 'data'), ['--require-sandbox']);
    expect(refusal).toContain(`${closed} is closed to other users than its own`);
    rmSync(closed, {recursive: true, force: true});
  });
});
