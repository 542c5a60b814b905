/**
 * Documents that the router answers without the worker. Tests recognise such an answer by a worker that stands still
 * meanwhile.
 */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {nightly} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {type Reply, Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start({spares: 0, args: ['--metrics-port', '0']});
  tenant = await Tenant.make(service);
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

type Headers = Record<string, string | undefined>;

const path = (id: string, table = 't') => `/documents/${table}/${id}`;
const read = (id: string, headers: Headers = {}, table = 't') =>
  tenant.request('GET', path(id, table), undefined, headers);

/** A new document that the router can answer. */
async function cached(fields: object = {n: 0}, table = 't'): Promise<string> {
  const id = await tenant.insert(table, fields);
  await readTwice(id, table);
  return id;
}

async function readTwice(id: string, table = 't'): Promise<void> {
  for (let times = 0; times < 2; times++) expect((await read(id, {}, table)).status).toBe(200);
}

/** Whatever is awaited has no worker to answer it. */
async function withoutWorker<T>(act: () => Promise<T>): Promise<T> {
  const worker = await service.workerOf(tenant.id);
  process.kill(worker, 'SIGSTOP');
  try {
    return await act();
  } finally {
    process.kill(worker, 'SIGCONT');
  }
}

/** What does not differ between two answers. */
function comparable({status, text, headers}: Reply): unknown {
  const {date: _date, 'x-request-id': _id, ...others} = headers;
  return {status, text, headers: others};
}

describe('a document that was read twice is answered by the router', () => {
  test.each<[string, string, Headers]>([
    ['GET', 'GET', {}],
    ['HEAD', 'HEAD', {}],
    ['GET of another version', 'GET', {'if-none-match': '"1-2"'}],
  ])('%s: as by the worker', async (_, method, headers) => {
    const id = await tenant.insert('t', {text: 'ä "quoted"', list: [1, null, {a: true}]});
    const request = () => tenant.request(method, path(id), undefined, headers);
    const byWorker = await request();
    await readTwice(id);
    expect(comparable(await withoutWorker(request))).toEqual(comparable(byWorker));
  });

  test('its ETag in If-None-Match: 304, as by the worker', async () => {
    const id = await tenant.insert('t', {n: 1});
    const etag = String((await read(id)).headers.etag);
    for (const known of [etag, `W/${etag}`]) {
      const byWorker = await read(id, {'if-none-match': `${known}, "x"`});
      await readTwice(id);
      const byRouter = await withoutWorker(() => read(id, {'if-none-match': known}));
      expect([byRouter.status, comparable(byRouter)]).toEqual([304, comparable(byWorker)]);
    }
  });

  test.each(['*', '"1-2", "3-4"', 'nonsense', '""""'])('If-None-Match: %s is judged by the worker', async given => {
    const fresh = await tenant.insert('t', {n: 1});
    const expected = await read(fresh, {'if-none-match': given});
    const reply = await read(await cached(), {'if-none-match': given});
    expect(reply.status).toBe(expected.status);
    expect(reply.status).toBe({'*': 304, '"1-2", "3-4"': 200}[given] ?? 400);
  });

  test('only under its own table', async () => {
    const id = await cached();
    expectError(await read(id, {}, 'other'), 404, 'op.not_found');
    expectError(await read(`t%2F${id}`), 404, 'op.not_found');
  });

  test('each answer is counted, and has its own request id', async () => {
    const id = await cached();
    const names = [
      'svc_http_requests_total{method="GET",route="/api/tenants/{tenant_id}/documents/{table}/{document_id}",status="200"}',
      'svc_router_cached_answers_total',
    ];
    const before = await counts(names);
    const replies = await withoutWorker(() => Promise.all(Array.from({length: 10}, () => read(id))));
    expect(new Set(replies.map(({headers}) => headers['x-request-id'])).size).toBe(10);
    const after = await counts(names);
    expect(after.map((count, at) => count - before[at]!)).toEqual([10, 10]);
  });
});

async function counts(names: readonly string[]): Promise<number[]> {
  const text = (await service.get('/metrics')).text;
  return names.map(name => {
    const line = text.split('\n').find(one => one.startsWith(`${name} `));
    return Number(line?.split(' ').at(-1));
  });
}

describe('a change is in the next answer', () => {
  const document = async (id: string, table = 't') => {
    const {status, body} = await read(id, {}, table);
    return status === 200 ? ((body as {document: {n: number}}).document.n ?? null) : status;
  };
  /** A task that was accepted, to its end. */
  const completed = async (accepted: Promise<Reply>) => {
    const {status, body} = await accepted;
    expect(status).toBe(202);
    const {id} = body as {id: string};
    await until('the task', async () => {
      const reply = await tenant.request('GET', `/tasks/${id}`);
      return (reply.body as {task: {state: string}}).task.state === 'completed';
    });
  };
  const transaction = (operation: object) => tenant.request('POST', '/transactions', {operations: [operation]});

  test.each<[string, (id: string) => Promise<Reply>, number]>([
    ['PATCH', id => tenant.request('PATCH', path(id), {patch: {n: 5}}), 5],
    ['PUT', id => tenant.request('PUT', path(id), {fields: {n: 6}}), 6],
    ['DELETE', id => tenant.request('DELETE', path(id)), 404],
    ['a transaction', id => transaction({type: 'patch', table: 't', id, patch: {}, increment: {n: 7}}), 7],
    ['a transaction that deletes', id => transaction({type: 'delete', table: 't', id}), 404],
  ])('%s', async (_, change, expected) => {
    const id = await cached();
    for (let times = 0; times < 3; times++) {
      const {status, text} = await change(id);
      expect([200, 201, 204, 404], text).toContain(status);
      expect(await document(id)).toBe(expected * (_ === 'a transaction' ? times + 1 : 1));
    }
  });

  test('a document that is deleted and put again', async () => {
    const id = 'again';
    for (let n = 1; n <= 5; n++) {
      await tenant.request('PUT', path(id), {fields: {n}});
      await readTwice(id);
      expect(await document(id)).toBe(n);
      await tenant.delete('t', id);
      expect(await document(id)).toBe(404);
    }
  });

  test('a job', async () => {
    const id = await cached();
    const mutation = {type: 'update', table: 't', id, patch: {n: 9}};
    const {body} = await tenant.request('POST', '/schedule', {run_after_ms: 0, mutation});
    const {job_id: job} = body as {job_id: string};
    await until('the job', async () => (await tenant.request('GET', `/schedule/history/${job}`)).status === 200);
    expect(await document(id)).toBe(9);
  });

  test('a renamed table, one that takes its name, and one that is dropped', async () => {
    const id = await cached({n: 1}, 'a');
    expect((await tenant.request('POST', '/tables/a/rename', {to: 'b'})).status).toBe(204);
    expect([await document(id, 'a'), await document(id, 'b')]).toEqual([404, 1]);
    await readTwice(id, 'b');
    const other = await cached({n: 2}, 'a');
    expect([await document(other, 'a'), await document(id, 'a')]).toEqual([2, 404]);
    await completed(tenant.request('DELETE', '/tables/b'));
    expect([await document(id, 'b'), await document(other, 'a')]).toEqual([404, 2]);
  });

  test('a task that deletes what a query finds', async () => {
    const ids = await Promise.all(Array.from({length: 20}, (_, n) => cached({n, some: n % 2}, 'many')));
    const query = {table: 'many', filters: [{field: 'some', op: 'eq', value: 0}]};
    await completed(tenant.request('POST', '/tasks', {type: 'delete', query}));
    const found = await Promise.all(ids.map(id => document(id, 'many')));
    expect(found).toEqual(ids.map((_, n) => (n % 2 === 0 ? 404 : n)));
  });

  nightly.test('of more documents at once than a frame names', async () => {
    const ids = Array.from({length: 1_500}, (_, n) => `much-${n}`);
    await Promise.all(ids.map(id => tenant.request('PUT', path(id, 'much'), {fields: {n: 1}})));
    for (const id of ids) await readTwice(id, 'much');
    const query = {table: 'much', filters: []};
    await completed(tenant.request('POST', '/tasks', {type: 'patch', query, patch: {n: 2}}));
    for (const id of ids) expect(await document(id, 'much')).toBe(2);
  });
});

describe('what is judged before a document is looked up', () => {
  const keyWith = async (more: object): Promise<{id: string; authorization: string}> => {
    const {body} = await service.post('/api/keys', {name: `key-${Math.random()}`, scopes: ['data:read'], ...more});
    const {secret, key} = body as {secret: string; key: {id: string}};
    return {id: key.id, authorization: `Bearer ${secret}`};
  };

  test('the tenants, tables and scopes of a key, and whether it was revoked', async () => {
    const id = await cached();
    const mine = await keyWith({tenants: [tenant.id], tables: ['t']});
    const {authorization} = mine;
    expect((await withoutWorker(() => read(id, {authorization}))).status).toBe(200);
    for (const more of [{tables: ['other']}, {tenants: [await service.tenant()]}, {scopes: ['logs']}]) {
      const refused = await keyWith(more);
      expectError(await read(id, {authorization: refused.authorization}), 403, 'auth.forbidden');
    }
    expect((await service.request('DELETE', `/api/keys/${mine.id}`)).status).toBe(204);
    expectError(await read(id, {authorization}), 401, 'auth.unauthorized');
    expectError(await read(id, {authorization: undefined}), 401, 'auth.unauthorized');
  });

  test('the rate limit of a key', async () => {
    const id = await cached();
    const {authorization} = await keyWith({rate_limit: {requests_per_second: 1, burst: 3}});
    const replies = await withoutWorker(() => Promise.all(Array.from({length: 6}, () => read(id, {authorization}))));
    expect(replies.filter(({status}) => status === 429).length).toBeGreaterThanOrEqual(2);
    expect(replies[0]!.headers.ratelimit).toBeDefined();
  });
});

describe('what ends the cache of a tenant', () => {
  test('its worker is killed', async () => {
    const id = await cached({n: 3});
    const killed = await service.workerOf(tenant.id);
    process.kill(killed, 'SIGKILL');
    await until('its end', () => !isAlive(killed));
    await until('the next one', async () => {
      // The router can still have the link to the one that was killed.
      const {status} = await tenant.request('POST', '/wake');
      return status === 200 && ![null, killed].includes(service.ownerOf(tenant.id));
    });
    expect((await read(id)).status).toBe(200);
    await tenant.patch('t', id, {n: 4});
    expect(await tenant.get('t', id)).toMatchObject({n: 4});
  });

  test('it is paused, and it is deleted', async () => {
    const other = await Tenant.make(service);
    const id = await other.insert('t', {n: 1});
    for (let times = 0; times < 3; times++) await other.get('t', id);
    expect((await other.request('POST', '/pause')).status).toBe(200);
    expectError(await other.request('GET', path(id)), 503, 'session.tenant_paused');
    expect((await other.request('POST', '/resume')).status).toBe(200);
    for (let times = 0; times < 3; times++) await other.get('t', id);
    expect((await service.request('DELETE', `/api/tenants/${other.id}`)).status).toBe(204);
    expectError(await other.request('GET', path(id)), 404, 'session.tenant_not_found');
  });
});
