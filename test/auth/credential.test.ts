import {readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {ROUTES} from '../../router/routes.ts';
import {rawRequest} from '../harness/raw.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start();
  tenant = await Tenant.make(service);
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

type Headers = Record<string, string | undefined>;
type Tokens = {access: string; admin: string};
const none: Headers = {authorization: undefined};
const tokens = (): Tokens => ({access: service.accessToken, admin: service.adminToken});
const protectedRoutes = ROUTES.filter(route => route.access === 'admin').map(({method, pattern}) => ({
  method,
  pattern,
}));

describe('one valid credential is enough:', () => {
  const VALID: [what: string, headers: (tokens: Tokens) => Headers][] = [
    ['the access token as bearer', ({access}) => ({authorization: `Bearer ${access}`})],
    ['its scheme in any case', ({access}) => ({authorization: `bEARER ${access}`})],
    ['the admin token in its header', ({admin}) => ({...none, 'x-svc-admin-token': admin})],
    ['its header name in any case', ({admin}) => ({...none, 'X-SVC-Admin-Token': admin})],
    ['a wrong bearer beside the right header', ({admin}) => ({authorization: 'Bearer no', 'x-svc-admin-token': admin})],
    [
      'a wrong header beside the right bearer',
      ({access}) => ({authorization: `Bearer ${access}`, 'x-svc-admin-token': 'no'}),
    ],
  ];

  test.each(VALID)('%s', async (_, headers) => {
    expect((await service.get('/api/tenants', headers(tokens()))).status).toBe(200);
    expect((await tenant.request('GET', '/documents/t', undefined, headers(tokens()))).status).toBe(200);
  });
});

describe('anything else is 401 auth.unauthorized:', () => {
  const INVALID: [what: string, headers: (tokens: Tokens) => Headers][] = [
    ['nothing', () => ({})],
    ['the admin token as bearer', ({admin}) => ({authorization: `Bearer ${admin}`})],
    ['the access token in the header', ({access}) => ({'x-svc-admin-token': access})],
    ['a bearer in the header', ({admin}) => ({'x-svc-admin-token': `Bearer ${admin}`})],
    ['the token without its scheme', ({access}) => ({authorization: access})],
    ['the scheme without a space', ({access}) => ({authorization: `Bearer${access}`})],
    ['the scheme alone', () => ({authorization: 'Bearer'})],
    ['an empty token', () => ({authorization: 'Bearer ', 'x-svc-admin-token': ''})],
    ['another scheme', ({access}) => ({authorization: `Token ${access}`})],
    ['basic authentication', ({access}) => ({authorization: `Basic ${Buffer.from(`:${access}`).toString('base64')}`})],
    ['a token cut short', ({access}) => ({authorization: `Bearer ${access.slice(0, -1)}`})],
    ['a token with more behind it', ({access}) => ({authorization: `Bearer ${access}x`})],
    ['two tokens', ({access}) => ({authorization: `Bearer ${access} ${access}`})],
    [
      'one wrong character',
      ({access}) => ({authorization: `Bearer ${access.slice(0, -1)}${access.endsWith('0') ? '1' : '0'}`}),
    ],
    ['another case', ({access}) => ({authorization: `Bearer ${swapCase(access)}`})],
    ['the same length of something else', ({access}) => ({authorization: `Bearer ${'x'.repeat(access.length)}`})],
    ['its digest', ({access}) => ({authorization: `Bearer ${Buffer.from(access).toString('base64')}`})],
    ['a very long token', () => ({authorization: `Bearer ${'x'.repeat(10_000)}`})],
    ['an inherited name', () => ({authorization: 'Bearer __proto__', 'x-svc-admin-token': 'constructor'})],
    ['a cookie', ({access}) => ({cookie: `access_token=${access}`})],
    [
      'another header',
      ({access, admin}) => ({
        'x-access-token': access,
        'x-admin-token': admin,
        'proxy-authorization': `Bearer ${access}`,
      }),
    ],
  ];

  test.each(INVALID)('%s', async (_, headers) => {
    for (let i = 0; i < 2; i++) {
      const reply = await service.get('/api/tenants', {...none, ...headers(tokens())});
      expectError(reply, 401, 'auth.unauthorized');
      expect(reply.headers['www-authenticate']).toBe('Bearer');
      expect(reply.text).not.toContain(service.accessToken);
      // A right one in between is remembered; it must not help the next wrong one.
      expect((await service.get('/api/tenants')).status).toBe(200);
    }
  });

  test('a token in the URL', async () => {
    const query = `?access_token=${service.accessToken}&token=${service.adminToken}`;
    expectError(await service.get(`/api/tenants${query}`, none), 401, 'auth.unauthorized');
    expect(service.log).not.toContain(service.accessToken);
  });
});

function swapCase(text: string): string {
  return [...text].map(char => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase())).join('');
}

