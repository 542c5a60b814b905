/** Paused tenants of a cluster, on real hosts: every host answers as a server alone does, whatever is killed. */
import {expect, test} from 'vitest';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 240_000;

const cluster = await hostsOfFile({natsServers: 1});
const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];

const act = ({service}: SvcHost, tenant: string, action: 'pause' | 'pause?serve=reads' | 'resume') =>
  service.post(`/api/tenants/${tenant}/${action}`);
const write = ({service}: SvcHost, tenant: string, n: number) =>
  service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}});
const read = ({service}: SvcHost, tenant: string) =>
  service.post(`/api/tenants/${tenant}/query`, {table: 'things', filters: []});

async function numbersOn(host: SvcHost, tenant: string): Promise<number[]> {
  return await until(`${tenant} to be served by ${host.name}`, async () => {
    const {status, body} = await read(host, tenant);
    return status === 200 ? (body as {data: {n: number}[]}).data.map(({n}) => n).sort((one, two) => one - two) : null;
  });
}

/** Every host answers as a server alone does with a tenant that is paused in this way. */
async function expectPaused(tenant: string, serves: 'reads' | 'nothing', hosts = cluster.hosts): Promise<void> {
  for (const host of hosts) {
    const isRead = serves === 'reads';
    const [status, code] = isRead ? [409, 'session.tenant_read_only'] : [503, 'session.tenant_paused'];
    const reply = await write(host, tenant, 99);
    expect([reply.status, reply.text]).toEqual([status, expect.stringContaining(code)]);
    expect((await read(host, tenant)).status).toBe(isRead ? 200 : 503);
    await until(`${host.name} to know it`, async () => {
      const {body} = await host.service.get(`/api/tenants/${tenant}/status`);
      const {state, serves: its} = (body as {tenant: {state: string; serves: string}}).tenant;
      return state === 'paused' && its === serves;
    });
  }
}

test.each([
  ['nothing', 'pause'],
  ['reads', 'pause?serve=reads'],
] as const)(
  'a tenant that is paused and serves %s does so on every host, whichever is asked, until it is resumed',
  {
    timeout: TIMEOUT_MS,
  },
  async (serves, action) => {
    const tenant = await cluster.tenant(`serves-${serves}`);
    const written: number[] = [];
    for (const [n, host] of cluster.hosts.entries()) {
      expect(await write(host, tenant, n)).toMatchObject({status: 201});
      written.push(n);
      const {status, body, text} = await act(host, tenant, action);
      expect([status, text]).toEqual([200, expect.any(String)]);
      expect(body).toMatchObject({tenant: {state: 'paused', serves}});
      // No host serves it as before when that is answered, also the owner, if it is another one.
      await expectPaused(tenant, serves);
      expect(await act(host, tenant, action)).toMatchObject({status: 200});
      const resumes = cluster.hosts[(n + 1) % cluster.hosts.length]!;
      expect(await act(resumes, tenant, 'resume')).toMatchObject({status: 200});
      await until('it to be resumed', async () => (await write(resumes, tenant, 100 + n)).status === 201);
      written.push(100 + n);
      for (const one of cluster.hosts) expect(await numbersOn(one, tenant)).toEqual(written.sort((x, y) => x - y));
    }
  },
);

test('a job that is due waits until the tenant is resumed, and runs then without a request', {
  timeout: TIMEOUT_MS,
}, async () => {
  const tenant = await cluster.tenant('jobs');
  const other = await cluster.tenant('others');
  const job = (id: string, ms: number) =>
    a.service.post(`/api/tenants/${id}/schedule`, {
      run_after_ms: ms,
      mutation: {type: 'insert', table: 'things', fields: {n: 1}},
    });
  // Time enough for the pause on a busy machine.
  expect(await job(tenant, 8_000)).toMatchObject({status: 201});
  expect(await job(other, 8_500)).toMatchObject({status: 201});
  expect(await act(b, tenant, 'pause?serve=reads')).toMatchObject({status: 200});
  await until('the job of the other one', async () => (await numbersOn(a, other)).length === 1);
  expect(await numbersOn(a, tenant)).toEqual([]);
  expect(await act(c, tenant, 'resume')).toMatchObject({status: 200});
  await until('its job', async () => (await numbersOn(a, tenant)).length === 1);
});

