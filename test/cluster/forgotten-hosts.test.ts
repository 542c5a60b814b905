/** `svc cluster forget` of a host that was lost, and that starts again after all. */
import {expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 180_000;

const cluster = await hostsOfFile({hosts: 2, natsServers: 1});
const [a, b] = cluster.hosts as [SvcHost, SvcHost];

type Shown = {host: string; incarnation: number; state: string};
async function shown(host: string): Promise<Shown | undefined> {
  const {hosts} = (await a.service.get('/api/cluster')).body as {hosts: Shown[]};
  return hosts.find(({host: name}) => name === host);
}

test('a forgotten host that starts again has an incarnation that it never had, and serves', {
  timeout: TIMEOUT_MS,
}, async () => {
  for (let restarts = 0; restarts < 2; restarts++) {
    await b.service.killAll();
    await b.service.run();
  }
  const before = (await shown('b'))!.incarnation;
  expect(before).toBeGreaterThan(2);
  const tenant = await cluster.tenant('kept');
  expect(await b.service.post('/api/cluster/move', {tenant, host: 'b'})).toMatchObject({status: 200});
  await b.service.killAll();
  expect(await svc(['cluster', 'forget', 'b'], cluster.logEnvironment)).toMatchObject({code: 0});
  await b.service.run();
  const now = await until('it to be a member', async () => {
    const member = await shown('b');
    return member?.state === 'live' && member;
  });
  expect(now.incarnation).toBeGreaterThan(before);
  const write = () => b.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n: 1}});
  expect(await write()).toMatchObject({status: 201});
});
