/** Sessions over HTTP, as /api/sessions… has them: leases, their sandboxes, and how they end. */
import {beforeAll, describe, expect, test} from 'vitest';
import {newSessionId, tenantOfSession} from '../../shared/session-id.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {
  executeIn,
  newSandbox,
  openSession,
  type Sandbox,
  type Session,
  sandboxOf,
  sessionOf,
} from './sandbox-client.ts';

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});

const close = async (id: string): Promise<Session> => {
  const reply = await service.post(`/api/sessions/${id}/close`);
  expect(reply.status).toBe(200);
  const {session}: {session: Session} = reply.body;
  return session;
};
const sandboxesOf = async (of: Tenant): Promise<Sandbox[]> => {
  const {sandboxes}: {sandboxes: Sandbox[]} = (await of.request('GET', '/sandboxes')).body;
  return sandboxes;
};

describe('an id of a session names its tenant', () => {
  test.each(['a', 'Acme_1', 'a-b', 'x'.repeat(64)])('%s', id => {
    expect(tenantOfSession(newSessionId(id))).toBe(id);
  });
  test.each([
    '',
    'a',
    '.',
    'a.',
    `.${'0'.repeat(32)}`,
    `a.b.${'0'.repeat(32)}`,
    `a.${'0'.repeat(31)}g`,
    `../x.${'0'.repeat(32)}`,
  ])('%j names none', id => {
    expect(tenantOfSession(id)).toBeNull();
  });
});

