/**
 * A really started service: `node dist/cli.js start` on a free port, with a data directory of its own. Tests talk to it as
 * its users do. What it logs is shown when a test that used it fails.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {Agent, request} from 'undici';
import {onTestFailed} from 'vitest';
import {childrenOf, commandLine, isAlive, killHard} from './processes.ts';
import {until} from './until.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const READY = 'svc listening on ';
/** Servers of tests are not noted for the commands of the person who runs the tests. */
export const STATE = {XDG_STATE_HOME: join(tmpdir(), 'svc-test-state')};

/** `SVC_TEST_ROUTERS=2` runs the tests against services of so many routers. */
const ROUTERS: Record<string, string> =
  process.env.SVC_TEST_ROUTERS === undefined ? {} : {SVC_ROUTERS: process.env.SVC_TEST_ROUTERS};

export type Reply = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The parsed body; null when there is none. */
  body: never;
};
type Options = {
  args?: string[];
  env?: Record<string, string>;
  data?: string;
  /** Another build than the one beside the tests. */
  dist?: string;
  /** What it gets without having asked. */
  descriptors?: number[];
  /** Workers that wait for a tenant. None unless told: each takes as long to start as one that is needed. */
  spares?: number;
};

export class Service {
  readonly data: string;
  readonly #options: Options;
  readonly #agent = new Agent({connections: 64, pipelining: 1});
  #child: ChildProcess | null = null;
  #log = '';
  #tenants = 0;
  /** Lines of standard output since it was started (again). */
  output: string[] = [];
  url = '';
  accessToken = '';
  adminToken = '';

  private constructor(options: Options) {
    this.#options = options;
    this.data = options.data ?? mkdtempSync(join(tmpdir(), 'svc-test-'));
  }

  static async start(options: Options = {}): Promise<Service> {
    const service = new Service(options);
    await service.run();
    return service;
  }

