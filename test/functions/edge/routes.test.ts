/** Which requests reach a tenant's worker as which operation, with what beside the body; and which never do. */
import {request} from 'undici';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {RequestMeta} from '../../../shared/ipc/operations.ts';
import {ACCESS, ADMIN, Edge} from './edge.ts';

let edge: Edge;
let seen: {meta: RequestMeta; body: string}[];
beforeAll(async () => {
  edge = await Edge.start();
});
afterAll(() => edge.stop());
beforeEach(() => {
  seen = [];
  edge.serve = ({link, stream, meta, body, incoming}) => {
    const answer = (text: string) => {
      seen.push({meta, body: text});
      link.replyWith(stream, 200, [], '');
    };
    if (incoming === null) answer(body);
    else incoming.collect(1000).then(all => answer(all.toString()));
  };
});

type Sent = {method: string; path: string; headers?: Record<string, string>; body?: string};

async function send({method, path, headers = {}, body}: Sent) {
  const sent = {'x-request-id': 'r1', ...headers};
  const response = await request(edge.url(path), {method: method as 'GET', headers: sent, body: body ?? null});
  const text = await response.body.text();
  const json = text.startsWith('{') ? (JSON.parse(text) as {error?: {code: string}}) : null;
  return {status: response.statusCode, headers: response.headers, text, code: json?.error?.code};
}

const API = '/api/tenants/acme';
const bearer = {authorization: `Bearer ${ACCESS}`};

describe('an admin route is an operation', () => {
  test.each<[method: string, path: string, meta: object]>([
    ['POST', '/deployments', {op: 'deployments.create'}],
    ['GET', '/deployments', {op: 'deployments.list'}],
    ['POST', '/deployments/7/activate', {op: 'deployments.activate', p: ['7']}],
    ['GET', '/functions', {op: 'functions.list'}],
    ['POST', '/functions/run', {op: 'functions.run'}],
    ['GET', '/env', {op: 'env.list'}],
    ['GET', '/env/A%20B', {op: 'env.get', p: ['A B']}],
    ['PUT', '/env/A', {op: 'env.set', p: ['A']}],
    ['DELETE', '/env/A', {op: 'env.delete', p: ['A']}],
    ['GET', '/logs?after=3&follow=1', {op: 'logs.read', q: 'after=3&follow=1'}],
    ['GET', '/settings', {op: 'settings.get'}],
    ['PUT', '/settings', {op: 'settings.put', v: expect.stringMatching(/^[0-9a-f]{64}$/)}],
    ['GET', '/tables', {op: 'tables.list'}],
  ])('%s %s', async (method, path, meta) => {
    const body = method === 'POST' || method === 'PUT' ? '{"a":1}' : '';
    await send({method, path: API + path, headers: bearer, ...(body === '' ? {} : {body})});
    expect(seen).toEqual([{meta: {...meta, r: 'r1'}, body}]);
  });

  test('needs the admin credential, and the token of a tenant is none', async () => {
    for (const headers of [{}, {authorization: 'Bearer a.b.c'}]) {
      expect((await send({method: 'GET', path: `${API}/functions`, headers})).code).toBe('auth.unauthorized');
    }
    expect(seen).toEqual([]);
  });
});