test('a pause stays when hosts are killed and moved from, and a resumed tenant has every write', {
  timeout: TIMEOUT_MS,
}, async () => {
  for (const [serves, action] of [
    ['nothing', 'pause'],
    ['reads', 'pause?serve=reads'],
  ] as const) {
    const tenant = await cluster.tenant(`killed-${serves}`);
    expect(await write(a, tenant, 1)).toMatchObject({status: 201});
    const owner = await cluster.ownerOf(tenant, a);
    const others = cluster.hosts.filter(host => host !== owner);
    const [first, second] = others as [SvcHost, SvcHost];
    expect(await act(first, tenant, action)).toMatchObject({status: 200});
    await owner.service.killAll();
    await until(
      'another host to answer',
      async () => (await read(second, tenant)).status !== 503 || serves === 'nothing',
    );
    await expectPaused(tenant, serves, others);
    expect(await second.service.post('/api/cluster/move', {tenant, host: second.name})).toMatchObject({status: 200});
    await until('the owner to answer', async () => (await read(first, tenant)).status !== 503 || serves === 'nothing');
    await expectPaused(tenant, serves, others);
    await owner.service.run();
    await expectPaused(tenant, serves, [owner]);
    process.kill(second.pidOf('cluster'), 'SIGKILL');
    await until('its cluster process to be back', async () => (await act(second, tenant, 'resume')).status === 200);
    await until('it to be resumed', async () => (await write(owner, tenant, 2)).status === 201);
    for (const host of cluster.hosts) expect(await numbersOn(host, tenant)).toEqual([1, 2]);
  }
});

test('a pause is answered when an owner that is cut off serves no more', {timeout: TIMEOUT_MS}, async () => {
  const tenant = await cluster.tenant('apart');
  expect(await b.service.post('/api/cluster/move', {tenant, host: 'b'})).toMatchObject({status: 200});
  expect(await write(b, tenant, 1)).toMatchObject({status: 201});
  for (const link of b.natsLinks) link.stall();
  expect(await act(a, tenant, 'pause')).toMatchObject({status: 200});
  expect((await read(b, tenant)).status).toBe(503);
  await expectPaused(tenant, 'nothing', [a, c]);
  for (const link of b.natsLinks) link.heal();
  await until('it to know', async () => (await read(b, tenant)).text.includes('session.tenant_paused'));
  await expectPaused(tenant, 'nothing');
  expect(await act(b, tenant, 'resume')).toMatchObject({status: 200});
  for (const host of cluster.hosts) expect(await numbersOn(host, tenant)).toEqual([1]);
});

test('a clone is paused and answers reads, on every host, unless it is live', {timeout: TIMEOUT_MS}, async () => {
  const tenant = await cluster.tenant('original');
  expect(await write(a, tenant, 1)).toMatchObject({status: 201});
  const {status, body} = await b.service.post(`/api/tenants/${tenant}/clone?as=copy`);
  expect([status, body]).toEqual([201, {tenant: expect.objectContaining({state: 'paused', serves: 'reads'})}]);
  await cluster.known('copy');
  await expectPaused('copy', 'reads');
  await b.service.killAll();
  await until('another host to answer', async () => (await read(a, 'copy')).status === 200);
  await expectPaused('copy', 'reads', [a, c]);
  await b.service.run();
  expect(await act(c, 'copy', 'resume')).toMatchObject({status: 200});
  await until('it to be resumed', async () => (await write(c, 'copy', 2)).status === 201);
  for (const host of cluster.hosts) expect(await numbersOn(host, 'copy')).toEqual([1, 2]);
});
