import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {ROUTES} from '../../router/routes.ts';
import {rawRequest, usualLines} from '../harness/raw.ts';
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

/** A route's pattern with real parameters. */
const pathOf = (pattern: string) => pattern.replace('{tenant_id}', tenant.id).replaceAll(/\{\*?\w+\}/g, 'x');
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Those of the dashboard are on a host of its own. */
const PATTERNS = [...new Set(ROUTES.filter(route => route.method !== '*').map(route => route.pattern))].filter(
  pattern => !pattern.startsWith('/_dashboard/'),
);

describe('a method that a path does not have is 405 op.method_not_allowed, and Allow lists those it has:', () => {
  test.each(PATTERNS)('%s', async pattern => {
    const has = ROUTES.filter(route => route.pattern === pattern).map(route => route.method);
    if (has.includes('GET')) has.push('HEAD');
    for (const method of METHODS.filter(other => !has.includes(other))) {
      const reply = await service.request(method, pathOf(pattern), undefined, {authorization: undefined});
      if (method === 'HEAD') expect(reply.status).toBe(405);
      else expectError(reply, 405, 'op.method_not_allowed');
      expect(String(reply.headers.allow).split(', ').sort()).toEqual(has.toSorted());
    }
  });

  test('TRACE and a method nobody knows', async () => {
    for (const method of ['TRACE', 'BREW']) {
      const reply = await rawRequest(service, [`${method} /health HTTP/1.1`, ...usualLines(service)]);
      expectError(reply, 405, 'op.method_not_allowed');
      expect(reply.headers.allow).toBe('GET, HEAD');
    }
  });
});

describe('a path that is none of the routes is 404 op.not_found:', () => {
  test.each([
    ...['/', '//', '/api', '/api/', '/api/tenants/', '/API/tenants', '/health/', '/Health', '/healthz', '/favicon.ico'],
    ...['/api/tenants/x', '/api/tenants/x/nothing', '/api/tenants/x/documents/', '/api/tenants/x/documents//y'],
    ...[
      '/api/tenants/x/documents/t/y/z',
      '/api/tenants/x/query/',
      '/api/tenants/x/journal/boot',
      '/api/tenants//query',
    ],
    ...[
      '/svc',
      '/svc/',
      '/svc/x',
      '/svc/x/nothing',
      '/svc/x/query/',
      '/__proto__',
      '/constructor',
      '/api/tenants/x/constructor',
      '/api/tenants/x/__proto__',
    ],
  ])('%s', async path => {
    const reply = await rawRequest(service, [`GET ${path} HTTP/1.1`, ...usualLines(service)]);
    // The tenant's own path takes DELETE alone.
    if (path === '/api/tenants/x') expectError(reply, 405, 'op.method_not_allowed');
    else expectError(reply, 404, 'op.not_found');
  });

  test('dots in a path are a segment like any other', async () => {
    for (const path of ['/../etc/passwd', '/health/../api/tenants', '/api/tenants/../tenants', '/./health']) {
      const reply = await rawRequest(service, [`GET ${path} HTTP/1.1`, ...usualLines(service)]);
      expect([404, 405]).toContain(reply.status);
    }
  });
});

describe('a tenant that does not exist is 404 session.tenant_not_found:', () => {
  // A file that is put makes the tenant.
  const makes = (method: string, pattern: string) => method === 'PUT' && pattern === '/api/tenants/{tenant_id}/file';
  test.each(
    ROUTES.filter(({method, pattern}) => pattern.includes('{tenant_id}') && !makes(method, pattern)).map(
      ({method, pattern}) => ({method, pattern}),
    ),
  )('$method $pattern', async ({method, pattern}) => {
    for (const id of ['nobody', '%2e%2e%2f', '__proto__', 'a%20b', 'x'.repeat(65), '%00']) {
      const path = pattern.replace('{tenant_id}', id).replaceAll(/\{\*?\w+\}/g, 'x');
      expectError(
        await service.request(method === '*' ? 'GET' : method, path, takesBody(method) ? {} : undefined),
        404,
        'session.tenant_not_found',
      );
    }
  });
});

function takesBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

