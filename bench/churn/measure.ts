/**
 * Many more tenants than may be awake: each in turn is woken, answers for its document, and is put to sleep for another. What a
 * wake costs, that every answer is right, and that nothing is left behind: processes, file descriptors, memory.
 */
import {readdirSync} from 'node:fs';
import {tenantPath} from '../../cli/client.ts';
import {cpuSecondsWithEnded, descendants, privateBytes} from '../measure/process-tree.ts';
import {median, quantile} from '../measure/statistics.ts';
import {type SvcPeer, startSvc, stopSvc, workerPids} from '../peers/svc/start.ts';

export type ChurnRound = {
  tenants: number;
  maxAwake: number;
  /** First responses of sleeping tenants. */
  p50Ms: number;
  p99Ms: number;
  /** Processor time of all processes, those that ended included; null where the system does not tell. */
  cpuMsPerWake: number | null;
  wrong: number;
  mostProcesses: number;
  /** Of the supervisor and the router, after the second turn against after the first: what grows is not given back. */
  growth: {files: number; bytes: number} | null;
};

const MAX_AWAKE = 32;
/** Wakes under way at once: fewer than processors would leave some idle, more would measure their queue. */
const AT_ONCE = 2;
const LOOK_EVERY = 25;

export async function measureChurn(data: string, tenants: number, say: (text: string) => void): Promise<ChurnRound> {
  const peer = await startSvc(data, ['--max-awake', String(MAX_AWAKE)]);
  try {
    const names = Array.from({length: tenants}, (_, i) => `churn${i}`);
    const ids = new Map<string, string>();
    await inTurn(names, async name => {
      await peer.client.createTenant(name);
      const made = await peer.client.json('POST', tenantPath(name, 'documents'), {table: 'notes', fields: {name}});
      ids.set(name, (made as {id: string}).id);
    });
    say(`churn: ${tenants} tenants made`);
    const turn = () => touchAll(peer, names, ids);
    await turn();
    const before = held(peer);
    const cpuBefore = cpuSecondsWithEnded(peer.process.pid);
    const {ms, wrong, mostProcesses} = await turn();
    const cpu = cpuSecondsWithEnded(peer.process.pid);
    const after = held(peer);
    return {
      tenants,
      maxAwake: MAX_AWAKE,
      p50Ms: median(ms),
      p99Ms: quantile(ms, 0.99),
      cpuMsPerWake: cpu === null || cpuBefore === null ? null : ((cpu - cpuBefore) * 1000) / tenants,
      wrong,
      mostProcesses,
      growth:
        before === null || after === null
          ? null
          : {files: after.files - before.files, bytes: after.bytes - before.bytes},
    };
  } finally {
    await stopSvc(peer);
  }
}

type Turn = {ms: number[]; wrong: number; mostProcesses: number};

/** Every tenant once. By its turn each sleeps again, because all the others were woken after it. */
async function touchAll(peer: SvcPeer, names: readonly string[], ids: ReadonlyMap<string, string>): Promise<Turn> {
  const turn: Turn = {ms: [], wrong: 0, mostProcesses: 0};
  await inTurn(names, async (name, i) => {
    const startedMs = performance.now();
    const {body} = await peer.client.request('GET', tenantPath(name, 'documents', 'notes', ids.get(name)!));
    turn.ms.push(performance.now() - startedMs);
    const {document} = JSON.parse(body.toString()) as {document?: {name?: unknown}};
    if (document?.name !== name) turn.wrong++;
    if (i % LOOK_EVERY === 0) turn.mostProcesses = Math.max(turn.mostProcesses, descendants(peer.process.pid).length);
  });
  return turn;
}

async function inTurn(names: readonly string[], each: (name: string, i: number) => Promise<void>): Promise<void> {
  const waiting = names.entries();
  const goOn = async () => {
    for (const [i, name] of waiting) await each(name, i);
  };
  await Promise.all(Array.from({length: AT_ONCE}, goOn));
}

/** By the processes that stay: all but the workers. */
function held(peer: SvcPeer): {files: number; bytes: number} | null {
  const workers = new Set(workerPids(peer));
  const staying = [peer.process.pid, ...descendants(peer.process.pid)].filter(pid => !workers.has(pid));
  const memory = staying.flatMap(pid => privateBytes(pid) ?? []);
  if (memory.length === 0) return null;
  return {
    files: staying.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
    bytes: memory.reduce((sum, {dirty, clean}) => sum + dirty + clean, 0),
  };
}
