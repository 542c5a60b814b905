import {randomUUID} from 'node:crypto';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {type Frame, Socket} from '../harness/socket.ts';
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

const all = {table: 't', filters: []};
const numbers = (frame: Frame) => frame.data!.map(doc => doc.n);

/** Inserts once, however often the worker dies under it. */
async function insert(fields: object): Promise<void> {
  const key = {'idempotency-key': randomUUID()};
  const path = `/api/tenants/${tenant}/documents`;
  await until('an insert to succeed', async () => (await service.post(path, {table: 't', fields}, key)).status === 201);
}

describe('svc.v2 subscriptions', () => {
  test('the first result carries request_id and all documents, later ones only subscription_id', async () => {
    await insert({n: 1});
    const socket = await Socket.established(service, tenant);
    socket.send({type: 'subscribe', request_id: 'r1', query: all});
    const first = await socket.next();
    expect(first).toMatchObject({type: 'subscription_result', request_id: 'r1', data: [{n: 1}]});
    await insert({n: 2});
    const second = await socket.next();
    expect(Object.keys(second).sort()).toEqual(['data', 'subscription_id', 'type']);
    expect(second.subscription_id).toBe(first.subscription_id);
    expect(numbers(second)).toEqual([1, 2]);
    socket.close();
  });

  test('a limited window pulls the next document in when one is deleted', async () => {
    for (let n = 0; n < 5; n++) await insert({n});
    const socket = await Socket.established(service, tenant);
    const query = {...all, order: {field: 'n', direction: 'desc'}, limit: 2};
    socket.send({type: 'subscribe', request_id: 'r', query});
    const first = await socket.next();
    expect(numbers(first)).toEqual([4, 3]);
    await service.request('DELETE', `/api/tenants/${tenant}/documents/t/${first.data![0]!._id}`);
    expect(numbers(await socket.next())).toEqual([3, 2]);
    await insert({n: 10});
    expect(numbers(await socket.next())).toEqual([10, 3]);
    socket.close();
  });

  test('several subscriptions to one query on one connection have distinct ids and all get results', async () => {
    const socket = await Socket.established(service, tenant);
    socket.send({type: 'subscribe', request_id: 'a', query: all});
    socket.send({type: 'subscribe', request_id: 'b', query: {filters: [], table: 't'}});
    const ids = [(await socket.next()).subscription_id, (await socket.next()).subscription_id];
    expect(new Set(ids).size).toBe(2);
    await insert({n: 7});
    const results = [await socket.next(), await socket.next()];
    expect(results.map(frame => frame.subscription_id).sort()).toEqual([...ids].sort());
    for (const frame of results) expect(numbers(frame)).toEqual([7]);
    socket.send({type: 'unsubscribe', subscription_id: ids[0]});
    socket.send({type: 'clear_auth'});
    expect(await socket.next()).toEqual({type: 'authenticated', is_authenticated: false});
    await insert({n: 8});
    expect((await socket.next()).subscription_id).toBe(ids[1]);
    socket.close();
  });

  test('a killed worker: connections stay, and results go on from the state on disk', async () => {
    await insert({n: 1});
    const socket = await Socket.established(service, tenant);
    socket.send({type: 'subscribe', request_id: 'r', query: all});
    expect(numbers(await socket.next())).toEqual([1]);
    process.kill(await service.workerOf(tenant), 'SIGKILL');
    await insert({n: 2});
    expect(numbers(await socket.nextThat(frame => numbers(frame).length === 2))).toEqual([1, 2]);
    socket.close();
  });
});

describe('a tenant that sleeps', () => {
  test('is woken by a subscription: the first result comes without any other request', async () => {
    const sleepy = await Service.start({args: ['--idle-stop', '500ms']});
    try {
      await sleepy.post('/api/tenants', {id: 'acme'});
      await sleepy.post('/api/tenants/acme/documents', {table: 't', fields: {n: 1}});
      await sleepy.asleep('acme');
      const socket = await Socket.established(sleepy, 'acme');
      socket.send({type: 'subscribe', request_id: 'r', query: all});
      expect(await socket.next()).toMatchObject({type: 'subscription_result', request_id: 'r', data: [{n: 1}]});
      socket.close();
    } finally {
      await sleepy.stop();
    }
  });
});
