/**
 * The first response of a sleeping tenant, over a connection that is open already: with a spare worker waiting, and without.
 * Beside each one the time that a bare Node process takes to start and end. And what the woken workers then hold in memory.
 */
import {execFileSync} from 'node:child_process';
import {setTimeout as delay} from 'node:timers/promises';
import {tenantPath} from '../../../cli/client.ts';
import {privateBytes} from '../../measure/process-tree.ts';
import {median} from '../../measure/statistics.ts';
import {type SvcPeer, startSvc, stopSvc, workerPids} from './start.ts';

export type WakeResult = {
  coldMs: number;
  spareMs: number;
  bareNodeMs: number;
  /** Of workers that have answered one request, 2 s after the last of them; null where the system does not tell. */
  wokenPrivateBytes: number | null;
  /** The same after half a minute without a request. */
  idlePrivateDirtyBytes: number | null;
  idlePrivateCleanBytes: number | null;
};

type Memory = {dirty: number; clean: number};

const TENANTS = 8;
/** Each look asks every worker for its figures, which makes garbage in them. */
const POLL_MS = 100;
/** Workers have written their compile cache by then. */
const SETTLE_MS = 2_000;
/** V8 has collected the garbage of the start by then: it waits for a process that does nothing. */
const IDLE_MS = 30_000;

/** @param samples wakes of each kind */
export async function measureWakes(data: string, samples: number): Promise<WakeResult> {
  const tenants = Array.from({length: TENANTS}, (_, i) => `wake${i}`);
  await prepare(data, tenants);
  const bare: number[] = [];
  const cold: number[] = [];
  const spare: number[] = [];
  let woken: Memory[] = [];
  let idle: Memory[] = [];
  while (cold.length < samples) {
    const peer = await startSvc(data, ['--spare-workers', '0']);
    for (const tenant of tenants) {
      bare.push(bareNodeMs());
      cold.push(await firstResponseMs(peer, tenant));
    }
    await stopSvc(peer);
  }
  while (spare.length < samples) {
    const peer = await startSvc(data, ['--spare-workers', '1']);
    for (const tenant of tenants) {
      await spareIsReady(peer);
      spare.push(await firstResponseMs(peer, tenant));
    }
    await spareIsReady(peer);
    if (spare.length >= samples) {
      const memory = () => workerPids(peer).flatMap(pid => privateBytes(pid) ?? []);
      await delay(SETTLE_MS);
      woken = memory();
      await delay(IDLE_MS);
      idle = memory();
    }
    await stopSvc(peer);
  }
  return {
    coldMs: median(cold),
    spareMs: median(spare),
    bareNodeMs: median(bare),
    wokenPrivateBytes: medianOf(woken, ({dirty, clean}) => dirty + clean),
    idlePrivateDirtyBytes: medianOf(idle, ({dirty}) => dirty),
    idlePrivateCleanBytes: medianOf(idle, ({clean}) => clean),
  };
}

function medianOf(memory: readonly Memory[], bytes: (one: Memory) => number): number | null {
  return memory.length === 0 ? null : median(memory.map(bytes));
}

/** Makes the tenants, with a document each, and lets them fall asleep. */
async function prepare(data: string, tenants: readonly string[]): Promise<void> {
  const peer = await startSvc(data);
  for (const tenant of tenants) {
    if (!(await peer.client.createTenant(tenant))) continue;
    await peer.client.json('POST', tenantPath(tenant, 'documents'), {table: 'small', fields: {a: 1}});
  }
  await stopSvc(peer);
}

async function firstResponseMs({client}: SvcPeer, tenant: string): Promise<number> {
  await client.request('GET', '/health'); // the connection is open
  const startedMs = performance.now();
  await client.request('GET', tenantPath(tenant, 'documents', 'small'));
  return performance.now() - startedMs;
}

/** Resolves when a worker waits for a tenant. */
export async function spareIsReady({client}: SvcPeer): Promise<void> {
  for (;;) {
    const {body} = await client.request('GET', '/metrics');
    if (/^svc_spare_workers(\{[^}]*\})? 1$/m.test(body.toString())) return;
    await delay(POLL_MS);
  }
}

function bareNodeMs(): number {
  const startedMs = performance.now();
  execFileSync(process.execPath, ['--no-node-snapshot', '-e', '0']);
  return performance.now() - startedMs;
}
