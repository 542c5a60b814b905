/** `svc restore` into the data directory of a server, running or stopped, and into an empty one. */
import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {directoryIn} from '../harness/data-directory.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {type CopiedPoint, CopiedTenant, type TestRepository, testRepository} from './copied-tenant.ts';

let service: Service;
let repository: TestRepository;
let tenant: Tenant;
let point: CopiedPoint;

beforeAll(async () => {
  repository = await testRepository();
  service = await Service.start();
  tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 0});
  const copied = await CopiedTenant.begin(service, tenant.id, repository);
  await tenant.insert('t', {n: 1});
  point = await copied.point();
  await tenant.insert('t', {n: 2});
  await copied.point();
  copied.close();
});
afterAll(async () => {
  await service.stop();
  await repository.remove();
});

const restore = (...args: string[]) =>
  svc([
    'restore',
    tenant.id,
    ...repository.options,
    '--data',
    service.data,
    '--to-sequence',
    String(point.sequence),
    ...args,
  ]);

async function numbers(of: Tenant): Promise<unknown[]> {
  return (await of.list('t')).map(({n}) => n);
}

test('a copy answers reads until it is resumed, and a replaced tenant is in set-aside/', async () => {
  const of = Tenant.of(service, `${tenant.id}-then`);
  const running = Tenant.of(service, `${tenant.id}-running`);
  expect(await restore('--as', running.id, '--url', service.url)).toMatchObject({code: 0, stderr: ''});
  expect(await numbers(running)).toEqual([0, 1]);
  expect(await restore('--url', service.url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is a tenant'),
  });
  await service.end('SIGTERM');
  expect(await restore()).toMatchObject({code: 1, stderr: expect.stringContaining(`there is a tenant ${tenant.id}`)});
  // What a restore left that was killed.
  const left = join(service.data, 'incoming', 'restore-t_x_1');
  expect(await restore('--as', of.id)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`commit ${point.commit}`),
  });
  writeFileSync(left, '');
  expect(await restore('--replace', '--live')).toMatchObject({code: 0, stderr: ''});
  expect(readdirSync(join(service.data, 'incoming'))).toEqual([]);
  expect(readdirSync(join(service.data, 'set-aside'))).toEqual([expect.stringMatching(/^restored-\d+-t_.+_1$/)]);

  // Their files are those of the tenant that was copied until each is opened.
  const verified = await svc(['verify', '--data', service.data]);
  expect(verified).toMatchObject({code: 0, stdout: expect.stringContaining(`${of.id}: ok`)});
  const note = join(directoryIn(service.data, of.id)!, 'tenant.adopt');
  const written = readFileSync(note, 'utf8');
  rmSync(note);
  expect(await svc(['verify', '--data', service.data])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`file: it is that of tenant ${tenant.id} (generation`),
  });
  writeFileSync(note, written);

  await service.run();
  expect(await numbers(of)).toEqual([0, 1]);
  expectError(await of.request('POST', '/documents', {table: 't', fields: {n: 9}}), 409, 'session.tenant_read_only');
  expect((await service.request('POST', `/api/tenants/${of.id}/resume`)).status).toBe(200);
  await of.insert('t', {n: 3});
  expect(await numbers(of)).toEqual([0, 1, 3]);
  expect(await numbers(tenant)).toEqual([0, 1]);
  await tenant.insert('t', {n: 4});
  await service.end('SIGTERM');
  expect(await svc(['verify', '--data', service.data])).toMatchObject({code: 0});
  await service.run();
  expect(await numbers(tenant)).toEqual([0, 1, 4]);
});

test('--all restores a lost host: its tenants, and its keys and audit log', async () => {
  const keys = join(repository.path, '../keys.sqlite');
  writeFileSync(keys, 'the keys');
  await repository.writer.addLarge({tenant: '.server', kind: 'state', name: 'keys.sqlite', path: keys});
  const tarball = join(repository.path, '../package.tgz');
  const name = `${'a'.repeat(128)}.tgz`;
  writeFileSync(tarball, 'a package');
  await repository.writer.addLarge({tenant: tenant.id, kind: 'package', name, path: tarball});
  const data = join(repository.path, '../all');
  const all = (...args: string[]) => svc(['restore', '--all', ...repository.options, '--data', data, ...args]);
  expect(await all('--to-time', '1')).toMatchObject({
    stdout: expect.stringContaining(`${tenant.id}: had no copy then`),
  });
  expect(await all('--live')).toMatchObject({code: 0, stdout: expect.stringContaining('restored 1 tenant into')});
  expect(readFileSync(join(data, 'keys.sqlite'), 'utf8')).toBe('the keys');
  expect(readFileSync(join(directoryIn(data, tenant.id)!, 'packages', name), 'utf8')).toBe('a package');
  expect(await all()).toMatchObject({code: 1, stderr: expect.stringContaining('has tenants')});
  rmSync(join(data, 'keys.sqlite'));
  expect(readdirSync(data)).not.toContain('restore-all.json');
  writeFileSync(join(data, 'restore-all.json'), '{}'); // as a run that was interrupted leaves it
  const other = await Service.start({data});
  expect(other.log).toContain('svc restore --all has not restored all tenants');
  const of = Tenant.of(other, tenant.id);
  expect(await numbers(of)).toEqual([0, 1, 2]);
  await of.insert('t', {n: 3});
  await other.end('SIGTERM');
});

test('an empty directory becomes a data directory, and another one is refused', async () => {
  const data = mkdtempSync(join(tmpdir(), 'svc-test-restore-data-'));
  try {
    writeFileSync(join(data, 'mine'), '');
    expect(await restore('--data', data)).toMatchObject({code: 1, stderr: expect.stringContaining('it has mine')});
    rmSync(join(data, 'mine'));
    expect(await restore('--data', data)).toMatchObject({code: 0});
    expect(directoryIn(data, tenant.id)).not.toBeNull();
    const other = await Service.start({data});
    expect(await numbers(Tenant.of(other, tenant.id))).toEqual([0, 1]);
    await other.end('SIGTERM');
  } finally {
    rmSync(data, {recursive: true});
  }
});
