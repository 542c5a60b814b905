/** A service with two routers: what is true of one router is true of both together. */
import {createServer} from 'node:net';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {rounds} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {clientsOf, connectMany, RoutedClient, routersOf, socketOf} from '../harness/routed.ts';
import {Service} from '../harness/service.ts';
import type {Socket} from '../harness/socket.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const TWO = ['--routers', '2'];

let service: Service;
/** One client of each router. */
let clients: [RoutedClient, RoutedClient];
let routers: [number, number];

async function connectToBoth(): Promise<void> {
  routers = (await routersOf(service, 2)) as [number, number];
  clients = [await RoutedClient.of(service, routers[0]), await RoutedClient.of(service, routers[1])];
}

function disconnect(): void {
  for (const client of clients) client.close();
}

beforeAll(async () => {
  service = await Service.start({spares: 1, args: TWO});
  await connectToBoth();
});
afterAll(async () => {
  disconnect();
  await service.stop();
});
beforeEach(() => service.showLogOnFailure());

const insert = (client: RoutedClient, tenant: Tenant, fields: object) =>
  client.request('POST', `/api/tenants/${tenant.id}/documents`, {table: 't', fields});
const list = (client: RoutedClient, tenant: Tenant) => client.request('GET', `/api/tenants/${tenant.id}/documents/t`);

/** The newest value of each series of a page. */
function seriesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

async function scrape(client: RoutedClient): Promise<Map<string, number>> {
  const {status, text} = await client.request('GET', '/metrics');
  expect(status).toBe(200);
  return seriesOf(text);
}

describe('the port', () => {
  test('is shared: of many connections each router gets its part', async () => {
    const before = clientsOf(service);
    const close = await connectMany(service, 400);
    const gained = await until('all to be accepted', () => {
      const now = clientsOf(service);
      const counts = routers.map(pid => now.get(pid)!.length - before.get(pid)!.length);
      return counts[0]! + counts[1]! === 400 && counts;
    });
    close();
    // By chance alone, fewer than a quarter would come to one of them once in 10^24 times.
    for (const count of gained) expect(count).toBeGreaterThan(100);
  });

  test('is nobody else’s: not of a server with one router, or with several', async () => {
    for (const args of [[], TWO]) {
      const refused = await svc(['start', '--port', String(service.port), '--data', `${service.data}-other`, ...args]);
      expect(refused).toMatchObject({code: 1, stdout: ''});
      expect(refused.stderr).toBe(
        `svc: cannot listen on 127.0.0.1 port ${service.port}: it is taken, or the address is not this machine's\n`,
      );
    }
    expect((await service.get('/health')).status).toBe(200);
  });

  test.each<[string, {reusePort?: boolean}]>([
    ['another program', {}],
    ['another program that would share it', {reusePort: true}],
  ])('is not taken when it is that of %s', async (_, options) => {
    const other = createServer();
    await new Promise<void>(resolve => other.listen({port: 0, host: '127.0.0.1', ...options}, resolve));
    const {port} = other.address() as {port: number};
    const refused = await svc(['start', '--port', String(port), '--data', `${service.data}-other`, ...TWO]);
    other.close();
    expect(refused).toMatchObject({code: 1, stdout: ''});
    expect(refused.stderr).toContain(`cannot listen on 127.0.0.1 port ${port}`);
  });

  test('goes to one of two servers that start at the same moment', async () => {
    const probe = createServer();
    await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve));
    const {port} = probe.address() as {port: number};
    await new Promise(resolve => probe.close(resolve));
    const args = [...TWO, '--port', String(port)];
    const started = await Promise.allSettled([Service.start({spares: 1, args}), Service.start({args})]);
    const [running, ...more] = started.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const [refused] = started.flatMap(outcome => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
    for (const each of [running, ...more]) await each?.stop();
    expect(refused).toContain(`cannot listen on 127.0.0.1 port ${port}`);
    expect([running === undefined, more.length]).toEqual([false, 0]);
  });
});

