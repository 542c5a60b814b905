/** What idle sockets and subscriptions weigh in the router, and how fast a crowd that lost its connections is back. */
import {commandLine, descendants, privateBytes} from '../measure/process-tree.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import type {LoadSocket} from './socket.ts';
import {openEstablished, subscribed} from './target.ts';

export type SocketCosts = {
  sockets: number;
  bytesPerSocket: number | null;
  bytesPerSubscription: number | null;
  /** From the first connect to the last first result. */
  stormMs: number;
};

const AT_ONCE = 100;

export async function measureSockets(svc: SvcPeer, tenant: string, sockets: number): Promise<SocketCosts> {
  await svc.client.createTenant(tenant);
  await svc.client.json('POST', `/api/tenants/${tenant}/documents`, {table: 't', fields: {n: 1}});
  const query = {table: 't', filters: []};
  (await subscribers(svc, tenant, AT_ONCE, query)).forEach(close); // warm
  const empty = routerBytes(svc);
  const idle = await inBatches(sockets, () => openEstablished(svc, tenant));
  const withSockets = routerBytes(svc);
  await inBatches(sockets, i => subscribed(idle[i]!, query));
  const withSubscriptions = routerBytes(svc);
  idle.forEach(close);
  const startedMs = performance.now();
  const back = await subscribers(svc, tenant, sockets, query);
  const stormMs = performance.now() - startedMs;
  back.forEach(close);
  return {
    sockets,
    bytesPerSocket: difference(withSockets, empty, sockets),
    bytesPerSubscription: difference(withSubscriptions, withSockets, sockets),
    stormMs,
  };
}

function subscribers(svc: SvcPeer, tenant: string, count: number, query: object): Promise<LoadSocket[]> {
  return inBatches(count, async () => {
    const socket = await openEstablished(svc, tenant);
    await subscribed(socket, query);
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

function routerBytes(svc: SvcPeer): number | null {
  const router = descendants(svc.process.pid).find(pid => commandLine(pid).some(part => part.endsWith('router.js')));
  return router === undefined ? null : (privateBytes(router)?.dirty ?? null);
}

function difference(after: number | null, before: number | null, count: number): number | null {
  return after === null || before === null ? null : (after - before) / count;
}

function close(socket: LoadSocket): void {
  socket.close();
}
