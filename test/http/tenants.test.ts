import {connect} from 'node:net';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {isAlive} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const create = (body: unknown) => service.post('/api/tenants', body);
const remove = (id: string) => service.request('DELETE', `/api/tenants/${id}`);
async function listed(): Promise<string[]> {
  const {tenants}: {tenants: string[]} = (await service.get('/api/tenants')).body;
  return tenants;
}

describe('DELETE /api/tenants/{tenant}, while its bootstrap is streamed to a reader that has stopped reading,', () => {
  test('cuts the stream and ends its worker in order', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insertAll(
      't',
      Array.from({length: 40}, () => ({text: 'x'.repeat(500_000)})),
    );
    const worker = await service.workerOf(tenant.id);
    const reader = connect({host: '127.0.0.1', port: service.port});
    reader.on('error', () => undefined); // a reset is a cut as well
    const closed = new Promise(resolve => reader.once('close', resolve));
    let received = 0;
    let tail = '';
    reader.on('data', chunk => {
      received += (chunk as Buffer).length;
      reader.pause();
    });
    const authorization = `Authorization: Bearer ${service.accessToken}`;
    reader.write(
      `GET /api/tenants/${tenant.id}/journal/bootstrap HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n\r\n`,
    );
    await until('the first bytes', () => received > 0);
    expect((await remove(tenant.id)).status).toBe(204);
    expect(isAlive(worker)).toBe(false);
    expect(service.log).not.toContain('did not end in time');
    reader.removeAllListeners('data').on('data', chunk => {
      received += (chunk as Buffer).length;
      tail = (tail + String(chunk)).slice(-10);
    });
    reader.resume();
    await closed;
    expect(received).toBeLessThan(20_000_000);
    expect(tail).not.toContain('0\r\n\r\n');
  });
});

describe('POST /api/tenants', () => {
  test('201 with the id, which is listed from then on', async () => {
    const reply = await create({id: 'acme', ignored: 1});
    expect(reply).toMatchObject({status: 201, body: {id: 'acme'}});
    expect(reply.text).toBe('{"id":"acme"}');
    expect(await listed()).toContain('acme');
  });

  test.each(['a', '0', 'A-b_9', 'a'.repeat(64), 'con', '0-', '__proto__'.slice(2), 'constructor', 'query'])(
    'takes the id %s, and its data routes work',
    async id => {
      expect((await create({id})).status).toBe(201);
      expect((await service.post(`/api/tenants/${id}/query`, {table: 't', filters: []})).text).toBe('{"data":[]}');
      expect((await remove(id)).status).toBe(204);
    },
  );

  test.each([
    ...['', 'a'.repeat(65), '-a', '_a', '__proto__', 'a b', 'a/b', 'a.b', '..', 'ä', 'a\0', 'a\n', ' a', 'a%20'],
    ...[null, 1, true, [], {}, ['a']],
  ])('refuses the id %j with 400', async id => {
    expectError(await create({id}), 400, 'op.invalid_input');
  });

  test.each([null, [], 'acme', 1, {}, {ID: 'acme'}, {name: 'acme'}])('refuses the body %j with 400', async body => {
    expectError(await create(JSON.stringify(body)), 400, 'op.invalid_input');
  });

  test('409 for a tenant that exists, whose data stay', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insert('t', {n: 1});
    expectError(await create({id: tenant.id}), 409, 'session.tenant_exists');
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  });

  test('of many at once under one id, exactly one is made', async () => {
    const replies = await Promise.all(Array.from({length: 10}, () => create({id: 'contended'})));
    expect(replies.map(reply => reply.status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
  });

  test('ids that differ in case are different tenants', async () => {
    for (const id of ['case', 'Case', 'CASE']) {
      expect((await create({id})).status).toBe(201);
      await service.post(`/api/tenants/${id}/documents`, {table: 't', fields: {id}});
    }
    for (const id of ['case', 'Case', 'CASE']) {
      expect((await service.get(`/api/tenants/${id}/documents/t`)).body).toMatchObject({data: [{id}]});
    }
  });
});

describe('GET /api/tenants', () => {
  test('lists every tenant, sorted', async () => {
    for (const id of ['zz', 'Zz', 'z-9', 'z_9', 'z10']) await create({id});
    const tenants = await listed();
    expect(tenants).toEqual([...tenants].sort());
    expect(tenants).toEqual(expect.arrayContaining(['Zz', 'z-9', 'z10', 'z_9', 'zz']));
  });
});

describe('DELETE /api/tenants/{tenant_id}', () => {
  test('204 without a body; from then on 404 everywhere', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insert('t', {});
    expect(await remove(tenant.id)).toMatchObject({status: 204, text: ''});
    expect(await listed()).not.toContain(tenant.id);
    expectError(await tenant.request('GET', '/documents/t'), 404, 'session.tenant_not_found');
    expectError(await tenant.request('POST', '/documents', {table: 't', fields: {}}), 404, 'session.tenant_not_found');
    expectError(await remove(tenant.id), 404, 'session.tenant_not_found');
  });

  test('a tenant made again under an old id starts empty: documents, schema and journal', async () => {
    const tenant = await Tenant.make(service);
    await tenant.insert('t', {});
    await tenant.putSchema('u', [{name: 'a', field_type: 'string', required: true}]);
    await remove(tenant.id);
    expect((await create({id: tenant.id})).status).toBe(201);
    expect(await tenant.list('t')).toEqual([]);
    expect((await tenant.request('GET', '/schema')).body).toEqual({tables: {}});
    expect((await tenant.request('GET', '/journal')).body).toMatchObject({records: [], latest_sequence: 0});
  });

  test('never touches another tenant', async () => {
    const [doomed, other] = [await Tenant.make(service), await Tenant.make(service)];
    await other.insert('t', {kept: true});
    await doomed.insert('t', {});
    await remove(doomed.id);
    expect(await other.list('t')).toMatchObject([{kept: true}]);
  });

  test.each(['never-made', '%20', '...', 'a%2Fb', '__proto__', 'a'.repeat(65), '-a', '%00'])(
    '404 for %s, which is no tenant',
    async id => {
      expectError(await remove(id), 404, 'session.tenant_not_found');
    },
  );
});

test('tenants do not see each other: the same table, and an id of one in the other', async () => {
  const [one, two] = [await Tenant.make(service), await Tenant.make(service)];
  const id = await one.insert('t', {secret: 1});
  expect(await two.list('t')).toEqual([]);
  expectError(await two.request('GET', `/documents/t/${id}`), 404, 'op.not_found');
  expectError(await two.request('PATCH', `/documents/t/${id}`, {patch: {}}), 404, 'op.not_found');
  expectError(await two.request('DELETE', `/documents/t/${id}`), 404, 'op.not_found');
  expect(await one.list('t')).toMatchObject([{secret: 1}]);
});
