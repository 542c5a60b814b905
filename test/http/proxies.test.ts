/** The native API and HTTP actions through a stock nginx and Caddy, each set up as docs/operating.md says. */
import {createHash, randomBytes} from 'node:crypto';
import {Agent, request, WebSocket} from 'undici';
import {afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test} from 'vitest';
import {App} from '../functions/app.ts';
import {type ProxyKind, ReverseProxy} from '../harness/reverse-proxy.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

const PROXIES: readonly ProxyKind[] = ['nginx', 'caddy'];
/** Where the client is: another address than the proxy's, which is trusted. */
const CLIENT = '127.0.0.9';
const HTTP = `
  import {httpRouter} from 'svc/server';
  import {httpAction} from './_generated/server';
  const http = httpRouter();
  http.route({path: '/length', method: 'POST', handler: httpAction(async (_, request) => new Response(String((await request.arrayBuffer()).byteLength)))});
  http.route({path: '/url', method: 'GET', handler: httpAction(async (_, request) => new Response(request.url))});
  export default http;`;

let service: Service;
let app: App;
let tenant: string;
const proxies = new Map<ProxyKind, ReverseProxy>();
/** Connections are kept and used again, as a client's are. */
const agent = new Agent({connections: 1, pipelining: 1, localAddress: CLIENT});

beforeAll(async () => {
  service = await Service.start({args: ['--trusted-proxy', '127.0.0.1', '--log-level', 'debug']});
  app = await App.deploy(service, {'http.ts': HTTP});
  tenant = app.tenant;
  for (const kind of PROXIES) proxies.set(kind, await ReverseProxy.start(kind, service.port));
});
afterAll(async () => {
  await agent.close();
  for (const proxy of proxies.values()) await proxy.stop();
  await service.stop();
});
beforeEach(() => service.showLogOnFailure());

function send(
  kind: ProxyKind,
  method: string,
  path: string,
  body: unknown = null,
  headers: Record<string, string> = {},
) {
  const isRaw = body === null || Buffer.isBuffer(body);
  return request(proxies.get(kind)!.url + path, {
    method: method as 'GET',
    headers: {authorization: `Bearer ${service.accessToken}`, ...headers},
    body: isRaw ? (body as Buffer | null) : JSON.stringify(body),
    dispatcher: agent,
  });
}

async function answer(...sent: Parameters<typeof send>) {
  const {statusCode, headers, body} = await send(...sent);
  return {status: statusCode, headers, text: await body.text()};
}

/**
 * A stream of events on a connection of its own. One that was requested with a body begins again if the proxy ends it:
 * Caddy closes its connection to the service when the answer comes before its own write of the body has returned.
 * @returns resolves once such a text has come
 */
async function events(...[kind, method, path, body = null]: Parameters<typeof send>) {
  let received = '';
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const begin = async () => {
    const response = await request(proxies.get(kind)!.url + path, {
      method: method as 'GET',
      headers: {authorization: `Bearer ${service.accessToken}`},
      body: body === null ? null : JSON.stringify(body),
      dispatcher: new Agent({bodyTimeout: 0}),
    });
    expect(response.headers['content-type']).toMatch(/^text\/event-stream/);
    onTestFinished(() => void response.body.destroy());
    response.body.on('data', chunk => {
      received += String(chunk);
    });
    response.body.on('error', () => undefined); // 'close' follows
    response.body.on('close', () => {
      if (!isOver && body !== null) void begin();
    });
  };
  await begin();
  return (text: string) => until(`${text} of ${path}`, () => received.includes(text));
}

