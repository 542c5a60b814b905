/** A tenant that was made or resumed on one host, and a client that uses another one as soon as it has the answer. */
import {expect, test} from 'vitest';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;
/** In each direction between a host and NATS: longer than an answer of another host. */
const DELAY_MS = 200;

const cluster = await hostsOfFile({natsServers: 1});
const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
const statusOf = ({service}: SvcHost, tenant: string) => service.get(`/api/tenants/${tenant}/status`);
const write = ({service}: SvcHost, tenant: string) =>
  service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n: 1}});
const late = ({natsLinks}: SvcHost) => {
  for (const link of natsLinks) link.delay(DELAY_MS);
};

test('hosts that receive entries late have a tenant that was made or resumed when that is answered', {
  timeout: TIMEOUT_MS,
}, async () => {
  late(b);
  late(c);
  expect(await a.service.post('/api/tenants', {id: 'made'})).toMatchObject({status: 201});
  for (const host of [b, c]) expect(await statusOf(host, 'made')).toMatchObject({status: 200});
  expect(await write(c, 'made')).toMatchObject({status: 201});
  expect(await a.service.post('/api/tenants/made/pause')).toMatchObject({status: 200});
  for (const host of [b, c]) {
    await until('it to be paused', async () => (await statusOf(host, 'made')).text.includes('"paused"'));
  }
  expect(await a.service.post('/api/tenants/made/resume')).toMatchObject({status: 200});
  for (const host of [b, c]) {
    expect(await write(host, 'made')).toMatchObject({status: 201});
  }
  for (const {natsLinks} of [b, c]) for (const link of natsLinks) link.heal();
});

test('a host that is cut off does not keep others from making tenants', {timeout: TIMEOUT_MS}, async () => {
  for (const link of c.natsLinks) link.stall();
  expect(await a.service.post('/api/tenants', {id: 'without'})).toMatchObject({status: 201});
  expect(await write(b, 'without')).toMatchObject({status: 201});
  for (const link of c.natsLinks) link.heal();
  await cluster.known('without');
});
