/** Three hosts of svc and three NATS servers on loopback, from what `svc cluster init` makes. */
import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Agent, fetch} from 'undici';
import {readClusterFile} from '../../cli/cluster/cluster-file.ts';
import type {ClusterStatus} from '../../shared/protocol/cluster.ts';
import {Member} from './member.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const NAMES = ['a', 'b', 'c'];
/** A host that answers takes a few milliseconds; one that is being waited for is shown as silent. */
const ANSWER_MS = 1_000;

/** Offsets from the first port. */
const PORTS = {page: 0, api: 1, nats: 10, routes: 20, monitor: 30, peers: 40};

export type Host = {
  readonly member: Member;
  readonly url: string;
  readonly token: string;
};
type Server = {readonly member: Member; readonly url: string; readonly monitor: string};

export type Shown = {
  hosts: {
    name: string;
    url: string;
    state: string;
    pid: number | null;
    output: string | null;
    /** As this host knows it; null: it does not answer, or not about a cluster. */
    cluster: ClusterStatus | null;
    fault: string | null;
  }[];
  servers: {name: string; state: string; pid: number | null; output: string | null; leads: boolean}[];
};

export class LocalCluster {
  readonly hosts: readonly Host[];
  readonly #servers: readonly Server[];
  readonly #agent: Agent;

