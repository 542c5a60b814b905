import {App, type TemplatedApp, us_listen_socket_close, us_socket_local_port} from 'uWebSockets.js';
import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import {ActionLines} from '../../../worker/runtime/actions/action-lines.ts';
import {ActionHost} from './action-host.ts';

const APP = `
  const action = handler => ({_handler: (_ctx, args) => handler(args)});
  const failureOf = promise => promise.then(() => 'no failure', e => e.name + ': ' + e.message);
  export const get = action(async ({url, init}) => {
    const response = await fetch(url, init);
    const {status, statusText, redirected, ok} = response;
    return {status, statusText, redirected, ok, url: response.url, type: response.headers.get('content-type'), text: await response.text()};
  });
  export const fails = action(({url, init}) => failureOf(fetch(url, init)));
  export const form = action(async ({url}) => {
    const data = new FormData();
    data.append('a', '1');
    data.append('file', new Blob(['content']), 'name.txt');
    return (await fetch(url, {method: 'POST', body: data})).text();
  });
  export const streamsUp = action(async ({url, pieces}) => {
    let n = 0;
    const body = new ReadableStream({pull(c) { if (n++ === pieces) c.close(); else c.enqueue(new Uint8Array(1024 * 1024)); }});
    return (await fetch(url, {method: 'POST', body, duplex: 'half'})).text();
  });
  export const readsFirst = action(async ({url, release}) => {
    const reader = (await fetch(url)).body.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    await fetch(release);
    const second = new TextDecoder().decode((await reader.read()).value);
    return [first, second, (await reader.read()).done];
  });
  export const aborts = action(async ({url, arrived, reason}) => {
    const abort = new AbortController();
    const failed = failureOf(fetch(url, {signal: abort.signal}));
    await fetch(arrived);
    abort.abort(...(reason === undefined ? [] : [new Error(reason)]));
    return failed;
  });
  export const abortsBody = action(async ({url}) => {
    const abort = new AbortController();
    const response = await fetch(url, {signal: abort.signal});
    setTimeout(() => abort.abort(), 10);
    return failureOf(response.text());
  });
  export const timesOut = action(({url}) => failureOf(fetch(url, {signal: AbortSignal.timeout(10)})));
  export const forgets = action(async ({url, started}) => { void fetch(url); await fetch(started); return 'early'; });
  export const unread = action(async ({url, count}) => {
    for (let i = 0; i < count; i++) await fetch(url);
    return count;
  });
  export const socket = action(async ({url, protocols, binaryType, close}) => {
    const seen = [];
    const ws = new WebSocket(url, protocols);
    seen.push('state ' + ws.readyState);
    if (binaryType) ws.binaryType = binaryType;
    ws.onopen = () => { seen.push('open ' + ws.protocol + ' ' + ws.readyState); ws.send('text ü'); };
    ws.addEventListener('error', () => seen.push('error'));
    let messages = 0;
    ws.addEventListener('message', async ({data}) => {
      if (typeof data === 'string') seen.push('text: ' + data);
      else if (data instanceof Blob) seen.push('blob: ' + new Uint8Array(await data.arrayBuffer()).join());
      else seen.push('buffer: ' + new Uint8Array(data).join());
      if (++messages === 1) ws.send(new Uint8Array([1, 2, 3]));
      else ws.close(...close);
    });
    await new Promise(resolve => ws.addEventListener('close', ({code, reason, wasClean}) => {
      seen.push('close ' + [code, reason, wasClean].join(' '));
      resolve();
    }));
    return [...seen, 'state ' + ws.readyState];
  });
  export const sendsMuch = action(({url, count}) => new Promise(resolve => {
    const ws = new WebSocket(url);
    let received = 0;
    const amounts = [];
    ws.onopen = () => {
      for (let i = 0; i < count; i++) ws.send('x'.repeat(100));
      amounts.push(ws.bufferedAmount);
    };
    ws.onmessage = () => {
      if (++received < count) return;
      const wait = () => ws.bufferedAmount === 0 ? resolve([received, ...amounts, 0]) : setTimeout(wait, 1);
      wait();
    };
  }));
  export const leavesSocket = action(({url}) => new Promise(resolve => { new WebSocket(url).onopen = resolve; }).then(() => 'left'));
  export const socketErrors = action(async ({url}) => {
    const failure = make => { try { make(); return 'no failure'; } catch (e) { return e.name; } };
    return [
      failure(() => new WebSocket('ftp://x.example')),
      failure(() => new WebSocket('no url')),
      failure(() => new WebSocket(url, ['a', 'a'])),
      failure(() => new WebSocket(url).send('early')),
      failure(() => new WebSocket(url).close(1001)),
      failure(() => new WebSocket(url).close(3000, 'x'.repeat(124))),
    ];
  });
  export const manySockets = action(({url}) => new Promise(resolve => {
    const all = Array.from({length: 17}, () => new WebSocket(url));
    all.at(-1).onclose = ({code}) => resolve(code);
  }));
`;

