/** Two hosts with real routers and workers: what their clients see while a tenant is handed over, or lost. */
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {EventReader} from '../harness/event-reader.ts';
import type {Service} from '../harness/service.ts';
import {type Frame, Socket} from '../harness/socket.ts';
import {until} from '../harness/until.ts';
import {Authority} from './harness/certificates.ts';
import {newTenantDirectory, ProcessHost, ProcessWorker, removeTenantDirectory, TENANT} from './harness/process-host.ts';

const HAND_OVERS = 6;
const authority = new Authority('cluster');
let a: ProcessHost;
let b: ProcessHost;
let directory: string;
let workers: ProcessWorker[];

beforeEach(async () => {
  directory = newTenantDirectory();
  workers = [];
  [a, b] = await Promise.all([ProcessHost.start('a', authority), ProcessHost.start('b', authority)]);
});
afterEach(async () => {
  await Promise.all([a.stop(), b.stop(), ...workers.map(worker => worker.kill())]);
  removeTenantDirectory(directory);
});

function newWorker(): ProcessWorker {
  const worker = new ProcessWorker(directory);
  workers.push(worker);
  return worker;
}

/** This host opens the tenant, and the other one refers its routers to it. */
async function serve(host: ProcessHost): Promise<ProcessWorker> {
  const worker = newWorker();
  await worker.opened();
  host.serves(worker);
  (host === a ? b : a).refersTo(host);
  return worker;
}

/** As the supervisors of both hosts do it. */
async function handOver(from: ProcessHost, worker: ProcessWorker, to: ProcessHost): Promise<ProcessWorker> {
  from.holds();
  to.holds();
  await Promise.all([from.givenUp(), to.givenUp()]);
  await worker.close();
  return await serve(to);
}

async function insert(host: ProcessHost, n: number): Promise<number> {
  const {status} = await host.request('POST', '/documents', {table: 't', fields: {n}});
  return status;
}

const open = (host: ProcessHost) => Socket.established(host as unknown as Service, TENANT);
const QUERY = {type: 'subscribe', request_id: 'q', query: {table: 't', filters: [], count: true}};
/** The next result; whatever else comes fails the test. */
async function result(socket: Socket): Promise<Frame> {
  const frame = await socket.nextThat(({type}) => type !== 'authenticated');
  expect(frame).toMatchObject({type: 'subscription_result'});
  return frame;
}
const follow = (host: ProcessHost) =>
  EventReader.open(host as unknown as Service, `/api/tenants/${TENANT}/journal/stream?after=0`);

describe('while a tenant is handed over', () => {
  test('no request is refused, no live query is closed or goes back, and no event is missed or sent twice', async () => {
    let worker = await serve(b);
    expect(await insert(a, 0)).toBe(201);
    const hosts = [a, b];
    const streams = await Promise.all(hosts.map(follow));
    const sockets = await Promise.all(hosts.map(open));
    for (const socket of sockets) socket.send(QUERY);
    const counts = await Promise.all(sockets.map(result));
    expect(counts.map(frame => frame.data)).toEqual([{count: 1}, {count: 1}]);
    const closed: unknown[] = [];
    for (const socket of sockets) void socket.closed.then(how => closed.push(how));

    let isLoading = true;
    let written = 1;
    const statuses = new Set<number>();
    const load = hosts.map(async host => {
      while (isLoading) {
        const n = written++;
        statuses.add(await insert(host, n));
        const read = await host.request('GET', '/documents/t');
        statuses.add(read.status);
        await read.arrayBuffer();
      }
    });
    let [from, to] = [b, a];
    for (let turn = 0; turn < HAND_OVERS; turn++) {
      worker = await handOver(from, worker, to);
      [from, to] = [to, from];
      const before = written;
      await until('writes to go on', () => written > before + 4);
    }
    isLoading = false;
    await Promise.all(load);
    expect([...statuses].toSorted()).toEqual([200, 201]);

    for (const stream of streams) {
      const [first] = await stream.take(1);
      expect(first).toMatchObject({event: 'open', id: '0'});
      const events = await stream.take(written);
      expect(events.map(({id}) => Number(id))).toEqual(Array.from({length: written}, (_, at) => at + 1));
      expect(new Set(events.map(({event}) => event))).toEqual(new Set(['message']));
      stream.close();
    }
    for (const socket of sockets) {
      let last = 1;
      while (last < written) {
        const {data} = await result(socket);
        const {count} = data as unknown as {count: number};
        expect(count).toBeGreaterThan(last);
        last = count;
      }
      expect(last).toBe(written);
    }
    expect(closed).toEqual([]);
    for (const socket of sockets) socket.close();
  });
});

describe('a tenant of another host', () => {
  test('is there again when its worker is killed: live queries stay, and reads go on', async () => {
    const worker = await serve(b);
    expect(await insert(a, 0)).toBe(201);
    const socket = await open(a);
    socket.send(QUERY);
    expect((await result(socket)).data).toEqual({count: 1});
    a.holds();
    b.holds();
    await worker.kill();
    await serve(b);
    expect(await insert(a, 1)).toBe(201);
    expect((await result(socket)).data).toEqual({count: 2});
    socket.close();
  });

  test('is there again when the router of that host is killed', async () => {
    await serve(b);
    expect(await insert(a, 0)).toBe(201);
    const socket = await open(a);
    socket.send(QUERY);
    expect((await result(socket)).data).toEqual({count: 1});
    a.holds();
    await b.stop();
    const next = await ProcessHost.start('b', authority);
    next.onWake = b.onWake;
    next.serves(workers[0]!);
    a.refersTo(next);
    b = next;
    expect(await insert(a, 1)).toBe(201);
    expect((await result(socket)).data).toEqual({count: 2});
    socket.close();
  });
});
