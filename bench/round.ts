/** The servers that are measured, and one round over all rows. They run side by side; only one is under load at a time. */
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import type {LoadResult} from './load/job.ts';
import {type Measurement, runLoad} from './load/run.ts';
import {type HandPeer, startHand} from './peers/hand/start.ts';
import {type PocketBasePeer, pocketBasePath, startPocketBase} from './peers/pocketbase/start.ts';
import {runSqlite, type SqliteResult} from './peers/sqlite/run.ts';
import {type SvcRequests, seedTenant, seedWideTenant, type WideRequests, type Workload} from './peers/svc/seed.ts';
import {type SvcPeer, startSvc, stopSvc} from './peers/svc/start.ts';
import {startTwoRouters, type TwoRouters} from './peers/svc/two-routers.ts';
import {startUws, type UwsPeer} from './peers/uws/start.ts';
import {ROWS, type RowName} from './rows.ts';
import type {BenchSettings} from './settings.ts';

/** Null: no row of it is measured. */
export type Peers = {
  uws: UwsPeer | null;
  svc: SvcPeer;
  /** Of each tenant. */
  svcRequests: SvcRequests[];
  wide: WideRequests | null;
  /** One tenant. */
  twoRouters: TwoRouters | null;
  /** Another build, with its one tenant's requests. */
  before: {svc: SvcPeer; requests: SvcRequests} | null;
  hand: HandPeer | null;
  pocketBase: PocketBasePeer | null;
};

/** A row's figures of one round; of loops only the rate is known. */
export type Figures = Pick<LoadResult, 'requestsPerS'> & Partial<Measurement>;
export type Round = Partial<Record<RowName, Figures>>;

const TENANTS = 8;
/** Before each measurement, not counted: caches, compilers and connections of the server get warm. */
const WARM_UP_S = 1;

type Load = {port: number; pid: number; requests: string[]};

export async function startPeers(root: string, settings: BenchSettings, say: (text: string) => void): Promise<Peers> {
  say('starting and filling svc');
  const svc = await startSvc(join(root, 'svc'));
  const svcRequests: SvcRequests[] = [];
  const tenants = isWanted(settings, / 8 tenants$/) ? TENANTS : 1;
  for (let i = 0; i < tenants; i++) svcRequests.push(await seedTenant(svc, `t${i}`));
  const wide = isWanted(settings, /^svc wide-/) ? await seedWideTenant(svc, 'wide') : null;
  const twoRouters = isWanted(settings, /^2-routers/) ? await startTwoRouters(join(root, 'two-routers')) : null;
  const otherBuild = isWanted(settings, /^before/) ? settings.before : null;
  const before = otherBuild === null ? null : await startBefore(join(root, 'before'), otherBuild);
  const hand = isWanted(settings, /^hand/) ? await startHand(join(root, 'hand.sqlite')) : null;
  const uws = isWanted(settings, /^uws/) ? await startUws(await documentReplyBytes(svc, svcRequests[0]!)) : null;
  const binary = settings.pocketbase && isWanted(settings, /^pocketbase/) ? pocketBasePath() : null;
  if (binary !== null) say('starting and filling PocketBase');
  const pocketBase = binary === null ? null : await startPocketBase(binary, join(root, 'pocketbase'));
  return {uws, svc, svcRequests, wide, twoRouters, before, hand, pocketBase};
}

/** Whether a row with such a name is measured. */
function isWanted({only}: BenchSettings, name: RegExp): boolean {
  return ROWS.some(row => name.test(row.name) && (only === null || only.test(row.name)));
}

async function startBefore(data: string, cli: string): Promise<Peers['before']> {
  const svc = await startSvc(data, [], cli);
  return {svc, requests: await seedTenant(svc, 't0')};
}

export async function stopPeers({uws, svc, twoRouters, before, hand, pocketBase}: Peers): Promise<void> {
  if (before !== null) await stopSvc(before.svc);
  await Promise.all([
    uws?.process.stop(),
    stopSvc(svc),
    twoRouters === null ? null : stopSvc(twoRouters.svc),
    hand?.process.stop(),
    pocketBase?.process.stop(),
  ]);
}

export async function runRound(
  peers: Peers,
  root: string,
  {seconds, connections, generator, only}: BenchSettings,
  say: (text: string) => void,
): Promise<Round> {
  const round: Round = {};
  for (const {name} of ROWS) {
    const load = only === null || only.test(name) ? loadOf(name, peers) : null;
    if (load === null) continue;
    const job = {
      port: load.port,
      connections: name.endsWith(' lone-insert') ? 1 : connections,
      requests: load.requests,
    };
    await runLoad(generator, {...job, seconds: WARM_UP_S}, load.pid);
    const measured = await runLoad(generator, {...job, seconds}, load.pid);
    const {cpuUs} = measured;
    const spent = cpuUs === null ? '' : `, ${Math.round(cpuUs.router + cpuUs.worker + cpuUs.other)} µs of CPU each`;
    say(`${name}: ${Math.round(measured.requestsPerS)}/s${spent}`);
    round[name] = measured;
  }
  if (only !== null && !ROWS.some(({name}) => name.startsWith('sqlite') && only.test(name))) return round;
  const directory = join(root, 'sqlite');
  mkdirSync(directory, {recursive: true});
  const loops = await runSqlite(directory, seconds);
  for (const key of Object.keys(loops) as (keyof SqliteResult)[]) round[`sqlite ${key}`] = {requestsPerS: loops[key]};
  say('sqlite loops done');
  return round;
}

function loadOf(
  name: RowName,
  {uws, svc, svcRequests, wide, twoRouters, before, hand, pocketBase}: Peers,
): Load | null {
  const [peer, named = '', tenants = '1'] = name.split(' ');
  const workload = named === 'lone-insert' ? 'insert' : named;
  switch (peer) {
    case 'uws':
      if (uws === null) return null;
      return {port: uws.port, pid: uws.process.pid, requests: uws.requests};
    case 'svc': {
      if (named === 'wide-get' || named === 'wide-query') {
        return wide === null ? null : {port: svc.port, pid: svc.process.pid, requests: wide[named]};
      }
      const of = svcRequests.slice(0, Number(tenants)).map(requests => requests[workload as Workload]);
      return {port: svc.port, pid: svc.process.pid, requests: interleaved(of)};
    }
    case '2-routers': {
      if (twoRouters === null) return null;
      const {port, process: server} = twoRouters.svc;
      return {port, pid: server.pid, requests: twoRouters.requests[workload as Workload]};
    }
    case 'before': {
      if (before === null) return null;
      const {port, process: server} = before.svc;
      return {port, pid: server.pid, requests: before.requests[workload as Workload]};
    }
    case 'hand':
      if (hand === null) return null;
      return {port: hand.port, pid: hand.process.pid, requests: hand.requests[workload as keyof HandPeer['requests']]};
    case 'pocketbase': {
      if (pocketBase === null) return null;
      const requests = pocketBase.requests[workload as keyof PocketBasePeer['requests']];
      return {port: pocketBase.port, pid: pocketBase.process.pid, requests};
    }
    default:
      return null; // loops without a server
  }
}

/** The first of each, then the second of each, … */
function interleaved(lists: string[][]): string[] {
  const longest = Math.max(...lists.map(list => list.length));
  return Array.from({length: longest}, (_, i) => lists.map(list => list[i % list.length]!)).flat();
}

async function documentReplyBytes({client}: SvcPeer, requests: SvcRequests): Promise<number> {
  const path = /^GET (\S+)/.exec(requests.get[0]!)![1]!;
  return (await client.request('GET', path)).body.length;
}
