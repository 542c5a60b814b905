/** What goes wrong with real hosts. Each fault is injected at a random place, and undone. */
import {setTimeout as delay} from 'node:timers/promises';
import type {StreamName} from '../../../cluster/log/log-engine.ts';
import {shardOf} from '../../../cluster/log/subjects.ts';
import {streamNameOf} from '../../../cluster/nats/stream-settings.ts';
import type {DeploymentUpload} from '../../../shared/protocol/functions.ts';
import {isAlive} from '../../harness/processes.ts';
import {seededRandom} from '../../harness/random.ts';
import {until} from '../../harness/until.ts';
import type {NatsServer} from '../harness/nats-servers.ts';
import {SUBJECTS} from '../harness/rig.ts';
import type {SvcHost, SvcHosts} from '../harness/svc-hosts.ts';
import type {Chosen, TcpLink} from '../harness/tcp-link.ts';

type Place = {
  readonly cluster: SvcHosts;
  readonly tenants: readonly string[];
  readonly random: () => number;
  /** What is deployed, in turn. */
  readonly apps: readonly DeploymentUpload[];
  /** Another fault has them. */
  readonly taken: Pick<Set<SvcHost | NatsServer>, 'has' | 'clear'> & {add(one: SvcHost | NatsServer): void};
  readonly say: (text: string) => void;
};
/** Undoes it. */
type Heal = () => Promise<void> | void;
type Fault = (place: Place) => Promise<Heal> | Heal;

export const FAULTS: Record<string, Fault> = {
  'kill -9 of a worker': place => {
    const {host, pid} = anyWorker(place);
    place.say(`worker ${pid} of ${host}`);
    signal(pid, 'SIGKILL');
    return nothing;
  },
  'kill -9 of a router': place => killChild(place, 'router'),
  'kill -9 of a cluster process': place => killChild(place, 'cluster'),
  'kill -9 of a supervisor': async place => {
    const host = anyHost(place);
    place.say(host.name);
    await host.service.end('SIGKILL');
    return () => startAgain(host);
  },
  'kill -9 of a host': async place => {
    const host = anyHost(place);
    place.say(host.name);
    await host.service.killAll();
    return () => startAgain(host);
  },
  'kill -9 of a NATS server': async place => {
    const server = anyServer(place);
    place.say(server.name);
    await server.kill();
    return () => server.start();
  },
  'kill -9 of a host with its NATS server': async place => {
    const host = anyHost(place);
    const server = place.cluster.nats.servers[place.cluster.hosts.indexOf(host)]!;
    place.say(host.name);
    if (place.taken.has(server)) return nothing;
    place.taken.add(server);
    await Promise.all([host.service.killAll(), server.kill()]);
    return async () => {
      await server.start();
      await startAgain(host);
    };
  },
  'SIGSTOP of a worker': place => {
    const {host, pid} = anyWorker(place);
    place.say(`worker ${pid} of ${host}`);
    return stop([pid]);
  },
  'SIGSTOP of a router': place => stopChild(place, 'router'),
  'SIGSTOP of a cluster process': place => stopChild(place, 'cluster'),
  'SIGSTOP of a supervisor': place => {
    const host = anyHost(place);
    place.say(host.name);
    return stop([host.service.pid]);
  },
  'SIGSTOP of a host': place => {
    const host = anyHost(place);
    place.say(host.name);
    return stop(host.service.processes());
  },
  'SIGSTOP of a NATS server': place => {
    const server = anyServer(place);
    place.say(server.name);
    server.freeze();
    return () => server.thaw();
  },
  'a host is cut off from NATS': place => {
    const host = anyHost(place);
    place.say(host.name);
    return breakLinks(place, host.natsLinks);
  },
  'a host is cut off from one NATS server': place => {
    const host = anyHost(place);
    const link = host.natsLinks[below(place, host.natsLinks.length)]!;
    place.say(`${host.name} from n${host.natsLinks.indexOf(link) + 1}`);
    return breakLinks(place, [link]);
  },
  'no other host reaches a host': place => {
    const host = anyHost(place);
    place.say(host.name);
    return breakLinks(place, [host.peerLink]);
  },
  'a host does not reach another one': place => {
    const host = anyHost(place);
    const others = place.cluster.hosts.filter(other => other !== host);
    const other = others[below(place, others.length)]!;
    place.say(`${other.name} to ${host.name}`);
    return breakLinks(place, [host.peerLink], other.own);
  },
  'a host is cut off from everything': place => {
    const host = anyHost(place);
    place.say(host.name);
    return breakLinks(place, [...host.natsLinks, host.peerLink]);
  },
  'a NATS server is cut off from the others': place => {
    const server = anyServer(place);
    place.say(server.name);
    return breakLinks(place, routesOf(place, server));
  },
  'two NATS servers are cut off from each other': place => {
    const {nats} = place.cluster;
    const server = anyServer(place);
    const others = nats.servers.filter(one => one !== server);
    const other = others[below(place, others.length)]!;
    place.say(`${server.name} and ${other.name}`);
    return breakLinks(place, nats.between(server, other));
  },
  'a host and its NATS server are cut off together': place => {
    const {cluster} = place;
    const host = anyHost(place);
    const i = cluster.hosts.indexOf(host);
    place.say(host.name);
    const own = host.natsLinks.filter((_, j) => j !== i);
    const others = cluster.hosts.filter(other => other !== host).map(other => other.natsLinks[i]!);
    return breakLinks(place, [...own, ...others, host.peerLink, ...routesOf(place, cluster.nats.servers[i]!)]);
  },
  'tenants move': place => {
    const end = new AbortController();
    const moving = moveUntil(place, end.signal);
    return () => {
      end.abort();
      return moving;
    };
  },
  'functions are deployed': async place => {
    const tenant = place.tenants[below(place, place.tenants.length)]!;
    const app = below(place, place.apps.length);
    place.say(`${app + 1} to ${tenant}`);
    const host = place.cluster.hosts[below(place, place.cluster.hosts.length)]!;
    await operator(host, `/api/tenants/${tenant}/deployments`, place.apps[app]!);
    return nothing;
  },
  'a leader of a log steps down': async place => {
    const tenant = place.tenants[below(place, place.tenants.length)]!;
    place.say(tenant);
    const name = streamNameOf(SUBJECTS, logOf(tenant));
    await place.cluster.nats.configure('STREAM.LEADER.STEPDOWN', {name}).catch(() => place.say('refused'));
    return nothing;
  },
  'the disk of a host is full': place => {
    const host = anyHost(place);
    const disk = host.machine?.disk ?? null;
    const leftBytes = below(place, 2) * below(place, DISK_LEFT_BYTES);
    place.say(disk === null ? 'it cannot be, on this machine' : `${host.name}, but for ${leftBytes} bytes`);
    disk?.fill(leftBytes);
    return () => disk?.makeSpace();
  },
  'the clock of a host is set': place => {
    const host = anyHost(place);
    const offsetMs = Math.round((2 * place.random() - 1) * CLOCK_OFFSET_MS_MAX);
    place.say(`${host.name} by ${offsetMs} ms`);
    host.machine?.clock.set(offsetMs);
    return () => host.machine?.clock.set(0);
  },
  'a NATS server has no space': async ({cluster: {nats}, say}) => {
    await nats.fill().catch(() => say('it did not answer until it was full'));
    return () =>
      until('space', () =>
        nats.makeSpace().then(
          () => true,
          () => false,
        ),
      ).then(nothing);
  },
  'a host drains, ends and comes back': async place => {
    const host = anyHost(place);
    place.say(host.name);
    await host.service.end('SIGTERM');
    return () => startAgain(host);
  },
  'a host drains, and is started again later': async place => {
    const host = anyHost(place);
    place.say(host.name);
    await operator(host, '/api/cluster/drain', {host: host.name});
    return async () => {
      await host.service.end('SIGTERM');
      await startAgain(host);
    };
  },
};

