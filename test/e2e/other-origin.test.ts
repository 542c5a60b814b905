/** The native API as a page of another origin uses it, in Chromium: what CORS lets it send and read, and a socket with its key. */
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {Page} from 'playwright-core';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {freePort} from '../harness/free-port.ts';
import {Service} from '../harness/service.ts';

let service: Service;
let browser: Browser;
let tenant: string;
let key: string;
/** Serves an empty page: at the origin that is allowed, and at one that is not. */
const sites: Server[] = [];
const origins: string[] = [];

async function serveAt(port: number): Promise<void> {
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
  await new Promise<void>(resolve => site.listen(port, '127.0.0.1', resolve));
  sites.push(site);
  origins.push(`http://127.0.0.1:${(site.address() as AddressInfo).port}`);
}

beforeAll(async () => {
  await serveAt(await freePort());
  await serveAt(await freePort());
  service = await Service.start({args: ['--allowed-origin', origins[0]!, '--rate-limit-key', '1000:2000']});
  tenant = await service.tenant();
  const made = await service.post('/api/keys', {
    name: 'page',
    scopes: ['data:read', 'data:write'],
    expires_in_seconds: 3_600,
  });
  key = (made.body as {secret: string}).secret;
  browser = await Browser.launch();
});
afterAll(async () => {
  await browser?.close();
  for (const site of sites) site.close();
  await service?.stop();
});
beforeEach(() => service.showLogOnFailure());

async function pageOf(origin: string): Promise<Page> {
  const {page} = await browser.window();
  await page.goto(origin);
  return page;
}

/** Runs in the page. @returns what it could read of each answer, or that it could not */
function useDocuments({url, key}: {url: string; key: string}) {
  const send = async (method: string, path: string, body?: object, headers: object = {}) => {
    try {
      const response = await fetch(url + path, {
        method,
        headers: {authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers},
        ...(body === undefined ? {} : {body: JSON.stringify(body)}),
      });
      const text = await response.text();
      const shown = Object.fromEntries(
        ['etag', 'x-request-id', 'ratelimit'].map(name => [name, response.headers.get(name)]),
      );
      return {status: response.status, body: text === '' ? null : JSON.parse(text), ...shown};
    } catch {
      return {status: 'blocked'} as const;
    }
  };
  return (async () => {
    const made = await send('POST', '/documents', {table: 'items', fields: {n: 1}}, {'idempotency-key': 'once'});
    const path = `/documents/items/${made.status === 201 ? made.body.id : 'none'}`;
    const read = await send('GET', path, undefined, {'x-request-id': 'from-the-page'});
    const etag = 'etag' in read ? read.etag : null;
    const patched = await send('PATCH', path, {patch: {n: 2}}, {'if-match': etag ?? '*'});
    const stale = await send('PATCH', path, {patch: {n: 3}}, {'if-match': etag ?? '*'});
    const gone = await send('DELETE', path);
    const forbidden = await send('GET', '/schema');
    return {made, read, patched, stale, gone, forbidden};
  })();
}

/** Runs in the page. @returns the first result, or how the socket ended */
function subscribeOnce({url, tenant, key}: {url: string; tenant: string; key: string}): Promise<unknown> {
  return new Promise(resolve => {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/ws?tenant_id=${tenant}`, ['svc.v2', key]);
    ws.onopen = () => {
      ws.send(JSON.stringify({type: 'client_hello', protocol: 'svc.v2'}));
      ws.send(JSON.stringify({type: 'subscribe', request_id: 'a', query: {table: 'items', filters: []}}));
    };
    ws.onmessage = ({data}) => {
      const frame = JSON.parse(String(data)) as {type: string; data?: unknown};
      if (frame.type !== 'hello') resolve({protocol: ws.protocol, type: frame.type, data: frame.data});
    };
    ws.onclose = ({code}) => resolve({code});
  });
}

const documents = () => ({url: `${service.url}/api/tenants/${tenant}`, key});

test('a page of an allowed origin sends and reads all it needs, errors too, and its socket is live', async () => {
  const page = await pageOf(origins[0]!);
  const {made, read, patched, stale, gone, forbidden} = await page.evaluate(useDocuments, documents());
  expect(made.status).toBe(201);
  expect(read).toMatchObject({status: 200, body: {document: {n: 1}}, 'x-request-id': 'from-the-page'});
  expect(read).toMatchObject({
    etag: expect.stringMatching(/^"/),
    ratelimit: expect.stringMatching(/^"key";r=\d+;t=\d+$/),
  });
  expect([patched.status, stale.status, gone.status]).toEqual([200, 412, 204]);
  expect(forbidden).toMatchObject({status: 403, body: {error: {code: 'auth.forbidden', detail: {scope: 'schema'}}}});
  const first = await page.evaluate(subscribeOnce, {url: service.url, tenant, key});
  expect(first).toEqual({protocol: 'svc.v2', type: 'subscription_result', data: []});
});

test('a page of another origin can do nothing, with the same key', async () => {
  const page = await pageOf(origins[1]!);
  const answers = await page.evaluate(useDocuments, documents());
  expect(new Set(Object.values(answers).map(({status}) => status))).toEqual(new Set(['blocked']));
  expect(await page.evaluate(subscribeOnce, {url: service.url, tenant, key})).toEqual({code: 1006});
  const left = await service.get(`/api/tenants/${tenant}/documents/items`);
  expect(left.body).toEqual({data: []});
});
