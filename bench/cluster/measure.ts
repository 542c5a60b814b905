/**
 * What a cluster costs, on three hosts and three NATS servers of this machine, beside one host alone: durable inserts with
 * `--ack replicated` and `--ack local`, a bare append to the log, a get that another host answers, and a standby that
 * follows. One side at a time is under load, in turns. Then the same inserts without standbys: on machines of their own they
 * take no part in a commit, and here they take processors and syncs from it.
 */
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {ServiceClient} from '../../cli/client.ts';
import {connectToLog} from '../../cli/cluster/nats-log.ts';
import {natsAddresses} from '../../cli/cluster-settings.ts';
import type {LogPosition} from '../../cluster/log/record.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {LocalCluster} from '../../examples/cluster/local-cluster.ts';
import {commitBody} from '../../test/cluster/harness/commit-body.ts';
import {runLoad} from '../load/run.ts';
import {histogramMedian} from '../measure/histogram.ts';
import {cpuSeconds} from '../measure/process-tree.ts';
import {median} from '../measure/statistics.ts';
import {type SvcRequests, seedTenant} from '../peers/svc/seed.ts';
import {type SvcPeer, startSvc, stopSvc} from '../peers/svc/start.ts';
import type {BenchSettings} from '../settings.ts';

export const SIDES = ['one host', 'replicated', 'local'] as const;
export type Side = (typeof SIDES)[number];
/** `groupMs`: median time of a commit group until it is durable. `p50Ms` and `p99Ms` are what a request waits for. */
export type InsertFigures = {perS: number; p50Ms: number; p99Ms: number; groupMs: number};
export type GetFigures = {perS: number; p50Ms: number; cpuUs: number};

export type ClusterRound = {
  inserts: Record<Side, InsertFigures>;
  /** With one connection. */
  lone: Record<Side, InsertFigures>;
  /** Median of appends that nothing else waits for, of `APPEND_BYTES`. */
  bareAppendMs: number;
  /** A get that the worker answers, over the router of its host and over that of another host. */
  gets: {local: GetFigures; forwarded: GetFigures};
  /** Records that a standby applies per second, by those that its owner writes at full rate. */
  followerRatio: number;
  /** In a cluster with `--standbys 0`. */
  withoutStandbys: {inserts: Record<Bare, InsertFigures>; bareAppendMs: number};
};

/** Without standbys. */
const BARE = ['one host', 'replicated'] as const;
type Bare = (typeof BARE)[number];

const CONNECTIONS = 64;
const WARM_UP_S = 1;
const TURNS = 3;
/** About the pages of a group of 64 inserts. */
const APPEND_BYTES = 32 * 1024;
const APPENDS = 60;
/** Of 50 ports on loopback. */
const FIRST_PORT = 24_400;
const POLL_MS = 10;
/** Commit groups of all tenants of a host. */
const GROUPS = 'svc_commit_durable_seconds';

type Sizes = Pick<BenchSettings, 'seconds' | 'generator'>;
type Target = {pid: number; port: number; client: ServiceClient; requests: SvcRequests};

