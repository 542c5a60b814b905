/**
 * What copies cost and how fast they are: durable inserts with and without `--backup-to`, in turns; how long a write is in
 * one place only; the restore of a large tenant beside `cp` and SQLite's own check; the cost of tenants without writes.
 */
import {execFile} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {promisify} from 'node:util';
import {tenantPath} from '../../cli/client.ts';
import type {BackupStatus} from '../../shared/protocol/backups.ts';
import {benchDocument} from '../documents.ts';
import {runLoad} from '../load/run.ts';
import {median, quantile} from '../measure/statistics.ts';
import {seedSmallTenant, seedTenant} from '../peers/svc/seed.ts';
import {BUILT, type SvcPeer, startSvc, stopSvc, workerPids} from '../peers/svc/start.ts';
import type {BenchSettings} from '../settings.ts';

export type CopiesRound = {
  /** Of insert/s, and of p99; the rest are figures. */
  on: WriteFigures;
  off: WriteFigures;
  /** From the answer of a write until the repository has it, read back. */
  rpoMs: {median: number; highest: number};
  restore: {bytes: number; restoreS: number; copyAndCheckS: number};
  idle: {tenants: number; seconds: number; puts: number};
  busy: {tenants: number; seconds: number; puts: number};
};
type WriteFigures = {perS: number; p99Ms: number; mainThreadUs: number | null};

const run = promisify(execFile);
const CONNECTIONS = 64;
const WARM_UP_S = 1;
/** Measurements of each side, in turns. */
const TURNS = 3;
const RPO_WRITES = 20;
const IDLE_TENANTS = 100;
const IDLE_S = 10;
const LARGE_DOCUMENT_BYTES = 4_000;

type Sizes = Pick<BenchSettings, 'seconds' | 'generator'>;

export async function measureCopies(root: string, settings: Sizes, say: (text: string) => void): Promise<CopiesRound> {
  mkdirSync(root, {recursive: true});
  const repository = join(root, 'repository');
  const key = join(root, 'backup.key');
  await svc(['backup', 'init', '--to', repository, '--key', key]);
  const off = await startSvc(join(root, 'off'));
  const on = await startSvc(join(root, 'on'), ['--backup-to', repository, '--backup-key', key]);
  try {
    const writes = await measureWrites({on, off}, settings);
    say(`inserts: ${Math.round(writes.on.perS)}/s with copies, ${Math.round(writes.off.perS)}/s without`);
    await stopSvc(off);
    const rpoMs = await measureRpo(on);
    say(`a write is in the repository after ${Math.round(rpoMs.median)} ms`);
    const {idle, busy} = await measurePuts(on, settings);
    say(`${idle.puts} PUTs in ${idle.seconds} s of ${idle.tenants} idle tenants, ${busy.puts} of busy ones`);
    const documents = settings.seconds > 1 ? 60_000 : 5_000;
    await fillLarge(on, documents);
    await on.client.json('POST', '/api/backup/run');
    await stopSvc(on);
    const restore = await measureRestore(root, ['--from', repository, '--key', key]);
    say(`restore of ${(restore.bytes / 2 ** 20).toFixed(0)} MiB: ${restore.restoreS.toFixed(1)} s`);
    return {...writes, rpoMs, restore, idle, busy};
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
}

function svc(args: string[], env: NodeJS.ProcessEnv = {}): Promise<unknown> {
  return run(process.execPath, [BUILT, ...args], {env: {...process.env, ...env}});
}

type Pair<T> = {on: T; off: T};

async function measureWrites(peers: Pair<SvcPeer>, {seconds, generator}: Sizes): Promise<Pair<WriteFigures>> {
  const sides = ['off', 'on'] as const;
  const requests = {
    on: (await seedTenant(peers.on, 'one')).insert,
    off: (await seedTenant(peers.off, 'one')).insert,
  };
  const figures: Pair<WriteFigures[]> = {on: [], off: []};
  for (let turn = 0; turn <= TURNS; turn++) {
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
      const peer = peers[side];
      const job = {port: peer.port, connections: CONNECTIONS, requests: requests[side]};
      if (turn === 0) {
        await runLoad(generator, {...job, seconds: WARM_UP_S}, peer.process.pid);
        continue;
      }
      const before = mainThreadUs(peer);
      const {requestsPerS, p99Ms} = await runLoad(generator, {...job, seconds}, peer.process.pid);
      const after = mainThreadUs(peer);
      const spent = before === null || after === null ? null : (after - before) / (requestsPerS * seconds);
      figures[side].push({perS: requestsPerS, p99Ms, mainThreadUs: spent});
    }
  }
  const middle = (list: WriteFigures[]): WriteFigures => ({
    perS: median(list.map(({perS}) => perS)),
    p99Ms: median(list.map(({p99Ms}) => p99Ms)),
    mainThreadUs: list.some(each => each.mainThreadUs === null) ? null : median(list.map(each => each.mainThreadUs!)),
  });
  return {on: middle(figures.on), off: middle(figures.off)};
}

