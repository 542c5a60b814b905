/**
 * The page with the service behind it, on one port: `npm run todo`. Browsers let a page use a service of its own origin only, unless the
 * operator allowed the page's; so requests of the page that name no file are passed on. In production a reverse proxy does that.
 */
import {once} from 'node:events';
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {createServer, type IncomingMessage, request, type ServerResponse} from 'node:http';
import {type AddressInfo, connect, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {makeKey, writePage} from './page.ts';

const TENANT = 'todo';
const TYPES: Record<string, string> = {
  'index.html': 'text/html; charset=utf-8',
  'base.css': 'text/css; charset=utf-8',
  'styles.css': 'text/css; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'config.json': 'application/json',
};

type Access = {url: string; accessToken: string};

/** @param port of the page; 0: any free one */
export async function serveTodo(server: Access, port: number): Promise<{url: string; close(): Promise<void>}> {
  const service = new URL(server.url);
  const folder = await mkdtemp(join(tmpdir(), 'svc-todo-'));
  let origin = '';
  const http = createServer((incoming, response) => {
    if (!isOwn(incoming, origin)) return void response.writeHead(403).end();
    const name = incoming.url === '/' ? 'index.html' : incoming.url!.slice(1);
    if (Object.hasOwn(TYPES, name)) void sendFile(response, folder, name);
    else passOn(incoming, response, service);
  });
  http.on('upgrade', (incoming, socket: Socket, head) => {
    if (isOwn(incoming, origin)) passOnSocket(incoming, socket, head, service);
    else socket.destroy();
  });
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const close = async () => {
    http.close();
    http.closeAllConnections();
    await rm(folder, {recursive: true, force: true});
  };
  try {
    await writePage(folder, {url: origin, tenant: TENANT, key: await makeKey(server, TENANT)});
  } catch (caught) {
    await close();
    throw caught;
  }
  return {url: `${origin}/`, close};
}

/** Of this page and under its own name: other pages of the browser get neither the key nor a way to the service. */
function isOwn({headers}: IncomingMessage, origin: string): boolean {
  return headers.host === new URL(origin).host && (headers.origin === undefined || headers.origin === origin);
}

async function sendFile(response: ServerResponse, folder: string, name: string): Promise<void> {
  const body = await readFile(join(folder, name));
  response.writeHead(200, {'content-type': TYPES[name], 'cache-control': 'no-cache'}).end(body);
}

function passOn(incoming: IncomingMessage, response: ServerResponse, {hostname, port}: URL): void {
  const {origin: _, ...headers} = incoming.headers;
  const options = {
    hostname,
    port,
    method: incoming.method,
    path: incoming.url,
    headers: {...headers, host: `${hostname}:${port}`},
  };
  const outgoing = request(options, answer => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  incoming.pipe(outgoing);
}

function passOnSocket(incoming: IncomingMessage, socket: Socket, head: Buffer, {hostname, port}: URL): void {
  const headers = {...incoming.headers, host: `${hostname}:${port}`, origin: undefined};
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${value}`));
  const upstream = connect(Number(port), hostname);
  upstream.write([`GET ${incoming.url} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  upstream.write(head);
  upstream.pipe(socket).pipe(upstream);
  for (const [one, other] of [
    [socket, upstream],
    [upstream, socket],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}
