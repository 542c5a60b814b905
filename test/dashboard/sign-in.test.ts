/** The dashboard's host: who is let in, with what rights, and what no other host or credential gets. */
import {connect} from 'node:net';
import {expect, test} from 'vitest';
import {Dashboard} from '../harness/dashboard.ts';
import {sharedService} from '../harness/shared-service.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();

async function keyOf(scopes: string[], more: object = {}): Promise<{id: string; secret: string}> {
  const name = `key ${Math.random()}`;
  const made: {key: {id: string}; secret: string} = (await service.post('/api/keys', {name, scopes, ...more})).body;
  return {id: made.key.id, secret: made.secret};
}

test('a session has the rights of its credential, and nothing of it is in an answer but the cookie', async () => {
  const tenant = await service.tenant();
  const {id, secret} = await keyOf(['data:read'], {tenants: [tenant]});
  const dashboard = new Dashboard(service);
  const reply = await dashboard.signIn({token: secret});
  expect(reply).toMatchObject({status: 200, body: {who: {id}, scopes: ['data:read'], tenants: [tenant]}});
  expect(reply.text).not.toContain(dashboard.cookie.split('.')[1]);
  expect([reply.headers['set-cookie']].flat()[0]).toMatch(
    /^svc_dashboard_\d+=[a-z2-9]{12}\.[\w-]{43}; Path=\/_dashboard; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
  );
  expect(reply.headers).toMatchObject({'cache-control': 'no-store', 'x-content-type-options': 'nosniff'});
  expect((await dashboard.get('/_dashboard/session')).body).toEqual(reply.body);
  expect((await dashboard.get('/_dashboard/api/tenants')).body).toEqual({tenants: [tenant]});
  expect((await dashboard.get('/_dashboard/api/whoami')).body).toMatchObject({id});
  expect(await dashboard.get(`/_dashboard/api/tenants/${tenant}/env`)).toMatchObject({status: 403});
  const insert = await dashboard.request('POST', `/_dashboard/api/tenants/${tenant}/documents`, {
    table: 't',
    fields: {},
  });
  expect(insert).toMatchObject({status: 403, body: {error: {code: 'auth.forbidden', detail: {scope: 'data:write'}}}});
});

test('both admin credentials open a session with all rights; actions of it are audited with its id', async () => {
  const dashboard = await Dashboard.signedIn(service, service.adminToken);
  const {id, who}: {id: string; who: object} = (await dashboard.get('/_dashboard/session')).body;
  expect(who).toEqual({id: null, name: 'admin'});
  const tenant = `made-${id}`;
  expect((await dashboard.request('POST', '/_dashboard/api/tenants', {id: tenant})).status).toBe(201);
  const {latest_sequence: latest}: {latest_sequence: number} = (await service.get('/api/audit?limit=1')).body;
  const {records}: {records: object[]} = (await service.get(`/api/audit?after=${latest - 8}`)).body;
  const ofTenant = {operation: 'tenants.create', subject: {id: tenant}, key: null, key_name: 'admin', session: id};
  expect(records).toContainEqual(expect.objectContaining(ofTenant));
});

test('a wrong credential is 401, of which the log says no more than that', async () => {
  const dashboard = new Dashboard(service);
  const wrong = await dashboard.signIn({token: 'svc_access_wrong'});
  expect(wrong).toMatchObject({status: 401, body: {error: {code: 'auth.unauthorized'}}});
  expect(dashboard.cookie).toBe('');
  expect((await dashboard.request('POST', '/_dashboard/session', {})).status).toBe(400);
  expect((await dashboard.request('POST', '/_dashboard/session', {token: 'x', code: 'y'})).status).toBe(400);
});

test('a request needs the exact origin, the header, and no foreign site', async () => {
  const dashboard = await Dashboard.signedIn(service);
  const status = async (method: string, path: string, headers: Record<string, string | undefined>) =>
    (await dashboard.request(method, path, method === 'GET' ? undefined : {}, headers)).status;
  for (const origin of ['null', 'http://evil.example', `http://localhost:${service.port}`, `${dashboard.origin}0`]) {
    expect([origin, await status('GET', '/_dashboard/api/tenants', {origin})]).toEqual([origin, 403]);
    expect([origin, await status('POST', '/_dashboard/api/tenants', {origin})]).toEqual([origin, 403]);
    expect([origin, await status('POST', '/_dashboard/session', {origin})]).toEqual([origin, 403]);
  }
  expect(await status('POST', '/_dashboard/api/tenants', {origin: undefined})).toBe(403);
  expect(await status('GET', '/_dashboard/api/tenants', {'x-svc-dashboard': undefined})).toBe(403);
  expect(await status('GET', '/_dashboard/api/tenants', {'sec-fetch-site': 'same-site'})).toBe(403);
  expect(await status('GET', '/_dashboard/api/tenants', {'sec-fetch-site': undefined})).toBe(200);
  expect(await status('GET', '/_dashboard/api/tenants', {origin: dashboard.origin})).toBe(200);
  expect(await status('OPTIONS', '/_dashboard/api/tenants', {})).toBe(405);
});

test('no session id of a client is ever accepted, and two cookies count as none', async () => {
  const dashboard = await Dashboard.signedIn(service);
  const [name, value = ''] = dashboard.cookie.split('=');
  const [id] = value.split('.');
  const whom = async (cookie: string) => (await dashboard.get('/_dashboard/session', {cookie})).status;
  expect(await whom(dashboard.cookie)).toBe(200);
  for (const other of ['', id, `${id}.`, `${id}.${'A'.repeat(43)}`, `aaaaaaaaaaaa${value.slice(12)}`, `${value}A`]) {
    expect([other, await whom(`${name}=${other}`)]).toEqual([other, 401]);
  }
  expect(await whom(`${dashboard.cookie}; ${dashboard.cookie}`)).toBe(401);
  expect(await whom(`${dashboard.cookie}; ${name}=planted`)).toBe(401);
  const fixed = new Dashboard(service);
  fixed.cookie = `${name}=chosen.by-the-client`;
  await fixed.signIn({token: service.accessToken});
  expect(fixed.cookie).not.toContain('chosen');
});