describe('a deployment route is an operation', () => {
  test.each<[method: string, path: string, meta: object]>([
    ['POST', '/query', {op: 'functions.query'}],
    ['POST', '/query/paginated', {op: 'functions.paginated'}],
    ['POST', '/mutation', {op: 'functions.mutation'}],
    ['POST', '/action', {op: 'functions.action'}],
    ['POST', '/schedule/run_after', {op: 'functions.schedule', p: ['run_after']}],
    ['POST', '/schedule/run_at', {op: 'functions.schedule', p: ['run_at']}],
    ['DELETE', '/schedule/job%201', {op: 'functions.unschedule', p: ['job 1']}],
    ['OPTIONS', '/query', {op: 'functions.preflight'}],
    ['OPTIONS', '/schedule/run_at', {op: 'functions.preflight'}],
  ])('%s %s', async (method, path, meta) => {
    const body = method === 'POST' ? '{"path":"m:f"}' : '';
    await send({method, path: `/svc/acme${path}`, ...(body === '' ? {} : {body})});
    expect(seen).toEqual([{meta: {...meta, r: 'r1'}, body}]);
  });

  test('passes the bearer token and the origin on, whatever they are', async () => {
    const headers = {authorization: 'Bearer of.a.tenant', origin: 'https://app.example'};
    await send({method: 'POST', path: '/svc/acme/query', headers, body: '{}'});
    expect(seen[0]!.meta).toEqual({op: 'functions.query', r: 'r1', a: 'Bearer of.a.tenant', o: 'https://app.example'});
  });

  test('knows the admin by the admin token in its own header only', async () => {
    await send({method: 'POST', path: '/svc/acme/query', headers: bearer, body: '{}'});
    await send({method: 'POST', path: '/svc/acme/query', headers: {'x-svc-admin-token': ADMIN}, body: '{}'});
    expect(seen.map(({meta}) => meta.w)).toEqual([undefined, 1]);
    const wrong = await send({method: 'POST', path: '/svc/acme/query', headers: {'x-svc-admin-token': ACCESS}});
    expect(wrong).toMatchObject({status: 401, code: 'auth.unauthorized'});
    expect(seen.length).toBe(2);
  });

  test.each([
    ['the access token', `svc_access_${'a'.repeat(43)}`, /access token .* \/api/],
    ['the admin token', `svc_admin_${'b'.repeat(43)}`, /admin token .* X-Svc-Admin-Token/],
    ['a key', `svc_key_${'c'.repeat(12)}_${'d'.repeat(49)}`, /key .* X-Svc-Admin-Token/],
  ])('refuses %s as a token of a user, and says where it belongs', async (_, secret, message) => {
    const headers = {authorization: `bearer ${secret}`};
    for (const path of ['/query', '/query/paginated', '/mutation', '/action', '/schedule/run_after']) {
      const refused = await send({method: 'POST', path: `/svc/acme${path}`, headers, body: '{}'});
      expect(refused).toMatchObject({status: 401, code: 'auth.unauthorized'});
      expect(refused.text).toMatch(message);
      expect(refused.text).toContain('"reason":"InvalidAuthHeader"');
      expect(refused.text).not.toContain(secret.slice(-40));
      expect(refused.headers).toMatchObject({'access-control-allow-origin': '*'});
    }
    expect(seen).toEqual([]);
    // Beside the right header it is ignored, and an HTTP action judges its own.
    const both = {...headers, 'x-svc-admin-token': ADMIN};
    await send({method: 'POST', path: '/svc/acme/query', headers: both, body: '{}'});
    await send({method: 'GET', path: '/svc/acme/http/x', headers});
    expect(seen.map(({meta}) => meta.op)).toEqual(['functions.query', 'functions.http']);
  });

  test('is exempt from the rules about Origin and Host, which hold for the native API beside it', async () => {
    const headers = {...bearer, host: 'rebound.example', origin: 'https://evil.example'};
    expect((await send({method: 'GET', path: '/svc/acme/http/x', headers})).status).toBe(200);
    expect((await send({method: 'GET', path: `${API}/tables`, headers})).code).toBe('auth.origin_forbidden');
    expect((await send({method: 'GET', path: '/svc', headers})).code).toBe('auth.origin_forbidden');
  });
});

