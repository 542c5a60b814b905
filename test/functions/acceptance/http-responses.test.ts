/** What clients get of an HTTP action whose response is odd: down to the bytes, because libraries hide the difference. */
import {request as httpRequest} from 'node:http';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {rawRequest} from '../../harness/raw.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {expectError} from '../../harness/tenant.ts';
import {App} from '../app.ts';

const MIB = 1024 * 1024;
const HTTP = `
  import {httpRouter} from 'svc/server';
  import {httpAction} from './_generated/server';
  const http = httpRouter();
  const encoder = new TextEncoder();
  const events = {headers: {'content-type': 'text/event-stream'}};
  const stream = (pull: (controller: any) => unknown) => new ReadableStream({pull}, {highWaterMark: 0});
  const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));
  const routes: Record<string, (request: Request) => Promise<Response> | Response> = {
    '/fails-first': () => new Response(stream(() => { throw new Error('no first byte'); }), {headers: {'x-q': '1'}}),
    '/fails-late': () => new Response(stream(async () => { await pause(300); throw new Error('late'); })),
    '/events-fail': () => new Response(stream(() => { throw new Error('no event'); }), events),
    '/text-piece': () => new Response(stream(controller => { controller.enqueue('text'); controller.close(); })),
    '/fails-second': () => { let n = 0; return new Response(stream(controller => {
      if (n++ > 0) throw new Error('no second byte');
      controller.enqueue(encoder.encode('first'));
    })); },
    '/large': () => new Response('a'.repeat(20 * ${MIB})),
    '/larger': () => new Response(new Uint8Array(20 * ${MIB} + 1)),
    '/events': () => { let n = 0; return new Response(stream(controller => {
      if (n === 3) controller.close();
      else controller.enqueue(encoder.encode('data: ' + n++ + '\\n\\n'));
    }), events); },
    '/silent-events': () => new Response(stream(() => pause(60_000)), events),
    '/many-headers': () => new Response('x', {headers: Array.from({length: 300}, (_, i) => ['x-' + i, 'y'] as [string, string])}),
    '/refuses': () => new Response('not you', {status: 403}),
    '/headers': () => new Response('x', {headers: [
      ['Clear-Site-Data', '"*"'], ['Service-Worker-Allowed', '/'], ['Strict-Transport-Security', 'max-age=1'],
      ['Alt-Svc', 'h3=":1"'], ['X-Mine', 'yes'],
      ['Set-Cookie', 'none=1'], ['Set-Cookie', 'all=1; Path=/; HttpOnly'], ['Set-Cookie', 'domain=1; Domain=example.com'],
    ]}),
    '/got': request => Response.json(request.headers.get('x-name')),
  };
  for (const [path, handler] of Object.entries(routes)) {
    for (const method of ['GET', 'POST'] as const) http.route({path, method, handler: httpAction(async (_ctx, request) => handler(request))});
  }
  export default http;`;

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, {'http.ts': HTTP});
});
beforeEach(() => service.showLogOnFailure());

const http = (path: string) => `/svc/${app.tenant}/http${path}`;
const host = () => `Host: 127.0.0.1:${service.port}`;
const errorsOf = async (path: string) =>
  (await app.logs()).filter(entry => entry.path === `GET ${path}`).map(entry => entry.error);

