/** The page for readers of the API's document, in a real browser: it needs no other host, and sends a request with a credential that is pasted in. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {nightly} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
let browser: Browser;
beforeAll(async () => {
  expect((await service.post('/api/tenants', {id: 'shown'})).status).toBe(201);
  browser = await Browser.launch();
});
afterAll(async () => {
  await browser?.close();
});

const DARK = 'rgb(28, 32, 34)';

describe('GET /api/docs', () => {
  nightly.test(
    'shows the API, by day and night, and sends a request with a pasted credential, asking this server only',
    async () => {
      const window = await browser.window();
      const {page} = window;
      const hosts = new Set<string>();
      page.on('request', request => {
        const {protocol, host} = new URL(request.url());
        if (protocol !== 'data:') hosts.add(host);
      });
      await page.goto(`${service.url}/api/docs#/tenants`);
      await page.getByRole('button', {name: 'Authorize'}).first().click();
      const dialog = page.locator('.modal-ux');
      await dialog.locator('input').first().fill(service.accessToken);
      await dialog.getByRole('button', {name: 'Apply credentials'}).first().click();
      await dialog.getByRole('button', {name: 'Close'}).first().click();

      const operation = page.locator('.opblock', {has: page.locator('text="tenants.list"')});
      await operation.locator('.opblock-summary').click();
      await operation.getByRole('button', {name: 'Try it out'}).click();
      await operation.getByRole('button', {name: 'Execute'}).click();
      const answer = operation.locator('.live-responses-table .response').first();
      await answer.waitFor();
      expect(await answer.locator('.response-col_status').textContent()).toContain('200');
      expect(await answer.textContent()).toContain('"shown"');
      await window.screenshot('api-docs');

      const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
      expect(await background()).not.toBe(DARK);
      await page.emulateMedia({colorScheme: 'dark'});
      await expect.poll(background).toBe(DARK); // The page is notified after the request for it is answered.
      await window.screenshot('api-docs-dark');

      expect([...hosts]).toEqual([new URL(service.url).host]);
      expect(await browser.closeWindows()).toEqual([]);
    },
  );

  test('is held to this server by its headers, and its files are asked about instead of sent again', async () => {
    const anybody = {authorization: undefined};
    const page = await service.request('GET', '/api/docs', undefined, anybody);
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    const sources = [...page.text.matchAll(/(?:href|src)="(docs\/[^"]+)"/g)].map(([, path]) => path!);
    expect(sources.length).toBeGreaterThan(3);
    for (const source of [...sources, 'openapi.json']) {
      const {status, headers, text} = await service.request('GET', `/api/${source}`, undefined, anybody);
      expect([status, text.length > 100]).toEqual([200, true]);
      const kept = {...anybody, 'if-none-match': String(headers.etag)};
      const again = await service.request('GET', `/api/${source}`, undefined, kept);
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
    }
  });

  test('its files come packed to clients that accept that, under another ETag', async () => {
    const plain = await service.request('GET', '/api/openapi.json', undefined, {authorization: undefined});
    const packed = async (accepted: string) => {
      const response = await fetch(`${service.url}/api/openapi.json`, {headers: {'accept-encoding': accepted}});
      const {headers} = response;
      return {encoding: headers.get('content-encoding'), etag: headers.get('etag'), text: await response.text()};
    };
    const brotli = await packed('gzip, deflate, br;q=0.9');
    const gzip = await packed('gzip, br;q=0');
    const none = await packed('gzip;q=0');
    expect([brotli.encoding, gzip.encoding, none.encoding]).toEqual(['br', 'gzip', null]);
    expect(new Set([brotli.etag, gzip.etag, plain.headers.etag]).size).toBe(3);
    for (const {text} of [brotli, gzip, none]) expect(text).toBe(plain.text);
    expect(plain.headers.vary).toBe('Accept-Encoding');
  });
});