let host: ActionHost;
let server: Server;
let origin: string;
let sockets: TemplatedApp;
let socketOrigin: string;
let socketsClosed: number[] = [];
/** By path; set by the test that uses it. */
let routes: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {};

beforeAll(async () => {
  host = new ActionHost({app: APP});
  open = host.network.endpoint({allow: ['127.0.0.1'], deny: []});
  server = createServer((request, response) => {
    const route = routes[request.url!.split('?')[0]!];
    if (route === undefined) response.writeHead(404).end('no such route');
    else route(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  sockets = App().ws('/*', {
    upgrade: (response, request, context) => {
      const protocol = request.getHeader('sec-websocket-protocol').split(',')[0]!;
      response.upgrade(
        {},
        request.getHeader('sec-websocket-key'),
        protocol,
        request.getHeader('sec-websocket-extensions'),
        context,
      );
    },
    message: (socket, message, isBinary) => void socket.send(message, isBinary),
    close: (_socket, code) => void socketsClosed.push(code),
  });
  const listening = await new Promise<false | object>(resolve => sockets.listen('127.0.0.1', 0, resolve));
  if (listening === false) throw new Error('no port');
  socketOrigin = `ws://127.0.0.1:${us_socket_local_port(listening as never)}`;
  closeSockets = () => us_listen_socket_close(listening as never);
});
let closeSockets: () => void = () => undefined;
afterAll(async () => {
  await host.close();
  server.closeAllConnections();
  server.close();
  closeSockets();
});
beforeEach(() => {
  routes = {};
  socketsClosed = [];
});

let open: EgressEndpoint;
const value = (name: string, args: object) => host.value(name, args, {egress: open});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

/** A route that answers with what it was sent. */
const shows = (request: IncomingMessage, response: ServerResponse) =>
  void bodyOf(request).then(body => {
    const {method, url, headers} = request;
    response.end(
      JSON.stringify({
        method,
        url,
        sent: headers['x-sent'],
        type: headers['content-type'],
        length: headers['content-length'],
        body,
      }),
    );
  });

describe('fetch', () => {
  test('sends method, headers and body, and gets status, headers and body', async () => {
    routes['/x'] = (request, response) => {
      response.writeHead(418, 'Teapot', {'content-type': 'text/x-test'});
      shows(request, response);
    };
    const init = {method: 'PUT', headers: {'x-sent': 'a'}, body: 'ü'};
    const got = (await value('get', {url: `${origin}/x?q=1#f`, init})) as {text: string};
    expect(got).toMatchObject({status: 418, statusText: 'Teapot', ok: false, redirected: false, type: 'text/x-test'});
    expect(JSON.parse(got.text)).toEqual({
      method: 'PUT',
      url: '/x?q=1',
      sent: 'a',
      type: 'text/plain;charset=UTF-8',
      length: '2',
      body: 'ü',
    });
  });

  test('follows redirects, or not', async () => {
    routes['/from'] = (_request, response) => void response.writeHead(302, {location: '/to'}).end();
    routes['/to'] = (_request, response) => void response.end('there');
    const url = `${origin}/from`;
    expect(await value('get', {url})).toMatchObject({
      status: 200,
      redirected: true,
      url: `${origin}/to`,
      text: 'there',
    });
    expect(await value('get', {url, init: {redirect: 'manual'}})).toMatchObject({status: 302, redirected: false});
    expect(await value('fails', {url, init: {redirect: 'error'}})).toMatch(/^TypeError: fetch failed/);
  });

  test('sends a short body again after a 307', async () => {
    routes['/from'] = (_request, response) => void response.writeHead(307, {location: '/to'}).end();
    routes['/to'] = shows;
    const {text} = (await value('get', {url: `${origin}/from`, init: {method: 'POST', body: 'again'}})) as {
      text: string;
    };
    expect(JSON.parse(text)).toMatchObject({method: 'POST', body: 'again'});
  });

  test('sends forms', async () => {
    routes['/form'] = shows;
    const {type, body} = JSON.parse((await value('form', {url: `${origin}/form`})) as string) as {
      type: string;
      body: string;
    };
    expect(type).toMatch(/^multipart\/form-data; boundary=/);
    expect(body).toContain('name="file"; filename="name.txt"');
    expect(body).toContain('content');
  });

  test.each([0, 3, 9])('streams a body of %i MiB', async mebibytes => {
    routes['/up'] = (request, response) => {
      let bytes = 0;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      request.on('end', () => response.end(String(bytes)));
    };
    expect(await value('streamsUp', {url: `${origin}/up`, pieces: mebibytes})).toBe(String(mebibytes * 1024 * 1024));
  });

  test('reads a body while it is sent', async () => {
    let held: ServerResponse;
    routes['/slow'] = (_request, response) => {
      held = response;
      response.write('first');
    };
    routes['/release'] = (_request, response) => {
      held.end('second');
      response.end();
    };
    const got = await value('readsFirst', {url: `${origin}/slow`, release: `${origin}/release`});
    expect(got).toEqual(['first', 'second', true]);
  });

  test('has no body where there is none', async () => {
    routes['/none'] = (_request, response) => void response.writeHead(204).end();
    expect(await value('get', {url: `${origin}/none`})).toMatchObject({status: 204, text: ''});
    expect(await value('get', {url: `${origin}/none`, init: {method: 'HEAD'}})).toMatchObject({status: 204, text: ''});
  });

  /** Routes: a request that is never answered, and one that is answered when the other has arrived. */
  function neverAnswered(): {closed: Promise<void>} {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    routes['/never'] = (_request, response) => {
      response.on('close', closed.resolve);
      arrived.resolve();
    };
    routes['/arrived'] = (_request, response) => void arrived.promise.then(() => response.end());
    return {closed: closed.promise};
  }

  test.each([
    [undefined, 'AbortError'],
    ['mine', 'Error: mine'],
  ])('aborted (%j) fails with the reason, and the server sees the end', async (reason, failure) => {
    const {closed} = neverAnswered();
    const failed = await value('aborts', {url: `${origin}/never`, arrived: `${origin}/arrived`, reason});
    expect(failed).toContain(failure);
    await closed;
  });

  test('ends with AbortSignal.timeout', async () => {
    neverAnswered();
    expect(await value('timesOut', {url: `${origin}/never`})).toContain('TimeoutError');
  });

  test('aborted while its body is read fails the reading', async () => {
    routes['/half'] = (_request, response) => void response.write('half');
    expect(await value('abortsBody', {url: `${origin}/half`})).toContain('AbortError');
  });

  test('that nobody awaits ends with its action', async () => {
    const {closed} = neverAnswered();
    host.lines = new ActionLines();
    expect(await value('forgets', {url: `${origin}/never`, started: `${origin}/arrived`})).toBe('early');
    expect(host.lines.all).toEqual([expect.stringContaining('1 unawaited operation: [fetch]')]);
    await closed;
  });

  test('answers that are not read cost nothing when they are short', async () => {
    routes['/short'] = (_request, response) => void response.end('short');
    expect(await value('unread', {url: `${origin}/short`, count: 150})).toBe(150);
  });

  test.each([
    ['http://127.0.0.1:8123/', /^EgressRefused: .*egress policy/],
    ['http://localhost:8123/', /^EgressRefused: .*egress policy/],
    ['ftp://example.com/', /^TypeError: Unsupported URL scheme/],
  ])('%s is refused', async (url, failure) => {
    expect(await host.value('fails', {url})).toMatch(failure);
  });

  test('that cannot connect fails', async () => {
    expect(await value('fails', {url: 'http://127.0.0.1:1/'})).toMatch(/^TypeError: fetch failed/);
  });

  test('a policy holds for connections that are open already', async () => {
    routes['/x'] = (_request, response) => void response.end('x');
    expect(await value('get', {url: `${origin}/x`})).toMatchObject({text: 'x'});
    expect(await host.value('fails', {url: `${origin}/x`})).toContain('egress policy');
  });
});

describe('WebSocket', () => {
  test.each([
    ['arraybuffer', ['chat'], [], ['open chat 1', 'buffer: 1,2,3', 'close 1005  true']],
    ['blob', ['chat'], [1000, 'bye'], ['open chat 1', 'blob: 1,2,3', 'close 1000 bye true']],
    [undefined, [], [4001], ['open  1', 'blob: 1,2,3', 'close 4001  true']],
  ])('sends and receives text and %s', async (binaryType, protocols, close, [open, bytes, closed]) => {
    const seen = await value('socket', {url: socketOrigin, binaryType, protocols, close});
    expect(seen).toEqual(['state 0', open, 'text: text ü', bytes, closed, 'state 3']);
  });

  test('that is refused has an error and a close', async () => {
    const seen = await host.value('socket', {url: socketOrigin, protocols: [], close: []});
    expect(seen).toEqual(['state 0', 'error', 'close 1006  false', 'state 3']);
  });

  test('knows what it has not sent yet, and loses nothing of a burst', async () => {
    expect(await value('sendsMuch', {url: socketOrigin, count: 5_000})).toEqual([5_000, 500_000, 0]);
    await expect.poll(() => socketsClosed).toHaveLength(1);
  });

  test('ends with its action', async () => {
    expect(await value('leavesSocket', {url: socketOrigin})).toBe('left');
    await expect.poll(() => socketsClosed).toHaveLength(1);
  });

  test('says at once what it cannot be given', async () => {
    expect(await value('socketErrors', {url: socketOrigin})).toEqual([
      'SyntaxError',
      'SyntaxError',
      'SyntaxError',
      'InvalidStateError',
      'InvalidAccessError',
      'SyntaxError',
    ]);
  });

  test('an action has at most 16', async () => {
    expect(await value('manySockets', {url: socketOrigin})).toBe(1006);
  });
});