export async function measureCluster(
  root: string,
  settings: Sizes,
  say: (text: string) => void,
): Promise<ClusterRound> {
  const alone = await startSvc(join(root, 'one-host'));
  try {
    const one = await seeded(alone, 'one');
    const local = (name: string) => (name === 'b' ? ['--ack', 'local'] : []); // the default is `replicated`
    const whole = await inCluster(join(root, 'cluster'), local, async ({a, b, appendMs}) => {
      const targets: Record<Side, Target> = {
        'one host': one,
        replicated: await seeded(a, 'replicated', 'a'),
        local: await seeded(b, 'local', 'b'),
      };
      const bareAppendMs = await appendMs();
      say(`a bare append of ${APPEND_BYTES / 1024} KiB: ${bareAppendMs.toFixed(1)} ms`);
      const ratios: number[] = [];
      const behind = async () => {
        ratios.push(settings.seconds / (settings.seconds + (await secondsBehind(b.client))));
      };
      const inserts = await measureInserts(SIDES, targets, {...settings, connections: CONNECTIONS, behind});
      const lone = await measureInserts(SIDES, targets, {...settings, connections: 1, behind: null});
      for (const side of SIDES)
        say(`insert, ${side}: ${inserts[side].perS.toFixed(0)}/s, alone ${lone[side].p50Ms.toFixed(1)} ms`);
      const gets = await measureGets(targets.replicated, b, settings);
      say(`get: ${gets.local.perS.toFixed(0)}/s at its host, ${gets.forwarded.perS.toFixed(0)}/s at another one`);
      return {inserts, lone, bareAppendMs, gets, followerRatio: median(ratios)};
    });
    const bare = () => ['--standbys', '0'];
    const withoutStandbys = await inCluster(join(root, 'bare'), bare, async ({a, appendMs}) => {
      const targets: Record<Bare, Target> = {'one host': one, replicated: await seeded(a, 'replicated', 'a')};
      const bareAppendMs = await appendMs();
      const inserts = await measureInserts(BARE, targets, {...settings, connections: CONNECTIONS, behind: null});
      const {groupMs} = inserts.replicated;
      say(`without standbys: a replicated group ${groupMs.toFixed(1)} ms, a bare append ${bareAppendMs.toFixed(1)} ms`);
      return {inserts, bareAppendMs};
    });
    return {...whole, withoutStandbys};
  } finally {
    await stopSvc(alone);
  }
}

type Running = {a: SvcPeer; b: SvcPeer; appendMs: () => Promise<number>};

/** @param argsOf further arguments of a host */
async function inCluster<T>(
  directory: string,
  argsOf: (name: string) => string[],
  measure: (running: Running) => Promise<T>,
): Promise<T> {
  const natsServer = process.env.SVC_TEST_NATS_SERVER ?? 'nats-server';
  const cluster = LocalCluster.make(directory, FIRST_PORT, natsServer, argsOf);
  const clients: ServiceClient[] = [];
  try {
    await cluster.start();
    const [a, b] = await Promise.all([peerOf(cluster, 0), peerOf(cluster, 1)]);
    clients.push(a.client, b.client);
    return await measure({a, b, appendMs: () => measureAppends(cluster.natsServers, join(directory, 'files/a'))});
  } finally {
    await Promise.all(clients.map(client => client.close()));
    await cluster.stop();
  }
}

async function peerOf(cluster: LocalCluster, at: number): Promise<SvcPeer> {
  const {member, url, token} = cluster.hosts[at]!;
  process.env.SVC_ACCESS_TOKEN = token;
  const client = await ServiceClient.open({url, data: ''}, CONNECTIONS);
  const server = {pid: member.pid!, ready: /()/.exec('')!, stop: async () => {}};
  return {process: server, url, port: Number(new URL(url).port), token, client};
}

/** @param host that is to own the tenant */
async function seeded(peer: SvcPeer, tenant: string, host?: string): Promise<Target> {
  const requests = await seedTenant(peer, tenant);
  if (host !== undefined) {
    await peer.client.ask('cluster.pin', [], {body: {tenant, host}});
    for (;;) {
      const {tenants} = await peer.client.ask('cluster.status', [], {query: {limit: 10}});
      const found = tenants.find(one => one.tenant === tenant);
      if (found?.owner === host && found.state === 'owned') break;
      await delay(POLL_MS);
    }
  }
  return {pid: peer.process.pid, port: peer.port, client: peer.client, requests};
}

/** @property behind called after each turn of `replicated` */
type InsertLoad = Sizes & {connections: number; behind: (() => Promise<void>) | null};