describe('tenants', () => {
  test('that one router made are there, and those that it deleted are gone, at once in the other', async () => {
    for (let round = 0; round < rounds({commit: 2, nightly: 20}); round++) {
      const [one, other] = round % 2 === 0 ? clients : [clients[1], clients[0]];
      const id = `visible-${round}`;
      expect((await one.request('POST', '/api/tenants', {id})).status).toBe(201);
      const tenant = Tenant.of(service, id);
      expect((await insert(other, tenant, {round})).status).toBe(201);
      expect((await list(one, tenant)).body).toMatchObject({data: [{round}]});
      expect((await one.request('DELETE', `/api/tenants/${id}`)).status).toBe(204);
      expect((await list(other, tenant)).status).toBe(404);
      expect((await other.request('GET', '/api/tenants')).text).not.toContain(`"${id}"`);
      // The same name is another tenant: nothing of the first is placed anywhere.
      expect((await other.request('POST', '/api/tenants', {id})).status).toBe(201);
      expect((await list(one, tenant)).body).toMatchObject({data: []});
      expect((await other.request('DELETE', `/api/tenants/${id}`)).status).toBe(204);
    }
  });

  test('have one worker, which both routers use', async () => {
    const tenant = await Tenant.make(service);
    await Promise.all(clients.map(client => insert(client, tenant, {})));
    const worker = await service.workerOf(tenant.id);
    for (const client of clients) expect((await list(client, tenant)).body).toMatchObject({data: [{}, {}]});
    expect(await service.workerOf(tenant.id)).toBe(worker);
  });

  test('whose worker is killed are served again by both', async () => {
    const tenant = await Tenant.make(service);
    for (let round = 0; round < 3; round++) {
      await Promise.all(clients.map(client => insert(client, tenant, {round})));
      process.kill(await service.workerOf(tenant.id), 'SIGKILL');
      for (const client of clients) expect((await list(client, tenant)).status).toBe(200);
    }
  });
});

describe('a tenant with a socket on one router', () => {
  test('keeps its worker when the other router needs room for another tenant', async () => {
    const small = await Service.start({args: [...TWO, '--max-awake', '1']});
    try {
      const [first, second] = await routersOf(small, 2);
      const [held, other] = [await Tenant.make(small), await Tenant.make(small)];
      const client = await RoutedClient.of(small, second!);
      await insert(client, held, {});
      const socket = await socketOf(small, first!, held.id);
      socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
      await socket.next();
      expect((await list(client, other)).status).toBe(503);
      socket.close();
      await until('room for the other one', async () => (await list(client, other)).status === 200);
      client.close();
    } finally {
      await small.stop();
    }
  });
});

describe('a live query', () => {
  const query = (marker: string) => ({table: 't', filters: [{field: 'marker', op: 'eq', value: marker}]});
  const subscribe = (socket: Socket, marker: string) =>
    socket.send({type: 'subscribe', request_id: marker, query: query(marker)});

  test('shows on each router what was written through the other', async () => {
    const tenant = await Tenant.make(service);
    const sockets = [await socketOf(service, routers[0], tenant.id), await socketOf(service, routers[1], tenant.id)];
    for (const socket of sockets) {
      subscribe(socket, 'x');
      expect(await socket.next()).toMatchObject({request_id: 'x', data: []});
    }
    for (const [n, client] of clients.entries()) {
      expect((await insert(client, tenant, {marker: 'x', n})).status).toBe(201);
      for (const socket of sockets) expect((await socket.next()).data).toHaveLength(n + 1);
    }
    expect((await scrape(clients[0])).get('svc_live_queries')).toBe(1);
    for (const socket of sockets) socket.close();
  });

  test('begins, on a router where it is held already, with every write that was answered by the other', async () => {
    const tenant = await Tenant.make(service);
    const holder = await socketOf(service, routers[1], tenant.id);
    subscribe(holder, 'x');
    await holder.next();
    const reader = await socketOf(service, routers[1], tenant.id);
    for (let n = 1; n <= 100; n++) {
      expect((await insert(clients[0], tenant, {marker: 'x'})).status).toBe(201);
      reader.send({type: 'subscribe', request_id: `r${n}`, query: query('x')});
      const first = await reader.nextThat(frame => frame.request_id === `r${n}`);
      expect(first.data).toHaveLength(n);
      reader.send({type: 'unsubscribe', subscription_id: first.subscription_id});
    }
    holder.close();
    reader.close();
  });
});

