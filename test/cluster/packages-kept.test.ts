/**
 * `node.externalPackages` of a tenant that comes from a server alone, through copies and back: adopted, copied to a
 * repository, restored, and rebuilt after NATS has lost everything.
 */
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {Subjects, tenantOfToken} from '../../cluster/log/subjects.ts';
import {NatsEngine} from '../../cluster/nats/nats-engine.ts';
import type {BackupStatus} from '../../shared/protocol/backups.ts';
import {svc} from '../harness/command.ts';
import {testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {deployPackage, packageOf, sendPackage, valueOn} from './harness/packages.ts';
import {type SvcHost, SvcHosts} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;
const repository = await testRepository(afterAll);
const directories: string[] = [];
const cluster = await SvcHosts.start({
  hosts: 0,
  natsServers: 1,
  args: repository.args,
  // A small store, which can be filled.
  jetstream: 'sync_interval: always, max_file_store: 64MB',
});
afterAll(async () => {
  await cluster.stop();
  for (const directory of directories) rmSync(directory, {recursive: true, force: true});
}, TIMEOUT_MS);

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-packages-'));
  directories.push(made);
  return made;
}

const ADOPTED = packageOf('alone');

async function copier(): Promise<SvcHost> {
  return await until('a host to copy', async () => {
    for (const host of cluster.hosts) {
      const {body} = await host.service.get('/api/backup');
      if ((body as {backup: {state: string}}).backup.state === 'running') return host;
    }
    return null;
  });
}

test('a tenant with packages is adopted, and each host calls its functions', {timeout: TIMEOUT_MS}, async () => {
  const data = directory();
  const alone = await Service.start({data});
  expect(await alone.post('/api/tenants', {id: 'acme'})).toMatchObject({status: 201});
  expect(await sendPackage(alone, 'acme', ADOPTED)).toEqual({status: 204, text: ''});
  expect(await deployPackage(alone, 'acme', ADOPTED)).toMatchObject({status: 201});
  await alone.stop();
  const adopted = await svc(['cluster', 'adopt', '--data', data], cluster.logEnvironment);
  expect(adopted).toMatchObject({code: 0, stderr: ''});
  const a = await cluster.add(data);
  await cluster.add();
  await cluster.add();
  await cluster.known('acme');
  rmSync(join(a.service.directoryOf('acme')!, 'packages'), {recursive: true});
  for (const to of cluster.hosts) {
    expect(await to.service.post('/api/cluster/pin', {tenant: 'acme', host: to.name})).toMatchObject({status: 200});
    for (const {service} of cluster.hosts) expect(await valueOn(service, 'acme')).toBe('alone');
  }
});

test('copies have the packages, also of a tenant that the copying host never served', {
  timeout: TIMEOUT_MS,
}, async () => {
  const writer = await copier();
  const other = cluster.hosts.find(host => host !== writer)!;
  await cluster.tenant('remote', other);
  const made = packageOf('of another host');
  expect(await sendPackage(other.service, 'remote', made)).toEqual({status: 204, text: ''});
  expect(await deployPackage(other.service, 'remote', made)).toMatchObject({status: 201});
  expect(existsSync(join(writer.service.directoryOf('remote') ?? '', 'packages'))).toBe(false);
  expect(await writer.service.post('/api/backup/run')).toMatchObject({status: 200});

  // As a tenant of the cluster, on every host.
  const path = '/api/tenants/remote/restore?as=again&live=true';
  expect(await other.service.post(path)).toMatchObject({status: 201});
  await cluster.known('again');
  for (const {service} of cluster.hosts) expect(await valueOn(service, 'again')).toBe('of another host');
  // On a server without a cluster, which has the repository alone.
  const data = directory();
  const from = ['--from', repository.directory, '--key', repository.keyFile];
  for (const id of ['acme', 'remote']) {
    expect(await svc(['restore', id, ...from, '--data', data, '--live'])).toMatchObject({code: 0, stderr: ''});
  }
  const alone = await Service.start({data});
  expect([await valueOn(alone, 'acme'), await valueOn(alone, 'remote')]).toEqual(['alone', 'of another host']);
  await alone.stop();
});