describe('a body that fails before its first byte is a 500 with its reason:', () => {
  test.each([
    ['/fails-first', 'Error: no first byte'],
    ['/fails-late', 'Error: late'],
    ['/events-fail', 'Error: no event'],
    ['/text-piece', 'TypeError: a chunk of a body must be a Uint8Array'],
    ['/larger', 'HttpResponseTooLarge: the body of a response is at most 20971520 bytes'],
    ['/many-headers', 'TypeError: the response cannot be sent: there are more than 256 headers'],
  ])('%s → %s', async (path, reason) => {
    const reply = await rawRequest(service, [`GET ${http(path)} HTTP/1.1`, host()]);
    expect(reply).toMatchObject({status: 500, headers: {'content-type': 'application/json'}});
    expect(reply.headers).not.toHaveProperty('x-q');
    const {error}: {error: {code: string; message: string; detail: {trace: string}}} = reply.body;
    expect(error.code).toBe('op.failed');
    expect(error.message).toMatch(/^\[Request ID: \S+\] Server Error: /);
    expect(error.message).toContain(reason);
    expect(error.detail.trace).toContain(reason);
    const response = await fetch(service.url + http(path));
    expect([response.status, (await response.json()) as unknown]).toMatchObject([500, {error: {code: 'op.failed'}}]);
    expect(await errorsOf(path)).toEqual([expect.stringContaining(reason), expect.stringContaining(reason)]);
  });
});

test('one that fails after its first byte is cut, so that no client takes it for whole', async () => {
  const text = await service.raw(`GET ${http('/fails-second')} HTTP/1.1\r\n${host()}\r\n\r\n`);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n5\r\nfirst$/);
  const response = await fetch(service.url + http('/fails-second'));
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
});

test('a body of exactly 20 MiB in one piece arrives', async () => {
  const response = await fetch(service.url + http('/large'));
  expect(response.status).toBe(200);
  expect((await response.arrayBuffer()).byteLength).toBe(20 * MIB);
});

describe('a stream of events', () => {
  test('that come at once is sent as the app made it', async () => {
    const response = await fetch(service.url + http('/events'));
    expect(await response.text()).toBe('data: 0\n\ndata: 1\n\ndata: 2\n\n');
  });

  test('that do not come is open all the same', async () => {
    const gone = new AbortController();
    const response = await fetch(service.url + http('/silent-events'), {signal: gone.signal});
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    gone.abort();
  });
});

test('an answer that does not wait for its upload arrives with Connection: close', async () => {
  const body = Buffer.alloc(12 * MIB);
  const answer = await new Promise<{status: number; text: string}>((resolve, reject) => {
    const headers = {connection: 'close', 'content-length': String(body.length)};
    const sent = httpRequest(service.url + http('/refuses'), {method: 'POST', agent: false, headers});
    sent.on('error', reject);
    sent.on('response', response => {
      let text = '';
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve({status: response.statusCode!, text}));
    });
    sent.end(body);
  });
  expect(answer).toEqual({status: 403, text: 'not you'});
});

test('headers that speak for the whole origin are left out, and cookies stay with their tenant', async () => {
  const response = await fetch(service.url + http('/headers'));
  for (const name of ['clear-site-data', 'service-worker-allowed', 'strict-transport-security', 'alt-svc']) {
    expect(response.headers.get(name)).toBe(null);
  }
  expect(response.headers.get('x-mine')).toBe('yes');
  expect(response.headers.getSetCookie()).toEqual(['none=1', `all=1; Path=/svc/${app.tenant}; HttpOnly`, 'domain=1']);
});

test('bytes of a request header are its characters, whatever they would be as UTF-8', async () => {
  const got = async (bytes: Buffer) => {
    const head = Buffer.concat([Buffer.from(`GET ${http('/got')} HTTP/1.1\r\n${host()}\r\nX-Name: `), bytes]);
    const text = await service.raw(Buffer.concat([head, Buffer.from('\r\n\r\n')]), all => all.includes('\r\n0\r\n'));
    return Buffer.from(/"(.*)"/.exec(text.slice(text.indexOf('\r\n\r\n')))![1]!, 'latin1').toString();
  };
  expect(await got(Buffer.from('Jos\xe9 P.', 'latin1'))).toBe('José P.');
  expect(await got(Buffer.from('in 日本.'))).toBe(Buffer.from('in 日本.').toString('latin1'));
});

test.each([
  ['/nothing', 'No matching routes found.'],
  ['/', 'No matching routes found.'],
])('an unrouted path %s is 404 with an envelope', async (path, message) => {
  expect(expectError(await app.svc('GET', `/http${path}`), 404, 'op.not_found').message).toBe(message);
});