async function measureInserts<S extends Side>(
  sides: readonly S[],
  targets: Record<S, Target>,
  {connections, behind, seconds, generator}: InsertLoad,
): Promise<Record<S, InsertFigures>> {
  const figures = new Map<S, InsertFigures[]>(sides.map(side => [side, []]));
  for (let turn = 0; turn < TURNS; turn++) {
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
      const {pid, port, client, requests} = targets[side];
      const job = {port, connections, requests: requests.insert};
      await runLoad(generator, {...job, seconds: WARM_UP_S}, pid);
      const before = await metricsOf(client);
      const {requestsPerS, p50Ms, p99Ms} = await runLoad(generator, {...job, seconds}, pid);
      const after = await metricsOf(client);
      const groupMs = histogramMedian(GROUPS, before, after) * 1_000;
      figures.get(side)!.push({perS: requestsPerS, p50Ms, p99Ms, groupMs});
      if (side === 'replicated') await behind?.();
    }
  }
  const middle = (list: InsertFigures[], key: keyof InsertFigures) => median(list.map(one => one[key]));
  const of = (list: InsertFigures[]): InsertFigures => ({
    perS: middle(list, 'perS'),
    p50Ms: middle(list, 'p50Ms'),
    p99Ms: middle(list, 'p99Ms'),
    groupMs: middle(list, 'groupMs'),
  });
  return Object.fromEntries([...figures].map(([side, list]) => [side, of(list)])) as Record<S, InsertFigures>;
}

/** Until the standbys of this host have applied all records. */
async function secondsBehind(client: ServiceClient): Promise<number> {
  const startedMs = performance.now();
  while (gauge('svc_cluster_standby_lag_records', await metricsOf(client)) > 0) await delay(POLL_MS);
  return (performance.now() - startedMs) / 1_000;
}

async function metricsOf(client: ServiceClient): Promise<string> {
  return (await client.request('GET', '/metrics')).body.toString();
}

function gauge(name: string, page: string): number {
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(page)?.[1] ?? Number.NaN);
}

async function measureAppends(servers: string[], files: string): Promise<number> {
  const {log, close} = await connectToLog({
    ...{cluster: 'demo', files, isPlain: false, allowSingleLog: false},
    servers: natsAddresses(servers, {natsPlain: false}),
  });
  try {
    const tenant = log.tenant({id: 'bench-appends', generation: 1});
    const opened = await tenant.open({epoch: 1, note: 'bench', from: null, openedBy: null, apply() {}, ownerEnds() {}});
    if (opened.kind !== 'opened') throw new Error(`the log was not opened: ${opened.kind}`);
    let at: LogPosition = opened.position;
    const times: number[] = [];
    const body = sourceOf(commitBody('bench', APPEND_BYTES));
    for (let i = 0; i < APPENDS; i++) {
      const startedMs = performance.now();
      const outcome = await tenant.append(at, {kind: 'commit', epoch: 1, body});
      times.push(performance.now() - startedMs);
      if (outcome.kind !== 'committed') throw new Error(`an append was ${outcome.kind}`);
      at = outcome.position;
    }
    return median(times);
  } finally {
    await close();
  }
}

/** `cpuUs` is processor time of both hosts. */
async function measureGets(owner: Target, other: SvcPeer, {seconds, generator}: Sizes): Promise<ClusterRound['gets']> {
  const requests = owner.requests['worker-get'];
  const kinds = ['local', 'forwarded'] as const;
  const figures: Record<(typeof kinds)[number], GetFigures[]> = {local: [], forwarded: []};
  const cpuS = () => (cpuSeconds(owner.pid) ?? Number.NaN) + (cpuSeconds(other.process.pid) ?? Number.NaN);
  for (let turn = 0; turn < TURNS; turn++) {
    for (const kind of turn % 2 === 0 ? kinds : kinds.toReversed()) {
      const job = {port: kind === 'local' ? owner.port : other.port, connections: CONNECTIONS, requests};
      await runLoad(generator, {...job, seconds: WARM_UP_S}, owner.pid);
      const before = cpuS();
      const {requestsPerS, p50Ms} = await runLoad(generator, {...job, seconds}, owner.pid);
      figures[kind].push({perS: requestsPerS, p50Ms, cpuUs: ((cpuS() - before) * 1e6) / (requestsPerS * seconds)});
    }
  }
  const of = (list: GetFigures[]): GetFigures => ({
    perS: median(list.map(({perS}) => perS)),
    p50Ms: median(list.map(({p50Ms}) => p50Ms)),
    cpuUs: median(list.map(({cpuUs}) => cpuUs)),
  });
  return {local: of(figures.local), forwarded: of(figures.forwarded)};
}