/** Processor time of the workers' main threads. Null where the system does not tell. */
function mainThreadUs(peer: SvcPeer): number | null {
  try {
    const times = workerPids(peer).map(pid => readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]);
    return times.reduce((sum, ns) => sum + Number(ns) / 1_000, 0);
  } catch {
    return null; // there is no /proc, or a worker ended meanwhile
  }
}

async function measureRpo(peer: SvcPeer): Promise<CopiesRound['rpoMs']> {
  const times: number[] = [];
  await peer.client.json('POST', '/api/backup/run');
  for (let i = 0; i < RPO_WRITES; i++) {
    // Writes come at any time of an interval.
    await delay((i * 137) % 1_000);
    const before = await copiedSequence(peer, 'one');
    await peer.client.json('POST', tenantPath('one', 'documents'), {table: 'rpo', fields: benchDocument(i)});
    const answeredMs = performance.now();
    while ((await copiedSequence(peer, 'one')) === before) await delay(5);
    times.push(performance.now() - answeredMs);
  }
  return {median: median(times), highest: quantile(times, 1)};
}

/** Of the newest record that is in the repository. */
async function copiedSequence(peer: SvcPeer, tenant: string): Promise<number> {
  const {tenants} = await peer.client.json<BackupStatus>('GET', '/api/backup?limit=1000');
  return tenants.find(({id}) => id === tenant)?.newest?.sequence ?? 0;
}

async function measurePuts(peer: SvcPeer, {seconds, generator}: Sizes): Promise<Pick<CopiesRound, 'idle' | 'busy'>> {
  const requests: string[] = [];
  for (let i = 0; i < IDLE_TENANTS; i++) requests.push((await seedSmallTenant(peer, `idle${i}`)).insert);
  await peer.client.json('POST', '/api/backup/run');
  const idleSeconds = seconds > 1 ? IDLE_S : 2;
  const before = await putsOf(peer);
  await delay(idleSeconds * 1_000);
  const between = await putsOf(peer);
  const job = {port: peer.port, connections: CONNECTIONS, requests, seconds: idleSeconds};
  await runLoad(generator, job, peer.process.pid);
  const after = await putsOf(peer);
  return {
    idle: {tenants: IDLE_TENANTS, seconds: idleSeconds, puts: between - before},
    busy: {tenants: IDLE_TENANTS, seconds: idleSeconds, puts: after - between},
  };
}

async function putsOf(peer: SvcPeer): Promise<number> {
  const {body} = await peer.client.request('GET', '/metrics');
  return Number(/^svc_backup_puts_total(?:\{.*\})? (\d+)/m.exec(body.toString())?.[1] ?? Number.NaN);
}

async function fillLarge(peer: SvcPeer, documents: number): Promise<void> {
  await peer.client.createTenant('large');
  const text = 'x'.repeat(LARGE_DOCUMENT_BYTES);
  let next = 0;
  const inserts = async (): Promise<void> => {
    while (next < documents) {
      const fields = {...benchDocument(next++), text};
      await peer.client.json('POST', tenantPath('large', 'documents'), {table: 'items', fields});
    }
  };
  await Promise.all(Array.from({length: CONNECTIONS}, inserts));
}

/** A dry run restores the file, checks it, and removes it. */
async function measureRestore(root: string, from: string[]): Promise<CopiesRound['restore']> {
  const tenants = join(root, 'on/tenants');
  const file = join(tenants, readdirSync(tenants).find(name => name.startsWith('t_large_'))!, 'tenant.sqlite');
  const copy = join(root, 'copy.sqlite');
  const check = "const D=require('better-sqlite3');console.log(new D(process.argv[1]).pragma('integrity_check'))";
  const sides = {
    copyAndCheck: async (): Promise<void> => {
      await run('cp', [file, copy]);
      await run(process.execPath, ['-e', check, copy], {cwd: join(import.meta.dirname, '../..')});
    },
    restore: () => svc(['restore', 'large', '--dry-run', ...from], {TMPDIR: root}),
  };
  const times = {copyAndCheck: [] as number[], restore: [] as number[]};
  for (let turn = 0; turn < TURNS; turn++) {
    for (const side of ['copyAndCheck', 'restore'] as const) {
      // What the disk still has to write of one side would take its time from the other.
      await run('sync');
      times[side].push(await secondsOf(sides[side]));
      rmSync(copy, {force: true});
    }
  }
  return {bytes: statSync(file).size, restoreS: median(times.restore), copyAndCheckS: median(times.copyAndCheck)};
}

async function secondsOf(act: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await act();
  return (performance.now() - startedMs) / 1_000;
}