test('a package that is damaged in NATS before it was copied is a fault of its tenant', {
  timeout: TIMEOUT_MS,
}, async () => {
  const {service} = await copier();
  await cluster.tenant('harmed');
  expect(await service.post('/api/backup/run')).toMatchObject({status: 200});
  const made = packageOf('harmed');
  expect((await sendPackage(service, 'harmed', made)).status).toBe(204);
  await damage('harmed');
  expect(await deployPackage(service, 'harmed', made)).toMatchObject({status: 201});
  expect(await service.post('/api/backup/run')).toMatchObject({status: 200});
  const fault = await until('the fault to be shown', async () => {
    const {tenants} = (await service.get('/api/backup')).body as BackupStatus;
    return tenants.find(({id}) => id === 'harmed')!.fault;
  });
  expect(fault).toMatchObject({kind: 'packages', message: expect.stringContaining(made.about.sha512)});
  expect(await cluster.hosts[0]!.service.request('DELETE', '/api/tenants/harmed')).toMatchObject({status: 204});
});

/** Changes a byte of the newest package that the store has of the tenant. */
async function damage(id: string): Promise<void> {
  const subjects = new Subjects('test');
  const {server} = cluster.nats.addresses[0]!;
  const engine = await NatsEngine.connect(subjects, {servers: [server], name: 'test'});
  try {
    const log = new ReplicatedLog(engine, 'test');
    const tokens = [...(await log.records.list('package.')).keys()];
    const tenant = tenantOfToken(tokens.find(token => token.startsWith(`${id}_`))!)!;
    const [info] = await log.packages.list(tenant);
    const subject = subjects.base(tenant, info!.id);
    const part = (await engine.last(subject))!;
    part.bytes[part.bytes.length - 1]! ^= 1;
    await engine.publish(subject, part.bytes, null);
    await engine.removeBefore(subject, part.sequence + 1);
  } finally {
    await engine.close();
  }
}

test('while the store has no space, a package is refused with 507, and what is deployed goes on', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a] = cluster.hosts as [SvcHost];
  await cluster.nats.fill();
  let attempts = 0;
  const sent = await until('the host to see that there is no space', async () => {
    const found = await sendPackage(a.service, 'acme', packageOf(`attempt ${++attempts}`));
    return found.status === 204 ? null : found;
  });
  const next = packageOf('too much');
  expect([sent.status, sent.text]).toEqual([507, expect.stringContaining('session.storage_full')]);
  expect(await valueOn(a.service, 'acme')).toBe('alone');
  await cluster.nats.makeSpace();
  await until('space', async () => (await sendPackage(a.service, 'acme', next)).status === 204);
  // Its worker hears of the space with the next lease.
  await until('a deployment', async () => (await deployPackage(a.service, 'acme', next)).status === 201);
  expect(await valueOn(a.service, 'acme')).toBe('too much');
});

test('a rebuild stores the packages of the newest file again', {timeout: TIMEOUT_MS}, async () => {
  const {hosts, nats} = cluster;
  // Each can have the newest file.
  for (const {service, name} of hosts) {
    expect(await service.post('/api/cluster/pin', {tenant: 'acme', host: name})).toMatchObject({status: 200});
    expect(await valueOn(service, 'acme')).toBe('too much');
  }
  const [server] = nats.servers;
  await Promise.all(hosts.map(({service}) => service.killAll()));
  await server!.kill();
  rmSync(join(nats.directory, server!.name), {recursive: true});
  await server!.start();
  for (const {service} of hosts) await service.run();
  const rebuilt = await svc(['cluster', 'rebuild', '--yes', '--json'], cluster.logEnvironment);
  expect(rebuilt).toMatchObject({code: 0});
  await cluster.known('acme');
  // Only the store can have it now, wherever it is opened.
  for (const {service} of hosts) {
    const its = service.directoryOf('acme');
    if (its !== null) rmSync(join(its, 'packages'), {recursive: true, force: true});
  }
  for (const {service} of hosts) {
    expect(await until('it to be served', () => valueOn(service, 'acme').catch(() => null))).toBe('too much');
  }
});
