/** `svc cluster base` and `svc cluster rebuild` on real hosts. */
import {readdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {type Outcome, svc} from '../harness/command.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;

const cluster = await hostsOfFile();

const onLog = (...args: string[]): Promise<Outcome> => svc(['cluster', ...args], cluster.logEnvironment);

async function write(host: SvcHost, tenant: string, numbers: readonly number[]): Promise<void> {
  for (const n of numbers) {
    await until(`write ${n} to be acknowledged`, async () => {
      const document = {table: 'things', fields: {n}};
      const key = {'idempotency-key': `${tenant}-${n}`};
      return (await host.service.post(`/api/tenants/${tenant}/documents`, document, key)).status === 201;
    });
  }
}

async function numbersOn(host: SvcHost, tenant: string): Promise<number[]> {
  return await until(`${tenant} to be served`, async () => {
    const {status, body} = await host.service.post(`/api/tenants/${tenant}/query`, {table: 'things', filters: []});
    return status === 200 ? (body as {data: {n: number}[]}).data.map(({n}) => n).sort((a, b) => a - b) : null;
  });
}

test('a base is stored while the tenant is served, and the second one trims the log', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a] = cluster.hosts as [SvcHost];
  await cluster.tenant('acme');
  await write(a, 'acme', [1, 2, 3]);
  expect(await onLog('base', 'none')).toMatchObject({code: 1, stderr: expect.stringContaining('has no tenant none')});
  const {code, stdout} = await onLog('base', 'acme');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^acme {2}base of .* at record \d+ of epoch 1\n$/)]);
  const verified = async () => JSON.parse((await onLog('verify', 'acme', '--json')).stdout) as Record<string, unknown>;
  expect(await verified()).toMatchObject({bases: 1, findings: []});
  await write(a, 'acme', [4, 5]);
  const second = await onLog('base', 'acme', '--json');
  expect(JSON.parse(second.stdout)).toMatchObject({tenant: 'acme', epoch: 1, record: expect.any(Number)});
  // What the older of the two has is read from it, and the records behind it from the log.
  expect(await verified()).toMatchObject({bases: 2, records: 2, findings: []});
  expect(await numbersOn(a, 'acme')).toEqual([1, 2, 3, 4, 5]);
});

test('a log that is there is not rebuilt', {timeout: TIMEOUT_MS}, async () => {
  expect(await onLog('rebuild', '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is nothing to rebuild'),
  });
});

test('when NATS has lost everything, the newest files begin new logs, and only after a yes', {
  timeout: TIMEOUT_MS,
}, async () => {
  const {hosts, nats} = cluster;
  const [a, b, c] = hosts as [SvcHost, SvcHost, SvcHost];
  await cluster.tenant('other', b);
  await write(b, 'other', [1, 2]);
  await a.service.post('/api/cluster/move', {tenant: 'acme', host: 'c'});
  await write(c, 'acme', [6, 7]);
  await Promise.all(hosts.map(({service}) => service.killAll()));
  await Promise.all(nats.servers.map(server => server.kill()));
  for (const {name} of nats.servers) rmSync(join(nats.directory, name), {recursive: true});
  await Promise.all(nats.servers.map(server => server.start()));
  await nats.elected();
  await a.service.run();
  await Promise.all([b, c].map(({service}) => service.run()));
  expect(await a.service.get('/api/tenants/acme/schema')).toMatchObject({status: 404});

  const asked = await onLog('rebuild');
  expect(asked).toMatchObject({code: 2, stdout: '', stderr: expect.stringContaining('give --yes')});
  expect(asked.stderr).toMatch(/^acme {2}newest file at [abc], commit \d+, /);
  expect(await a.service.get('/api/tenants/acme/schema')).toMatchObject({status: 404});
  const {code, stdout, stderr} = await onLog('rebuild', '--yes', '--json');
  const done = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>);
  expect([code, done.map(({tenant, state}) => [tenant, state]), stderr]).toEqual([
    0,
    [
      ['acme', 'rebuilt'],
      ['other', 'rebuilt'],
    ],
    expect.any(String),
  ]);
  for (const host of hosts) {
    expect(await numbersOn(host, 'acme')).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(await numbersOn(host, 'other')).toEqual([1, 2]);
  }
  // The file that the log began with goes on as it is.
  const newest = hosts.find(({name}) => name === done[0]!.host)!;
  const entries = readdirSync(newest.service.directoryOf('acme')!);
  expect(entries.filter(name => name.startsWith('diverged'))).toEqual([]);
  await write(b, 'acme', [8]);
  expect(await onLog('rebuild', '--yes')).toMatchObject({code: 1});
  const {status} = await a.service.post('/api/tenants', {id: 'later'});
  expect(status).toBe(201);
  expect(await onLog('verify')).toMatchObject({code: 0, stdout: expect.stringContaining('0 with findings')});
});