describe('the metrics page', () => {
  test('is that of the whole service, whichever router shows it', async () => {
    const tenant = await Tenant.make(service);
    const route = '{method="POST",route="/api/tenants/{tenant_id}/documents",status="201"}';
    const names = [`svc_http_requests_total${route}`, 'svc_commit_writes_total', 'svc_tenants'];
    await insert(clients[0], tenant, {});
    const before = await scrape(clients[0]);
    for (const client of [...clients, clients[1]]) await insert(client, tenant, {});
    for (const client of clients) {
      const after = await scrape(client);
      expect(names.map(name => after.get(name)! - before.get(name)!)).toEqual([3, 3, 0]);
    }
  });

  test('says how many requests each router answered', async () => {
    const names = ['0', '1'].map(place => `svc_router_requests_total{router="${place}"}`);
    const before = await scrape(clients[0]);
    for (let n = 0; n < 10; n++) for (const client of clients) await client.request('GET', '/health');
    const after = await scrape(clients[0]);
    for (const name of names) expect(after.get(name)! - before.get(name)!).toBeGreaterThanOrEqual(10);
  });

  test('never counts backwards when a router is killed', async () => {
    for (let n = 0; n < 20; n++) await clients[1].request('GET', '/health');
    const before = await scrape(clients[0]);
    process.kill(routers[1], 'SIGKILL');
    await until('its end', () => !isAlive(routers[1]));
    const counts = [...before].filter(([name]) => /_(total|bucket|sum|count)(\{|$)/.test(name));
    expect(counts.length).toBeGreaterThan(50);
    const check = async () => {
      const after = await scrape(clients[0]);
      for (const [name, value] of counts) expect([name, after.get(name)! >= value]).toEqual([name, true]);
    };
    await check();
    disconnect();
    await connectToBoth();
    await check();
  });
});

describe('a router that is killed under load', () => {
  test('costs its own connections alone, and is replaced on the same port', async () => {
    const tenant = await Tenant.make(service);
    const sockets = [await socketOf(service, routers[0], tenant.id), await socketOf(service, routers[1], tenant.id)];
    for (const socket of sockets) {
      socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: []}});
      await socket.next();
    }
    const statuses: number[] = [];
    let isOver = false;
    const load = (async () => {
      while (!isOver) statuses.push((await insert(clients[1], tenant, {n: statuses.length})).status);
    })();
    const worker = await service.workerOf(tenant.id);
    for (let round = 0; round < 3; round++) {
      const [victim] = (await routersOf(service, 2)).filter(pid => pid !== routers[1]);
      const soFar = statuses.length;
      process.kill(victim!, 'SIGKILL');
      await until('a new router', () => service.children('router').some(pid => ![victim, routers[1]].includes(pid)));
      await until('more writes', () => statuses.length > soFar + 20);
    }
    isOver = true;
    await load;
    expect(new Set(statuses)).toEqual(new Set([201]));
    expect((await sockets[0]!.closed).code).not.toBe(1000);
    // The other's socket has seen all of it, and goes on.
    const last = await sockets[1]!.nextThat(frame => frame.data?.length === statuses.length);
    expect(last.data!.map(({n}) => n)).toEqual(statuses.map((_, n) => n));
    expect(await service.workerOf(tenant.id)).toBe(worker);
    sockets[1]!.close();
    disconnect();
    await connectToBoth();
    for (const client of clients) expect((await list(client, tenant)).status).toBe(200);
  });
});

describe('a drain', () => {
  test('tells the clients of both routers, and ends all processes with exit code 0', async () => {
    const mine = await Service.start({spares: 1, args: TWO});
    const tenant = await Tenant.make(mine);
    const pids = await routersOf(mine, 2);
    const sockets = [await socketOf(mine, pids[0]!, tenant.id), await socketOf(mine, pids[1]!, tenant.id)];
    const all = mine.processes();
    expect(await mine.end('SIGTERM')).toBe(0);
    for (const socket of sockets) expect((await socket.closed).code).toBe(1012);
    expect(all.filter(isAlive)).toEqual([]);
    await mine.stop();
  });
});

describe('--routers', () => {
  test.each([['0'], ['17'], ['many'], ['1.5']])('%s is refused', async value => {
    const refused = await svc(['start', '--routers', value, '--data', `${service.data}-other`]);
    expect(refused).toMatchObject({code: 2, stdout: ''});
    expect(refused.stderr).toContain('--routers');
    expect(refused.stderr).toContain('an integer from 1 to 16, or auto');
  });

  test('is SVC_ROUTERS, too', async () => {
    const mine = await Service.start({spares: 1, env: {SVC_ROUTERS: '3'}});
    expect(mine.children('router')).toHaveLength(3);
    await mine.stop();
  });
});