describe('an HTTP action gets its request as it was sent', () => {
  test.each<[path: string, seen: string]>([
    ['', '/'],
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a//b/', '/a//b/'],
    ['/a%2Fb%20c/%zz', '/a%2Fb%20c/%zz'],
    ['/query', '/query'],
  ])('the path http%s is %s', async (path, expected) => {
    const url = `/svc/acme/http${path}?q=1&q=%20`;
    const socket = edge.connect(`GET ${url} HTTP/1.1\r\nHost: h.example:80\r\nConnection: close\r\n\r\n`);
    await new Promise(resolve => socket.once('data', resolve));
    socket.destroy();
    expect(seen[0]!.meta).toMatchObject({
      op: 'functions.http',
      p: [expected],
      u: `http://h.example:80${url}`,
      m: 'GET',
    });
  });

  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('the method %s', async method => {
    await send({method, path: '/svc/acme/http/x'});
    expect(seen.map(({meta}) => meta.m)).toEqual([method]);
  });

  test('headers, repeated ones too, without those of the connection and without the admin token', async () => {
    const lines = [
      'Host: h',
      'X-A: 1',
      'x-a: 2',
      'Authorization: Basic abc',
      `X-Svc-Admin-Token: ${ADMIN}`,
      'Connection: keep-alive, X-Mine',
      'X-Mine: only here',
      'TE: trailers',
      'Keep-Alive: 5',
      'Content-Encoding: gzip',
      'Content-Length: 2',
    ];
    const socket = edge.connect(`POST /svc/acme/http/x HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\nhi`);
    await new Promise(resolve => socket.once('data', resolve));
    socket.destroy();
    expect(seen).toMatchObject([{body: 'hi', meta: {a: 'Basic abc', w: 1}}]);
    expect(seen[0]!.meta.h).toEqual([
      ['host', 'h'],
      ['x-a', '1'],
      ['x-a', '2'],
      ['authorization', 'Basic abc'],
      ['content-encoding', 'gzip'],
      ['content-length', '2'],
    ]);
  });

  test('https, when a proxy in front says so', async () => {
    await send({method: 'GET', path: '/svc/acme/http/x', headers: {host: 'h.example', 'x-forwarded-proto': 'https'}});
    expect(seen[0]!.meta.u).toBe('https://h.example/svc/acme/http/x');
  });

  test('a Host that is none is refused', async () => {
    const refused = await send({method: 'GET', path: '/svc/acme/http/x', headers: {host: 'a/b?c'}});
    expect(refused).toMatchObject({status: 400, code: 'op.invalid_input'});
  });
});

describe('refused at the edge', () => {
  test.each<[what: string, sent: Sent, status: number, code: string]>([
    ['an unknown tenant', {method: 'POST', path: '/svc/nobody/query'}, 404, 'session.tenant_not_found'],
    ['an unknown tenant of HTTP actions', {method: 'GET', path: '/svc/nobody/http/x'}, 404, 'session.tenant_not_found'],
    ['a tenant that cannot exist', {method: 'POST', path: '/svc/%zz/query'}, 404, 'session.tenant_not_found'],
    ['GET of a query', {method: 'GET', path: '/svc/acme/query?path=a'}, 405, 'op.method_not_allowed'],
    ['PUT of a mutation', {method: 'PUT', path: '/svc/acme/mutation'}, 405, 'op.method_not_allowed'],
    ['an unknown route', {method: 'POST', path: '/svc/acme/queries'}, 404, 'op.not_found'],
    ['a trailing slash', {method: 'POST', path: '/svc/acme/query/'}, 404, 'op.not_found'],
    ['a name that only begins like http', {method: 'GET', path: '/svc/acme/https/x'}, 404, 'op.not_found'],
    ['no tenant', {method: 'GET', path: '/svc/'}, 404, 'op.not_found'],
  ])('%s', async (_, sent, status, code) => {
    expect(await send(sent)).toMatchObject({status, code});
    expect(seen).toEqual([]);
  });
});

describe('pages of other origins may read', () => {
  const open = {'access-control-allow-origin': '*', 'access-control-expose-headers': 'X-Request-Id'};

  test.each<[what: string, sent: Sent, status: number]>([
    ['an unknown tenant', {method: 'POST', path: '/svc/nobody/query'}, 404],
    ['another method', {method: 'GET', path: '/svc/acme/query'}, 405],
    ['a wrong admin token', {method: 'POST', path: '/svc/acme/action', headers: {'x-svc-admin-token': 'x'}}, 401],
    [
      'a packed body',
      {method: 'POST', path: '/svc/acme/action', headers: {'content-encoding': 'gzip'}, body: 'x'},
      415,
    ],
  ])('why a function endpoint refused them: %s', async (_, sent, status) => {
    const response = await send(sent);
    expect(response.status).toBe(status);
    expect(response.headers).toMatchObject(open);
  });

  test('what the worker lets them read, and no more', async () => {
    edge.serve = ({link, stream}) => link.reply(stream, 200, '{}', [['Vary', 'Origin']]);
    const {headers} = await send({method: 'POST', path: '/svc/acme/query', body: '{}'});
    expect(headers).toMatchObject({vary: 'Origin', 'content-type': 'application/json'});
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  test.each([`${API}/tables`, '/svc/nobody/http/x'])('nothing of %s', async path => {
    expect((await send({method: 'GET', path})).headers).not.toHaveProperty('access-control-allow-origin');
  });
});