  get #cli(): string {
    return this.#options.dist === undefined ? CLI : join(this.#options.dist, 'cli.js');
  }

  /** Starts it (again) on its data directory. `args` override those given at first. */
  async run(args: string[] = this.#options.args ?? []): Promise<void> {
    const child = spawn(process.execPath, [this.#cli, 'start', '--port', '0', '--data', this.data, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', ...(this.#options.descriptors ?? [])],
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        TMPDIR: tmpdir(),
        ...STATE,
        ...ROUTERS,
        SVC_SPARE_WORKERS: String(this.#options.spares ?? 0),
        ...this.#options.env,
      },
    });
    this.#child = child;
    child.stderr!.on('data', chunk => {
      this.#log = (this.#log + String(chunk)).slice(-20_000);
    });
    const output: string[] = [];
    this.output = output;
    const lines = createInterface(child.stdout!);
    this.url = await new Promise<string>((resolve, reject) => {
      lines.on('line', line => {
        output.push(line);
        if (line.startsWith(READY)) resolve(line.slice(READY.length).trim());
      });
      child.once('exit', code => reject(new Error(`svc start ended with ${code}: ${this.#log}`)));
    });
    const {SVC_ACCESS_TOKEN, SVC_ADMIN_TOKEN} = this.#options.env ?? {};
    this.accessToken = SVC_ACCESS_TOKEN ?? this.#tokenFromFile('access_token');
    this.adminToken = SVC_ADMIN_TOKEN ?? this.#tokenFromFile('admin_token');
  }

  #tokenFromFile(name: string): string {
    return (JSON.parse(readFileSync(join(this.data, 'admin.json'), 'utf8')) as Record<string, string>)[name]!;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get log(): string {
    return this.#log;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Shows the service's log if the current test fails. */
  showLogOnFailure(): void {
    onTestFailed(() => {
      process.stderr.write(`\n── log of the service ──\n${this.#log}\n`);
    });
  }

  /** A request with the access token. A string or Buffer body goes out as it is, anything else as JSON. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | undefined> = {},
  ): Promise<Reply> {
    const sent: Record<string, string> = {};
    for (const [name, value] of Object.entries({authorization: `Bearer ${this.accessToken}`, ...headers})) {
      if (value !== undefined) sent[name] = value;
    }
    const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const response = await request(this.url + path, {
      method: method as 'GET',
      body: raw ?? null,
      headers: sent,
      dispatcher: this.#agent,
    });
    const text = await response.body.text();
    return {
      status: response.statusCode,
      headers: response.headers,
      text,
      body: (isJson(response.headers) && text !== '' ? JSON.parse(text) : null) as never,
    };
  }

  get(path: string, headers?: Record<string, string | undefined>): Promise<Reply> {
    return this.request('GET', path, undefined, headers);
  }

  post(path: string, body?: unknown, headers?: Record<string, string | undefined>): Promise<Reply> {
    return this.request('POST', path, body, headers);
  }

  /** A new tenant's id. */
  async tenant(prefix = 'tenant'): Promise<string> {
    const id = `${prefix}-${++this.#tenants}`;
    const {status, text} = await this.post('/api/tenants', {id});
    if (status !== 201) throw new Error(`creating ${id}: ${status} ${text}`);
    return id;
  }

  /** The process ids of the router or of the workers, oldest first. */
  children(entry: 'router' | 'worker' | 'egress' | 'copier' | 'cluster'): number[] {
    return childrenOf(this.pid).filter(pid => commandLine(pid).includes(`${entry}.js`));
  }

  /** The supervisor and all its children. */
  processes(): number[] {
    return [this.pid, ...childrenOf(this.pid)];
  }

  /** Resolves when a spare worker waits for a tenant. */
  async spareIsReady(): Promise<void> {
    await until('a spare', async () => /^svc_spare_workers(\{[^}]*\})? 1$/m.test((await this.get('/metrics')).text));
  }

  /** Where the tenant's files are; null: nowhere. */
  directoryOf(tenant: string): string | null {
    const name = readdirSync(join(this.data, 'tenants')).find(entry => decodeTenant(entry) === tenant);
    return name === undefined ? null : join(this.data, 'tenants', name);
  }

  /** The worker that has this tenant's file open, as far as the note beside the file says; null: it sleeps. */
  ownerOf(tenant: string): number | null {
    const directory = this.directoryOf(tenant);
    if (directory === null) throw new Error(`tenant ${tenant} has no directory`);
    try {
      const {pid} = JSON.parse(readFileSync(join(directory, 'owner.owner'), 'utf8')) as {pid: number};
      return isAlive(pid) ? pid : null;
    } catch {
      return null; // never opened, closed in order, or just being written
    }
  }

  /** The worker that has this tenant's file open. */
  workerOf(tenant: string): Promise<number> {
    return until(`a worker of ${tenant}`, () => this.ownerOf(tenant));
  }

  /** Resolves when the tenant has no worker. Asks the service nothing, because that would wake it. */
  async asleep(tenant: string): Promise<void> {
    await until(`${tenant} to fall asleep`, () => this.ownerOf(tenant) === null);
  }

  /** SIGKILL for every process at once; resolves when none is left. */
  async killAll(): Promise<void> {
    const pids = this.processes();
    const ended = this.end('SIGKILL');
    for (const pid of pids.slice(1)) killHard(pid);
    await ended;
    await until('all processes to be gone', () => !pids.some(isAlive));
  }

  /** Sends a signal to the supervisor and waits for its end. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child!;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const ended = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)));
    child.kill(signal);
    return ended;
  }

  /** Ends it and removes its data. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
    await this.#agent.close();
    if (this.#options.data === undefined) rmSync(this.data, {recursive: true, force: true});
  }

  /** Sends bytes as they are and returns all that comes back until the server closes (or `enough` says so). */
  raw(bytes: string | Buffer, enough: (received: string) => boolean = () => false): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect({host: '127.0.0.1', port: this.port});
      let received = '';
      socket.on('connect', () => socket.write(bytes));
      socket.on('data', chunk => {
        received += chunk.toString('latin1');
        if (enough(received)) socket.destroy();
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(received));
    });
  }
}

function isJson(headers: Reply['headers']): boolean {
  return String(headers['content-type'] ?? '').startsWith('application/json');
}

/** `t_=acme_3` → `Acme`. */
function decodeTenant(directory: string): string {
  return directory
    .slice(2, directory.lastIndexOf('_'))
    .replace(/=(.)/g, (_, char: string) => (char === '_' ? '_' : char.toUpperCase()));
}
