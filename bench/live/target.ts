/** Who is measured: where to connect, and how a change is made that every socket receives. */
import {randomUUID} from 'node:crypto';
import {Pool} from 'undici';
import {benchDocument, ITEMS} from '../documents.ts';
import {fill} from '../peers/svc/seed.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import {LoadSocket} from './socket.ts';

export type LiveTarget = {
  /** A socket that receives every change; resolves when it is ready for the first one. */
  subscriber(): Promise<LoadSocket>;
  /** Makes the n-th change; resolves when it is acknowledged. */
  change(n: number): Promise<void>;
  close(): Promise<void>;
  /** Of the server. */
  pid: number;
};

/** Frames of both targets have this length, more or less: a result of ten small documents. */
export const FRAME_BYTES = 1_500;

export function uwsTarget(port: number, pid: number): LiveTarget {
  const pool = new Pool(`http://127.0.0.1:${port}`, {connections: 1});
  return {
    subscriber: () => LoadSocket.open(port, '/ws', {}),
    change: async n => {
      const body = JSON.stringify({n, text: 'x'.repeat(FRAME_BYTES)});
      const reply = await pool.request({method: 'POST', path: '/publish', body});
      await reply.body.dump();
    },
    close: () => pool.close(),
    pid,
  };
}

/** Sockets hold "the ten documents of a table by n"; a change patches one of them. */
export async function svcTarget(svc: SvcPeer, tenant: string): Promise<LiveTarget> {
  await svc.client.createTenant(tenant);
  const base = `/api/tenants/${tenant}`;
  const ids: string[] = [];
  for (let n = 0; n < 10; n++) {
    const fields = {n, text: 'x'.repeat(FRAME_BYTES / 10 - 110)};
    ids.push((await svc.client.json<{id: string}>('POST', `${base}/documents`, {table: 't', fields})).id);
  }
  const query = {table: 't', filters: [], order: {field: 'n', direction: 'asc'}, limit: 10};
  return {
    subscriber: async () => {
      const socket = await openEstablished(svc, tenant);
      await subscribed(socket, query);
      return socket;
    },
    change: async n => {
      await svc.client.json('PATCH', `${base}/documents/t/${ids[n % ids.length]}`, {patch: {change: n}});
    },
    close: async () => undefined,
    pid: svc.process.pid,
  };
}

/** Sockets hold "how many of 10,000 documents are active"; a change is of one document that is, and then is not. */
export async function countTarget(svc: SvcPeer, tenant: string): Promise<LiveTarget> {
  await svc.client.createTenant(tenant);
  const base = `/api/tenants/${tenant}`;
  await fill(svc, tenant, 'items', ITEMS);
  const fields = {...benchDocument(0), active: true};
  const {id} = await svc.client.json<{id: string}>('POST', `${base}/documents`, {table: 'items', fields});
  const query = {table: 'items', filters: [{field: 'active', op: 'eq', value: true}], count: true};
  let active = true;
  return {
    subscriber: async () => {
      const socket = await openEstablished(svc, tenant);
      await subscribed(socket, query);
      return socket;
    },
    change: async () => {
      active = !active;
      await svc.client.json('PATCH', `${base}/documents/items/${id}`, {patch: {active}});
    },
    close: async () => undefined,
    pid: svc.process.pid,
  };
}

export async function openEstablished(svc: SvcPeer, tenant: string): Promise<LoadSocket> {
  const socket = await LoadSocket.open(svc.port, `/ws?tenant_id=${tenant}`, {
    'sec-websocket-protocol': 'svc.v2',
    authorization: `Bearer ${svc.token}`,
  });
  socket.send('{"type":"client_hello","protocol":"svc.v2"}');
  return socket;
}

/** Resolves with the first result. */
export function subscribed(socket: LoadSocket, query: object): Promise<Buffer> {
  const requestId = randomUUID();
  // Several frames may come in one piece, so they are looked at as they come.
  const result = new Promise<Buffer>(resolve => {
    socket.onText(frame => {
      if (!frame.includes(requestId)) return;
      socket.onText(() => undefined);
      resolve(Buffer.from(frame));
    });
  });
  socket.send(JSON.stringify({type: 'subscribe', request_id: requestId, query}));
  return result;
}
