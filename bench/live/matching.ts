/**
 * What a write costs while many live queries watch its table, of which it concerns one: a third by an equal value, a third by a
 * range, and a third pages of one list. There are no indexes. Both numbers of queries are measured in turns, because the disk
 * and the machine are not the same from one moment to the next.
 */

import {type CpuTimes, cpuBetween, cpuLook} from '../measure/process-tree.ts';
import {median} from '../measure/statistics.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import type {LoadSocket} from './socket.ts';
import {openEstablished} from './target.ts';

/** Median milliseconds of a write, and the processor time it takes; null where the system does not tell. */
export type WriteCost = {ms: number; cpuUs: Pick<CpuTimes, 'router' | 'worker'> | null};

const PER_SOCKET = 2_000;
const SUBSCRIBE_AT_ONCE = 200;
const TURNS = 4;

/** One write after the other, with each of these numbers of distinct live queries on the table of a tenant of its own. */
export async function measureWritesUnderQueries(
  svc: SvcPeer,
  tenants: ReadonlyMap<string, number>,
  seconds: number,
): Promise<WriteCost[]> {
  const watched: Watched[] = [];
  for (const [tenant, queries] of tenants) watched.push(await watch(svc, tenant, queries));
  for (let turn = 0; turn < TURNS; turn++) {
    for (const each of watched) await writeFor(svc, each, (seconds * 1000) / TURNS);
  }
  return watched.map(({delays, cpu, close}) => {
    close();
    const us = (part: 'router' | 'worker') => (cpu[part] * 1e6) / delays.length;
    return {ms: median(delays), cpuUs: cpu.isKnown ? {router: us('router'), worker: us('worker')} : null};
  });
}

/** A table with its live queries, and what its writes have cost so far. */
type Watched = {
  write: (n: number) => Promise<void>;
  delays: number[];
  cpu: {router: number; worker: number; isKnown: boolean};
  close: () => void;
};

async function writeFor(svc: SvcPeer, {write, delays, cpu}: Watched, ms: number): Promise<void> {
  await write(-1); // what the other one left in the caches is not measured
  const before = cpuLook(svc.process.pid);
  const endMs = performance.now() + ms;
  for (let n = 0; performance.now() < endMs; n++) {
    const startedMs = performance.now();
    await write(n);
    delays.push(performance.now() - startedMs);
  }
  const taken = cpuBetween(before, cpuLook(svc.process.pid));
  cpu.isKnown = taken !== null;
  if (taken === null) return;
  for (const part of ['router', 'worker'] as const) cpu[part] += taken[part];
}

async function watch(svc: SvcPeer, tenant: string, queries: number): Promise<Watched> {
  await svc.client.createTenant(tenant);
  const path = `/api/tenants/${tenant}/documents`;
  const {id} = await svc.client.json<{id: string}>('POST', path, {table: 't', fields: {key: 0, n: 0}});
  const sockets: LoadSocket[] = [];
  for (let from = 0; from < queries; from += PER_SOCKET) {
    const socket = await openEstablished(svc, tenant);
    sockets.push(socket);
    const count = Math.min(PER_SOCKET, queries - from);
    for (let i = 0; i < count; i += SUBSCRIBE_AT_ONCE) {
      await subscribeMany(socket, from + i, Math.min(SUBSCRIBE_AT_ONCE, count - i));
    }
  }
  return {
    write: async n => {
      await svc.client.json('PATCH', `${path}/t/${id}`, {patch: {n}});
    },
    delays: [],
    cpu: {router: 0, worker: 0, isKnown: false},
    close: () => {
      for (const socket of sockets) socket.close();
    },
  };
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
