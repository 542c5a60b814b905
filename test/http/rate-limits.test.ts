/** --rate-limit-tenant: so slow here that nothing is earned while a test runs; each test has a tenant of its own. */
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {FunctionSocket} from '../harness/function-socket.ts';
import {type Reply, Service} from '../harness/service.ts';
import {Socket} from '../harness/socket.ts';
import {expectError} from '../harness/tenant.ts';

const BURST = 6;
/** What one request more takes to be earned. */
const EARNED_S = 1_000;

let service: Service;
let tenant: string;
beforeAll(async () => {
  service = await Service.start({
    // One router: with several each has its share, and which one a connection gets is the kernel's choice.
    args: ['--rate-limit-tenant', `0.001:${BURST}`, '--routers', '1', '--allowed-origin', 'https://app.example.com'],
  });
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await service.tenant();
});

const schema = (headers?: Record<string, string>) => service.get(`/api/tenants/${tenant}/schema`, headers);

/** Leaves so many requests to the tenant. */
async function leave(count: number): Promise<void> {
  for (let i = BURST; i > count; i--) expect((await schema()).status).toBe(200);
}

/** Of all tenants, as the metrics have it. */
async function refusedSoFar(): Promise<number> {
  const {text} = await service.get('/metrics');
  return Number(/^svc_rate_limited_total\{limit="tenant"\} (\d+)$/m.exec(text)?.[1]);
}

function expectRefused(reply: Reply): void {
  const {detail} = expectError(reply, 429, 'op.rate_limited');
  expect(detail).toMatchObject({limit: 'tenant'});
  // The clock runs, but not for a whole request.
  expect(Number(reply.headers['retry-after'])).toBeGreaterThan(EARNED_S / 2);
  expect(reply.headers.ratelimit).toMatch(/^"tenant";r=0;t=\d+$/);
}

test('every answer says what is left, successes and failures alike', async () => {
  const left: unknown[] = [];
  for (const path of ['/schema', '/schema/none', '/documents/t', '/journal?limit=x']) {
    const {headers} = await service.get(`/api/tenants/${tenant}${path}`);
    expect(headers['ratelimit-policy']).toBe(`"tenant";q=${BURST};w=${BURST * EARNED_S}`);
    left.push(/^"tenant";r=(\d+);t=\d+$/.exec(String(headers.ratelimit))?.[1]);
  }
  expect(left).toEqual(['5', '4', '3', '2']);
});

describe('beyond it everything of that tenant is 429, and nothing is done', () => {
  test('requests of the native API and of functions, with bodies and without', async () => {
    await leave(0);
    const documents = `/api/tenants/${tenant}/documents`;
    expectRefused(await schema());
    const before = await refusedSoFar();
    expectRefused(await service.post(documents, {table: 't', fields: {}}));
    expect(await refusedSoFar()).toBe(before + 1);
    expectRefused(await service.post(documents, 'x'.repeat(1 << 20)));
    expectRefused(await service.post(`/svc/${tenant}/query`, {path: 'a:b', args: {}}, {authorization: undefined}));
    expectRefused(await service.get(`/svc/${tenant}/http/x`, {authorization: undefined}));
    expectRefused(await service.post('/api/sessions', {tenant}));
    expect((await service.request('HEAD', documents.replace('documents', 'schema'))).status).toBe(429);
  });

  test('a page of another origin may read that it is, and when to come again', async () => {
    await leave(0);
    const reply = await schema({origin: 'https://app.example.com'});
    expectRefused(reply);
    expect(reply.headers['access-control-allow-origin']).toBe('https://app.example.com');
    expect(String(reply.headers['access-control-expose-headers']).split(', ')).toEqual(
      expect.arrayContaining(['Retry-After', 'RateLimit', 'RateLimit-Policy']),
    );
  });

  test('upgrades', async () => {
    await leave(0);
    for (const path of [`/ws?tenant_id=${tenant}`, `/svc/${tenant}/ws`]) {
      const lines = [
        `GET ${path} HTTP/1.1`,
        `Host: 127.0.0.1:${service.port}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
      ];
      lines.push(`Authorization: Bearer ${service.accessToken}`, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==');
      lines.push('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Protocol: svc.v2, svc.functions.v1', '', '');
      const answer = await service.raw(lines.join('\r\n'), received => received.includes('}}'));
      expect(answer).toMatch(/^HTTP\/1\.1 429 /);
      expect(answer).toMatch(/\r\nRetry-After: \d+\r\n/);
    }
  });

  test('others go on: other tenants, what is nobody’s, preflights', async () => {
    await leave(0);
    expectRefused(await schema());
    const other = await service.tenant();
    expect((await service.get(`/api/tenants/${other}/schema`)).status).toBe(200);
    for (const path of ['/health', '/api/tenants', '/metrics']) {
      const {status, headers} = await service.get(path);
      expect([status, headers.ratelimit]).toEqual([200, undefined]);
    }
    const preflight = {origin: 'https://app.example.com', 'access-control-request-method': 'GET'};
    const reply = await service.request('OPTIONS', `/api/tenants/${tenant}/schema`, undefined, preflight);
    expect(reply.status).toBe(204);
  });
});

describe('on sockets', () => {
  const query = {table: 't', filters: []};

  test('of svc.v2 a subscription counts, and one too many fails for itself; the others stay live', async () => {
    await leave(3);
    const socket = await Socket.established(service, tenant);
    socket.send({type: 'subscribe', request_id: 'first', query});
    expect(await socket.next()).toMatchObject({type: 'subscription_result', request_id: 'first', data: []});
    for (let i = 0; i < 50; i++) socket.send({type: 'unsubscribe', subscription_id: 99});
    expect((await service.post(`/api/tenants/${tenant}/documents`, {table: 't', fields: {a: 1}})).status).toBe(201);
    expect(await socket.nextThat(({type}) => type === 'subscription_result')).toMatchObject({data: [{a: 1}]});
    socket.send({type: 'subscribe', request_id: 'second', query});
    const refused = await socket.nextThat(({type}) => type === 'op.error');
    expect(refused).toMatchObject({
      id: 'second',
      error: {code: 'op.failed', detail: {code: 'op.rate_limited', limit: 'tenant'}},
    });
    socket.send({type: 'clear_auth'});
    expect(await socket.next()).toMatchObject({type: 'authenticated'});
    socket.close();
  });

  test('of functions each message counts, and one too many ends the socket as overloaded', async () => {
    await leave(4);
    const socket = await FunctionSocket.established(service, tenant);
    for (let i = 0; i < 3; i++) socket.sendMutation('a:b', {});
    expect(await socket.closed).toEqual({code: 1013, reason: 'op.rate_limited'});
  });
});
