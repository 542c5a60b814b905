/**
 * What a write costs while many live queries watch its table, of which it concerns one: a third by an equal value, a third by a
 * range, and a third pages of one list. There are no indexes.
 */

import {median} from '../measure/statistics.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import {openEstablished} from './target.ts';

const PER_SOCKET = 2_000;
const SUBSCRIBE_AT_ONCE = 200;

/** Median milliseconds of one write after the other, with `queries` distinct live queries on the table. */
export async function measureWriteUnderQueries(
  svc: SvcPeer,
  tenant: string,
  queries: number,
  seconds: number,
): Promise<number> {
  await svc.client.createTenant(tenant);
  const path = `/api/tenants/${tenant}/documents`;
  const {id} = await svc.client.json<{id: string}>('POST', path, {table: 't', fields: {key: 0, n: 0}});
  const sockets = [];
  for (let from = 0; from < queries; from += PER_SOCKET) {
    const socket = await openEstablished(svc, tenant);
    sockets.push(socket);
    const count = Math.min(PER_SOCKET, queries - from);
    for (let i = 0; i < count; i += SUBSCRIBE_AT_ONCE) {
      await subscribeMany(socket, from + i, Math.min(SUBSCRIBE_AT_ONCE, count - i));
    }
  }
  const delays: number[] = [];
  const endMs = performance.now() + seconds * 1000;
  for (let n = 0; performance.now() < endMs; n++) {
    const startedMs = performance.now();
    await svc.client.json('PATCH', `${path}/t/${id}`, {patch: {n}});
    delays.push(performance.now() - startedMs);
  }
  for (const socket of sockets) socket.close();
  return median(delays.slice(Math.floor(delays.length / 10)));
}

function subscribeMany(
  socket: Awaited<ReturnType<typeof openEstablished>>,
  first: number,
  count: number,
): Promise<void> {
  return new Promise(resolve => {
    let missing = count;
    socket.onText(frame => {
      if (frame.includes('"request_id"') && --missing === 0) resolve();
    });
    for (let i = 0; i < count; i++) {
      socket.send(JSON.stringify({type: 'subscribe', request_id: `r${first + i}`, query: queryOf(first + i)}));
    }
  });
}

/** None of them but the first is concerned by a document whose key is 0. */
function queryOf(key: number): object {
  if (key % 3 === 0) return {table: 't', filters: [{field: 'key', op: 'eq', value: key}]};
  const from = {field: 'key', op: 'gte', value: key};
  if (key % 3 === 1) return {table: 't', filters: [from, {field: 'key', op: 'lt', value: key + 1}]};
  return {table: 't', filters: [from], order: {field: 'key', direction: 'asc'}, limit: 20};
}
