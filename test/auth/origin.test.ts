import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {rawRequest} from '../harness/raw.ts';
import {type Reply, Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start({
    args: [
      '--allowed-host',
      'db.example.com',
      '--allowed-host',
      'Proxy.example.com:8443',
      '--allowed-host',
      'a.test,b.test',
      '--allowed-origin',
      'https://app.example.com,http://localhost:5173',
    ],
  });
  tenant = await Tenant.make(service);
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

/** `{port}` stands for the port that the server got. */
const withPort = (text: string) => text.replaceAll('{port}', String(service.port));

/** The same request to every kind of route: open, the router's, a tenant's, an upgrade. */
async function everywhere(headers: string[]): Promise<Reply[]> {
  const paths = ['/health', '/api/tenants', `/api/tenants/${tenant.id}/documents/t`];
  const replies: Reply[] = [];
  for (const path of paths) {
    replies.push(
      await rawRequest(service, [`GET ${path} HTTP/1.1`, ...headers, `Authorization: Bearer ${service.accessToken}`]),
    );
  }
  return replies;
}

const upgrade = (headers: string[]) => {
  const lines = [`GET /ws?tenant_id=${tenant.id} HTTP/1.1`, ...headers, `Authorization: Bearer ${service.accessToken}`];
  const websocket = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: svc.v2',
  ];
  const bytes = [...lines, ...websocket, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', '', ''].join('\r\n');
  return service.raw(bytes, received => received.includes('\r\n\r\n'));
};

const ACCEPTED = [
  ...['http://localhost:{port}', 'http://127.0.0.1:{port}', 'http://[::1]:{port}'],
  ...['https://app.example.com', 'http://localhost:5173'],
];

describe('an Origin of a loopback page on the own port is accepted, and one of --allowed-origin:', () => {
  test.each(ACCEPTED)('%s', async origin => {
    const headers = [`Host: 127.0.0.1:${service.port}`, `Origin: ${withPort(origin)}`];
    expect((await everywhere(headers)).map(reply => reply.status)).toEqual([200, 200, 200]);
    expect(await upgrade(headers)).toMatch(/^HTTP\/1\.1 101 /);
  });
});

describe('such a page may read the answers, whichever of its names it calls the server by:', () => {
  const EXPOSED = 'X-Request-Id, Retry-After, Allow, ETag, RateLimit, RateLimit-Policy, X-Svc-Sequence';
  const CORS = {'access-control-expose-headers': EXPOSED, vary: 'Origin'};

  test.each(['http://localhost:{port}', 'https://app.example.com'])('successes and failures, %s', async page => {
    const origin = withPort(page);
    const expected = {...CORS, 'access-control-allow-origin': origin};
    const documents = `/api/tenants/${tenant.id}/documents`;
    const sent: [method: string, path: string, body: object | undefined, status: number][] = [
      ['GET', '/health', undefined, 200],
      ['POST', documents, {table: 'pages', fields: {}}, 201],
      ['GET', `${documents}/pages`, undefined, 200],
      ['GET', `/api/tenants/${tenant.id}/journal/bootstrap`, undefined, 200],
      ['POST', documents, {}, 400],
      ['GET', '/api/tenants/nobody/schema', undefined, 404],
      ['GET', '/nowhere', undefined, 404],
      ['DELETE', documents, undefined, 405],
    ];
    for (const [method, path, body, status] of sent) {
      const reply = await service.request(method, path, body, {origin});
      expect({path, status: reply.status, headers: reply.headers}).toMatchObject({path, status, headers: expected});
    }
    const refused = await service.get('/api/tenants', {origin, authorization: undefined});
    expect(refused).toMatchObject({status: 401, headers: expected});
  });

  test.each(['/api/tenants', '/api/tenants/x/documents', '/health', '/api/tenants/x/schema/t'])(
    'the preflight of %s needs no credential',
    async path => {
      const origin = path === '/health' ? 'http://localhost:5173' : `http://127.0.0.1:${service.port}`;
      const headers = {origin, 'access-control-request-method': 'PATCH', authorization: undefined};
      const reply = await service.request('OPTIONS', path, undefined, headers);
      expect(reply).toMatchObject({status: 204, text: '', headers: {...CORS, 'access-control-allow-origin': origin}});
      expect(String(reply.headers['access-control-allow-methods']).split(', ')).toContain('PATCH');
      expect(String(reply.headers['access-control-allow-headers']).split(', ')).toEqual(
        expect.arrayContaining([
          ...['Authorization', 'X-Svc-Admin-Token', 'Content-Type', 'Idempotency-Key'],
          ...['If-Match', 'If-None-Match', 'Last-Event-ID', 'X-Request-Id'],
        ]),
      );
      expect(reply.headers['access-control-max-age']).toBe('7200');
      expect(reply.headers['access-control-allow-credentials']).toBeUndefined();
    },
  );

  test('OPTIONS without a page behind it is 405 as before', async () => {
    expectError(await service.request('OPTIONS', '/api/tenants'), 405, 'op.method_not_allowed');
  });
});

test('an upgrade is refused for an empty Origin, and for a second one', async () => {
  const host = `Host: 127.0.0.1:${service.port}`;
  const good = `Origin: http://localhost:${service.port}`;
  for (const origins of [['Origin:'], [good, 'Origin: http://example.com'], ['Origin:', good], [good, good]]) {
    expect(await upgrade([host, ...origins])).toMatch(/^HTTP\/1\.1 403 /);
  }
});

test('a second Origin is refused everywhere', async () => {
  const headers = [
    `Host: 127.0.0.1:${service.port}`,
    `Origin: http://localhost:${service.port}`,
    'Origin: http://x.test',
  ];
  for (const reply of await everywhere(headers)) expectError(reply, 403, 'auth.origin_forbidden');
});

describe('any other Origin is 403 auth.origin_forbidden, on every route and before everything else:', () => {
  test.each([
    ...['http://localhost', 'http://127.0.0.1', 'http://localhost:1', 'http://127.0.0.1:{port}0', 'http://[::1]'],
    ...['https://localhost:{port}', 'https://127.0.0.1:{port}', 'ws://localhost:{port}', 'file://', 'null'],
    ...[
      'http://example.com',
      'http://example.com:{port}',
      'http://localhost.example.com:{port}',
      'http://evil-localhost:{port}',
    ],
    ...['http://localhost:{port}.example.com', 'http://localhost:{port}@example.com', 'http://localhost:{port}/'],
    ...['http://127.0.0.2:{port}', 'http://127.1:{port}', 'http://0.0.0.0:{port}', 'http://[::ffff:127.0.0.1]:{port}'],
    ...[
      'http://LOCALHOST:{port}',
      'HTTP://localhost:{port}',
      'http://localhost:{port}, http://example.com',
      'localhost:{port}',
    ],
    ...['http://db.example.com', 'https://db.example.com', 'http://db.example.com:{port}', '*', 'x'],
    ...[
      'http://app.example.com',
      'https://app.example.com:{port}',
      'https://app.example.com/',
      'https://localhost:5173',
    ],
    ...['https://x.app.example.com', 'http://127.0.0.1:5173', 'https://app.example.com,http://localhost:5173'],
  ])('%s', async origin => {
    const headers = [`Host: 127.0.0.1:${service.port}`, `Origin: ${withPort(origin)}`];
    for (const reply of await everywhere(headers)) expectError(reply, 403, 'auth.origin_forbidden');
    expect(await upgrade(headers)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('no answer allows another site to read it: there are no CORS headers', async () => {
    for (const origin of ['http://localhost:1', 'http://example.com']) {
      for (const reply of await everywhere([`Host: 127.0.0.1:${service.port}`, `Origin: ${origin}`])) {
        expect(Object.keys(reply.headers).filter(name => name.startsWith('access-control'))).toEqual([]);
      }
    }
  });

  test('a preflight of another site is refused as well', async () => {
    const lines = ['OPTIONS /api/tenants HTTP/1.1', `Host: 127.0.0.1:${service.port}`, 'Origin: http://example.com'];
    const reply = await rawRequest(service, [...lines, 'Access-Control-Request-Method: POST']);
    expectError(reply, 403, 'auth.origin_forbidden');
  });
});

describe('a Host that names loopback or --allowed-host is served, with or without an Origin:', () => {
  test.each([
    ...['localhost:9000', '127.0.0.1:1', '[::1]:9000', '127.0.0.2:{port}'],
    ...['127.0.0.1:{port}', 'localhost:{port}', '[::1]:{port}', '127.0.0.1', 'localhost', '[::1]', 'LocalHost:{port}'],
    ...['db.example.com', 'db.example.com:1234', 'DB.example.COM', 'proxy.example.com:8443', 'a.test', 'b.test:80'],
  ])('%s', async host => {
    const headers = [`Host: ${withPort(host)}`];
    expect((await everywhere(headers)).map(reply => reply.status)).toEqual([200, 200, 200]);
    expect(await upgrade(headers)).toMatch(/^HTTP\/1\.1 101 /);
  });
});

describe('any other Host is 403 auth.origin_forbidden, as of a page whose name was re-pointed to 127.0.0.1:', () => {
  test.each([
    ...['example.com', 'example.com:{port}', 'localhost.example.com:{port}', '127.0.0.1.example.com'],
    ...['0.0.0.0:{port}', '127.1:{port}', '2130706433', '[::]:{port}', '[::ffff:127.0.0.1]:{port}', '::1'],
    ...[
      'localhost.',
      'localhost:',
      'localhost:{port}:{port}',
      'localhost:{port}@example.com',
      'example.com@localhost:{port}',
    ],
    ...[
      'x.db.example.com',
      'db.example.com.evil.test',
      'proxy.example.com',
      'proxy.example.com:8444',
      'a.test,b.test',
      'test',
    ],
  ])('%s', async host => {
    const headers = [`Host: ${withPort(host)}`];
    for (const reply of await everywhere(headers)) expectError(reply, 403, 'auth.origin_forbidden');
    expect(await upgrade(headers)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('a good Origin does not help a bad Host, nor the reverse', async () => {
    const good = `http://localhost:${service.port}`;
    for (const headers of [
      ['Host: example.com', `Origin: ${good}`],
      [`Host: localhost:${service.port}`, 'Origin: http://example.com'],
    ]) {
      for (const reply of await everywhere(headers)) expectError(reply, 403, 'auth.origin_forbidden');
    }
  });
});

test('without --allowed-host a name is not served', async () => {
  const strict = await Service.start();
  try {
    const reply = await rawRequest(strict, ['GET /health HTTP/1.1', 'Host: db.example.com']);
    expect(expectError(reply, 403, 'auth.origin_forbidden').message).toContain('--allowed-host');
    expect((await strict.get('/health')).status).toBe(200);
  } finally {
    await strict.stop();
  }
});

test('bound to another loopback address, the address that it prints is served', async () => {
  const other = await Service.start({args: ['--host', '127.0.0.2']});
  try {
    expect(new URL(other.url).hostname).toBe('127.0.0.2');
    expect((await other.get('/health')).status).toBe(200);
    expect((await other.get('/api/tenants', {origin: other.url.replace(/\/$/, '')})).status).toBe(200);
  } finally {
    await other.stop();
  }
});
