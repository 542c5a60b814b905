/** `node.externalPackages` in a cluster: every host that serves the tenant has them, whatever becomes of the others. */
import {createHash} from 'node:crypto';
import {readdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {PackageInfo} from '../../cluster/log/package-list.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {Subjects} from '../../cluster/log/subjects.ts';
import {NatsEngine} from '../../cluster/nats/nats-engine.ts';
import type {UploadedPackage} from '../../shared/protocol/functions.ts';
import {App, uploadOf} from '../functions/app.ts';
import {onNode} from '../functions/node/node-app.ts';
import {tarball} from '../functions/node/tar.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;
const OWN = process.versions.node.split('.')[0]!;
const MODULE = `"use node";
  import {createRequire} from 'node:module';
  import {action} from './_generated/server';
  const load = createRequire(import.meta.url);
  export const value = action(async () => load('a'));`;

const cluster = await hostsOfFile({natsServers: 1});
const subjects = new Subjects('test');
let engine: NatsEngine;
let log: ReplicatedLog;
beforeAll(async () => {
  engine = await NatsEngine.connect(subjects, {servers: [cluster.nats.addresses[0]!.server], name: 'test'});
  log = new ReplicatedLog(engine, 'test');
});
afterAll(() => engine.close());

type Package = {tarball: Buffer; about: UploadedPackage};

/** A package that exports the text. */
function packageOf(text: string): Package {
  const bytes = tarball([
    {name: 'package/package.json', text: '{"name": "a", "version": "1.0.0"}'},
    {name: 'package/index.js', text: `module.exports = ${JSON.stringify(text)};`},
  ]);
  const sha512 = createHash('sha512').update(bytes).digest('hex');
  return {tarball: bytes, about: {path: 'node_modules/a', version: '1.0.0', sha512}};
}

async function send({service}: SvcHost, tenant: string, {tarball: bytes, about}: Package) {
  const headers = {authorization: `Bearer ${service.accessToken}`};
  const url = `${service.url}/api/tenants/${tenant}/packages/${about.sha512}`;
  const response = await fetch(url, {method: 'PUT', headers, body: new Uint8Array(bytes)});
  return {status: response.status, text: await response.text()};
}

async function deploy({service}: SvcHost, tenant: string, packages: Package[]) {
  const upload = await uploadOf({...onNode(OWN), 'm.ts': MODULE});
  const node = {version: OWN, packages: packages.map(({about}) => about)};
  return await new App(service, tenant).admin('POST', '/deployments', {...upload, node});
}

/** A tenant whose functions import the package. */
async function tenantWith(id: string, text: string): Promise<Package> {
  const [a] = cluster.hosts as [SvcHost];
  await cluster.tenant(id, a);
  const made = packageOf(text);
  expect(await send(a, id, made)).toEqual({status: 204, text: ''});
  expect(await deploy(a, id, [made])).toMatchObject({status: 201});
  return made;
}

const valueOn = ({service}: SvcHost, tenant: string) => new App(service, tenant).action('m:value', {});

async function move(tenant: string, to: SvcHost): Promise<void> {
  expect(await to.service.post('/api/cluster/pin', {tenant, host: to.name})).toMatchObject({status: 200});
}

/** What the store has of the tenant. */
async function stored(tenant: string): Promise<{token: string; packages: readonly PackageInfo[]}> {
  const tokens = [...(await log.records.list('package.')).keys()].filter(token => token.startsWith(`${tenant}_`));
  const token = tokens.at(-1)!;
  const generation = Number(token.slice(tenant.length + 1));
  return {token, packages: await log.packages.list({id: tenant, generation})};
}

const here = ({service}: SvcHost, tenant: string) => join(service.directoryOf(tenant)!, 'packages');

test('every host calls a function of a package, as its owner and of another one', {timeout: TIMEOUT_MS}, async () => {
  const {about} = await tenantWith('acme', 'from acme');
  expect((await stored('acme')).packages.map(({sha512}) => sha512)).toEqual([about.sha512]);
  for (const to of cluster.hosts) {
    await move('acme', to);
    for (const host of cluster.hosts) expect(await valueOn(host, 'acme')).toBe('from acme');
    expect(readdirSync(here(to, 'acme'))).toContain(`${about.sha512}.tgz`);
  }
  // Of this tenant alone.
  await cluster.tenant('other');
  const {body} = await new App(cluster.hosts[0]!.service, 'other').admin('POST', '/packages/missing', {
    packages: [about.sha512],
  });
  expect(body).toEqual({missing: [about.sha512]});
});

test('a package that is damaged in the store is not run, and is sent again by a deploy', {
  timeout: TIMEOUT_MS,
}, async () => {
  const made = await tenantWith('broken', 'from broken');
  const {token, packages} = await stored('broken');
  const subject = subjects.base(tenantOf(token), packages[0]!.id);
  const part = (await engine.last(subject))!;
  const others = Buffer.from(part.bytes);
  others[others.length - 1]! ^= 1;
  await engine.publish(subject, others, null);
  await engine.removeBefore(subject, part.sequence + 1);
  const owner = await cluster.ownerOf('broken');
  const to = cluster.hosts.find(host => host !== owner)!;
  await move('broken', to);
  await expect(valueOn(to, 'broken')).rejects.toThrow('op.storage_damaged');
  const asked = await new App(to.service, 'broken').admin('POST', '/packages/missing', {packages: [made.about.sha512]});
  expect(asked.body).toEqual({missing: [made.about.sha512]});
  expect(await send(to, 'broken', made)).toEqual({status: 204, text: ''});
  expect(await valueOn(to, 'broken')).toBe('from broken');
  await move('broken', owner);
  rmSync(here(owner, 'broken'), {recursive: true});
  expect(await valueOn(owner, 'broken')).toBe('from broken');
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
    for (const one of cluster.hosts) expect(await valueOn(one, as)).toBe('from cloned');
  }
});

