/** Three real hosts on three real NATS servers, as operators and clients see them. */
import {expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import {type SvcHost, TOKENS} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 120_000;

const cluster = await hostsOfFile();

const write = (host: SvcHost, tenant: string, n: number) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}});

/** Numbers of the documents that the host returns, in order. */
async function numbersOn(host: SvcHost, tenant: string): Promise<number[]> {
  const {status, body, text} = await host.service.post(`/api/tenants/${tenant}/query`, {table: 'things', filters: []});
  if (status !== 200) throw new Error(`${status} ${text}`);
  return (body as {data: {n: number}[]}).data.map(({n}) => n).sort((a, b) => a - b);
}

test('any host serves any tenant, and each reads what was acknowledged on another', {timeout: TIMEOUT_MS}, async () => {
  const ids = await Promise.all(['one', 'two', 'three', 'four'].map(id => cluster.tenant(id)));
  for (const id of ids) {
    for (const [n, host] of cluster.hosts.entries()) {
      expect(await write(host, id, n)).toMatchObject({status: 201});
      for (const other of cluster.hosts) expect(await numbersOn(other, id)).toEqual([...Array(n + 1).keys()]);
    }
  }
});

test('a tenant that one host deleted is gone on all, and can be made again', {timeout: TIMEOUT_MS}, async () => {
  const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await cluster.tenant('short');
  expect(await write(a, 'short', 1)).toMatchObject({status: 201});
  expect(await b.service.post('/api/tenants', {id: 'short'})).toMatchObject({status: 409});
  expect(await c.service.request('DELETE', '/api/tenants/short')).toMatchObject({status: 204});
  for (const {service} of cluster.hosts) {
    expect(await service.get('/api/tenants/short/schema')).toMatchObject({status: 404});
  }
  await cluster.tenant('short', b);
  for (const host of cluster.hosts) expect(await numbersOn(host, 'short')).toEqual([]);
});

test('a tenant is deleted while its owner is cut off from the log: when that is answered, no host serves it', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await cluster.tenant('apart');
  await a.service.post('/api/cluster/move', {tenant: 'apart', host: 'b'});
  expect(await write(a, 'apart', 1)).toMatchObject({status: 201});
  expect(await b.service.workerOf('apart')).toBeGreaterThan(0);
  expect(await numbersOn(b, 'apart')).toEqual([1]);
  for (const link of b.natsLinks) link.stall();
  expect(await c.service.request('DELETE', '/api/tenants/apart')).toMatchObject({status: 204});
  const query = {table: 'things', filters: []};
  expect(await b.service.post('/api/tenants/apart/query', query)).not.toMatchObject({status: 200});
  for (const {service} of [a, c]) {
    expect(await service.post('/api/tenants/apart/query', query)).toMatchObject({status: 404});
  }
  expect(await a.service.post('/api/tenants', {id: 'apart'})).toMatchObject({status: 201});
  expect(await write(a, 'apart', 2)).toMatchObject({status: 201});
  for (const link of b.natsLinks) link.heal();
  await until('b to serve the new one', async () => (await numbersOn(b, 'apart').catch(() => null))?.[0] === 2);
});

test('a tenant is moved under writes from all hosts, and none is refused', {timeout: TIMEOUT_MS}, async () => {
  await cluster.tenant('moving');
  const {hosts} = cluster;
  let isOver = false;
  let n = 0;
  const written: number[] = [];
  const refusals: string[] = [];
  const writers = hosts.map(async host => {
    while (!isOver) {
      const mine = n++;
      const {status, text} = await write(host, 'moving', mine);
      if (status === 201) written.push(mine);
      else refusals.push(`${status} ${text}`);
    }
  });
  const moved = async () => {
    for (const to of [...hosts, ...hosts]) {
      const {status, text} = await hosts[0]!.service.post('/api/cluster/move', {tenant: 'moving', host: to.name});
      if (status !== 200) throw new Error(`${status} ${text}`);
      const served = written.length;
      await until('it to be served there', () => written.length > served + 20);
    }
  };
  await moved().finally(() => {
    isOver = true;
  });
  await Promise.all(writers);
  expect(refusals).toEqual([]);
  for (const host of hosts) expect(await numbersOn(host, 'moving')).toEqual(written.toSorted((a, b) => a - b));
});

test('a host is killed, another one takes its tenants over, and it joins again', {timeout: TIMEOUT_MS}, async () => {
  await cluster.tenant('taken');
  const [a, b, c] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await a.service.post('/api/cluster/move', {tenant: 'taken', host: 'c'});
  await until('c to serve it', async () => (await write(a, 'taken', 1)).status === 201);
  const before = await numbersOn(b, 'taken');
  await c.service.killAll();
  await until('another host to take it over', async () => (await write(a, 'taken', 2)).status === 201);
  expect(await numbersOn(b, 'taken')).toEqual([...before, 2]);
  await c.service.run();
  expect(await numbersOn(c, 'taken')).toEqual([...before, 2]);
  expect(await write(c, 'taken', 3)).toMatchObject({status: 201});
});

test('hosts are restarted one after the other under writes, and no request is refused', {
  timeout: TIMEOUT_MS,
}, async () => {
  const ids = await Promise.all(['r1', 'r2', 'r3'].map(id => cluster.tenant(id)));
  const {hosts} = cluster;
  const refusals: string[] = [];
  const written = new Map(ids.map(id => [id, [] as number[]]));
  let n = 0;
  for (const stopped of hosts) {
    let isOver = false;
    // Clients of a host that stops use another one, as a load balancer does that reads /health.
    const others = hosts.filter(host => host !== stopped);
    const writers = ids.map(async (id, i) => {
      while (!isOver) {
        const mine = n++;
        const {status, text} = await write(others[(i + mine) % 2]!, id, mine);
        if (status === 201) written.get(id)!.push(mine);
        else refusals.push(`${status} ${text}`);
      }
    });
    await stopped.service.end('SIGTERM');
    await stopped.service.run();
    isOver = true;
    await Promise.all(writers);
  }
  expect(refusals.filter(text => !text.includes('outcome_unknown'))).toEqual([]);
  for (const id of ids) {
    const expected = written.get(id)!;
    const found = await numbersOn(hosts[0]!, id);
    expect(expected.filter(mine => !found.includes(mine))).toEqual([]);
  }
});