/** Hands tenants to random hosts, one after another. */
async function moveUntil({cluster, tenants, random, say}: Place, signal: AbortSignal): Promise<void> {
  const any = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  for (let moves = 1; !signal.aborted; moves++) {
    await operator(any(cluster.hosts), '/api/cluster/move', {tenant: any(tenants), host: any(cluster.hosts).name});
    await delay(random() * MOVE_PAUSE_MS_MAX, undefined, {signal}).catch(() => say(`${moves} times`));
  }
}
const MOVE_PAUSE_MS_MAX = 1_500;
const DISK_LEFT_BYTES = 1 << 20;
/** More than a lease. Jobs are as late, so it is less than the time in which all is well again. */
const CLOCK_OFFSET_MS_MAX = 30_000;

function logOf(tenant: string): StreamName {
  return {kind: 'log', shard: shardOf(tenant)};
}

/** As an operator: it may fail, because of an earlier fault. */
async function operator({service}: SvcHost, path: string, body: object): Promise<void> {
  const headers = {authorization: `Bearer ${service.adminToken}`};
  const answered = service.post(path, body, headers).catch(() => null);
  await Promise.race([answered, new Promise(resolve => setTimeout(resolve, OPERATOR_MS).unref())]);
}
const OPERATOR_MS = 3_000;

function killChild(place: Place, entry: 'router' | 'cluster'): Heal {
  const host = anyHost(place);
  place.say(host.name);
  for (const pid of host.service.children(entry)) signal(pid, 'SIGKILL');
  return nothing;
}

function stopChild(place: Place, entry: 'router' | 'cluster'): Heal {
  const host = anyHost(place);
  place.say(host.name);
  return stop(host.service.children(entry));
}

