/** The audit log of a really started service: what it says, that it is on disk first, and that no secret is in it. */
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {AuditPage, AuditRecord, RefusalPage} from '../../shared/protocol/audit.ts';
import {svc} from '../harness/command.ts';
import {firstOf} from '../harness/nightly.ts';
import {type Reply, Service, STATE} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError} from '../harness/tenant.ts';

type Intent = Extract<AuditRecord, {kind: 'intent'}>;
type Outcome = Extract<AuditRecord, {kind: 'outcome'}>;

let service: Service;
let tenant: string;
beforeAll(async () => {
  service = await Service.start({args: ['--log-level', 'debug']});
  tenant = await service.tenant('acme');
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const at = (path: string) => `/api/tenants/${tenant}${path}`;
const run = (...args: string[]) =>
  svc(['audit', ...args, '--url', service.url], {SVC_ACCESS_TOKEN: service.accessToken, ...STATE});

function as(token: string, method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
  return service.request(method, path, body, {authorization: `Bearer ${token}`, ...headers});
}

async function recordsOf(): Promise<AuditRecord[]> {
  return ((await service.get('/api/audit?limit=1000')).body as AuditPage).records;
}

/** What was asked for after this record, with how it was answered. */
async function actionsAfter(sequence: number): Promise<[Intent, Outcome | undefined][]> {
  const records = await recordsOf();
  const intents = records.filter(record => record.kind === 'intent' && record.sequence > sequence) as Intent[];
  return intents.map(intent => [
    intent,
    records.find(record => record.kind === 'outcome' && record.of === intent.sequence) as Outcome,
  ]);
}

async function head(): Promise<number> {
  return ((await service.get('/api/audit?limit=1')).body as AuditPage).latest_sequence;
}

describe('an action of an operator', () => {
  test('has a record of who did what to which tenant, from where, and how it was answered', async () => {
    const before = await head();
    const {body} = await service.post('/api/keys', {name: 'ops', scopes: ['env', 'schema', 'tenants', 'services']});
    const {key, secret} = body as {key: {id: string}; secret: string};
    await as(secret, 'PUT', at('/env/TOKEN'), {value: 'the-value'}, {'x-request-id': 'mine'});
    await as(secret, 'PUT', at('/schema/t'), {table: 'other', fields: []});
    await as(secret, 'POST', '/api/tenants', {id: tenant});
    await as(secret, 'DELETE', '/api/tenants/never');
    await service.post('/api/sessions', {tenant});
    await service.post(at('/crons'), {
      name: 'daily',
      schedule: {type: 'interval', seconds: 86_400},
      mutation: {type: 'insert', table: 't', fields: {a: 1}},
    });
    await service.post(at('/tasks'), {type: 'delete', query: {table: 'gone', filters: []}});
    const lines = {'content-type': 'application/x-ndjson'};
    await service.request('POST', at('/import?table=t&import_id=first'), '{"n":1}', lines);
    await service.request('DELETE', `/api/keys/${key.id}`);
    const by = {key: key.id, key_name: 'ops', address: '127.0.0.1'};
    const admin = {key: null, key_name: 'admin'};
    expect((await actionsAfter(before)).map(([intent, outcome]) => [intent, outcome?.status, outcome?.code])).toEqual([
      [expect.objectContaining({operation: 'keys.create', tenant: null, subject: {name: 'ops'}, ...admin}), 201, null],
      [
        expect.objectContaining({operation: 'env.set', tenant, subject: {name: 'TOKEN'}, request_id: 'mine', ...by}),
        204,
        null,
      ],
      [
        expect.objectContaining({operation: 'schema.put', tenant, subject: {table: 't'}, ...by}),
        400,
        'op.invalid_input',
      ],
      [
        expect.objectContaining({operation: 'tenants.create', subject: {id: tenant}, ...by}),
        409,
        'session.tenant_exists',
      ],
      [expect.objectContaining({operation: 'sessions.create', tenant, ...admin}), 201, null],
      [expect.objectContaining({operation: 'crons.create', tenant, subject: {name: 'daily'}, ...admin}), 201, null],
      [
        expect.objectContaining({operation: 'tasks.create', subject: {type: 'delete', table: 'gone'}, ...admin}),
        202,
        null,
      ],
      [
        expect.objectContaining({operation: 'imports.run', subject: {table: 't', import_id: 'first'}, ...admin}),
        200,
        null,
      ],
      [expect.objectContaining({operation: 'keys.revoke', subject: {key_id: key.id}, ...admin}), 204, null],
    ]);
  });

  test('is no reading, no writing of documents (now or in a job), and nothing that was refused before it began', async () => {
    const before = await head();
    const insert = {type: 'insert', table: 't', fields: {}};
    await service.post(at('/documents'), insert);
    await service.post(at('/schedule'), {run_after_ms: 1e6, mutation: insert});
    await service.get(at('/env'));
    await service.get(at('/export?table=t'));
    await as('none', 'PUT', at('/env/A'), {value: ''});
    await service.request('PUT', '/api/tenants/never/env/A', {value: ''});
    const {body} = await service.post('/api/keys', {name: 'little', scopes: ['logs']});
    expectError(await as((body as {secret: string}).secret, 'PUT', at('/env/A'), {value: ''}), 403, 'auth.forbidden');
    expect((await actionsAfter(before)).map(([{operation}]) => operation)).toEqual(['keys.create']);
  });

  test('has no secret in its record, also where a key is named by it', async () => {
    const before = await head();
    const {body} = await service.post('/api/keys', {name: 'pasted', scopes: ['logs']});
    const {key, secret} = body as {key: {id: string}; secret: string};
    expectError(await service.request('DELETE', `/api/keys/${secret}`), 404, 'op.not_found');
    await service.post('/api/keys', {name: `was ${secret}`, scopes: ['logs', 'logs']});
    expect((await actionsAfter(before)).map(([{subject}]) => subject)).toEqual([
      {name: 'pasted'},
      {key_id: `svc_key_${key.id}…`},
      {name: `was svc_key_${key.id}…`},
    ]);
  });

  test('that was answered has a record that outlives kill -9, and so does the chain', async () => {
    const before = await head();
    expect((await service.request('PUT', at('/env/KILLED'), {value: 'x'})).status).toBe(204);
    await service.killAll();
    await service.run();
    const [[intent]] = (await actionsAfter(before)) as [[Intent, Outcome | undefined]];
    expect(intent).toMatchObject({operation: 'env.set', subject: {name: 'KILLED'}});
    expect((await run('verify')).stdout).toContain('all is well');
  });
});

describe('a refusal', () => {
  type Refused = Extract<RefusalPage['records'][number], {kind: 'refused'}>;
  const page = async (query = '') => (await service.get(`/api/audit/refusals?limit=1000${query}`)).body as RefusalPage;
  const since = async (after: number) =>
    (await page(`&after=${after}`)).records.map(
      ({at: _, integrity_sha256: __, version: ___, sequence: ____, ...rest}) => rest,
    );

  test('has a record in a log of its own: who asked for what, from where, and nothing of a secret', async () => {
    const actions = await head();
    const {latest_sequence: before} = await page();
    const {body} = await service.post('/api/keys', {
      name: 'limited',
      scopes: ['data:read', 'data:write'],
      tables: ['mine'],
    });
    const {key, secret} = body as {key: {id: string}; secret: string};
    const told = `svc_key_${key.id}…`;
    const ask = (method: string, path: string, more: unknown = {}) =>
      as(secret, method, at(path), more, {'x-request-id': 'mine'});
    for (let i = 0; i < 3; i++) expectError(await ask('PUT', '/env/A'), 403, 'auth.forbidden');
    expectError(await ask('POST', '/query', {table: 'theirs', filters: []}), 403, 'auth.forbidden'); // by the worker
    expectError(await as(secret, 'GET', '/api/audit'), 403, 'auth.forbidden');
    expectError(await service.get('/api/whoami', {origin: 'https://elsewhere.example'}), 403, 'auth.origin_forbidden');
    await expect(Socket.established(service, tenant, `${secret}x`)).rejects.toThrow();
    expectError(await as(`${secret.slice(0, -1)}-`, 'GET', at('/query/stream?query={}')), 401, 'auth.unauthorized');
    expectError(
      await service.post(`/svc/${tenant}/query`, {}, {authorization: undefined, 'x-svc-admin-token': 'no'}),
      401,
      'auth.unauthorized',
    );
    const limited = {key: key.id, key_name: 'limited', shown: null, address: '127.0.0.1', count: 1, kind: 'refused'};
    const stranger = {...limited, key: null, key_name: null};
    const records = (await since(before)) as Refused[];
    expect(records).toEqual([
      {...limited, operation: 'env.set', tenant, code: 'auth.forbidden', request_id: 'mine'},
      {...limited, operation: 'query.run', tenant, code: 'auth.forbidden', request_id: 'mine'},
      {...limited, operation: 'audit.page', tenant: null, code: 'auth.forbidden', request_id: expect.any(String)},
      {...stranger, operation: null, tenant: null, code: 'auth.origin_forbidden', request_id: expect.any(String)},
      {
        ...stranger,
        operation: 'socket',
        tenant,
        code: 'auth.unauthorized',
        shown: told,
        request_id: expect.any(String),
      },
    ]);
    expect((await actionsAfter(actions)).map(([{operation}]) => operation)).toEqual(['keys.create']);
    const {body: metrics} = await service.get('/metrics').then(({text}) => ({body: text}));
    expect(metrics).toMatch(/^svc_refusals_total\{by="key"\} [5-9]$/m);
    expect(metrics).toMatch(/^svc_refusals_unrecorded_total 0$/m);
    expect((await run('--refused')).stdout).toMatch(
      /^\S+Z {2}env\.set {2}acme-1 {2}by limited \(\w+\) {2}from 127\.0\.0\.1 {2}auth\.forbidden$/m,
    );
    expect((await run('verify', '--refused')).stdout).toContain('all is well');
  });

  test('has none where the app refuses its users', async () => {
    const {latest_sequence: before} = await page();
    const user = {authorization: 'Bearer a.b.c'};
    expect((await service.post(`/svc/${tenant}/query`, {path: 'm:f', args: {}}, user)).status).toBeGreaterThan(400);
    expect(await since(before)).toEqual([]);
  });
});

describe('svc audit', () => {
  test('shows actions with their outcomes, and verify the head; pages hold together', async () => {
    await service.request('PUT', at('/env/SHOWN'), {value: 'x'});
    const {stdout} = await run('--history', '20');
    expect(stdout).toMatch(/^\S+Z {2}env\.set {2}acme-1 {2}name=SHOWN {2}by admin {2}from 127\.0\.0\.1 {2}204$/m);
    const newest = (await run('--history', '2')).stdout.trim().split('\n');
    expect(newest).toEqual([expect.any(String), expect.stringContaining('name=SHOWN')]);
    const verified = await run('verify');
    expect(verified).toMatchObject({code: 0});
    const [, noted] = /the head is (\S+)/.exec(verified.stdout)!;
    await service.request('PUT', at('/env/SHOWN'), {value: 'y'});
    expect((await run('verify', '--expect', noted!)).code).toBe(0);
    expect(await run('verify', '--expect', `1:${'0'.repeat(64)}`)).toMatchObject({code: 1});
    const first = (await service.get('/api/audit?limit=3')).body as AuditPage;
    const second = (await service.get(`/api/audit?limit=3&after=${first.next_cursor}`)).body as AuditPage;
    expect(second.previous_sha256).toBe(first.records.at(-1)!.integrity_sha256);
    for (const query of ['after=-1', 'limit=0', 'limit=x']) {
      expectError(await service.get(`/api/audit?${query}`), 400, 'op.invalid_input');
    }
    const {body} = await service.post('/api/keys', {name: 'one tenant', scopes: ['audit'], tenants: [tenant]});
    expectError(await as((body as {secret: string}).secret, 'GET', '/api/audit'), 403, 'auth.forbidden');
  });

  const damages = [
    [
      'changed',
      "UPDATE records SET record = replace(record, 'SHOWN', 'OTHER') WHERE sequence = (SELECT max(sequence) FROM records WHERE record LIKE '%SHOWN%')",
    ],
    ['missing', 'DELETE FROM records WHERE sequence = 3'],
  ] as const;
  test.each(firstOf(1, damages))('verify finds a record that was %s', async (what, statement) => {
    const path = join(service.data, 'audit.sqlite');
    await service.killAll();
    const db = new Database(path);
    const kept = db.serialize();
    db.exec(statement);
    db.close();
    await service.run();
    expect(await run('verify')).toMatchObject({code: 1, stderr: expect.stringContaining(what)});
    await service.killAll();
    const restored = new Database(kept);
    await restored.backup(path);
    restored.close();
    await service.run();
    expect((await run('verify')).code).toBe(0);
  });
});

test('no secret and no value is in any file of the server, in its log, in its metrics, or in an error', async () => {
  const made = (await service.post('/api/keys', {name: 'secret holder', scopes: ['data:read', 'env']})).body as {
    key: {id: string};
    secret: string;
  };
  const rotated = (await service.post(`/api/keys/${made.key.id}/rotate`, {overlap_seconds: 60})).body as {
    secret: string;
  };
  await as(made.secret, 'PUT', at('/env/SOME'), {value: 'a-value-of-a-variable'});
  const typo = `${made.secret.slice(0, -1)}-`;
  const replies = [
    await as(typo, 'GET', '/api/whoami'),
    await as(made.secret, 'DELETE', at('/documents/t/x')),
    await as(made.secret, 'GET', '/api/whoami'),
    await service.request('GET', '/api/keys'),
    await service.request('GET', '/metrics'),
    await service.request('GET', '/api/audit?limit=1000'),
    await service.request('GET', '/api/audit/refusals?limit=1000'),
  ];
  const files = [
    'keys.sqlite',
    'keys.sqlite-journal',
    'audit.sqlite',
    'audit.sqlite-journal',
    'refusals.sqlite',
    'sessions.sqlite',
    'registry.sqlite',
  ];
  const there = files.filter(name => readdirSync(service.data).includes(name));
  expect(there).toContain('audit.sqlite');
  const texts = [
    ...replies.map(({text}) => text),
    service.log,
    ...there.map(name => readFileSync(join(service.data, name), 'latin1')),
  ];
  for (const secret of [made.secret, rotated.secret, typo, service.accessToken, service.adminToken]) {
    for (const text of texts) expect(text.includes(secret.slice(21, 60))).toBe(false);
  }
  for (const text of texts) expect(text.includes('a-value-of-a-variable')).toBe(false);
});
