/** What idle sockets and subscriptions weigh in router and worker, and how fast a crowd that lost its connections is back. */
import {privateBytes} from '../measure/process-tree.ts';
import {routerPids, type SvcPeer, workerPids} from '../peers/svc/start.ts';
import type {LoadSocket} from './socket.ts';
import {openEstablished, subscribed} from './target.ts';

export type SocketCosts = {
  sockets: number;
  /** In the router. */
  bytesPerSocket: number | null;
  bytesPerSubscription: number | null;
  /** A socket with its subscription, in router and worker. */
  bytesInAll: number | null;
  /** From the first connect to the last first result. */
  stormMs: number;
};

/** Who comes in a crowd: one protocol, one query or one for each. */
export type Crowd = {
  open(): Promise<LoadSocket>;
  /** Of the n-th socket; resolves with the first result. */
  subscribe(socket: LoadSocket, n: number): Promise<unknown>;
};

const AT_ONCE = 100;

/** Sockets of svc.v2 that hold the same live query. */
export async function plainCrowd(svc: SvcPeer, tenant: string): Promise<Crowd> {
  await svc.client.createTenant(tenant);
  await svc.client.json('POST', `/api/tenants/${tenant}/documents`, {table: 't', fields: {n: 1}});
  const query = {table: 't', filters: []};
  return {open: () => openEstablished(svc, tenant), subscribe: socket => subscribed(socket, query)};
}

export async function measureSockets(svc: SvcPeer, crowd: Crowd, sockets: number): Promise<SocketCosts> {
  (await subscribers(crowd, AT_ONCE)).forEach(close); // warm
  const empty = bytesOf(svc);
  const idle = await inBatches(sockets, () => crowd.open());
  const withSockets = bytesOf(svc);
  await inBatches(sockets, i => crowd.subscribe(idle[i]!, i));
  const withSubscriptions = bytesOf(svc);
  idle.forEach(close);
  const startedMs = performance.now();
  const back = await subscribers(crowd, sockets);
  const stormMs = performance.now() - startedMs;
  back.forEach(close);
  return {
    sockets,
    bytesPerSocket: difference(withSockets.router, empty.router, sockets),
    bytesPerSubscription: difference(withSubscriptions.router, withSockets.router, sockets),
    bytesInAll: difference(withSubscriptions.inAll, empty.inAll, sockets),
    stormMs,
  };
}

function subscribers(crowd: Crowd, count: number): Promise<LoadSocket[]> {
  return inBatches(count, async i => {
    const socket = await crowd.open();
    await crowd.subscribe(socket, i);
    return socket;
  });
}

async function inBatches<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from);
    made.push(...(await Promise.all(Array.from({length}, (_, i) => make(from + i)))));
  }
  return made;
}

type Bytes = {router: number | null; inAll: number | null};

function bytesOf(svc: SvcPeer): Bytes {
  const sum = (pids: number[]): number | null => {
    const bytes = pids.map(pid => privateBytes(pid)?.dirty ?? null).filter(each => each !== null);
    return bytes.length === pids.length ? bytes.reduce((all, each) => all + each, 0) : null;
  };
  const routers = routerPids(svc);
  return {router: sum(routers), inAll: sum([...routers, ...workerPids(svc)])};
}

function difference(after: number | null, before: number | null, count: number): number | null {
  return after === null || before === null ? null : (after - before) / count;
}

function close(socket: LoadSocket): void {
  socket.close();
}
