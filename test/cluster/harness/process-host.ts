/**
 * A host of a cluster with real processes: a router with a peer port, and a worker for one tenant. Their supervisor is
 * the test, so it decides which host serves the tenant. Hosts share the tenant's directory: one of them has it open.
 */
import {type ChildProcess, type ForkOptions, fork} from 'node:child_process';
import {createHash, randomUUID} from 'node:crypto';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {
  RouterSettings,
  RouterToSupervisor,
  SupervisorToRouter,
  SupervisorToWorker,
  TenantSettings,
  WorkerAddress,
  WorkerToSupervisor,
} from '../../../shared/ipc/control.ts';
import {DOCUMENT_WORKER_FLAGS, ISOLATE_FLAGS} from '../../../shared/node-flags.ts';
import {NEW_TENANT_FILE, type NewTenant} from '../../../shared/tenant-directory.ts';
import {freePort} from '../../harness/free-port.ts';
import {until} from '../../harness/until.ts';
import type {Authority} from './certificates.ts';

export const TENANT = 'acme';
export const TOKEN = 'admin';
const NEW: NewTenant = {tenant: TENANT, generation: 1, created_ms: 0};
const CHILD: ForkOptions = {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  env: {...process.env, SVC_LOG_LEVEL: 'error'},
};
const moves = {code: 'session.worker_unavailable', message: 'the tenant moves'} as const;

type Wake = Extract<RouterToSupervisor, {type: 'wake'}>;

/** The directory of a tenant that no host has opened yet. */
export function newTenantDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hosts-'));
  writeFileSync(join(directory, NEW_TENANT_FILE), JSON.stringify(NEW));
  return directory;
}

export class ProcessWorker {
  readonly address: WorkerAddress;
  readonly process: ChildProcess;
  readonly #opened: Promise<void>;

  /** @param directory of the tenant */
  constructor(directory: string, runsCode = false) {
    const socketPath = join(directory, randomUUID().slice(0, 8));
    const secret = randomUUID();
    this.address = {
      ...{tenant: TENANT, worker: socketPath, socketPath, secret},
      ...{owner: process.geteuid!(), runsCode},
    };
    this.process = fork(entry('worker'), {...CHILD, execArgv: [...(runsCode ? ISOLATE_FLAGS : DOCUMENT_WORKER_FLAGS)]});
    const settings: TenantSettings = {
      ...{tenant: TENANT, user: null, generation: NEW.generation, isReadOnly: false, createdMs: 0},
      ...{directory, reservePath: join(directory, 'reserve'), socketPath, secret, routers: 1},
      egress: {socketPath: join(directory, 'egress'), secret: ''},
      ...{
        journalKeepRecords: 10_000,
        storageBytesMax: 0,
        hasCode: false,
        servicesMemoryMbMax: 0,
        redactErrors: false,
        copies: null,
        log: null,
      },
    };
    this.#send({type: 'open', settings});
    this.#opened = new Promise((resolve, reject) => {
      this.process.on('message', ({type}: WorkerToSupervisor) => {
        if (type === 'opened') resolve();
        if (type === 'open_failed') reject(new Error('the tenant could not be opened'));
      });
    });
  }

  async opened(): Promise<WorkerAddress> {
    await this.#opened;
    return this.address;
  }

  /** Resolves when the file is closed. */
  async close(): Promise<void> {
    this.#send({type: 'close'});
    if (this.process.exitCode === null) await once(this.process, 'exit');
  }

  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }

  #send(message: SupervisorToWorker): void {
    this.process.send(message);
  }
}

export class ProcessHost {
  readonly name: string;
  readonly router: ChildProcess;
  readonly peerPort: number;
  port = 0;
  readonly sent: RouterToSupervisor[] = [];
  /** What the supervisor does when the router requests a worker. */
  onWake: (wake: Wake) => void = () => undefined;
  #answers = 0;
  /** Requests for a worker while no host serves the tenant. */
  #held: Wake[] = [];

  static async start(name: string, authority: Authority, more: Partial<RouterSettings> = {}): Promise<ProcessHost> {
    const host = new ProcessHost(name, await freePort());
    const {certificate, key} = authority.issue(name, [name]);
    const listen = {host: '127.0.0.1', port: host.peerPort};
    const digest = createHash('sha256').update(TOKEN).digest('hex');
    const settings: RouterSettings = {
      ...{place: 0, routers: 1, host: '127.0.0.1', port: 0, metricsPort: null, allowedHosts: [], allowedOrigins: []},
      ...{trustedProxies: [], dashboard: null, rateLimits: {tenant: null, key: null}, grantKey: 'key'},
      ...{accessTokenSha256: digest, adminTokenSha256: digest, version: 'test', build: 'test'},
      peers: {host: name, listen, ca: authority.certificate, certificate, key},
      ...more,
    };
    host.send({type: 'start', settings, tenants: [TENANT], returning: [], suspects: [], keys: [], sessions: []});
    host.port = await until('the router to listen', () => {
      const listening = host.sent.find(message => message.type === 'listening');
      return listening?.port;
    });
    const untilMs = Number.MAX_SAFE_INTEGER;
    host.send({type: 'host_state', leaseUntilMs: untilMs, keysUntilMs: untilMs, isDraining: false});
    return host;
  }

  private constructor(name: string, peerPort: number) {
    this.name = name;
    this.peerPort = peerPort;
    this.router = fork(entry('router'), {...CHILD, execArgv: []});
    this.router.on('message', (message: RouterToSupervisor) => {
      this.sent.push(message);
      if (message.type === 'wake') this.onWake(message);
      if (message.type === 'request') this.send({type: 'reply', id: message.id, result: ++this.#answers});
    });
  }

  readonly accessToken = TOKEN;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  send(message: SupervisorToRouter): void {
    if (this.router.connected) this.router.send(message);
  }

  /** From now on, this worker of the host serves the tenant. */
  serves(worker: ProcessWorker): void {
    this.onWake = () => void worker.opened().then(address => this.send({type: 'worker_ready', address}));
    this.#goOn();
  }

  /** Wakes wait until it is known which host serves the tenant. */
  holds(): void {
    this.onWake = wake => void this.#held.push(wake);
  }

  #goOn(): void {
    for (const wake of this.#held.splice(0)) this.onWake(wake);
  }

  /** From now on, its routers are referred to this host. */
  refersTo(host: ProcessHost): void {
    const address = {tenant: TENANT, worker: randomUUID(), host: host.name, address: `127.0.0.1:${host.peerPort}`};
    this.onWake = () => this.send({type: 'served_elsewhere', address});
    this.#goOn();
  }

  giveUp(): void {
    this.send({type: 'give_up', tenant: TENANT, error: moves});
  }

  /** Resolves when the router has given the worker up. */
  async givenUp(): Promise<void> {
    const before = this.sent.filter(({type}) => type === 'given_up').length;
    this.giveUp();
    await until('all to have left', () => this.sent.filter(({type}) => type === 'given_up').length > before);
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return await fetch(`${this.url}/api/tenants/${TENANT}${path}`, {
      method,
      headers: {authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers},
      ...(body === undefined ? {} : {body: JSON.stringify(body)}),
    });
  }

  async stop(): Promise<void> {
    if (this.router.exitCode !== null || this.router.signalCode !== null) return;
    this.router.kill('SIGKILL');
    await once(this.router, 'exit');
  }
}

export function removeTenantDirectory(directory: string): void {
  rmSync(directory, {recursive: true, force: true});
}

function entry(name: string): string {
  return fileURLToPath(new URL(`../../../dist/${name}.js`, import.meta.url));
}