describe('of several errors the first in this order is given', () => {
  const evil = {origin: 'http://evil.example'};
  const nobody = {authorization: undefined};
  const gzip = {'content-encoding': 'gzip'};
  const ROWS: [
    rule: string,
    method: string,
    path: string,
    body: unknown,
    headers: object,
    status: number,
    code: string,
  ][] = [
    ['Origin before the route', 'GET', '/nothing', undefined, {...evil, ...nobody}, 403, 'auth.origin_forbidden'],
    ['Origin before the method', 'PUT', '/health', undefined, evil, 403, 'auth.origin_forbidden'],
    [
      'Origin before the credential',
      'GET',
      '/api/tenants',
      undefined,
      {...evil, ...nobody},
      403,
      'auth.origin_forbidden',
    ],
    ['route before the credential', 'GET', '/nothing', undefined, nobody, 404, 'op.not_found'],
    ['method before the credential', 'PATCH', '/api/tenants', '{', nobody, 405, 'op.method_not_allowed'],
    ['credential before the tenant', 'POST', '/api/tenants/nobody/query', '{', nobody, 401, 'auth.unauthorized'],
    ['credential before the body', 'POST', '/api/tenants', '{', {...nobody, ...gzip}, 401, 'auth.unauthorized'],
    ['tenant before the body', 'POST', '/api/tenants/nobody/query', '{', {}, 404, 'session.tenant_not_found'],
    ['tenant before the encoding', 'POST', '/api/tenants/nobody/query', '{', gzip, 404, 'session.tenant_not_found'],
    ['encoding before what is in the body', 'POST', '/api/tenants', '{', gzip, 415, 'op.unsupported_media_type'],
  ];

  test.each(ROWS)('%s', async (_, method, path, body, headers, status, code) => {
    expectError(await service.request(method, path, body, {...headers}), status, code);
  });

  test('body before the data', async () => {
    const path = '/documents/t/nobody';
    expectError(await tenant.request('PATCH', path, {patch: []}), 400, 'op.invalid_input');
    expectError(await tenant.request('PATCH', path, {patch: {$a: 1}}), 400, 'op.invalid_input');
    expectError(await tenant.request('PATCH', path, {patch: {}}), 404, 'op.not_found');
  });
});

describe('a request body with a Content-Encoding is 415', () => {
  test.each(['gzip', 'GZIP', 'br', 'deflate', 'identity, gzip', 'x'])('%s', async encoding => {
    const reply = await tenant.request('POST', '/query', {table: 't', filters: []}, {'content-encoding': encoding});
    expectError(reply, 415, 'op.unsupported_media_type');
  });

  test('identity is none', async () => {
    const reply = await tenant.request('POST', '/query', {table: 't', filters: []}, {'content-encoding': 'identity'});
    expect(reply.status).toBe(200);
  });
});

describe('X-Request-Id', () => {
  test('is on every answer, each time another', async () => {
    const ids = new Set<string>();
    const paths = [
      '/health',
      '/nothing',
      '/api/tenants',
      `/api/tenants/${tenant.id}/documents/t`,
      '/api/tenants/nobody/schema',
    ];
    for (const path of paths) {
      for (let i = 0; i < 3; i++) ids.add(String((await service.get(path)).headers['x-request-id']));
    }
    ids.add(String((await tenant.request('GET', '/journal/bootstrap')).headers['x-request-id']));
    ids.add(String((await tenant.request('DELETE', '/documents/t/nobody')).headers['x-request-id']));
    expect(ids.size).toBe(17);
    expect(ids).not.toContain('undefined');
  });

  test.each(['mine', 'a'.repeat(64), '!~{}"', '0'])('may be chosen: %s', async id => {
    for (const path of ['/health', '/nothing', `/api/tenants/${tenant.id}/journal`]) {
      expect((await service.get(path, {'x-request-id': id})).headers['x-request-id']).toBe(id);
    }
  });

  test.each(['a'.repeat(65), 'two words', 'é'])('another is used instead of %s', async id => {
    const reply = await service.get('/health', {'x-request-id': id});
    expect(reply.headers['x-request-id']).toMatch(/^[\x21-\x7e]{1,64}$/);
    expect(reply.headers['x-request-id']).not.toBe(id);
  });
});

test('a plain GET of /ws is 400: it takes upgrades', async () => {
  expectError(await service.get(`/ws?tenant_id=${tenant.id}`), 400, 'op.invalid_input');
});

test('answers are JSON, and a 401 says how to authenticate', async () => {
  expect((await tenant.request('GET', '/documents/t')).headers['content-type']).toBe('application/json');
  const reply = await service.get('/api/tenants', {authorization: undefined});
  expect(reply.headers['www-authenticate']).toBe('Bearer');
});