function stop(pids: readonly number[]): Heal {
  for (const pid of pids) signal(pid, 'SIGSTOP');
  return () => {
    for (const pid of pids) signal(pid, 'SIGCONT');
  };
}

/** @param chosen which of their connections. Default: all */
function breakLinks({random, say}: Place, links: readonly TcpLink[], chosen?: Chosen): Heal {
  const choice = random();
  if (choice < 0.4) {
    say('cut');
    for (const link of links) link.cut(chosen);
  } else if (choice < 0.9) {
    const directions = choice < 0.6 ? (['forth', 'back'] as const) : ([choice < 0.75 ? 'forth' : 'back'] as const);
    say(`stalled ${directions.join(' and ')}`);
    for (const link of links) link.stall(directions, chosen);
  } else {
    say('delayed');
    for (const link of links) link.delay(random() * 1_000, chosen);
  }
  return () => {
    for (const link of links) link.heal();
  };
}

function routesOf({cluster: {nats}}: Place, server: NatsServer): TcpLink[] {
  return nats.servers.filter(other => other !== server).flatMap(other => nats.between(server, other));
}

/** Other faults may go on, or its former processes still end: it is started until it is there. */
async function startAgain({service}: SvcHost): Promise<void> {
  for (let left = START_ATTEMPTS; ; left--) {
    const isThere = await service.run().then(
      () => true,
      (error: Error) => {
        if (left === 1) throw error;
        return false;
      },
    );
    if (isThere) return;
  }
}
const START_ATTEMPTS = 5;

function anyWorker(place: Place): {host: string; pid: number} {
  const workers = place.cluster.hosts.flatMap(({name, service}) =>
    service.children('worker').map(pid => ({host: name, pid})),
  );
  return workers[below(place, workers.length)] ?? {host: 'no host', pid: 0};
}

function anyHost(place: Place): SvcHost {
  return take(place, place.cluster.hosts);
}

function anyServer(place: Place): NatsServer {
  return take(place, place.cluster.nats.servers);
}

/** One that is in no other fault, of which there is one at most. */
function take<T extends SvcHost | NatsServer>(place: Place, all: readonly T[]): T {
  const free = all.filter(one => !place.taken.has(one));
  const one = free[below(place, free.length)]!;
  place.taken.add(one);
  return one;
}

function below({random}: Place, count: number): number {
  return Math.floor(random() * count);
}

function signal(pid: number, name: NodeJS.Signals): void {
  if (pid !== 0 && isAlive(pid)) process.kill(pid, name);
}

function nothing(): void {}

/** How long each lasts, and what is between two. Half of them outlast a lease, so that other hosts take over. */
const SHORT_MS = {least: 500, most: 4_000};
const LONG_MS = {least: 8_000, most: 15_000};
const CALM_MS_MAX = 4_000;

type Row = Omit<Place, 'say'> & {endMs: number; said: string[]; wanted: string};

/** Injects faults one after another; with half of the seeds, two at a time. @returns one line for each */
export async function faultsUntil(
  endMs: number,
  seed: number,
  of: Pick<Row, 'cluster' | 'tenants' | 'apps' | 'wanted'>,
): Promise<string[]> {
  const random = seededRandom(seed);
  const said: string[] = [];
  const takenBy: Set<SvcHost | NatsServer>[] = [new Set()];
  if (random() < 0.5) takenBy.push(new Set());
  const lines = takenBy.map((mine, i) => {
    const taken = {
      has: (one: SvcHost | NatsServer) => takenBy.some(set => set.has(one)),
      add: (one: SvcHost | NatsServer) => mine.add(one),
      clear: () => mine.clear(),
    };
    return faultsInARow({endMs, said, ...of, taken, random: seededRandom(seed + i * 2 ** 30)});
  });
  await Promise.all(lines);
  return said;
}

async function faultsInARow({endMs, said, wanted, ...of}: Row): Promise<void> {
  const {random, taken} = of;
  const names = Object.keys(FAULTS).filter(name => name.includes(wanted));
  const pause = (ms: number) => delay(Math.max(0, Math.min(ms, endMs - performance.now())));
  while (performance.now() < endMs) {
    await pause(random() * CALM_MS_MAX);
    if (performance.now() >= endMs) break;
    const name = names[Math.floor(random() * names.length)]!;
    const details: string[] = [];
    const beganMs = performance.now();
    const heal = await FAULTS[name]!({...of, say: text => details.push(text)});
    const {least, most} = random() < 0.5 ? SHORT_MS : LONG_MS;
    await pause(least + random() * (most - least));
    const healsMs = performance.now();
    await heal();
    taken.clear();
    const times = [beganMs, healsMs, performance.now()].map(ms => Math.round(ms));
    said.push(`${times[0]} to ${times[1]} (well at ${times[2]}) ms: ${name}: ${details.join(', ')}`);
  }
}
