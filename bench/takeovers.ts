/**
 * `npm run bench:takeovers`: how long writes wait while their tenant is handed over to another host, and how long it takes
 * until all tenants answer reads and writes again, on both hosts that are left, after `kill -9` of a host and of the NATS
 * server beside it. Three hosts and three NATS servers of this machine.
 */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {Command} from 'commander';
import {Agent, request} from 'undici';
import {type Host, LocalCluster} from '../examples/cluster/local-cluster.ts';
import {descendants} from './measure/process-tree.ts';
import {median} from './measure/statistics.ts';

const {
  handOvers,
  takeovers,
  tenants: count,
  directory,
} = new Command('takeovers')
  .option('--hand-overs <count>', 'moves of one tenant', Number, 30)
  .option('--takeovers <count>', 'hosts that are killed, in turn', Number, 20)
  .option('--tenants <count>', 'divided among the hosts', Number, 12)
  .option('--directory <directory>', 'where the data directories are made', tmpdir())
  .parse()
  .opts<{handOvers: number; takeovers: number; tenants: number; directory: string}>();

const HAND_OVER_P50_MS_MOST = 300;
const P50_S_MOST = 8;
const WORST_S_MOST = 12;
/** Of 50 ports on loopback. */
const FIRST_PORT = 24_500;
const RETRY_MS = 20;
/** A client waits so long for an answer, then sends another request. */
const PATIENCE_MS = 3_000;
/** In which a tenant is handed over, and clients write. */
const HAND_OVER_MS = 1_500;

const root = mkdtempSync(join(directory, 'svc-takeovers-'));
process.once('exit', () => rmSync(root, {recursive: true, force: true}));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const agent = new Agent({connections: 256});
const cluster = LocalCluster.make(root, FIRST_PORT, process.env.SVC_TEST_NATS_SERVER ?? 'nats-server');
const names = cluster.hosts.map(({member}) => member.name.slice('svc '.length));
const tenants = Array.from({length: count}, (_, i) => ({id: `tenant-${i}`, host: names[i % names.length]!}));
const nats = (host: string) => cluster.member(`nats ${host}`)!;

try {
  await cluster.start();
  for (const {id} of tenants) await ask(cluster.hosts[0]!, 'POST', '/api/tenants', {id});
  await settled();
  const waits: number[] = [];
  for (let i = 0; i < handOvers; i++) waits.push(await handOver(tenants[0]!.id));
  const isShort = handOvers === 0 || median(waits) <= HAND_OVER_P50_MS_MOST;
  if (handOvers > 0) {
    process.stdout.write(
      `${handOvers} hand-overs: p50 ${median(waits).toFixed(0)} ms, worst ${Math.max(...waits).toFixed(0)} ms ` +
        `(wanted: p50 ${HAND_OVER_P50_MS_MOST}): ${isShort ? 'met' : 'missed'}\n`,
    );
  }
  const times: number[] = [];
  for (let i = 0; i < takeovers; i++) {
    await settled();
    const served = await takeover(i % names.length);
    const last = served.at(-1)!;
    times.push(last.seconds);
    const middle = median(served.map(({seconds}) => seconds)).toFixed(1);
    process.stderr.write(`takeover ${i + 1}: ${last.seconds.toFixed(1)} s (${last.what}; half after ${middle} s)\n`);
  }
  const [p50, worst] = [median(times), Math.max(...times)];
  const isMet = takeovers === 0 || (p50 <= P50_S_MOST && worst <= WORST_S_MOST);
  if (takeovers > 0) {
    process.stdout.write(
      `${takeovers} takeovers of ${count} tenants: p50 ${p50.toFixed(1)} s, worst ${worst.toFixed(1)} s ` +
        `(wanted: ${P50_S_MOST} and ${WORST_S_MOST}): ${isMet ? 'met' : 'missed'}\n`,
    );
  }
  process.exitCode = isMet && isShort ? 0 : 1;
} finally {
  await cluster.stop();
  await agent.close();
}

