/** Downloads by a link: an address of an export that opens once, with the cookie of the session that requested it. */
import {beforeAll, expect, test} from 'vitest';
import {Downloads} from '../../router/dashboard/downloads.ts';
import {DOWNLOAD_TICKET_MS, DOWNLOAD_TICKETS_USED_MAX} from '../../router/limits.ts';
import {Dashboard} from '../harness/dashboard.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
let dashboard: Dashboard;
let path: string;
beforeAll(async () => {
  tenant = await Tenant.make(service);
  await tenant.insert('notes', {text: '<script>alert(1)</script>'});
  dashboard = await Dashboard.signedIn(service);
  path = `/api/tenants/${tenant.id}/export?table=notes&format=csv&columns=text`;
});

const ticket = async (of = dashboard, to = path) => {
  const {status, body} = await of.request('POST', '/_dashboard/downloads', {path: to});
  expect(status).toBe(200);
  return (body as {url: string}).url;
};
/** As a browser opens a link of the page. */
const open = (url: string, of = dashboard, headers: Record<string, string | undefined> = {}) =>
  of.get(url, {'x-svc-dashboard': undefined, 'sec-fetch-mode': 'navigate', ...headers});

test('it saves a file that no browser shows as a page, and opens once', async () => {
  const url = await ticket();
  const {status, text, headers} = await open(url);
  expect([status, text]).toEqual([200, 'text\r\n<script>alert(1)</script>\r\n']);
  expect(headers).toMatchObject({
    'content-disposition': 'attachment; filename="notes.csv"',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'cross-origin-resource-policy': 'same-origin',
  });
  expect(await open(url)).toMatchObject({status: 403, body: {error: {code: 'auth.forbidden'}}});
});

test('it is of its session, of its address, and of no other page', async () => {
  const url = await ticket();
  const other = await Dashboard.signedIn(service);
  expect((await open(url, other)).status).toBe(403);
  expect((await open(url, dashboard, {cookie: undefined})).status).toBe(401);
  expect((await open(url.replace('columns=text', 'columns=_id'))).status).toBe(403);
  expect((await open(url.replace('/export', '/journal'))).status).toBe(403);
  expect((await open(url, dashboard, {'sec-fetch-site': 'same-site'})).status).toBe(403);
  expect((await open(url, dashboard, {'sec-fetch-site': 'cross-site'})).status).toBe(403);
  expect((await open(url, dashboard, {origin: 'http://localhost'})).status).toBe(403);
  expect((await service.get(url)).status).toBe(307); // the API's host has no downloads
  expect((await open(url, dashboard, {'sec-fetch-site': undefined})).status).toBe(200);
});

test('only exports have such addresses, with the rights of the session', async () => {
  for (const to of [
    `/api/tenants/${tenant.id}/journal`,
    '/api/tenants',
    '/metrics',
    `${path}&filters=${'x'.repeat(4_000)}`,
  ])
    expect((await dashboard.request('POST', '/_dashboard/downloads', {path: to})).status).toBe(400);
  expect((await dashboard.request('POST', '/_dashboard/downloads', {path, more: 1})).status).toBe(400);
  expect((await open('/_dashboard/downloads', dashboard)).status).toBe(403);
  const made = await service.post('/api/keys', {name: `logs ${tenant.id}`, scopes: ['logs'], tenants: [tenant.id]});
  const reader = await Dashboard.signedIn(service, (made.body as {secret: string}).secret);
  expect(await open(await ticket(reader), reader)).toMatchObject({status: 403});
});

test('it ends after a minute, and used ones are remembered within a limit', () => {
  let nowMs = 1_000_000;
  const downloads = new Downloads('key', () => nowMs);
  const body = Buffer.from(JSON.stringify({path}));
  const use = () => {
    const [, ticket = ''] = /downloads\/([^/]+)/.exec(downloads.make('s', body).url)!;
    return (later = 0) => {
      nowMs += later;
      const [called = '', query = ''] = path.split('?');
      downloads.use(ticket, 's', called, query);
    };
  };
  const late = use();
  expect(() => late(DOWNLOAD_TICKET_MS)).toThrow('is older than 60 s');
  for (let i = 0; i < DOWNLOAD_TICKETS_USED_MAX; i++) use()();
  const another = use();
  expect(() => another()).toThrow('too many downloads');
  nowMs += DOWNLOAD_TICKET_MS;
  use()();
});
