import {readFileSync} from 'node:fs';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {nightly, rounds} from '../harness/nightly.ts';
import {RawSocket} from '../harness/raw-socket.ts';
import {Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: string;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await service.tenant();
});

const MIB = 1024 * 1024;
const all = {table: 't', filters: []};

async function insert(fields: object, table = 't'): Promise<string> {
  const {status, body, text} = await service.post(`/api/tenants/${tenant}/documents`, {table, fields});
  if (status !== 201) throw new Error(text);
  return (body as {id: string}).id;
}

async function patch(id: string, fields: object): Promise<void> {
  const {status} = await service.request('PATCH', `/api/tenants/${tenant}/documents/t/${id}`, {patch: fields});
  expect(status).toBe(200);
}

/** Private memory of the router, in bytes. */
function routerBytes(): number {
  const [pid] = service.children('router');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
}

async function metric(name: string): Promise<number> {
  const {text} = await service.get('/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
}

describe('a client that reads', () => {
  test('gets every result of a change, however large they are together', async () => {
    const id = await insert({n: 0, text: 'x'.repeat(300 * 1024)});
    const socket = await Socket.established(service, tenant);
    for (const limit of [1, 2, 3, 4, 5]) {
      socket.send({type: 'subscribe', request_id: 'r', query: {...all, limit}});
      await socket.next();
    }
    for (let n = 1; n <= 5; n++) {
      await patch(id, {n});
      const seen = new Set<number>();
      while (seen.size < 5) {
        const {data, subscription_id} = await socket.next();
        if (data![0]!.n === n) seen.add(subscription_id!);
      }
    }
    socket.close();
  });
});

describe('a client that does not read', () => {
  test('costs the router bounded memory, delays nobody, and gets the newest result when it reads again', async () => {
    const ids = await Promise.all(Array.from({length: 4}, () => insert({n: 0, text: 'x'.repeat(MIB / 2)})));
    const slow = await Promise.all(Array.from({length: 4}, () => RawSocket.established(service, tenant)));
    for (const socket of slow) {
      socket.send({type: 'subscribe', request_id: 'r', query: all});
      expect((await socket.nextMessage()).data).toHaveLength(4);
      socket.stopReading();
    }
    const reader = await Socket.established(service, tenant);
    reader.send({type: 'subscribe', request_id: 'r', query: all});
    await reader.next();

    const coalescedBefore = await metric('svc_live_coalesced_total');
    const changes = rounds({commit: 60, nightly: 150}); // of a result of 2 MiB, for each that would get them all
    let most = 0;
    for (let n = 1; n <= changes; n++) {
      await patch(ids[n % ids.length]!, {n});
      const {data} = await reader.next();
      expect(Math.max(...data!.map(doc => Number(doc.n)))).toBe(n);
      most = Math.max(most, routerBytes());
    }
    expect(most).toBeLessThan(400 * MIB); // 480 or 1,200 MiB were not taken
    expect(await metric('svc_live_coalesced_total')).toBeGreaterThan(coalescedBefore + changes);

    for (const socket of slow) {
      socket.readAgain();
      const seen: number[] = [];
      while (seen.at(-1) !== changes) {
        const {type, data} = await socket.nextMessage();
        expect(type).toBe('subscription_result');
        seen.push(Math.max(...data!.map(doc => Number(doc.n))));
      }
      expect(seen).toEqual(seen.toSorted((a, b) => a - b));
      expect(seen.length).toBeLessThan(changes / 2);
    }

    // Having caught up, they are shown every change again.
    await patch(ids[0]!, {n: changes + 1});
    for (const socket of slow) {
      expect((await socket.nextMessage()).data!.map(doc => doc.n)).toContain(changes + 1);
      socket.close();
    }
    reader.close();
  });

  nightly.test(
    'is owed the newest result of each of its subscriptions, and of none that it ended meanwhile',
    async () => {
      const id = await insert({n: 0, text: 'x'.repeat(MIB - 100)});
      const socket = await RawSocket.established(service, tenant);
      const subscriptions = new Map<number, string>();
      for (const limit of [1, 2, 3]) {
        socket.send({type: 'subscribe', request_id: `r${limit}`, query: {...all, limit}});
        const frame = await socket.nextMessage();
        subscriptions.set(frame.subscription_id!, frame.request_id!);
      }
      socket.stopReading();
      const changes = 60;
      for (let n = 1; n <= changes; n++) await patch(id, {n});
      const [ended, ...kept] = [...subscriptions.keys()];
      socket.send({type: 'unsubscribe', subscription_id: ended});
      socket.send({type: 'clear_auth'});
      socket.readAgain();
      const newest = new Map<number, unknown>();
      let sawAnswer = false;
      while (!sawAnswer || kept.some(subscription => newest.get(subscription) !== changes)) {
        const {type, subscription_id, data} = await socket.nextMessage();
        if (type === 'authenticated') {
          sawAnswer = true;
          continue;
        }
        if (sawAnswer) expect(subscription_id).not.toBe(ended);
        newest.set(subscription_id!, data![0]!.n);
      }
      await patch(id, {n: changes + 1});
      const last = [await socket.nextMessage(), await socket.nextMessage()];
      expect(last.map(frame => frame.subscription_id).sort()).toEqual(kept.sort());
      socket.close();
    },
  );

  test('first results wait for its reading too: however many it asks for at once, all arrive', async () => {
    for (let n = 0; n < 2; n++) await insert({n, text: 'x'.repeat(MIB - 100)});
    const socket = await RawSocket.established(service, tenant);
    socket.stopReading();
    const count = 30; // 60 MiB of first results
    const subscribe = (n: number) => ({type: 'subscribe', request_id: `r${n}`, query: {...all, limit: n + 2}});
    socket.burst(Array.from({length: count}, (_, n) => subscribe(n)));
    const other = await Socket.established(service, tenant);
    other.send(subscribe(count - 1));
    await other.next();

    await insert({n: 2});
    await other.next();
    socket.readAgain();
    const firsts = new Set<string>();
    const newest = new Map<number, number>();
    while (firsts.size < count || [...newest.values()].some((documents, n) => documents !== Math.min(3, n + 2))) {
      const {type, subscription_id, request_id, data} = await socket.nextMessage();
      expect(type).toBe('subscription_result');
      if (!newest.has(subscription_id!)) firsts.add(request_id!);
      else expect(request_id).toBeUndefined();
      newest.set(subscription_id!, data!.length);
    }
    expect(firsts.has('undefined')).toBe(false);
    socket.close();
    other.close();
  });

  test('is closed once answers to its own requests have the server owe it more than 20 MiB', async () => {
    const open = () => metric('svc_socket_connections');
    await until('the sockets of the other tests to be gone', async () => (await open()) === 0);
    const socket = await RawSocket.established(service, tenant);
    socket.stopReading();
    const refused = {type: 'subscribe', request_id: 'x'.repeat(60 * 1024), query: null};
    for (let n = 0; n < 600; n++) socket.send(refused);
    await until('the server to close the connection', async () => (await open()) === 0);
    expect((await service.get('/health')).status).toBe(200);
    socket.close();
  });
});
