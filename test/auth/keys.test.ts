/** Keys, of a really started service: what they open, what they do not, and how they end. */
import {readFileSync, writeFileSync} from 'node:fs';
import {connect} from 'node:net';
import {join} from 'node:path';
import {PassThrough} from 'node:stream';
import {request} from 'undici';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {ROUTES} from '../../router/routes.ts';
import type {Key} from '../../shared/protocol/keys.ts';
import {SCOPES, type Scope} from '../../shared/rights.ts';
import {svc} from '../harness/command.ts';
import {type Reply, Service, STATE} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

type Made = {key: Key; secret: string};
type Error = {error: {message: string; detail: Record<string, unknown>}};

let service: Service;
let acme: string;
let other: string;
let names = 0;
beforeAll(async () => {
  service = await Service.start({env: {SVC_ROUTERS: '2'}});
  acme = await service.tenant('acme');
  other = await service.tenant('other');
  for (const table of ['mine', 'theirs']) await service.post(`/api/tenants/${acme}/documents`, {table, fields: {n: 1}});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

async function make(body: object, by = service.accessToken): Promise<Made> {
  const reply = await as(by, 'POST', '/api/keys', {name: `key ${++names}`, ...body});
  expect([reply.status, reply.text]).toEqual([201, reply.text]);
  return reply.body as Made;
}

function as(token: string, method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
  return service.request(method, path, body, {authorization: `Bearer ${token}`, ...headers});
}

const at = (path: string, tenant = acme) => `/api/tenants/${tenant}${path}`;
const messageOf = ({body}: Reply) => (body as Error).error.message;
const detailOf = ({body}: Reply) => (body as Error).error.detail;
const query = {table: 'mine', filters: []};

describe('a key', () => {
  test('has Idempotency-Keys of its own, which a rotation and keys that it makes keep', async () => {
    const scopes = ['data:write', 'keys'];
    const [one, two] = [await make({scopes}), await make({scopes})];
    const order = async (token: string, n: number) => {
      const body = {table: 'orders', fields: {n}};
      const {status, text} = await as(token, 'POST', at('/documents'), body, {'idempotency-key': 'order-1'});
      expect([status, text]).toEqual([201, text]);
      return text;
    };
    const answers = [await order(one.secret, 1), await order(two.secret, 1), await order(service.accessToken, 2)];
    expect(new Set(answers).size).toBe(3);
    const rotated = await as(one.secret, 'POST', `/api/keys/${one.key.id}/rotate`, {overlap_seconds: 0});
    const {secret} = rotated.body as Made;
    const made = await make({scopes: ['data:write']}, secret);
    expect([await order(secret, 1), await order(made.secret, 1)]).toEqual([answers[0], answers[0]]);
    expect([await order(two.secret, 1), await order(service.accessToken, 2)]).toEqual(answers.slice(1));
    const other = await as(
      made.secret,
      'POST',
      at('/documents'),
      {table: 'x', fields: {}},
      {'idempotency-key': 'order-1'},
    );
    expectError(other, 409, 'op.conflict');
  });

  test('is shown once, says who it is, and is known by a prefix', async () => {
    const limits = {tenants: [acme], tables: ['mine'], rate_limit: {requests_per_second: 1_000, burst: 2_000}};
    const {key, secret} = await make({name: 'the app', scopes: ['data:read'], expires_in_seconds: 600, ...limits});
    expect(secret).toMatch(new RegExp(`^svc_key_${key.id}_`));
    const {body} = await as(secret, 'GET', '/api/whoami');
    const {id, name, scopes, tenants, tables, expires_at, rate_limit} = key;
    expect(body).toEqual({id, name, scopes, tenants, tables, expires_at, rate_limit});
    expect(key).toMatchObject({name: 'the app', ...limits, created_by: null, last_used_at: null});
    const {text} = await service.get('/api/keys');
    expect(text).toContain(key.id);
    expect(text).not.toContain(secret.slice(21));
    const {body: admin} = await service.get('/api/whoami');
    expect(admin).toMatchObject({id: null, name: 'admin', scopes: [...SCOPES], tenants: null, expires_at: null});
    await until('its use to be reported', async () => {
      const {body: found} = (await service.get(`/api/keys/${key.id}`)) as {body: {key: Key}};
      return found.key.last_used_at !== null;
    });
  });

  test('is refused by name where it is misspelled', async () => {
    const wrong: [object, string][] = [
      [{scope: ['data:read']}, 'scope is not a member'],
      [{scopes: ['data:reed']}, 'scopes.0 must be one of data:read'],
      [{scopes: ['data:reed']}, ', not "data:reed"'],
      [{scopes: []}, 'scopes must not have fewer than 1 items'],
      [{rate_limit: {requests_per_second: 1, bust: 1}}, 'bust is not a member'],
      [{tables: 'mine'}, 'tables'],
      [{tables: ['mine', 'a\u0001']}, 'tables.1 must match'],
      [{tables: ['x'.repeat(65)]}, 'tables.0 must not have more than 64'],
      [{tenants: ['no tenant']}, 'tenants.0 must match'],
    ];
    for (const [members, said] of wrong) {
      const reply = await service.post('/api/keys', {name: 'x', scopes: ['logs'], ...members});
      expectError(reply, 400, 'op.invalid_input');
      expect(messageOf(reply)).toContain(said);
    }
  });

  test('opens what its scopes name, and of everything else says which one it lacks', async () => {
    const {secret} = await make({scopes: ['data:read']});
    expect((await as(secret, 'POST', at('/query'), query)).status).toBe(200);
    for (const {method, pattern, access, rights} of ROUTES) {
      const [scope] = rights.scopes;
      if (access !== 'admin' || scope === undefined || scope === 'data:read') continue;
      const reply = await as(secret, method, pattern.replace(/\{\*?\w+\}/g, 'x'), method === 'GET' ? undefined : {});
      expectError(reply, 403, 'auth.forbidden');
      expect([pattern, detailOf(reply)]).toEqual([pattern, expect.objectContaining({scope})]);
      expect(messageOf(reply)).toContain(scope);
    }
    const run = await make({scopes: SCOPES.filter(scope => scope !== 'functions:run')});
    const headers = {authorization: undefined, 'x-svc-admin-token': run.secret};
    const called = await service.post(`/svc/${acme}/query`, {path: 'm:f', args: {}}, headers);
    expectError(called, 403, 'auth.forbidden');
  });

  test('needs the scopes of all that it asks for: what contains another operation needs that one too', async () => {
    const insert = {type: 'insert', table: 'later', fields: {}};
    const soon = {run_after_ms: 0, mutation: insert};
    const all = await make({scopes: ['schedule', 'data:write']});
    const made = await as(all.secret, 'POST', at('/schedule'), {...soon, run_after_ms: 1e6});
    const {job_id: job} = made.body as {job_id: string};
    const cron = {name: 'daily', schedule: {type: 'interval', seconds: 86_400}, mutation: insert};
    expect((await as(all.secret, 'POST', at('/crons'), cron)).status).toBe(201);
    const writes = await make({scopes: ['data:write', 'functions:run']});
    const plans = await make({scopes: ['schedule']});
    const lacking: [Made, Scope, string, string, unknown][] = [
      [writes, 'schedule', 'POST', '/transactions', {operations: [insert, {type: 'schedule', ...soon}]}],
      [writes, 'schedule', 'POST', '/transactions', {operations: [{type: 'schedule', ...soon}], dry_run: true}],
      [writes, 'schedule', 'POST', '/crons/daily/run', undefined],
      [plans, 'data:write', 'POST', '/schedule', soon],
      [plans, 'data:write', 'POST', '/crons', {...cron, name: 'other'}],
      [plans, 'data:write', 'PATCH', '/crons/daily', {mutation: insert}],
    ];
    for (const [{secret}, scope, method, path, body] of lacking) {
      const reply = await as(secret, method, at(path), body);
      expectError(reply, 403, 'auth.forbidden');
      expect([method, path, detailOf(reply)]).toEqual([method, path, expect.objectContaining({scope})]);
    }
    const operations = {operations: [insert, {type: 'schedule', run_after_ms: 1e6, mutation: insert}]};
    expect((await as(all.secret, 'POST', at('/transactions'), operations)).status).toBe(200);
    expect((await as(writes.secret, 'POST', at('/transactions'), {operations: [insert]})).status).toBe(200);
    expect((await as(plans.secret, 'PATCH', at('/crons/daily'), {enabled: false})).status).toBe(200);
    expect((await as(plans.secret, 'DELETE', at(`/schedule/${job}`))).status).toBe(204);
    expect((await as(plans.secret, 'DELETE', at('/crons/daily'))).status).toBe(204);
    const users = {authorization: undefined, 'x-svc-admin-token': writes.secret};
    const call = {path: 'm:f', args: {}, delay_ms: 0};
    const scheduled = await service.post(`/svc/${acme}/schedule/run_after`, call, users);
    expect([scheduled.status, detailOf(scheduled)]).toEqual([403, expect.objectContaining({scope: 'schedule'})]);
  });

  test('of some tenants sees those alone, and does not learn whether others exist', async () => {
    const {secret} = await make({scopes: ['data:read', 'tenants', 'metrics', 'sandboxes'], tenants: [acme, 'later']});
    expect((await as(secret, 'GET', '/api/tenants')).body).toEqual({tenants: [acme]});
    expect((await as(secret, 'GET', at('/documents/mine'))).status).toBe(200);
    for (const tenant of [other, 'never']) {
      expectError(await as(secret, 'GET', at('/documents/mine', tenant)), 403, 'auth.forbidden');
      expectError(await as(secret, 'GET', `/api/sessions?tenant=${tenant}`), 403, 'auth.forbidden');
      expectError(await as(secret, 'POST', '/api/sessions', {tenant}), 403, 'auth.forbidden');
      await expect(Socket.open(service, tenant, secret)).rejects.toThrow();
    }
    expectError(await as(secret, 'GET', '/metrics'), 403, 'auth.forbidden');
    expectError(await as(secret, 'POST', '/api/tenants', {id: 'foreign'}), 403, 'auth.forbidden');
    expectError(await as(secret, 'DELETE', `/api/tenants/${other}`), 403, 'auth.forbidden');
    expect((await as(secret, 'POST', '/api/tenants', {id: 'later'})).status).toBe(201);
  });

  test('of some tables reaches no other one, by any way', async () => {
    const scopes: Scope[] = ['data:read', 'data:write', 'schema', 'schedule', 'functions:run', 'logs', 'deploy'];
    const {secret} = await make({scopes, tables: ['mine']});
    const insert = (table: string) => ({type: 'insert', table, fields: {}});
    const ask = (method: string, path: string, body?: unknown) => as(secret, method, at(path), body);
    const ways: ((table: string) => Promise<Reply>)[] = [
      table => ask('GET', `/documents/${table}`),
      table => ask('POST', '/documents', {table, fields: {}}),
      table => ask('PUT', `/documents/${table}/one`, {fields: {}}),
      table => ask('POST', '/query', {...query, table}),
      table => ask('POST', '/query/paginated', {query: {...query, table}, page_size: 1}),
      table => ask('POST', '/transactions', {operations: [insert('mine'), insert(table)]}),
      table =>
        ask('POST', '/transactions', {operations: [{type: 'schedule', run_after_ms: 1e6, mutation: insert(table)}]}),
      table => ask('POST', '/schedule', {run_after_ms: 1e6, mutation: insert(table)}),
      table => ask('POST', '/query/count', {...query, table}),
      table => ask('POST', '/query/batch', {queries: [query, {...query, table}]}),
      table => as(secret, 'POST', at(`/import?table=${table}`), '{"n":1}', {'content-type': 'application/x-ndjson'}),
      table => ask('GET', `/export?table=${table}`),
      table => ask('PUT', `/schema/${table}`, {table, fields: []}),
    ];
    for (const way of ways) {
      const reply = await way('mine');
      expect([reply.status < 300, reply.text]).toEqual([true, reply.text]);
      expectError(await way('theirs'), 403, 'auth.forbidden');
    }
    for (const path of [
      '/journal',
      '/journal/bootstrap',
      '/tables',
      '/schedule',
      '/logs',
      '/schema',
      '/functions',
      '/export',
      '/export?table=',
      '/export?table=mine&table=theirs',
    ])
      expectError(await ask('GET', path), 403, 'auth.forbidden');
    const socket = await Socket.established(service, acme, secret);
    socket.send({type: 'subscribe', request_id: 'a', query});
    expect(await socket.next()).toMatchObject({type: 'subscription_result', request_id: 'a'});
    for (const refused of [{...query, table: 'theirs'}, {filters: []}, null, 'mine']) {
      socket.send({type: 'subscribe', request_id: 'b', query: refused});
      expect(await socket.next()).toMatchObject({type: 'op.error', id: 'b', error: {detail: {code: 'auth.forbidden'}}});
    }
    socket.close();
  });

  test('makes, sees and ends only those that may do no more than itself', async () => {
    const limits = {scopes: ['data:read', 'keys'], tenants: [acme], expires_in_seconds: 600};
    const {key, secret} = await make(limits);
    const above = await make({scopes: ['keys']});
    for (const more of [
      {...limits, scopes: ['data:write']},
      {...limits, tenants: [acme, other]},
      {...limits, tenants: null},
      {...limits, expires_in_seconds: 6_000},
      {scopes: ['keys'], tenants: [acme]},
    ])
      expectError(await as(secret, 'POST', '/api/keys', {name: 'more', ...more}), 403, 'auth.forbidden');
    const child = await make({...limits, scopes: ['data:read'], expires_in_seconds: 5}, secret);
    expect(child.key.created_by).toBe(key.id);
    const {keys} = (await as(secret, 'GET', '/api/keys')).body as {keys: Key[]};
    expect(keys.map(({id}) => id)).toContain(child.key.id);
    expect(keys.map(({id}) => id)).not.toContain(above.key.id);
    for (const [method, path, body] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate', {overlap_seconds: 0}],
    ] as const)
      expectError(await as(secret, method, `/api/keys/${above.key.id}${path}`, body), 403, 'auth.forbidden');
    expect((await as(secret, 'DELETE', `/api/keys/${child.key.id}`)).status).toBe(204);
  });
});

describe('a key ends', () => {
  test('at all routers before its revocation is answered, with its sockets and the answers that have no end', async () => {
    const {key, secret} = await make({scopes: ['data:read', 'logs']});
    const sockets = await Promise.all([1, 2, 3].map(() => Socket.established(service, acme, secret)));
    const logs = await request(`${service.url}${at('/logs')}`, {headers: {authorization: `Bearer ${secret}`}});
    const fresh = () =>
      request(`${service.url}/api/whoami`, {headers: {authorization: `Bearer ${secret}`, connection: 'close'}});
    for (let i = 0; i < 8; i++) expect((await fresh()).statusCode).toBe(200);
    expect((await service.request('DELETE', `/api/keys/${key.id}`)).status).toBe(204);
    for (let i = 0; i < 8; i++) expect((await fresh()).statusCode).toBe(401);
    for (const socket of sockets) expect(await socket.closed).toEqual({code: 1008, reason: 'auth.unauthorized'});
    await logs.body.dump();
    expectError(await as(secret, 'GET', '/api/whoami'), 401, 'auth.unauthorized');
    expectError(await service.request('DELETE', `/api/keys/${key.id}`), 404, 'op.not_found');
  });

  test('and so do imports whose lines are still coming', async () => {
    const {key, secret} = await make({scopes: ['data:write']});
    const body = new PassThrough();
    const authorization = `Bearer ${secret}`;
    const answered = request(`${service.url}${at('/import?table=endless&import_id=endless')}`, {
      method: 'POST',
      headers: {authorization, 'content-type': 'application/x-ndjson'},
      body,
    });
    body.write('{"n":1}\n'.repeat(2_000));
    const there = async () => ((await service.get(at('/documents/endless'))).body as {data: object[]}).data?.length;
    await until('lines to be in', async () => (await there()) > 0);
    expect((await service.request('DELETE', `/api/keys/${key.id}`)).status).toBe(204);
    const {statusCode, body: said} = await answered;
    expect([statusCode, await said.json()]).toEqual([
      401,
      {error: expect.objectContaining({code: 'auth.unauthorized'})},
    ]);
    body.destroy();
  });

  test('when it expires, and says so; misspelled ones and unknown ones are distinguished', async () => {
    const {secret} = await make({scopes: ['data:read'], expires_in_seconds: 1});
    const socket = await Socket.established(service, acme, secret);
    expect(await socket.closed).toEqual({code: 1008, reason: 'auth.unauthorized'});
    const said = async (token: string) => {
      const reply = await as(token, 'GET', '/api/whoami');
      expectError(reply, 401, 'auth.unauthorized');
      return messageOf(reply);
    };
    expect(await said(secret)).toContain('this key expired at 2');
    expect(await said(`${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`)).toContain('misspelled');
    const gone = await make({scopes: ['logs']});
    await service.request('DELETE', `/api/keys/${gone.key.id}`);
    expect(await said(gone.secret)).toContain('there is no such key');
  });

  test('slowly when it is rotated: two secrets, then one', async () => {
    const {key, secret} = await make({scopes: ['data:read']});
    const rotate = async (seconds: number) =>
      (await service.post(`/api/keys/${key.id}/rotate`, {overlap_seconds: seconds})).body as Made;
    const second = await rotate(600);
    expect(second.key.secrets).toHaveLength(2);
    for (const valid of [secret, second.secret]) expect((await as(valid, 'GET', '/api/whoami')).status).toBe(200);
    const third = await rotate(0);
    for (const ended of [secret, second.secret]) expect((await as(ended, 'GET', '/api/whoami')).status).toBe(401);
    expect((await as(third.secret, 'GET', '/api/whoami')).status).toBe(200);
    expect(third.key.secrets).toHaveLength(1);
  });
});

test('a write whose body is still arriving when its key is revoked is 401, and not done', async () => {
  const {key, secret} = await make({scopes: ['data:write'], tenants: [acme]});
  const body = '{"table":"mine","fields":{"late":true}}';
  const client = connect({host: '127.0.0.1', port: service.port});
  let received = '';
  client.on('data', chunk => {
    received += String(chunk);
  });
  const head = `POST ${at('/documents')} HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nAuthorization: Bearer ${secret}\r\n`;
  // It has been taken in when another request of the connection before it is answered.
  client.write(
    `GET /health HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\n\r\n${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
  );
  await until('the answer before it', () => received.includes('200 OK'));
  received = '';
  expect((await service.request('DELETE', `/api/keys/${key.id}`)).status).toBe(204);
  client.write(body.slice(-1));
  await until('its answer', () => received.includes('\r\n\r\n'));
  client.destroy();
  expect(received).toMatch(/^HTTP\/1\.1 401 /);
  expect((await service.get(at('/documents/mine'))).text).not.toContain('"late"');
});

test('a key in a URL is 400 also where another credential was sent', async () => {
  const {secret} = await make({scopes: ['data:read']});
  expectError(await service.get(`${at('/documents/mine')}?key=${secret}`), 400, 'op.invalid_input');
});

test('svc key makes, shows, rotates and revokes them; the secret alone is on stdout', async () => {
  const run = (...args: string[]) =>
    svc(['key', ...args, '--url', service.url], {SVC_ACCESS_TOKEN: service.accessToken, ...STATE});
  const limits = ['--tenants', 'acme-1', '--tables', 'mine', '--expires', '30d', '--rate', '5'];
  const made = await run('create', 'by hand', '--scopes', 'data:read,data:write', ...limits);
  expect(made).toMatchObject({code: 0, stdout: expect.stringMatching(/^svc_key_\w+\n$/)});
  const {stdout} = await run('list');
  expect(stdout).toMatch(
    /^by hand {2}\w{12} {2}data:read,data:write {2}tenants acme-1 {2}tables mine {2}ends .*never used$/m,
  );
  const rotated = await run('rotate', 'by hand', '--overlap', '1m');
  for (const {stdout: secret} of [made, rotated]) {
    expect((await as(secret.trim(), 'GET', '/api/whoami')).body).toMatchObject({name: 'by hand'});
  }
  expect(await run('revoke', 'by hand')).toMatchObject({code: 0, stdout: 'revoked by hand\n'});
  expect((await as(rotated.stdout.trim(), 'GET', '/api/whoami')).status).toBe(401);
  expect(await run('revoke', 'by hand')).toMatchObject({code: 1, stderr: expect.stringContaining('there is no key')});
  const makers = await Promise.all([acme, other].map(id => make({scopes: ['keys'], tenants: [id]})));
  const twins = [await make({scopes: ['keys'], name: 'twin', tenants: [acme]}, makers[0]!.secret)];
  twins.push(await make({scopes: ['keys'], name: 'twin', tenants: [other]}, makers[1]!.secret));
  const several = await run('revoke', 'twin');
  expect(several.code).toBe(1);
  for (const {key} of twins) expect(several.stderr).toContain(key.id);
  expect((await run('revoke', twins[0]!.key.id)).code).toBe(0);
  expect(await run('revoke', 'twin')).toMatchObject({code: 0, stdout: 'revoked twin\n'});
  expect(await run('create', 'x', '--scopes', 'all')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('data:read'),
  });
  const refused = await svc(['key', 'list', '--url', service.url], {SVC_ACCESS_TOKEN: rotated.stdout.trim(), ...STATE});
  expect(refused.stderr).toContain('there is no such key');
});

describe('on disk', () => {
  test('keys and revocations outlive kill -9; a damaged record is no key and is reported; without the file none is valid', async () => {
    const kept = await make({scopes: ['data:read'], name: 'kept'});
    const damaged = await make({scopes: ['data:read'], name: 'damaged here'});
    const revoked = await make({scopes: ['data:read']});
    await service.request('DELETE', `/api/keys/${revoked.key.id}`);
    await service.killAll();
    const path = join(service.data, 'keys.sqlite');
    const bytes = readFileSync(path, 'latin1');
    for (const {secret} of [kept, damaged, revoked]) expect(bytes).not.toContain(secret.slice(21));
    writeFileSync(path, bytes.replaceAll('"name":"damaged here"', '"name":"damaged HERE"'), 'latin1');
    await service.run();
    expect((await as(kept.secret, 'GET', '/api/whoami')).status).toBe(200);
    for (const {secret} of [damaged, revoked]) expect((await as(secret, 'GET', '/api/whoami')).status).toBe(401);
    const {damaged: told} = (await service.get('/api/keys')).body as {damaged: string[]};
    expect(told).toEqual([damaged.key.id]);
    expect((await service.request('DELETE', `/api/keys/${damaged.key.id}`)).status).toBe(204);

    await service.killAll();
    writeFileSync(path, `${readFileSync(path, 'latin1').slice(0, 5_000)}nonsense`, 'latin1');
    await service.run();
    expect((await as(kept.secret, 'GET', '/api/whoami')).status).toBe(401);
    const refused = await service.get('/api/keys');
    expectError(refused, 503, 'op.storage_damaged');
    expect(messageOf(refused)).toContain(path);
    expect((await service.get(at('/documents/mine'))).status).toBe(200);
    expect(service.log).toContain('no key is valid');
  });
});