test('no other surface looks at the cookie, and the dashboard looks at no other credential', async () => {
  const dashboard = await Dashboard.signedIn(service);
  const cookie = {authorization: undefined, cookie: dashboard.cookie, 'x-svc-dashboard': '1'};
  expect((await service.get('/api/tenants', cookie)).status).toBe(401);
  expect(await upgradeStatus(dashboard, '/ws?tenant_id=a', {host: `localhost:${service.port}`})).toBe(401);
  const token = {cookie: undefined, authorization: `Bearer ${service.accessToken}`};
  expect((await dashboard.get('/_dashboard/api/tenants', token)).status).toBe(401);
  expect(
    (await dashboard.get('/_dashboard/api/tenants', {cookie: undefined, 'x-svc-admin-token': service.adminToken}))
      .status,
  ).toBe(401);
});

const UPGRADE = {
  ...{connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13'},
  ...{'sec-websocket-key': Buffer.alloc(16).toString('base64'), 'sec-websocket-protocol': 'svc.v2'},
};

test('its host has nothing else, and no service worker; other hosts lead there and have none of it', async () => {
  const dashboard = await Dashboard.signedIn(service);
  const tenant = await service.tenant();
  for (const path of ['/api/tenants', '/health', `/svc/${tenant}/http/x`, '/ws', '/favicon.ico']) {
    expect([path, (await dashboard.get(path)).status]).toEqual([path, 404]);
  }
  const page = await dashboard.get('/_dashboard/t/acme/data', {'x-svc-dashboard': undefined});
  expect(page).toMatchObject({status: 200, headers: {'content-type': 'text/html; charset=utf-8'}});
  expect(page.headers['content-security-policy']).toMatch(
    /^default-src 'none'; script-src 'self' 'nonce-[\w+/=]{24}'; /,
  );
  expect(await dashboard.get('/')).toMatchObject({status: 307, headers: {location: '/_dashboard/'}});
  expect((await dashboard.get('/_dashboard/', {'service-worker': 'script'})).status).toBe(403);
  expect((await dashboard.get('/_dashboard/assets/none.js')).status).toBe(404);
  const elsewhere = await service.get('/_dashboard/t/x?q=1', {authorization: undefined});
  const location = `http://dashboard.localhost:${service.port}/_dashboard/t/x?q=1`;
  expect(elsewhere).toMatchObject({status: 307, headers: {location}});
  expect((await service.post('/_dashboard/session', {token: service.accessToken})).status).toBe(404);
});

test('a session that ends takes its stream and its socket with it', async () => {
  const tenant = await service.tenant();
  const {id, secret} = await keyOf(['data:read']);
  const dashboard = await Dashboard.signedIn(service, secret);
  const stream = open(dashboard, 'GET', `/_dashboard/api/tenants/${tenant}/journal/stream`);
  const socket = open(dashboard, 'GET', `/_dashboard/ws?tenant_id=${tenant}`, {...UPGRADE, origin: dashboard.origin});
  await until('the stream to begin', () => stream.text.includes('text/event-stream'));
  await until('the greeting', () => socket.text.includes('"type":"hello"'));
  expect((await service.request('DELETE', `/api/keys/${id}`)).status).toBe(204);
  await until('both to end', () => [stream, socket].every(({text}) => text.includes('auth.unauthorized')));
  for (const connection of [stream, socket]) connection.close();
  expect((await dashboard.get('/_dashboard/session')).status).toBe(401);
});

test('a socket of another origin, or without a session, is refused', async () => {
  const tenant = await service.tenant();
  const dashboard = await Dashboard.signedIn(service);
  const path = `/_dashboard/ws?tenant_id=${tenant}`;
  const statusOf = (headers: Record<string, string | undefined>) =>
    upgradeStatus(dashboard, path, {origin: dashboard.origin, ...headers});
  expect(await statusOf({})).toBe(101);
  expect(await statusOf({origin: undefined})).toBe(403);
  expect(await statusOf({origin: `http://localhost:${service.port}`})).toBe(403);
  expect(await statusOf({cookie: undefined})).toBe(401);
  expect(await statusOf({host: `localhost:${service.port}`})).toBe(404);
});

test('signing out ends the session', async () => {
  const dashboard = await Dashboard.signedIn(service);
  const reply = await dashboard.request('DELETE', '/_dashboard/session');
  expect(reply.status).toBe(204);
  expect([reply.headers['set-cookie']].flat()[0]).toContain('Max-Age=0');
  expect((await dashboard.get('/_dashboard/session')).status).toBe(401);
});

async function upgradeStatus(dashboard: Dashboard, path: string, headers: Record<string, string | undefined>) {
  const socket = open(dashboard, 'GET', path, {...UPGRADE, ...headers});
  await until('an answer', () => socket.text.includes('\r\n\r\n'));
  socket.close();
  return Number(socket.text.split(' ')[1]);
}

/** A connection that has sent a request, and what it received. */
function open(dashboard: Dashboard, method: string, path: string, more: Record<string, string | undefined> = {}) {
  const socket = connect({host: '127.0.0.1', port: service.port});
  const connection = {text: '', close: () => socket.destroy()};
  const headers = Object.entries({...dashboard.headers(method), ...more}).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  socket.on('data', chunk => {
    connection.text += String(chunk);
  });
  socket.write(`${[`${method} ${path} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`);
  return connection;
}
