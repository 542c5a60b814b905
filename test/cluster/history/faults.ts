/** What goes wrong with real hosts. Each fault is injected at a random place, and undone. */
import {seededRandom} from '../../harness/random.ts';
import {isAlive} from '../../harness/service.ts';
import type {NatsServer} from '../harness/nats-servers.ts';
import type {SvcHost, SvcHosts} from '../harness/svc-hosts.ts';
import type {TcpLink} from '../harness/tcp-link.ts';

/** What becomes of a host: one that is started again has another port. */
type Place = {
  readonly cluster: SvcHosts;
  readonly tenants: readonly string[];
  readonly random: () => number;
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
  'a host and its NATS server are cut off together': place => {
    const {cluster} = place;
    const host = anyHost(place);
    const i = cluster.hosts.indexOf(host);
    place.say(host.name);
    const own = host.natsLinks.filter((_, j) => j !== i);
    const others = cluster.hosts.filter(other => other !== host).map(other => other.natsLinks[i]!);
    return breakLinks(place, [...own, ...others, host.peerLink, ...routesOf(place, cluster.nats.servers[i]!)]);
  },
  'a tenant moves': async place => {
    const tenant = place.tenants[below(place, place.tenants.length)]!;
    const [by, to] = [anyHost(place), anyHost(place)];
    place.say(`${tenant} to ${to.name}, by ${by.name}`);
    const body = {tenant, host: to.name};
    await operator(by, '/api/cluster/move', body);
    return nothing;
  },
  'a host drains and comes back': async place => {
    const host = anyHost(place);
    place.say(host.name);
    await host.service.end('SIGTERM');
    return () => startAgain(host);
  },
};

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

function breakLinks({random, say}: Place, links: readonly TcpLink[]): Heal {
  const choice = random();
  if (choice < 0.4) {
    say('cut');
    for (const link of links) link.cut();
  } else if (choice < 0.9) {
    const directions = choice < 0.6 ? (['forth', 'back'] as const) : ([choice < 0.75 ? 'forth' : 'back'] as const);
    say(`stalled ${directions.join(' and ')}`);
    for (const link of links) link.stall(directions);
  } else {
    say('delayed');
    for (const link of links) link.delay(random() * 1_000);
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
  return workers[below(place, workers.length)] ?? {host: 'nobody', pid: 0};
}

function anyHost(place: Place): SvcHost {
  return place.cluster.hosts[below(place, place.cluster.hosts.length)]!;
}

function anyServer(place: Place): NatsServer {
  const {servers} = place.cluster.nats;
  return servers[below(place, servers.length)]!;
}

function below({random}: Place, count: number): number {
  return Math.floor(random() * count);
}

function signal(pid: number, name: NodeJS.Signals): void {
  if (pid !== 0 && isAlive(pid)) process.kill(pid, name);
}

function nothing(): void {}

/** How long each lasts, and what is between two. */
const FAULT_MS = {least: 1_000, most: 12_000};
const CALM_MS_MAX = 4_000;

/** Injects faults one after another. @returns one line for each */
export async function faultsUntil(
  endMs: number,
  seed: number,
  cluster: SvcHosts,
  tenants: readonly string[],
): Promise<string[]> {
  const random = seededRandom(seed);
  const said: string[] = [];
  const names = Object.keys(FAULTS);
  const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, Math.min(ms, endMs - performance.now())));
  while (performance.now() < endMs) {
    await pause(random() * CALM_MS_MAX);
    if (performance.now() >= endMs) break;
    const name = names[Math.floor(random() * names.length)]!;
    const details: string[] = [];
    const beganMs = performance.now();
    const heal = await FAULTS[name]!({cluster, tenants, random, say: text => details.push(text)});
    await pause(FAULT_MS.least + random() ** 2 * (FAULT_MS.most - FAULT_MS.least));
    const healsMs = performance.now();
    await heal();
    const times = [beganMs, healsMs, performance.now()].map(ms => Math.round(ms));
    said.push(`${times[0]} to ${times[1]} (well at ${times[2]}) ms: ${name}: ${details.join(', ')}`);
  }
  return said;
}
