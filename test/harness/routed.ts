/** Clients of a service with several routers that know which of them has their connection. Linux tells, in /proc. */
import {readdirSync, readFileSync, readlinkSync} from 'node:fs';
import {Agent, request} from 'node:http';
import {connect, type Socket as TcpSocket} from 'node:net';
import type {Service} from './service.ts';
import {Socket} from './socket.ts';
import {until} from './until.ts';

/** By one chance in 2^64 another attempt would have helped. */
const ATTEMPTS = 64;

/** Ports of the clients that each router of the service is connected to, by the router's process id. */
export function clientsOf(service: Service): Map<number, number[]> {
  const byInode = new Map<string, number>();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local = '', remote = '', state = '', , , , , , inode = ''] = line.trim().split(/\s+/);
    if (state === '01' && portOf(local) === service.port) byInode.set(inode, portOf(remote));
  }
  return new Map(
    service.children('router').map(pid => [pid, inodesOf(pid).flatMap(inode => byInode.get(inode) ?? [])]),
  );
}

function portOf(address: string): number {
  return Number.parseInt(address.split(':')[1] ?? '', 16);
}

function inodesOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return []; // closed meanwhile
    }
  });
}

/** Plain connections, held open. @returns how to close them */
export async function connectMany(service: Service, count: number): Promise<() => void> {
  const sockets = await Promise.all(
    Array.from(
      {length: count},
      () =>
        new Promise<TcpSocket>((resolve, reject) => {
          const socket = connect({host: '127.0.0.1', port: service.port}, () => resolve(socket));
          socket.on('error', reject);
        }),
    ),
  );
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

export type Answer = {status: number; text: string; body: never};

/** One kept connection to one router; made anew, to the same, when the server closed it for being idle. */
export class RoutedClient {
  readonly #service: Service;
  readonly #router: number;
  #agent = new Agent({keepAlive: true, maxSockets: 1});
  #socket: TcpSocket | null = null;

  private constructor(service: Service, router: number) {
    this.#service = service;
    this.#router = router;
  }

  /** Connected to the router with this process id. */
  static async of(service: Service, router: number): Promise<RoutedClient> {
    const client = new RoutedClient(service, router);
    await client.#connect();
    return client;
  }

  async request(method: string, path: string, body?: unknown): Promise<Answer> {
    if (this.#socket === null || this.#socket.destroyed) await this.#connect();
    return this.#send(method, path, body);
  }

  async #connect(): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      this.#agent = new Agent({keepAlive: true, maxSockets: 1});
      await this.#send('GET', '/health');
      if (
        clientsOf(this.#service)
          .get(this.#router)
          ?.includes(this.#socket?.localPort ?? 0)
      )
        return;
      this.close();
    }
    throw new Error(`no connection came to router ${this.#router}`);
  }

  #send(method: string, path: string, body?: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // On a deployment a bearer token is a tenant's.
      const authorization = path.startsWith('/svc/') ? {} : {authorization: `Bearer ${this.#service.accessToken}`};
      const headers = {...authorization, 'content-type': 'application/json'};
      const {port} = this.#service;
      const sent = request({host: '127.0.0.1', port, method, path, headers, agent: this.#agent}, response => {
        this.#socket = response.socket;
        let text = '';
        response.on('data', chunk => {
          text += String(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          const isJson = response.headers['content-type'] === 'application/json' && text !== '';
          resolve({status: response.statusCode!, text, body: (isJson ? JSON.parse(text) : null) as never});
        });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A socket past the handshake, on the router with this process id. Nobody else connects meanwhile. */
export async function socketOf(service: Service, router: number, tenant: string): Promise<Socket> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = new Set(clientsOf(service).get(router));
    const socket = await Socket.established(service, tenant);
    if (
      clientsOf(service)
        .get(router)
        ?.some(port => !before.has(port))
    )
      return socket;
    socket.close();
    await socket.closed;
  }
  throw new Error(`no socket came to router ${router}`);
}

/** All routers, once there are as many. */
export function routersOf(service: Service, count: number): Promise<number[]> {
  return until(`${count} routers`, () => {
    const pids = service.children('router');
    return pids.length === count && pids;
  });
}
