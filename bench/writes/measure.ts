/**
 * Durable writes as their number and their disk change: with 1 to 256 connections, at half of the full rate (requests that arrive by
 * themselves), with reads of the same tenant at once, and spread over 100 tenants. On this disk and on one that takes 5 ms per sync.
 */
import {join} from 'node:path';
import type {LoadJob, LoadResult} from '../load/job.ts';
import {type Generator, type Measurement, runLoad} from '../load/run.ts';
import {privateBytes} from '../measure/process-tree.ts';
import {median} from '../measure/statistics.ts';
import {seedSmallTenant, seedTenant} from '../peers/svc/seed.ts';
import {BUILT, type SvcPeer, startSvc, stopSvc, workerPids} from '../peers/svc/start.ts';
import type {BenchSettings} from '../settings.ts';
import {slowDiskBuild} from './slow-disk.ts';

export const CONNECTIONS = [1, 16, 64, 256] as const;
export const MANY_TENANTS = 100;
/** Of the row of reads and writes at once: so many connections of each. */
export const MIXED_CONNECTIONS = 16;
const FULL_CONNECTIONS = 64;
const WARM_UP_S = 1;

export type WriteFigures = LoadResult & Pick<Measurement, 'idleCpus' | 'cpuUs'>;
export type WriteRow =
  | `insert ${(typeof CONNECTIONS)[number]}`
  | 'insert half rate'
  | 'reads beside writes'
  | 'writes beside reads'
  | 'get 64'
  | 'insert 100 tenants'
  | 'get 100 tenants';
export type Disk = 'this disk' | '5 ms per sync';
export type WritesRound = {
  build: 'svc' | 'before';
  disk: Disk;
  rows: Record<WriteRow, WriteFigures>;
  /** Private memory of each worker after the inserts to 100 tenants, dirty and clean; null where the system does not tell. */
  awakeBytes: number | null;
}[];

export async function measureWrites(
  root: string,
  {before, seconds, generator}: Pick<BenchSettings, 'before' | 'seconds' | 'generator'>,
  say: (text: string) => void,
): Promise<WritesRound> {
  const round: WritesRound = [];
  const builds = [
    {build: 'svc' as const, cli: BUILT},
    ...(before === null ? [] : [{build: 'before' as const, cli: before}]),
  ];
  for (const disk of ['this disk', '5 ms per sync'] as const) {
    for (const {build, cli} of builds) {
      const used = disk === 'this disk' ? cli : slowDiskBuild(cli, join(root, `${build}-slow`));
      const data = join(root, `${build}-${disk === 'this disk' ? 'this' : 'slow'}-data`);
      const peer = await startSvc(data, ['--max-awake', String(MANY_TENANTS + 28)], used);
      try {
        const measured = await measureRows(peer, generator, seconds, (name, {requestsPerS, p50Ms, p99Ms, idleCpus}) => {
          const times = `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
          say(
            `${build}, ${disk}, ${name}: ${Math.round(requestsPerS)}/s, ${times}, ${idleCpus.toFixed(2)} processors idle`,
          );
        });
        round.push({build, disk, ...measured});
      } finally {
        await stopSvc(peer);
      }
    }
  }
  return round;
}

async function measureRows(
  peer: SvcPeer,
  generator: Generator,
  seconds: number,
  say: (name: WriteRow, figures: WriteFigures) => void,
): Promise<Pick<WritesRound[number], 'rows' | 'awakeBytes'>> {
  const rows: Partial<Record<WriteRow, WriteFigures>> = {};
  let awakeBytes: number | null = null;
  const took = (name: WriteRow, figures: WriteFigures): void => {
    rows[name] = figures;
    say(name, figures);
  };
  const load = (job: Omit<LoadJob, 'port' | 'seconds'>, kind = generator): Promise<WriteFigures> =>
    runLoad(kind, {...job, port: peer.port, seconds}, peer.process.pid);
  const one = await seedTenant(peer, 'one');
  await runLoad(
    generator,
    {port: peer.port, connections: FULL_CONNECTIONS, seconds: WARM_UP_S, requests: one.insert},
    peer.process.pid,
  );
  for (const connections of CONNECTIONS) took(`insert ${connections}`, await load({connections, requests: one.insert}));
  const ratePerS = rows[`insert ${FULL_CONNECTIONS}`]!.requestsPerS / 2;
  // Only our own generator sends requests that wait for no answer.
  took('insert half rate', await load({connections: 4 * FULL_CONNECTIONS, requests: one.insert, ratePerS}, 'node'));
  const [writes, reads] = await Promise.all([
    load({connections: MIXED_CONNECTIONS, requests: one.insert}),
    load({connections: MIXED_CONNECTIONS, requests: one.get}),
  ]);
  // The time of both together, which is of neither.
  took('writes beside reads', {...writes, cpuUs: null});
  took('reads beside writes', {...reads, cpuUs: null});
  took('get 64', await load({connections: FULL_CONNECTIONS, requests: one.get}));
  const many: {insert: string; get: string}[] = [];
  for (let i = 0; i < MANY_TENANTS; i++) many.push(await seedSmallTenant(peer, `many${i}`));
  for (const kind of ['insert', 'get'] as const) {
    const name = `${kind} ${MANY_TENANTS} tenants` as const;
    const requests = many.map(each => each[kind]);
    await runLoad(
      generator,
      {port: peer.port, connections: FULL_CONNECTIONS, seconds: WARM_UP_S, requests},
      peer.process.pid,
    );
    took(name, await load({connections: FULL_CONNECTIONS, requests}));
    if (kind === 'insert') awakeBytes = medianBytes(workerPids(peer));
  }
  return {rows: rows as Record<WriteRow, WriteFigures>, awakeBytes};
}

function medianBytes(pids: readonly number[]): number | null {
  const known = pids.flatMap(pid => privateBytes(pid) ?? []);
  return known.length === 0 ? null : median(known.map(({dirty, clean}) => dirty + clean));
}
