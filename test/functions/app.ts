/**
 * An app for a test: sources given as text become a project, are bundled as `svc deploy` does it, and are deployed to a tenant
 * of a real service. Its functions are then called over HTTP, as its clients would.
 */
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {request} from 'undici';
import {onTestFinished} from 'vitest';
import {bundleProject} from '../../cli/project/bundle.ts';
import {generateCode} from '../../cli/project/codegen.ts';
import type {DeploymentUpload, LogEntry} from '../../shared/protocol/functions.ts';
import {decodeValue, encodeValue} from '../../shared/values/wire-value.ts';
import type {Reply, Service} from '../harness/service.ts';

type Kind = 'query' | 'query/paginated' | 'mutation' | 'action';
/** A function's reply as it comes; `value` is decoded. */
export type CallReply = {status: 'success' | 'error'; value?: unknown; errorMessage?: string; logLines?: string[]};
type Headers = Record<string, string>;

const TOO_BUSY = 'the machine is too busy to give this function its time';
const TRIES_MAX = 10;

export class App {
  readonly service: Service;
  readonly tenant: string;

  constructor(service: Service, tenant: string) {
    this.service = service;
    this.tenant = tenant;
  }

  /** A new tenant with these functions. @param files below `svc/`, path → source */
  static async deploy(service: Service, files: Record<string, string>): Promise<App> {
    const app = new App(service, await service.tenant('app'));
    await app.deploy(files);
    return app;
  }

  /** A new tenant without functions. */
  static async empty(service: Service): Promise<App> {
    return new App(service, await service.tenant('app'));
  }

  async deploy(files: Record<string, string>): Promise<void> {
    const {status, text} = await this.tryDeploy(files);
    if (status !== 201) throw new Error(`deploy: ${status} ${text}`);
  }

  async tryDeploy(files: Record<string, string>): Promise<Reply> {
    return this.admin('POST', '/deployments', await uploadOf(files));
  }

  /** A route of the native API, with the access token. */
  admin(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.service.request(method, `/api/tenants/${this.tenant}${path}`, body, headers);
  }

  /** A route of the deployment, without any credential unless `headers` has one. */
  svc(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.service.request(method, `/svc/${this.tenant}${path}`, body, {authorization: undefined, ...headers});
  }

  async rawSvc(
    method: string,
    path: string,
    body: Buffer,
  ): Promise<{status: number; headers: Reply['headers']; bytes: Buffer}> {
    const response = await request(`${this.service.url}/svc/${this.tenant}${path}`, {method: method as 'POST', body});
    return {
      status: response.statusCode,
      headers: response.headers,
      bytes: Buffer.from(await response.body.arrayBuffer()),
    };
  }

  async reply(kind: Kind | 'paginatedQuery', path: string, args: unknown, headers: Headers = {}): Promise<CallReply> {
    const route = kind === 'paginatedQuery' ? 'query/paginated' : kind;
    const wire = typeof args === 'object' ? encodeValue(args) : JSON.stringify(args);
    const text = `{"path":${JSON.stringify(path)},"args":${wire}}`;
    let reply = await this.svc('POST', `/${route}`, text, headers);
    // Without enough of the CPU a function is ended before its time is used up, with the error to try again.
    for (let tries = 1; tries < TRIES_MAX && reply.text.includes(TOO_BUSY); tries++) {
      reply = await this.svc('POST', `/${route}`, text, headers);
    }
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.text}`);
    const body = reply.body as CallReply;
    return 'value' in body ? {...body, value: decodeValue(JSON.stringify(body.value))} : body;
  }

  query(path: string, args: unknown, headers?: Headers): Promise<unknown> {
    return this.#value('query', path, args, headers);
  }
  paginated(path: string, args: unknown): Promise<unknown> {
    return this.#value('query/paginated', path, args);
  }
  mutation(path: string, args: unknown, headers?: Headers): Promise<unknown> {
    return this.#value('mutation', path, args, headers);
  }
  action(path: string, args: unknown, headers?: Headers): Promise<unknown> {
    return this.#value('action', path, args, headers);
  }
  queryError(path: string, args: unknown): Promise<string> {
    return this.#error('query', path, args);
  }
  paginatedError(path: string, args: unknown): Promise<string> {
    return this.#error('query/paginated', path, args);
  }
  mutationError(path: string, args: unknown): Promise<string> {
    return this.#error('mutation', path, args);
  }
  actionError(path: string, args: unknown): Promise<string> {
    return this.#error('action', path, args);
  }

  /** The executions that are logged, oldest first. */
  async logs(): Promise<LogEntry[]> {
    const {text} = await this.admin('GET', '/logs');
    return text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as LogEntry);
  }

  /** A GET over a socket of its own: what came of a chunked body, and whether it came to its end. */
  readUntilEnd(path: string): Promise<{status: number; received: string; ended: 'whole' | 'cut short'}> {
    return new Promise((resolve, reject) => {
      const socket = connect({host: '127.0.0.1', port: this.service.port});
      let bytes = '';
      socket.on('connect', () =>
        socket.write(`GET /svc/${this.tenant}${path} HTTP/1.1\r\nHost: 127.0.0.1:${this.service.port}\r\n\r\n`),
      );
      socket.on('data', chunk => {
        bytes += chunk.toString('latin1');
        if (bytes.endsWith('0\r\n\r\n')) socket.destroy();
      });
      socket.on('error', reject);
      socket.on('close', () => {
        const body = bytes.slice(bytes.indexOf('\r\n\r\n') + 4);
        const ended = body.endsWith('0\r\n\r\n') ? 'whole' : 'cut short';
        resolve({status: Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes)?.[1]), received: chunksOf(body), ended});
      });
      onTestFinished(() => void socket.destroy());
    });
  }

  async #value(kind: Kind, path: string, args: unknown, headers?: Headers): Promise<unknown> {
    const reply = await this.reply(kind, path, args, headers);
    if (reply.status !== 'success') throw new Error(`${path} failed: ${reply.errorMessage}`);
    return reply.value;
  }

  async #error(kind: Kind, path: string, args: unknown): Promise<string> {
    const reply = await this.reply(kind, path, args);
    if (reply.status !== 'error') throw new Error(`${path} succeeded: ${JSON.stringify(reply.value)}`);
    return reply.errorMessage!;
  }
}

/** What `svc deploy` sends, of a project of these files below `svc/`. */
export async function uploadOf(files: Record<string, string>): Promise<DeploymentUpload> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-app-'));
  try {
    for (const [path, source] of Object.entries({'../svc.json': '{}', ...files})) {
      const file = join(directory, 'svc', path);
      mkdirSync(dirname(file), {recursive: true});
      writeFileSync(file, source);
    }
    await generateCode(directory);
    return await bundleProject(directory);
  } finally {
    rmSync(directory, {recursive: true});
  }
}

/** The text of a chunked body. */
function chunksOf(body: string): string {
  let text = '';
  let at = 0;
  for (;;) {
    const end = body.indexOf('\r\n', at);
    const length = end === -1 ? 0 : Number.parseInt(body.slice(at, end), 16);
    if (!(length > 0)) return text;
    text += body.slice(end + 2, end + 2 + length);
    at = end + 2 + length + 2;
  }
}
