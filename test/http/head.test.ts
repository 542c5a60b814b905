/** HEAD is answered wherever GET is, with the same headers and no body, and its connection goes on. */
import {Agent, request as httpRequest} from 'node:http';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {ROUTES} from '../../router/routes.ts';
import {App} from '../functions/app.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
let app: App;
let agent: Agent;
beforeAll(async () => {
  app = await App.deploy(service, {
    'http.ts': `
      import {httpRouter} from 'svc/server';
      import {httpAction} from './_generated/server';
      const http = httpRouter();
      const says = httpAction(async () => new Response('hello', {headers: {'x-says': 'hello'}}));
      http.route({path: '/a', method: 'GET', handler: says});
      http.route({path: '/a', method: 'POST', handler: says});
      export default http;`,
  });
  await service.post(`/api/tenants/${app.tenant}/documents`, {table: 't', fields: {a: 1}});
});
beforeEach(() => {
  service.showLogOnFailure();
  agent = new Agent({keepAlive: true, maxSockets: 1});
  return () => agent.destroy();
});

type Seen = {status: number; headers: Record<string, unknown>; body: string; wasReused: boolean};

/** One request on the one connection of this test. */
function send(method: string, path: string): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const headers = {authorization: path.startsWith('/svc/') ? '' : `Bearer ${service.accessToken}`};
    const sent = httpRequest(service.url + path, {method, agent, headers});
    sent.on('error', reject);
    sent.on('response', response => {
      let body = '';
      response.setEncoding('utf8').on('data', chunk => {
        body += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        const {date, 'x-request-id': _, ...rest} = response.headers;
        resolve({status: response.statusCode!, headers: rest, body, wasReused: sent.reusedSocket});
      });
    });
    sent.end();
  });
}

/** Figures are those up to now unless a time is given. */
const pathOf = (pattern: string) =>
  pattern.replace('{tenant_id}', app.tenant).replaceAll(/\{\w+\}/g, 't') +
  (pattern.endsWith('/figures') ? '?to=7200000' : '');
/** Their length changes with each request, or with a commit in the background. */
const CHANGING = ['/metrics', '/api/server', '/api/tenants/{tenant_id}/file'];
const PATTERNS = ROUTES.filter(
  ({method, pattern, isEndless}) => method === 'GET' && !CHANGING.includes(pattern) && !isEndless,
).map(route => route.pattern);

test.each(PATTERNS)('HEAD %s has the status and headers of GET, and the connection is used again', async pattern => {
  const path = pathOf(pattern);
  const get = await send('GET', path);
  const head = await send('HEAD', path);
  expect(head).toEqual({...get, body: '', wasReused: true});
  // Its body may name a later time.
  expect(await send('GET', path)).toMatchObject({status: get.status, wasReused: true});
});

test('a document has its length in the head', async () => {
  const {body} = await send('GET', `/api/tenants/${app.tenant}/documents/t`);
  const {headers} = await send('HEAD', `/api/tenants/${app.tenant}/documents/t`);
  expect(headers).toMatchObject({'content-type': 'application/json', 'content-length': String(body.length)});
});

test('HEAD without a credential is 401, and the connection is used again', async () => {
  const path = '/api/tenants';
  const {status, text} = await service.request('HEAD', path, undefined, {authorization: undefined});
  expect([status, text]).toEqual([401, '']);
  expect((await service.get(path)).status).toBe(200);
});

describe('an HTTP action', () => {
  test('answers HEAD by its GET route, and the connection is used again', async () => {
    const path = `/svc/${app.tenant}/http/a`;
    for (let round = 0; round < 3; round++) {
      expect(await send('HEAD', path)).toMatchObject({status: 200, body: '', headers: {'x-says': 'hello'}});
      expect(await send('GET', path)).toMatchObject({status: 200, body: 'hello', wasReused: true});
    }
  });

  test('that is not there is 404 to HEAD, and the connection is used again', async () => {
    const path = `/svc/${app.tenant}/http/nothing`;
    const get = await send('GET', path);
    expect(await send('HEAD', path)).toEqual({...get, body: '', wasReused: true});
    expect((await send('POST', `/svc/${app.tenant}/http/a`)).status).toBe(200);
  });
});