describe('without a credential', () => {
  test.each(protectedRoutes)('$method $pattern is 401', async ({method, pattern}) => {
    const path = pattern.replace('{tenant_id}', tenant.id).replaceAll(/\{\w+\}/g, 'x');
    expectError(await service.request(method, path, undefined, none), 401, 'auth.unauthorized');
  });

  test('an existing tenant and one that is not look the same', async () => {
    const [there, absent] = await Promise.all([
      service.get(`/api/tenants/${tenant.id}/schema`, none),
      service.get('/api/tenants/nobody/schema', none),
    ]);
    expect(there.text).toBe(absent.text);
  });

  test('nothing is written', async () => {
    await tenant.request('POST', '/documents', {table: 'w', fields: {}}, none);
    await service.post('/api/tenants', {id: 'uninvited'}, none);
    expect(await tenant.list('w')).toEqual([]);
    expect((await service.get('/api/tenants')).text).not.toContain('uninvited');
  });

  test('an upgrade of /ws is 401, before its subprotocol and tenant are looked at', async () => {
    for (const path of ['/ws', `/ws?tenant_id=${tenant.id}`, '/ws?tenant_id=nobody']) {
      const reply = await rawRequest(service, [
        `GET ${path} HTTP/1.1`,
        `Host: 127.0.0.1:${service.port}`,
        ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      ]);
      expectError(reply, 401, 'auth.unauthorized');
    }
  });

  test('GET /health is 200 {"ok":true}, with a wrong one too', async () => {
    for (const headers of [none, {authorization: 'Bearer wrong'}, {...none, 'x-svc-admin-token': 'wrong'}]) {
      const {status, text} = await service.get('/health', headers);
      expect({status, text}).toEqual({status: 200, text: '{"ok":true}'});
    }
  });
});

describe('the tokens', () => {
  test('are made on first start, in a file that its owner alone can read, and stay over a restart', async () => {
    const before = readFileSync(join(service.data, 'admin.json'), 'utf8');
    expect(statSync(join(service.data, 'admin.json')).mode & 0o777).toBe(0o600);
    expect(service.accessToken.length).toBeGreaterThanOrEqual(32);
    expect(service.accessToken).not.toBe(service.adminToken);
    await service.end('SIGTERM');
    await service.run();
    expect(readFileSync(join(service.data, 'admin.json'), 'utf8')).toBe(before);
    expect((await service.get('/api/tenants')).status).toBe(200);
  });

  test('can be set by SVC_ACCESS_TOKEN and SVC_ADMIN_TOKEN', async () => {
    const access = 'an-access-token-of-our-own';
    const admin = 'an-admin-token-of-our-own';
    const own = await Service.start({env: {SVC_ACCESS_TOKEN: access, SVC_ADMIN_TOKEN: admin}});
    try {
      expect((await own.get('/api/tenants', {authorization: `Bearer ${access}`})).status).toBe(200);
      expect((await own.get('/api/tenants', {...none, 'x-svc-admin-token': admin})).status).toBe(200);
      expectError(await own.get('/api/tenants', {authorization: `Bearer ${admin}`}), 401, 'auth.unauthorized');
      expect(own.log).not.toMatch(`${access}|${admin}`);
    } finally {
      await own.stop();
    }
  });
});