test('packages of no deployment go, and those of a deleted tenant', {timeout: TIMEOUT_MS}, async () => {
  await tenantWith('fickle', 'one');
  const two = packageOf('two');
  const owner = await cluster.ownerOf('fickle');
  // Of a client that never deploys them.
  for (const text of ['three', 'four']) expect((await send(owner, 'fickle', packageOf(text))).status).toBe(204);
  expect((await stored('fickle')).packages).toHaveLength(3);
  const to = cluster.hosts.find(host => host !== owner)!;
  await move('fickle', to);
  expect((await send(to, 'fickle', two)).status).toBe(204);
  expect(await deploy(to, 'fickle', [two])).toMatchObject({status: 201});
  // The deployment before can be activated again.
  expect((await stored('fickle')).packages.map(({sha512}) => sha512)).toEqual([
    packageOf('one').about.sha512,
    two.about.sha512,
  ]);
  const {token} = await stored('fickle');
  expect((await to.service.request('DELETE', '/api/tenants/fickle')).status).toBe(204);
  await until('nothing of it to be in the store', async () => {
    return (await log.packages.list(tenantOf(token))).length === 0 ? true : null;
  });
});

test('nothing is activated while the store does not answer', {timeout: TIMEOUT_MS}, async () => {
  await tenantWith('apart', 'before');
  const owner = await cluster.ownerOf('apart');
  const next = packageOf('after');
  owner.natsLinks[0]!.cut();
  const sent = await send(owner, 'apart', next);
  // The tarball is on the host by now.
  const deployed = await deploy(owner, 'apart', [next]);
  owner.natsLinks[0]!.heal();
  expect([sent.status, deployed.status, sent.text]).toEqual([503, 503, expect.any(String)]);
  expect(await until('it to be served', () => valueOn(owner, 'apart').catch(() => null))).toBe('before');
});

test('a host takes a tenant over whose owner is killed, and calls a function of a package', {
  timeout: TIMEOUT_MS,
}, async () => {
  await tenantWith('left', 'from left');
  const owner = await cluster.ownerOf('left');
  await owner.service.killAll();
  for (const host of cluster.hosts.filter(one => one !== owner)) {
    const value = await until('a takeover', () => valueOn(host, 'left').catch(() => null));
    expect(value).toBe('from left');
  }
  await owner.service.run();
});

function tenantOf(token: string): {id: string; generation: number} {
  const at = token.lastIndexOf('_');
  return {id: token.slice(0, at), generation: Number(token.slice(at + 1))};
}