/** Each tenant is served by its host, and every host serves it to its clients. */
async function settled(): Promise<void> {
  for (const {id, host} of tenants) {
    await pin(id, host);
  }
  await Promise.all(cluster.hosts.flatMap(host => tenants.map(({id}) => answers(host, id))));
}

/** To its standby. @returns the longest time that a client of any host waited for its write, in milliseconds */
async function handOver(id: string): Promise<number> {
  const {hosts} = await cluster.shown();
  const shown = hosts[0]?.cluster?.tenants.find(({tenant}) => tenant === id);
  const to = shown?.standbys[0];
  if (to === undefined) throw new Error(`tenant ${id} has no standby`);
  const startedMs = performance.now();
  const write = async (host: Host): Promise<number> => {
    let longestMs = 0;
    for (let nowMs = startedMs; nowMs < startedMs + HAND_OVER_MS; nowMs = performance.now()) {
      await untilStatus(201, () => insert(host, id));
      longestMs = Math.max(longestMs, performance.now() - nowMs);
    }
    return longestMs;
  };
  const writes = cluster.hosts.map(write);
  await pin(id, to);
  return Math.max(...(await Promise.all(writes)));
}

/** @returns seconds from the kill until each tenant was written and read on each host that is left, in order */
async function takeover(victim: number): Promise<{what: string; seconds: number}[]> {
  const {member} = cluster.hosts[victim]!;
  const server = nats(names[victim]!);
  const left = cluster.hosts.filter((_, i) => i !== victim);
  const killedMs = performance.now();
  // Its processes first: without its supervisor, each of them would end in order.
  for (const pid of [member.pid!, ...descendants(member.pid!), server.pid!]) killNow(pid);
  await Promise.all([member.act('kill'), server.act('kill')]);
  const served: {what: string; seconds: number}[] = [];
  const serve = async (host: Host, tenant: (typeof tenants)[number]) => {
    await answers(host, tenant.id);
    const what = `${tenant.id} of ${tenant.host} on ${host.member.name}`;
    served.push({what, seconds: (performance.now() - killedMs) / 1_000});
  };
  await Promise.all(left.flatMap(host => tenants.map(tenant => serve(host, tenant))));
  await server.start();
  await member.start();
  await untilStatus(200, () => ask(cluster.hosts[victim]!, 'GET', '/health'));
  return served;
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended with its supervisor
  }
}

/** Resolves when a write is acknowledged, and a read after it is answered. */
async function answers(host: Host, id: string): Promise<void> {
  await untilStatus(201, () => insert(host, id));
  await untilStatus(200, () => ask(host, 'POST', `/api/tenants/${id}/query`, {table: 'things', filters: []}));
}

/** Repeats what is refused for now, or not answered. @throws Error: it is refused for another reason */
async function untilStatus(wanted: number, send: () => Promise<number>): Promise<void> {
  for (;;) {
    const status = await send().catch(() => 503);
    if (status === wanted) return;
    if (status < 500) throw new Error(`status ${status}`);
    await delay(RETRY_MS);
  }
}

/** Moves it there. A pin, because a host that has joined lately gets tenants that are only moved. */
async function pin(id: string, host: string): Promise<void> {
  await untilStatus(200, () => ask(cluster.hosts[0]!, 'POST', '/api/cluster/pin', {tenant: id, host}));
}

function insert(host: Host, id: string): Promise<number> {
  return ask(host, 'POST', `/api/tenants/${id}/documents`, {table: 'things', fields: {n: 1}});
}

async function ask({url, token}: Host, method: 'GET' | 'POST', path: string, body?: object): Promise<number> {
  const {statusCode, body: answer} = await request(url + path, {
    method,
    headers: {authorization: `Bearer ${token}`},
    body: body === undefined ? null : JSON.stringify(body),
    dispatcher: agent,
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  await answer.dump();
  return statusCode;
}