describe.each(PROXIES)('through %s', kind => {
  const table = `of_${kind}`;
  const documents = () => `/api/tenants/${tenant}/documents`;

  test('every method, HEAD and answers without a body among them, on one connection', async () => {
    const made = await answer(kind, 'POST', documents(), {table, fields: {n: 1}});
    expect(made.status).toBe(201);
    const path = `${documents()}/${table}/${JSON.parse(made.text).id}`;
    const {headers} = await answer(kind, 'HEAD', path);
    const read = await answer(kind, 'GET', path);
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(read.text));
    const same = {'if-none-match': String(read.headers.etag)};
    expect(await answer(kind, 'GET', path, null, same)).toMatchObject({status: 304, text: ''});
    expect((await answer(kind, 'PATCH', path, {patch: {n: 2}})).status).toBe(200);
    expect((await answer(kind, 'PATCH', path, {patch: {n: 3}}, {'if-match': String(read.headers.etag)})).status).toBe(
      412,
    );
    expect((await answer(kind, 'PUT', path, {fields: {n: 4}})).status).toBe(200);
    expect(await answer(kind, 'DELETE', path)).toMatchObject({status: 204, text: ''});
    expect(JSON.parse((await answer(kind, 'GET', path)).text)).toMatchObject({error: {code: 'op.not_found'}});
    expect((await answer(kind, 'GET', '/health')).text).toBe('{"ok":true}');
  });

  test('what a page is allowed to do arrives as it left', async () => {
    const origin = `http://localhost:${service.port}`;
    const preflight = await answer(kind, 'OPTIONS', documents(), null, {
      origin,
      'access-control-request-method': 'POST',
    });
    expect(preflight).toMatchObject({status: 204, headers: {'access-control-allow-origin': origin, vary: 'Origin'}});
    expect((await answer(kind, 'GET', documents(), null, {origin: 'http://example.com'})).status).toBe(403);
  });

  test('bodies arrive whole, and one that is too long is refused with the reason', async () => {
    const upload = randomBytes(12 << 20);
    expect((await answer(kind, 'POST', `/svc/${tenant}/http/length`, upload)).text).toBe(String(upload.length));
    const refused = await answer(kind, 'POST', documents(), Buffer.alloc(9 << 20, ' '));
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.text)).toMatchObject({error: {code: 'op.too_large'}});
  });

  test('a snapshot that is streamed arrives as it is', async () => {
    const operations = Array.from({length: 40}, () => ({
      ...{type: 'insert', table: 'large'},
      fields: {text: randomBytes(50_000).toString('base64')},
    }));
    expect((await answer(kind, 'POST', `/api/tenants/${tenant}/transactions`, {operations})).status).toBe(200);
    const digest = (text: string) => createHash('sha256').update(text).digest('hex');
    const documentsOf = (text: string) => digest(JSON.stringify(JSON.parse(text).snapshot.documents));
    const path = `/api/tenants/${tenant}/journal/bootstrap`;
    const whole = await answer(kind, 'GET', path);
    expect(whole.text.length).toBeGreaterThan(2_000_000);
    expect(documentsOf(whole.text)).toBe(documentsOf((await service.get(path)).text));
  });

  test('events leave as they come, of the journal and of a query', async () => {
    const journal = await events(kind, 'GET', `/api/tenants/${tenant}/journal/stream?after=latest&table=${table}`);
    const query = await events(kind, 'POST', `/api/tenants/${tenant}/query/stream`, {table, filters: []});
    await journal('event: open');
    await query('"data":[]');
    await answer(kind, 'POST', documents(), {table, fields: {text: 'event'}});
    await journal('"sequence":');
    await query('"text":"event"');
  });

  test('a socket is live', async () => {
    const address = `${proxies.get(kind)!.url.replace('http', 'ws')}/ws?tenant_id=${tenant}`;
    const ws = new WebSocket(address, {
      protocols: ['svc.v2'],
      headers: {authorization: `Bearer ${service.accessToken}`},
    });
    onTestFinished(() => ws.close());
    let received = '';
    ws.addEventListener('message', event => {
      received += String(event.data);
    });
    await new Promise((resolve, reject) => {
      ws.addEventListener('open', resolve);
      ws.addEventListener('error', reject);
    });
    expect(ws.protocol).toBe('svc.v2');
    ws.send(JSON.stringify({type: 'client_hello', protocol: 'svc.v2'}));
    ws.send(JSON.stringify({type: 'subscribe', request_id: 'a', query: {table: `live_${table}`, filters: []}}));
    await until('the first result', () => received.includes('"request_id":"a"'));
    await answer(kind, 'POST', documents(), {table: `live_${table}`, fields: {text: 'live'}});
    await until('the next result', () => received.includes('"text":"live"'));
  });

  test('the client is known by its address, whatever it claims, and its URL as it asked for it', async () => {
    const id = `from-${kind}`;
    await answer(kind, 'GET', '/health', null, {
      'x-request-id': id,
      'x-forwarded-for': '1.1.1.1',
      forwarded: 'for=1.1.1.1',
    });
    const line = await until('the log', () => service.log.split('\n').find(text => text.includes(`"request":"${id}"`)));
    expect(JSON.parse(line!)).toMatchObject({address: CLIENT});
    const url = `/svc/${tenant}/http/url?a=%20`;
    expect((await answer(kind, 'GET', url, null, {'x-forwarded-proto': 'https'})).text).toBe(
      proxies.get(kind)!.url + url,
    );
  });
});

test('nginx without the setting for HTTP/1.1 gets 505: the recipe’s line is needed', async () => {
  const proxy = await ReverseProxy.start('nginx', service.port, [
    ['proxy_http_version 1.1;', 'proxy_http_version 1.0;'],
  ]);
  onTestFinished(() => proxy.stop());
  const {statusCode, body} = await request(`${proxy.url}/health`);
  await body.dump();
  expect(statusCode).toBe(505);
});