describe('a session is opened for a tenant, in the body', () => {
  test('POST answers 201 with its record, GET shows the same, the list of its tenant has it', async () => {
    const metadata = {user: 'ada', nested: {a: [1]}};
    const session = await openSession(service, {tenant: tenant.id, ttl_ms: 60_000, metadata});
    expect(session).toEqual({
      id: expect.stringMatching(new RegExp(`^${tenant.id}\\.[0-9a-f]{32}$`)),
      tenant: tenant.id,
      sandbox_id: null,
      ttl_ms: 60_000,
      metadata,
      state: 'open',
      created_at: expect.any(Number),
      last_used_at: session.created_at,
      expires_at: session.created_at + 60_000,
      ended_at: null,
    });
    expect(await sessionOf(service, session.id)).toEqual(session);
    const {sessions}: {sessions: Session[]} = (await service.get(`/api/sessions?tenant=${tenant.id}`)).body;
    expect(sessions.at(-1)).toEqual(session);
  });

  test('another tenant has its own', async () => {
    const other = await Tenant.make(service);
    const reply = await service.get(`/api/sessions?tenant=${other.id}`);
    expect([reply.status, reply.body]).toEqual([200, {sessions: []}]);
  });

  test('with the same Idempotency-Key it is opened once', async () => {
    const headers = {'idempotency-key': 'once'};
    const first = await service.post('/api/sessions', {tenant: tenant.id}, headers);
    const again = await service.post('/api/sessions', {tenant: tenant.id}, headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  test.each<[unknown, number, string, string]>([
    [{}, 400, 'op.invalid_input', 'must name the tenant'],
    [null, 400, 'op.invalid_input', 'must name the tenant'],
    [[], 400, 'op.invalid_input', 'must name the tenant'],
    [{tenant: 1}, 400, 'op.invalid_input', 'must name the tenant'],
    ['{"tenant":', 400, 'op.invalid_input', 'not JSON'],
    [undefined, 400, 'op.invalid_input', 'a JSON body is required'],
    [{tenant: 'nobody'}, 404, 'session.tenant_not_found', 'nobody'],
    [{tenant: '%61'}, 404, 'session.tenant_not_found', '%61'],
  ])('%j is %i %s', async (body, status, code, message) => {
    const reply = await service.post('/api/sessions', body === null ? 'null' : body);
    expect(expectError(reply, status, code).message).toContain(message);
  });

  test.each<[object, number, string]>([
    [{ttl_ms: 999}, 400, 'op.invalid_input'],
    [{ttl_ms: 86_400_001}, 400, 'op.invalid_input'],
    [{metadata: []}, 400, 'op.invalid_input'],
    [{metadata: {a: 'x'.repeat(4_096)}}, 400, 'op.invalid_input'],
    [{sandbox_id: 1}, 400, 'op.invalid_input'],
    [{sandbox_id: 'none'}, 404, 'op.not_found'],
  ])('with %j it is %i %s', async (body, status, code) => {
    expectError(await service.post('/api/sessions', {tenant: tenant.id, ...body}), status, code);
  });

  test('with a sandbox that does not run it is 409', async () => {
    const {id} = await newSandbox(tenant);
    await tenant.request('POST', `/sandboxes/${id}/stop`);
    expectError(await service.post('/api/sessions', {tenant: tenant.id, sandbox_id: id}), 409, 'op.conflict');
  });
});

describe('routes of sessions name no tenant', () => {
  test.each<[string, number, string]>([
    ['', 400, 'op.invalid_input'],
    ['?tenant=', 400, 'op.invalid_input'],
    ['?tenant_id=a', 400, 'op.invalid_input'],
    ['?tenant=nobody', 404, 'session.tenant_not_found'],
    ['/x', 404, 'op.not_found'],
    [`/nobody.${'0'.repeat(32)}`, 404, 'session.tenant_not_found'],
    ['/%', 404, 'op.not_found'],
  ])('GET /api/sessions%s is %i %s', async (path, status, code) => {
    expectError(await service.get(`/api/sessions${path}`), status, code);
  });

  test('a session that is not there is 404 for each of them', async () => {
    const id = newSessionId(tenant.id);
    expectError(await service.get(`/api/sessions/${id}`), 404, 'op.not_found');
    expectError(await service.post(`/api/sessions/${id}/close`), 404, 'op.not_found');
    expectError(await service.post(`/api/sessions/${id}/execute`, {code: '1'}), 404, 'op.not_found');
  });

  test('each needs an admin credential, before anything about a tenant is revealed', async () => {
    const headers = {authorization: 'Bearer wrong'};
    const id = newSessionId('nobody');
    for (const [method, path, body] of [
      ['GET', '/api/sessions?tenant=nobody', undefined],
      ['POST', '/api/sessions', {tenant: 'nobody'}],
      ['GET', `/api/sessions/${id}`, undefined],
      ['POST', `/api/sessions/${id}/close`, undefined],
      ['POST', `/api/sessions/${id}/execute`, {code: '1'}],
    ] as const) {
      expectError(await service.request(method, path, body, headers), 401, 'auth.unauthorized');
    }
  });
});

describe('a session executes', () => {
  test('in a sandbox of its own, made by its first execution, and stopped when it is closed', async () => {
    const own = await Tenant.make(service);
    const {id} = await openSession(service, {tenant: own.id});
    expect(await sandboxesOf(own)).toEqual([]);
    const both = [executeIn(service, id, {code: 'globalThis.n ??= 0; return ++n'})];
    both.push(executeIn(service, id, {code: 'globalThis.n ??= 0; return ++n'}));
    expect((await Promise.all(both)).map(({value}) => value).sort()).toEqual([1, 2]);
    const [sandbox, ...others] = await sandboxesOf(own);
    expect([sandbox!.session_id, sandbox!.state, others]).toEqual([id, 'running', []]);
    const session = await sessionOf(service, id);
    expect(session.sandbox_id).toBe(sandbox!.id);
    expect(session.last_used_at).toBeGreaterThanOrEqual(session.created_at);
    expect(session.expires_at).toBe(session.last_used_at + session.ttl_ms);
    expect(await close(id)).toMatchObject({state: 'closed', ended_at: expect.any(Number)});
    expect((await sandboxOf(own, sandbox!.id)).state).toBe('stopped');
  });

  test('in the sandbox that it was given, which outlives it', async () => {
    const {id: sandbox_id} = await newSandbox(tenant);
    const first = await openSession(service, {tenant: tenant.id, sandbox_id});
    const second = await openSession(service, {tenant: tenant.id, sandbox_id});
    await executeIn(service, first.id, {code: 'globalThis.n = 7'});
    await close(first.id);
    expect((await executeIn(service, second.id, {code: 'return n'})).value).toBe(7);
    expect((await sandboxOf(tenant, sandbox_id)).state).toBe('running');
  });

  test('and is refused once its sandbox has ended: no other one is put in its place', async () => {
    const {id} = await openSession(service, {tenant: tenant.id});
    await executeIn(service, id, {code: 'globalThis.n = 1'});
    const {sandbox_id} = await sessionOf(service, id);
    await tenant.request('POST', `/sandboxes/${sandbox_id}/stop`);
    const error = expectError(
      await service.post(`/api/sessions/${id}/execute`, {code: 'return 1'}),
      409,
      'op.conflict',
    );
    expect(error.message).toContain('is stopped');
    expect((await sessionOf(service, id)).state).toBe('open');
  });

  test('and an error of its code is that of the execution', async () => {
    const {id} = await openSession(service, {tenant: tenant.id});
    const reply = await service.post(`/api/sessions/${id}/execute`, {code: 'throw new Error("no")'});
    const {error}: {error: object} = reply.body;
    expect([reply.status, error]).toEqual([
      422,
      {
        code: 'sandbox.execution_failed',
        message: 'no',
        detail: {
          reason: 'threw',
          name: 'Error',
          stack: 'Error: no\n    at sandbox.js:1:7',
          log_lines: [],
          duration_ms: expect.any(Number),
          state: 'running',
        },
      },
    ]);
  });
});

describe('a session ends', () => {
  const refused = async (id: string, state: string): Promise<void> => {
    const error = expectError(await service.post(`/api/sessions/${id}/execute`, {code: '1'}), 409, 'op.conflict');
    expect([error.message, error.detail]).toEqual([expect.stringContaining(`is ${state}`), {state}]);
  };

  test('closed: by POST …/close, which may be repeated', async () => {
    const {id} = await openSession(service, {tenant: tenant.id});
    const closed = await close(id);
    expect(closed.state).toBe('closed');
    expect(await close(id)).toEqual(closed);
    await refused(id, 'closed');
  });

  test('closed while it executes: the code is cut off', async () => {
    const {id} = await openSession(service, {tenant: tenant.id});
    await executeIn(service, id, {code: 'globalThis.n = 1'});
    const reply = service.post(`/api/sessions/${id}/execute`, {
      code: 'await new Promise(done => setTimeout(done, 20_000))',
    });
    await close(id);
    const {error}: {error: {code: string; detail: {state: string}}} = (await reply).body;
    expect(['sandbox.execution_failed', 'op.conflict']).toContain(error.code);
  });

  test('expired: ttl_ms after its last use, and its own sandbox with it', async () => {
    const {id} = await openSession(service, {tenant: tenant.id, ttl_ms: 1_000});
    await executeIn(service, id, {code: 'await new Promise(done => setTimeout(done, 1_200))'}); // longer than its lease
    const {sandbox_id} = await sessionOf(service, id);
    expect((await sandboxOf(tenant, sandbox_id!)).state).toBe('running');
    await until('it has expired', async () => (await sessionOf(service, id)).state === 'expired');
    await until('its sandbox is stopped', async () => (await sandboxOf(tenant, sandbox_id!)).state === 'stopped');
    await refused(id, 'expired');
  });
});
