/** A tenant's hostile page, in the browser of a user who is signed in to the dashboard: it gets nothing of it. */
import type {Page} from 'playwright-core';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {Browser} from '../harness/browser.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
const dashboard = `http://dashboard.localhost:${service.port}`;
let browser: Browser;
let app: App;
let victim: Page;
let hostile: Page;
beforeAll(async () => {
  app = await App.deploy(service, {
    'http.ts': `
      import {httpRouter} from 'svc/server';
      import {httpAction} from './_generated/server';
      const http = httpRouter();
      const answer = (text: string, type: string) =>
        httpAction(async () => new Response(text, {headers: {'content-type': type, 'service-worker-allowed': '/'}}));
      http.route({path: '/page', method: 'GET', handler: answer('<!doctype html><title>hostile</title>', 'text/html')});
      http.route({path: '/worker.js', method: 'GET', handler: answer('', 'text/javascript')});
      export default http;`,
  });
  browser = await Browser.launch();
  ({page: victim} = await browser.window());
  await victim.goto(`${dashboard}/_dashboard/`);
  expect(await victim.evaluate(signIn, service.accessToken)).toBe(200);
  hostile = await victim.context().newPage();
  await hostile.goto(`http://localhost:${service.port}/svc/${app.tenant}/http/page`);
  expect(await hostile.title()).toBe('hostile');
});
afterAll(() => browser?.close());

/** Runs in the dashboard. */
async function signIn(token: string): Promise<number> {
  const headers = {'content-type': 'application/json', 'x-svc-dashboard': '1'};
  return (await fetch('/_dashboard/session', {method: 'POST', headers, body: JSON.stringify({token})})).status;
}

/** Runs in the dashboard. @returns the status of a request with its session */
async function status(path: string): Promise<number> {
  return (await fetch(path, {headers: {'x-svc-dashboard': '1'}})).status;
}

/** Runs in the hostile page. @returns how each request of it ended */
function requests(origin: string): Promise<string[]> {
  const attempt = async (path: string, init: RequestInit) => {
    try {
      const response = await fetch(origin + path, {credentials: 'include', ...init});
      return `${response.type} ${response.status} ${await response.text()}`;
    } catch (error) {
      return (error as Error).name;
    }
  };
  const body = JSON.stringify({id: 'planted'});
  return Promise.all([
    attempt('/_dashboard/api/tenants', {headers: {'x-svc-dashboard': '1'}}),
    attempt('/_dashboard/api/tenants', {}),
    attempt('/_dashboard/session', {}),
    attempt('/_dashboard/api/tenants', {method: 'POST', body, headers: {'x-svc-dashboard': '1'}}),
    attempt('/_dashboard/api/tenants', {method: 'POST', body, mode: 'no-cors'}),
    attempt('/_dashboard/', {mode: 'no-cors'}),
  ]);
}

/** Runs in the hostile page. */
function opensSocket({origin, tenant}: {origin: string; tenant: string}): Promise<boolean> {
  return new Promise(resolve => {
    const url = `${origin.replace('http', 'ws')}/_dashboard/ws?tenant_id=${tenant}`;
    const socket = new WebSocket(url, ['svc.v2']);
    socket.onopen = () => resolve(true);
    socket.onerror = () => resolve(false);
  });
}

test('its requests and sockets get no answer, and change nothing', async () => {
  const answers = await hostile.evaluate(requests, dashboard);
  for (const answer of answers) expect(['TypeError', 'opaque 0 ']).toContain(answer);
  expect(await hostile.evaluate(opensSocket, {origin: dashboard, tenant: app.tenant})).toBe(false);
  expect(((await service.get('/api/tenants')).body as {tenants: string[]}).tenants).not.toContain('planted');
  expect(await victim.evaluate(status, '/_dashboard/api/tenants')).toBe(200);
});

/** Scripts of the hostile page, as text: the types of tests have no document. */
const framed = (url: string) => `new Promise(resolve => {
  const frame = document.createElement('iframe');
  frame.src = ${JSON.stringify(url)};
  frame.onload = () => resolve(frame.contentDocument === null);
  document.body.append(frame);
})`;
const registered = (scope: string | null) => `navigator.serviceWorker
  .register(new URL('worker.js', location.href), ${scope === null ? '{}' : JSON.stringify({scope})})
  .then(({scope}) => scope, error => error.name)`;

test('a frame of it stays empty, and a window that it opens knows nothing of it', async () => {
  expect(await hostile.evaluate(framed(`${dashboard}/_dashboard/`))).toBe(true);
  expect(['', 'chrome-error://chromewebdata/']).toContain(hostile.frames()[1]!.url());
  const opened = victim.context().waitForEvent('page');
  await hostile.evaluate(`void (globalThis.popup = open(${JSON.stringify(`${dashboard}/_dashboard/`)}))`);
  const popup = await opened;
  await popup.waitForURL(`${dashboard}/**`);
  expect(await popup.evaluate('opener')).toBeNull();
  expect(await hostile.evaluate('popup === null || popup.closed')).toBe(true);
  await popup.close();
});

test('it reads and plants no cookie, and its service worker stays in its folder', async () => {
  const cookies = async () => {
    const all = await victim.context().cookies(`${dashboard}/_dashboard/`);
    return all.map(({name, value}) => `${name}=${value}`);
  };
  const before = await cookies();
  expect(before).toHaveLength(1);
  for (const domain of ['', '; domain=localhost', '; domain=dashboard.localhost']) {
    const planted = `svc_dashboard_${service.port}=planted; path=/_dashboard${domain}`;
    expect(await hostile.evaluate(`document.cookie = ${JSON.stringify(planted)}; document.cookie`)).toBe('');
  }
  expect(await cookies()).toEqual(before);
  expect(await hostile.evaluate(registered('/'))).toBe('SecurityError');
  expect(await hostile.evaluate(registered('/_dashboard/'))).toBe('SecurityError');
  expect(await hostile.evaluate(registered(null))).toBe(`http://localhost:${service.port}/svc/${app.tenant}/http/`);
  expect(await victim.evaluate(status, '/_dashboard/session')).toBe(200);
});

test('the dashboard keeps no token: not in its storage, its cookies that scripts see, or its page', async () => {
  await victim.reload();
  const script =
    '[JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href].join()';
  const seen = String(await victim.evaluate(script));
  expect(seen + (await victim.content())).not.toContain(service.accessToken);
  expect(seen).not.toContain('svc_dashboard_');
});
