/**
 * Makes an example run against a server that runs: its page and what stands beside it on one port, the tenant with its settings
 * and environment, and its functions, deployed as `svc deploy` does it. What `npm run chat` does, and what the end-to-end tests use.
 */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {readFile} from 'node:fs/promises';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {answer, type Beside} from './beside.ts';
import {bundlePage, contentPolicy, type Files} from './page.ts';

export type ServerAccess = {url: string; accessToken: string};
export type ExampleOptions = {
  /** The project: a directory below `examples/`, or a copy of one. */
  directory: string;
  /** Where its functions are deployed. */
  server: ServerAccess;
  /** Where pages find the server, if it is another URL than ours. */
  publicUrl?: string;
  /** Of the page; 0: any free one. */
  port: number;
  isDevelopment?: boolean;
};
export type Example = {
  /** The page. */
  url: string;
  /** Deploys the functions as they are now. @returns what the command printed */
  deploy(): Promise<string>;
  close(): Promise<void>;
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export async function openExample(options: ExampleOptions): Promise<Example> {
  const {directory, server, port} = options;
  const {tenant} = JSON.parse(await readFile(join(directory, 'svc.json'), 'utf8')) as {tenant: string};
  const deployment = `${options.publicUrl ?? server.url}/svc/${tenant}`;
  const files = await bundlePage(directory, deployment, options.isDevelopment ?? false);

  let beside: Beside = {handlers: {}, environment: {}};
  const policy = contentPolicy(deployment);
  const http = createServer((request, response) => void serve(request, response, files, beside, policy));
  http.listen(port, '127.0.0.1');
  await once(http, 'listening');
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const module = (await import(join(directory, 'beside.ts'))) as {beside(origin: string): Promise<Beside>};
  beside = await module.beside(origin);

  const example: Example = {
    url: `${origin}/`,
    // The compiler is no part of trying it; a test holds the types.
    deploy: () => svc(directory, server, ['deploy', '--typecheck', 'disable']),
    async close() {
      http.close();
      http.closeAllConnections();
    },
  };
  try {
    await prepareTenant(server, tenant, origin, beside.environment);
    await example.deploy();
  } catch (caught) {
    await example.close();
    throw caught;
  }
  return example;
}

/** A tenant whose functions may ask what stands beside the page, which is on this machine, and know where it is. */
async function prepareTenant(
  server: ServerAccess,
  tenant: string,
  origin: string,
  environment: Record<string, string>,
): Promise<void> {
  await admin(server, 'POST', '/api/tenants', {id: tenant}, 'session.tenant_exists');
  const egress = {allow: [new URL(origin).host], deny: []};
  await admin(server, 'PUT', `/api/tenants/${tenant}/settings`, {egress, allowed_origins: null});
  for (const [name, value] of Object.entries(environment)) {
    await admin(server, 'PUT', `/api/tenants/${tenant}/env/${name}`, {value});
  }
}

/** @param accepted the code of an error that is as good as success */
async function admin(
  server: ServerAccess,
  method: string,
  path: string,
  body: unknown,
  accepted?: string,
): Promise<void> {
  const response = await fetch(server.url + path, {
    method,
    headers: {authorization: `Bearer ${server.accessToken}`, 'content-type': 'application/json'},
    body: JSON.stringify(body),
  });
  if (response.ok) return void (await response.arrayBuffer());
  const {error} = (await response.json()) as {error: {code: string; message: string}};
  if (error.code !== accepted) throw new Error(`${method} ${path}: ${error.message}`);
}

async function svc(directory: string, {url, accessToken}: ServerAccess, args: string[]): Promise<string> {
  const command = [join(ROOT, 'dist/cli.js'), ...args, '--project', directory, '--url', url];
  const child = spawn(process.execPath, command, {
    env: {...process.env, SVC_ACCESS_TOKEN: accessToken},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`svc ${args.join(' ')} failed\n${output.trimEnd()}`);
  return output;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  files: Files,
  {handlers}: Beside,
  policy: string,
): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://page').pathname;
  try {
    const [place, handler] = Object.entries(handlers).find(([below]) => path.startsWith(`${below}/`)) ?? [];
    if (place !== undefined && handler !== undefined) return await handler(request, response, path.slice(place.length));
    const file = files.get(path);
    if (file === undefined) return answer(response, 404, {message: `There is no ${path} here`});
    response.writeHead(200, {
      'content-type': file.type,
      'content-security-policy': policy,
      'cache-control': 'no-cache',
    });
    response.end(file.body);
  } catch (caught) {
    console.error(caught);
    if (response.headersSent) response.destroy();
    else answer(response, 500, {message: 'It failed; the terminal says why'});
  }
}
