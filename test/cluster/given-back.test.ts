/** NATS servers whose stores are older than what they acknowledged: the files of the hosts give it back to the logs. */
import {expect, test} from 'vitest';
import {rounds} from '../harness/nightly.ts';
import {until} from '../harness/until.ts';
import {type SvcHost, SvcHosts} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 300_000;
const HELD = 'held';
const MOVED = 'moved';

const write = async (host: SvcHost, tenant: string, n: number): Promise<boolean> => {
  const reply = await host.service
    .post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}}, {'idempotency-key': `${tenant}-${n}`})
    .catch(() => null);
  return reply?.status === 201;
};

async function writeAll(host: SvcHost, tenant: string, numbers: readonly number[]): Promise<void> {
  for (const n of numbers) await until(`write ${n} to be acknowledged`, () => write(host, tenant, n));
}

async function numbersOn(host: SvcHost, tenant: string): Promise<number[]> {
  return await until(`${tenant} to be served`, async () => {
    const reply = await host.service
      .post(`/api/tenants/${tenant}/query`, {table: 'things', filters: []})
      .catch(() => null);
    if (reply?.status !== 200) return null;
    return (reply.body as {data: {n: number}[]}).data.map(({n}) => n).sort((a, b) => a - b);
  });
}

const LATE = {3: false, 2: true, 1: false} as const;

type Row = [older: 3 | 2 | 1, hosts: 'start with them' | 'run on'];
const ROWS = rounds<Row[]>({
  commit: [[3, 'run on']],
  nightly: [
    [3, 'run on'],
    [2, 'run on'],
    [3, 'start with them'],
    [2, 'start with them'],
    [1, 'start with them'],
  ],
});

// Without standbys, only the last owner of a tenant has its newest commits.
test.each(ROWS)(
  'with %i older stores of three and hosts that %s, every acknowledged write is there, and none twice',
  {timeout: TIMEOUT_MS},
  async (older, which) => {
    const cluster = await SvcHosts.start({args: ['--standbys', '0']});
    try {
      const {hosts, nats} = cluster;
      const [a] = hosts as [SvcHost];
      for (const id of [HELD, MOVED]) {
        await cluster.tenant(id);
        await writeAll(a, id, [1, 2]);
      }
      await Promise.all(nats.servers.map(server => server.kill()));
      nats.saveStores();
      await Promise.all(nats.servers.map(server => server.start()));
      await writeAll(a, HELD, [3, 4, 5]);
      // Another host than the one that opens it later gets the newest file.
      await writeAll(a, MOVED, [3]);
      const before = await cluster.ownerOf(MOVED);
      const to = hosts.find(host => host !== before)!;
      await until('it to be served there', async () => {
        await a.service.post('/api/cluster/pin', {tenant: MOVED, host: to.name});
        return (await cluster.ownerOf(MOVED)) === to;
      });
      await writeAll(to, MOVED, [4, 5, 6]);
      expect(await cluster.ownerOf(MOVED)).toBe(to);

      const areNew = which === 'start with them';
      if (areNew) await Promise.all(hosts.map(({service}) => service.killAll()));
      await Promise.all(nats.servers.map(server => server.kill()));
      const rolledBack = nats.servers.slice(0, older);
      nats.rollBack(rolledBack);
      await Promise.all((LATE[older] ? rolledBack : nats.servers).map(server => server.start()));
      if (LATE[older]) {
        await nats.leaderOf({kind: 'records'}, rolledBack);
        await Promise.all(nats.servers.slice(older).map(server => server.start()));
      }
      if (areNew) await Promise.all(hosts.map(({service}) => service.run()));
      for (const host of hosts) {
        expect(await numbersOn(host, HELD)).toEqual([1, 2, 3, 4, 5]);
        expect(await numbersOn(host, MOVED)).toEqual([1, 2, 3, 4, 5, 6]);
      }
      for (const id of [HELD, MOVED]) await writeAll(a, id, [7]);
      for (const host of hosts) expect(await numbersOn(host, MOVED)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      const logs = hosts.map(({service}) => service.log).join('\n');
      expect(logs.includes('had lost its newest records')).toBe(older > 1);
    } finally {
      await cluster.stop();
    }
  },
);
