/** `GET /`: a page of links for browsers, 404 for others. */
import {expect, test} from 'vitest';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();

test('a browser gets a page whose links work without a credential', async () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const response = await fetch(`${service.url}/`, {headers: {accept}});
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  const links = [...(await response.text()).matchAll(/<a href="(.+?)"/g)].map(([, path]) => path!);
  expect(links).toEqual(['/api/docs', '/api/openapi.json', '/health']);
  for (const path of links) expect((await fetch(service.url + path)).status).toBe(200);
});

test.each([
  ['GET', '/', '*/*'],
  ['GET', '/', 'application/json'],
  ['POST', '/', 'text/html'],
  ['GET', '/other', 'text/html'],
])('%s %s with Accept: %s is 404 as before', async (method, path, accept) => {
  const response = await fetch(service.url + path, {method, headers: {accept}});
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({error: {code: 'op.not_found'}});
});
