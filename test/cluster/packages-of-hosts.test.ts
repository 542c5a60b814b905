/** `node.externalPackages` in a cluster: every host that serves the tenant has them, whatever becomes of the others. */
import {readdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {PackageInfo} from '../../cluster/log/package-list.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {Subjects, tenantOfToken} from '../../cluster/log/subjects.ts';
import {NatsEngine} from '../../cluster/nats/nats-engine.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import {deployPackage, missingPackages, type Package, packageOf, sendPackage, valueOn} from './harness/packages.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;
const cluster = await hostsOfFile({natsServers: 1});
const subjects = new Subjects('test');
let engine: NatsEngine;
let log: ReplicatedLog;
beforeAll(async () => {
  engine = await NatsEngine.connect(subjects, {servers: [cluster.nats.addresses[0]!.server], name: 'test'});
  log = new ReplicatedLog(engine, 'test');
});
afterAll(() => engine.close());

/** A tenant whose functions import the package. */
async function tenantWith(id: string, text: string): Promise<Package> {
  const [a] = cluster.hosts as [SvcHost];
  await cluster.tenant(id, a);
  const made = packageOf(text);
  expect(await sendPackage(a.service, id, made)).toEqual({status: 204, text: ''});
  expect(await deployPackage(a.service, id, made)).toMatchObject({status: 201});
  return made;
}

async function move(tenant: string, to: SvcHost): Promise<void> {
  expect(await to.service.post('/api/cluster/pin', {tenant, host: to.name})).toMatchObject({status: 200});
}

/** What the store has of the tenant; `token`: of one that has, or had, some. */
async function stored(tenant: string): Promise<{token: string; packages: readonly PackageInfo[]}> {
  const tokens = [...(await log.records.list('package.')).keys()].filter(token => token.startsWith(`${tenant}_`));
  const token = tokens.at(-1) ?? `${tenant}_0`;
  const generation = Number(token.slice(tenant.length + 1));
  return {token, packages: await log.packages.list({id: tenant, generation})};
}

const here = ({service}: SvcHost, tenant: string) => join(service.directoryOf(tenant)!, 'packages');

test('every host calls a function of a package, as its owner and of another one', {timeout: TIMEOUT_MS}, async () => {
  const made = await tenantWith('acme', 'from acme');
  const {about} = made;
  expect((await stored('acme')).packages.map(({sha512}) => sha512)).toEqual([about.sha512]);
  for (const to of cluster.hosts) {
    await move('acme', to);
    for (const host of cluster.hosts) expect(await valueOn(host.service, 'acme')).toBe('from acme');
    expect(readdirSync(here(to, 'acme'))).toContain(`${about.sha512}.tgz`);
  }
  // Of this tenant alone.
  await cluster.tenant('other');
  expect(await missingPackages(cluster.hosts[0]!.service, 'other', made)).toEqual([about.sha512]);
});

test('a package that is damaged in the store is not run, and is sent again by a deploy', {
  timeout: TIMEOUT_MS,
}, async () => {
  const made = await tenantWith('broken', 'from broken');
  const {token, packages} = await stored('broken');
  const subject = subjects.base(tenantOfToken(token)!, packages[0]!.id);
  const part = (await engine.last(subject))!;
  const others = Buffer.from(part.bytes);
  others[others.length - 1]! ^= 1;
  await engine.publish(subject, others, null);
  await engine.removeBefore(subject, part.sequence + 1);
  const owner = await cluster.ownerOf('broken');
  const to = cluster.hosts.find(host => host !== owner)!;
  await move('broken', to);
  await expect(valueOn(to.service, 'broken')).rejects.toThrow('op.storage_damaged');
  // A clone is one without it.
  expect(await to.service.post('/api/tenants/broken/clone?as=half&live=true')).toMatchObject({status: 201});
  expect((await stored('half')).packages).toEqual([]);
  await expect(valueOn(to.service, 'half')).rejects.toThrow('op.storage_damaged');
  expect(await missingPackages(to.service, 'broken', made)).toEqual([made.about.sha512]);
  expect(await sendPackage(to.service, 'broken', made)).toEqual({status: 204, text: ''});
  expect(await valueOn(to.service, 'broken')).toBe('from broken');
  await move('broken', owner);
  rmSync(here(owner, 'broken'), {recursive: true});
  expect(await valueOn(owner.service, 'broken')).toBe('from broken');
});

test('a clone has packages of its own, whether its host has fetched them or not', {timeout: TIMEOUT_MS}, async () => {
  const {about} = await tenantWith('cloned', 'from cloned');
  const owner = await cluster.ownerOf('cloned');
  const other = cluster.hosts.find(host => host !== owner)!;
  rmSync(here(owner, 'cloned'), {recursive: true});
  for (const [host, as] of [
    [owner, 'twin'],
    [other, 'triplet'],
  ] as const) {
    const {status, text} = await host.service.post(`/api/tenants/cloned/clone?as=${as}&live=true`);
    expect([status, text]).toEqual([201, expect.any(String)]);
    await cluster.known(as);
    expect((await stored(as)).packages.map(({sha512}) => sha512)).toEqual([about.sha512]);
    for (const one of cluster.hosts) expect(await valueOn(one.service, as)).toBe('from cloned');
  }
});

test('packages of no deployment go, and those of a deleted tenant', {timeout: TIMEOUT_MS}, async () => {
  await tenantWith('fickle', 'one');
  const two = packageOf('two');
  const owner = await cluster.ownerOf('fickle');
  // Of a client that never deploys them.
  for (const text of ['three', 'four'])
    expect((await sendPackage(owner.service, 'fickle', packageOf(text))).status).toBe(204);
  expect((await stored('fickle')).packages).toHaveLength(3);
  const to = cluster.hosts.find(host => host !== owner)!;
  await move('fickle', to);
  expect((await sendPackage(to.service, 'fickle', two)).status).toBe(204);
  expect(await deployPackage(to.service, 'fickle', two)).toMatchObject({status: 201});
  // The deployment before can be activated again.
  expect((await stored('fickle')).packages.map(({sha512}) => sha512)).toEqual([
    packageOf('one').about.sha512,
    two.about.sha512,
  ]);
  const {token} = await stored('fickle');
  expect((await to.service.request('DELETE', '/api/tenants/fickle')).status).toBe(204);
  await until('nothing of it to be in the store', async () => {
    return (await log.packages.list(tenantOfToken(token)!)).length === 0 ? true : null;
  });
});

test('nothing is activated while the store does not answer', {timeout: TIMEOUT_MS}, async () => {
  await tenantWith('apart', 'before');
  const owner = await cluster.ownerOf('apart');
  const next = packageOf('after');
  owner.natsLinks[0]!.cut();
  const sent = await sendPackage(owner.service, 'apart', next);
  // The tarball is on the host by now.
  const deployed = await deployPackage(owner.service, 'apart', next);
  owner.natsLinks[0]!.heal();
  expect([sent.status, deployed.status, sent.text]).toEqual([503, 503, expect.any(String)]);
  expect(await until('it to be served', () => valueOn(owner.service, 'apart').catch(() => null))).toBe('before');
});

test('a package that was sent is deployed through another host, after kill -9 of all of its own', {
  timeout: TIMEOUT_MS,
}, async () => {
  await tenantWith('sent', 'before');
  const owner = await cluster.ownerOf('sent');
  const next = packageOf('after');
  expect(await sendPackage(owner.service, 'sent', next)).toEqual({status: 204, text: ''});
  await owner.service.killAll();
  const other = cluster.hosts.find(host => host !== owner)!;
  const missing = await until('a takeover', () => missingPackages(other.service, 'sent', next).catch(() => null));
  expect(missing).toEqual([]);
  expect(await valueOn(other.service, 'sent')).toBe('before');
  expect(await deployPackage(other.service, 'sent', next)).toMatchObject({status: 201});
  expect(await valueOn(other.service, 'sent')).toBe('after');
  await owner.service.run();
});

test('a host takes a tenant over whose owner is killed, and calls a function of a package', {
  timeout: TIMEOUT_MS,
}, async () => {
  await tenantWith('left', 'from left');
  const owner = await cluster.ownerOf('left');
  await owner.service.killAll();
  for (const host of cluster.hosts.filter(one => one !== owner)) {
    const value = await until('a takeover', () => valueOn(host.service, 'left').catch(() => null));
    expect(value).toBe('from left');
  }
  await owner.service.run();
});

test('what a deleted tenant had goes also when the host that deleted it is killed at once', {
  timeout: TIMEOUT_MS,
}, async () => {
  await tenantWith('orphan', 'from orphan');
  const {token, packages} = await stored('orphan');
  const parts = subjects.base(tenantOfToken(token)!, packages[0]!.id);
  expect(await engine.last(parts)).not.toBeNull();
  const [first, second] = cluster.hosts as [SvcHost, SvcHost];
  await tenantWith('beside', 'from beside');
  await move('beside', second);
  expect((await second.service.request('DELETE', '/api/tenants/orphan')).status).toBe(204);
  await second.service.killAll();
  expect((await log.packages.list(tenantOfToken(token)!)).length).toBe(1);
  await until('its lease to be over', () => valueOn(first.service, 'beside').catch(() => null));
  await until('another host to remove it', async () => ((await engine.last(parts)) === null ? true : null));
  expect(await log.packages.list(tenantOfToken(token)!)).toEqual([]);
  await until('no note to be left', async () => ((await log.records.list('leftover.')).size === 0 ? true : null));
  expect((await first.service.get('/api/tenants/orphan/status')).status).toBe(404);
  await second.service.run();
});
