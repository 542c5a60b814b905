/** --trusted-proxy: whose a request is, for the log, for the budget of wrong credentials and for what apps see of it. */
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {AUTH_FAILURES_AT_ONCE} from '../../router/limits.ts';
import {App} from '../functions/app.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start({args: ['--trusted-proxy', '127.0.0.1,10.0.0.0/8', '--log-level', 'debug']});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

/** What the log says of the request with this id. */
function logged(id: string): Promise<Record<string, unknown>> {
  return until(`the log to tell of ${id}`, () => {
    const line = service.log.split('\n').find(text => text.includes(`"request":"${id}"`) && text.includes('"status":'));
    return line === undefined ? null : (JSON.parse(line) as Record<string, unknown>);
  });
}

test('the log names the caller that the proxy names, also of a request that was refused', async () => {
  const from = {'x-forwarded-for': '1.1.1.1, 203.0.113.7, 10.1.2.3'};
  await service.get('/health', {...from, 'x-request-id': 'served'});
  await service.get('/nowhere', {...from, 'x-request-id': 'refused'});
  await service.get('/health', {'x-request-id': 'direct'});
  expect(await logged('served')).toMatchObject({address: '203.0.113.7', status: 200, route: '/health'});
  expect(await logged('refused')).toMatchObject({address: '203.0.113.7', status: 404});
  expect(await logged('direct')).toMatchObject({address: '127.0.0.1', status: 200});
});

test('wrong credentials count against the caller and not against the proxy, for requests and upgrades alike', async () => {
  const wrong = (address: string) => ({authorization: 'Bearer wrong', 'x-forwarded-for': address});
  const statuses = async (address: string, count: number) => {
    const sent = Array.from({length: count}, () => service.get('/api/tenants', wrong(address)));
    return new Set((await Promise.all(sent)).map(({status}) => status));
  };
  // An address that a caller writes left of its own is not its own.
  const beyond = ['198.51.100.1', '198.51.100.2, 198.51.100.3'];
  for (const seen of await Promise.all(beyond.map(address => statuses(address, AUTH_FAILURES_AT_ONCE + 64)))) {
    expect(seen).toContain(429);
  }
  for (const address of ['198.51.100.2, 10.0.0.1', '198.51.100.2']) {
    expect(await statuses(address, 20)).toEqual(new Set([401]));
  }
  const upgrade = await service.raw(
    `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nX-Forwarded-For: 198.51.100.4\r\nAuthorization: Bearer wrong\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    received => received.includes('}}'),
  );
  expect(upgrade).toMatch(/^HTTP\/1\.1 401 /);
});

test('the audit log has the caller, too', async () => {
  const made = await service.post('/api/tenants', {id: 'audited'}, {'x-forwarded-for': '203.0.113.8, 10.1.2.3'});
  expect(made.status).toBe(201);
  const {text} = await service.get('/api/audit?limit=1000');
  const records = (JSON.parse(text) as {records: {request_id: string; address: string}[]}).records;
  expect(records.find(({request_id}) => request_id === made.headers['x-request-id'])).toMatchObject({
    address: '203.0.113.8',
  });
});

test('an HTTP action sees the URL that the proxy was asked for', async () => {
  const app = await App.deploy(service, {
    'http.ts': `
      import {httpRouter} from 'svc/server';
      import {httpAction} from './_generated/server';
      const http = httpRouter();
      http.route({path: '/url', method: 'GET', handler: httpAction(async (_, request) => new Response(request.url))});
      export default http;`,
  });
  const path = `/svc/${app.tenant}/http/url`;
  const said = {'x-forwarded-proto': 'https', 'x-forwarded-host': 'app.example.com'};
  expect((await service.get(`${path}?a=1`, said)).text).toBe(`https://app.example.com${path}?a=1`);
  expect((await service.get(path)).text).toBe(`${service.url}${path}`);
  expect((await service.get(path, {'x-forwarded-host': 'not a host'})).status).toBe(400);
});