  private constructor(hosts: Host[], servers: Server[], ca: string) {
    this.hosts = hosts;
    this.#servers = servers;
    this.#agent = new Agent({connect: {ca}});
    process.on('exit', () => {
      for (const {member} of [...this.hosts, ...this.#servers]) member.killNow();
    });
  }

  /**
   * @param directory empty, or that of an earlier run
   * @param firstPort of 50
   * @param argsOf further arguments of `svc start` on a host
   */
  static make(
    directory: string,
    firstPort: number,
    natsServer: string,
    argsOf: (host: string) => readonly string[] = () => [],
  ): LocalCluster {
    const files = join(directory, 'files');
    const port = (name: keyof typeof PORTS, i = 0) => firstPort + PORTS[name] + i;
    const env = {
      PATH: `${process.env.PATH}:/usr/local/bin:/usr/sbin`,
      HOME: process.env.HOME ?? '/',
      XDG_STATE_HOME: join(directory, 'state'),
    };
    mkdirSync(directory, {recursive: true});
    if (!hasFiles(files)) {
      const ports = (['nats', 'routes', 'monitor', 'peers'] as const).map(name => `${name}=${port(name)}`);
      execFileSync(
        process.execPath,
        [
          ...[CLI, 'cluster', 'init', files, '--name', 'demo', '--ports', ports.join(',')],
          ...NAMES.flatMap(name => ['--host', `${name}=127.0.0.1`]),
          ...[
            '--files-at',
            join(files, '{host}'),
            '--store-at',
            join(directory, 'log', '{host}'),
            '--log-storage',
            '1g',
          ],
        ],
        {env, stdio: ['ignore', 'ignore', 'inherit']},
      );
    }
    const {hosts, accessToken: token} = readClusterFile(files);
    const made = hosts.map(({name}, i) => ({
      member: new Member(
        `svc ${name}`,
        [
          ...[process.execPath, CLI, 'start', '--port', `${port('api', i)}`, '--data', join(directory, 'data', name)],
          ...['--spare-workers', '1', '--log-format', 'json', '--no-dashboard', ...argsOf(name)],
        ],
        {...env, ...variablesOf(join(files, name, 'svc.env'))},
      ),
      url: `http://127.0.0.1:${port('api', i)}`,
      token,
    }));
    const servers = hosts.map(({name, ports}) => ({
      member: new Member(`nats ${name}`, [natsServer, '-c', join(files, name, 'nats/nats-server.conf')], env),
      url: `nats://127.0.0.1:${ports.nats}`,
      monitor: `https://127.0.0.1:${ports.monitor}`,
    }));
    return new LocalCluster(made, servers, readFileSync(join(files, 'ca.pem'), 'utf8'));
  }

  get natsServers(): string[] {
    return this.#servers.map(({url}) => url);
  }

  member(name: string): Member | undefined {
    return [...this.hosts, ...this.#servers].find(({member}) => member.name === name)?.member;
  }

  /** Starts NATS, and the hosts when its servers have a leader. @throws Error: a process has ended */
  async start(): Promise<void> {
    await Promise.all(this.#servers.map(({member}) => member.start()));
    await this.#settled('the NATS servers elect a leader', async () => {
      const leaders = await Promise.all(this.#servers.map(server => this.#leaderOf(server)));
      return leaders.every(leader => leader !== null && leader === leaders[0]);
    });
    await Promise.all(this.hosts.map(({member}) => member.start()));
    await this.#settled('the hosts answer', async () => {
      const answers = await Promise.all(this.hosts.map(({url}) => this.#get(`${url}/health`).catch(() => null)));
      return answers.every(answer => answer !== null);
    });
  }

  async shown(): Promise<Shown> {
    const about = ({name, state, pid, output}: Member) => ({
      ...{name, state, pid},
      output: state === 'ended' ? output : null,
    });
    return {
      hosts: await Promise.all(
        this.hosts.map(async ({member, url, token}) => ({
          ...about(member),
          url,
          ...(await this.#statusOf(member, url, token)),
        })),
      ),
      servers: await Promise.all(
        this.#servers.map(async server => ({
          ...about(server.member),
          leads: (await this.#leaderOf(server)) === `demo-${server.member.name.slice('nats '.length)}`,
        })),
      ),
    };
  }

  /** Hosts first: they hand over and close what they have in the log. */
  async stop(): Promise<void> {
    await Promise.all(this.hosts.map(({member}) => member.act('stop')));
    await Promise.all(this.#servers.map(({member}) => member.act('stop')));
    await this.#agent.close();
  }

  async #statusOf(
    member: Member,
    url: string,
    token: string,
  ): Promise<{cluster: ClusterStatus | null; fault: string | null}> {
    if (member.pid === null) return {cluster: null, fault: null};
    try {
      const headers = {authorization: `Bearer ${token}`};
      return {cluster: (await this.#get(`${url}/api/cluster?limit=1000`, headers)) as ClusterStatus, fault: null};
    } catch (error) {
      return {cluster: null, fault: (error as Error).message};
    }
  }

  /** Null: the server does not answer, or knows of none. */
  async #leaderOf({member, monitor}: Server): Promise<string | null> {
    if (member.pid === null) return null;
    const page = (await this.#get(`${monitor}/jsz`).catch(() => null)) as {meta_cluster?: {leader?: string}} | null;
    return page?.meta_cluster?.leader ?? null;
  }

  /** @throws Error with the message of a refusal */
  async #get(url: string, headers: Record<string, string> = {}): Promise<unknown> {
    const response = await fetch(url, {headers, dispatcher: this.#agent, signal: AbortSignal.timeout(ANSWER_MS)});
    const body = await response.json();
    if (response.ok) return body;
    throw new Error((body as {error?: {message?: string}}).error?.message ?? `status ${response.status}`);
  }

  /** @throws Error if a process ends meanwhile */
  async #settled(what: string, isSo: () => Promise<boolean>): Promise<void> {
    while (!(await isSo())) {
      const ended = [...this.hosts, ...this.#servers].find(({member}) => member.state === 'ended')?.member;
      if (ended !== undefined) throw new Error(`${ended.name} ended before ${what}:\n${ended.output}`);
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }
}

function hasFiles(files: string): boolean {
  try {
    return readClusterFile(files).hosts.length === NAMES.length;
  } catch {
    return false;
  }
}

function variablesOf(path: string): Record<string, string> {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map(line => line.split(/=(.*)/).slice(0, 2)));
}