test('a worker, a router and the cluster process are killed, and nothing acknowledged is lost', {
  timeout: TIMEOUT_MS,
}, async () => {
  await cluster.tenant('killed');
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  await a.service.post('/api/cluster/move', {tenant: 'killed', host: 'b'});
  const acknowledged: number[] = [];
  let n = 0;
  const writeSome = async () => {
    await until('ten writes to be acknowledged', async () => {
      const mine = n++;
      const reply = await write(a, 'killed', mine).catch(() => null);
      if (reply?.status === 201) acknowledged.push(mine);
      return acknowledged.length % 10 === 9;
    });
  };
  for (const entry of ['worker', 'cluster', 'router', 'worker'] as const) {
    await writeSome();
    for (const pid of b.service.children(entry)) process.kill(pid, 'SIGKILL');
    acknowledged.push(...(await untilWritten(a, () => n++)));
  }
  const found = await numbersOn(a, 'killed');
  expect(acknowledged.filter(mine => !found.includes(mine))).toEqual([]);
  expect(new Set(found).size).toBe(found.length);
});

test('a cluster process that starts while most of NATS is stopped joins when that goes on', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [, b] = cluster.hosts as [SvcHost, SvcHost, SvcHost];
  await cluster.tenant('waiting');
  expect(await write(b, 'waiting', 1)).toMatchObject({status: 201});
  const stopped = cluster.nats.servers.slice(1);
  for (const server of stopped) server.freeze();
  try {
    process.kill(b.service.children('cluster')[0]!, 'SIGKILL');
    await until('it to be refused', () => b.service.log.includes('waits until it can join again'));
  } finally {
    for (const server of stopped) server.thaw();
  }
  await until('b to serve', async () => (await write(b, 'waiting', 2)).status === 201);
  expect(await numbersOn(b, 'waiting')).toContain(2);
});

test('the cluster process ends during a change: what may have been done is said to be unknown', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  const deleted = await cluster.tenant('gone');
  const {key} = (await a.service.post('/api/keys', {name: 'perhaps', scopes: ['logs']})).body as {key: {id: string}};
  const requests = [
    ['POST', '/api/tenants', {id: 'made'}],
    ['DELETE', `/api/tenants/${deleted}`, undefined],
    ['DELETE', `/api/keys/${key.id}`, undefined],
  ] as const;
  for (const [method, path, body] of requests) {
    for (const link of a.natsLinks) link.stall();
    const answer = a.service.request(method, path, body);
    // The supervisor has passed it on before it is asked for its status.
    expect(await a.service.get('/api/server')).toMatchObject({status: 200});
    process.kill(a.pidOf('cluster'), 'SIGKILL');
    expect(await answer).toMatchObject({status: 503, body: {error: {code: 'session.outcome_unknown'}}});
    for (const link of a.natsLinks) link.heal();
    await until('the host to be a member again', async () => (await a.service.get('/health')).status === 200);
  }
  // It was done or not; both hosts say the same.
  for (const id of ['made', deleted]) {
    await until('both hosts to know the same', async () => {
      const [onA, onB] = await Promise.all([a, b].map(({service}) => service.get(`/api/tenants/${id}/schema`)));
      return onA!.status === onB!.status && [200, 404].includes(onA!.status);
    });
  }
});

test('an operator moves and pins a tenant, drains its host, and sees each by svc cluster', {
  timeout: TIMEOUT_MS,
}, async () => {
  await cluster.tenant('operated');
  const [a, b] = cluster.hosts as [SvcHost, SvcHost];
  const ask = (...args: string[]) =>
    svc(['cluster', ...args], {SVC_URL: a.service.url, SVC_ACCESS_TOKEN: TOKENS.SVC_ACCESS_TOKEN});
  expect(await ask('move', 'operated', 'b')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('operated  at b'),
  });
  expect((await ask('pin', 'operated', 'b')).stdout).toContain('pinned to b');
  expect(await write(a, 'operated', 1)).toMatchObject({status: 201});
  expect(await ask('drain', 'b')).toEqual({code: 0, stdout: 'b is draining and has 0 tenants\n', stderr: ''});
  expect(await b.service.get('/health')).toMatchObject({status: 503});
  expect((await ask('status', '--tenants')).stdout).toMatch(/ operated +at [ac] {2}owned .* pinned to b\n/);
  expect(await numbersOn(b, 'operated')).toEqual([1]);
  await b.service.end('SIGTERM');
  await b.service.run();
  await until('it to be where it is pinned', async () =>
    / operated +at b /.test((await ask('status', '--tenants')).stdout),
  );
  expect(await write(a, 'operated', 2)).toMatchObject({status: 201});
  expect(await ask('status')).toMatchObject({code: 0, stdout: expect.stringContaining('b  live')});
});

/** Writes until one is acknowledged. @returns its number */
async function untilWritten(host: SvcHost, next: () => number): Promise<number[]> {
  return await until('a write to be acknowledged', async () => {
    const mine = next();
    const reply = await write(host, 'killed', mine).catch(() => null);
    return reply?.status === 201 ? [mine] : null;
  });
}
