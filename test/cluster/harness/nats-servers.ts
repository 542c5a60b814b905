/**
 * Three real NATS servers on loopback. Every link goes through a `TcpLink`: from each server to each other one, and from
 * each host to each server. Servers advertise a port at which no server is, or they would go around a link that is cut.
 * SVC_TEST_NATS_SERVER names another binary than the one on the path.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {cpSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Agent, fetch} from 'undici';
import {COPIES_LOOKS} from '../../../cluster/limits.ts';
import type {StreamName} from '../../../cluster/log/log-engine.ts';
import {MONOTONIC_CLOCK} from '../../../cluster/members/clock.ts';
import {connectToAny} from '../../../cluster/nats/connection.ts';
import {type Credentials, NO_CREDENTIALS} from '../../../cluster/nats/credentials.ts';
import {MonitorPages} from '../../../cluster/nats/monitor-pages.ts';
import {NatsEngine} from '../../../cluster/nats/nats-engine.ts';
import {ServerSpace} from '../../../cluster/nats/server-space.ts';
import type {NatsServerAddress} from '../../../cluster/nats/start-check.ts';
import {StreamCopies} from '../../../cluster/nats/stream-copies.ts';
import {streamNameOf, streamPrefixOf, streamSettings} from '../../../cluster/nats/stream-settings.ts';
import {freePort} from '../../harness/free-port.ts';
import {until} from '../../harness/until.ts';
import {SUBJECTS} from './rig.ts';
import {TcpLink} from './tcp-link.ts';

const BINARY = process.env.SVC_TEST_NATS_SERVER ?? 'nats-server';
const OUTPUT_KEPT = 100;
/** A stream of another program. */
const FILLER = 'filler';
const FILLER_BYTES = 512 * 1024;
const ELECTION = 'the servers to elect a leader';
type MetaCluster = {meta_cluster?: {replicas?: {current: boolean}[]}};
/** Of JetStream's API: these take no configuration. */
const BARE_VERBS = ['STREAM.DELETE', 'STREAM.LEADER.STEPDOWN'];

type Led = {cluster?: {leader?: string}};
/** Of one copy of a stream. */
type StreamState = {messages: number; bytes: number; first_seq: number; last_seq: number; num_subjects?: number};
type StreamDetail = Led & {
  name: string;
  config: {max_bytes: number};
  state: StreamState;
  consumer_detail?: Led[];
};

export class NatsServer {
  readonly name: string;
  readonly monitor: string;
  readonly #config: string;
  /** Of the monitoring page, if it is served over TLS. */
  readonly #ca: string | undefined;
  #process: ChildProcess | null = null;
  readonly #output: string[] = [];

  constructor(name: string, monitor: string, config: string, ca?: string) {
    this.name = name;
    this.monitor = monitor;
    this.#config = config;
    this.#ca = ca;
  }

  async start(): Promise<void> {
    const child = spawn(BINARY, ['-c', this.#config], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {...process.env, PATH: `${process.env.PATH}:/usr/local/bin:/usr/sbin`},
    });
    this.#process = child;
    child.stderr!.on('data', (bytes: Buffer) => {
      this.#output.push(bytes.toString());
      this.#output.splice(0, this.#output.length - OUTPUT_KEPT);
    });
    let failure: Error | null = null;
    child.on('error', error => {
      failure = error;
    });
    await until(`${this.name} to answer`, async () => {
      if (failure !== null)
        throw new Error(`${BINARY} cannot be started; .ci/nats-server installs it`, {cause: failure});
      if (child.exitCode !== null) throw new Error(`${this.name} ended: ${this.output}`);
      return (await this.page('varz').catch(() => null)) !== null;
    });
  }

  get output(): string {
    return this.#output.join('');
  }

  async page(path: string): Promise<unknown> {
    const dispatcher = new Agent(this.#ca === undefined ? {} : {connect: {ca: this.#ca}});
    try {
      const response = await fetch(`${this.monitor}/${path}`, {signal: AbortSignal.timeout(2_000), dispatcher});
      return await response.json();
    } finally {
      await dispatcher.close();
    }
  }

  /** Reads its configuration again. */
  reload(): void {
    this.#process!.kill('SIGHUP');
  }

  /** kill -9. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  freeze(): void {
    this.#process!.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process!.kill('SIGCONT');
  }
}

type Options = {
  count?: number;
  /** Lines of the section `jetstream`. Null: there is none, and tests can answer for it. */
  jetstream?: string | null;
  /** Directories of the stores. Default: below `directory`. */
  stores?: readonly string[];
  /** Further sections. */
  sections?: string;
  /** Of an operator, and of hosts that come with none of their own. */
  credentials?: Credentials;
};

export class NatsServers {
  readonly directory: string;
  readonly servers: readonly NatsServer[];
  /** Of server i to server j. */
  readonly #routes: TcpLink[][];
  readonly #clientPorts: readonly number[];
  readonly #credentials: Credentials;
  readonly #closing: (() => Promise<void>)[] = [];
  #hosts = 0;

  private constructor(
    directory: string,
    servers: NatsServer[],
    routes: TcpLink[][],
    {clientPorts, credentials}: {clientPorts: readonly number[]; credentials: Credentials},
  ) {
    this.directory = directory;
    this.#credentials = credentials;
    this.servers = servers;
    this.#routes = routes;
    this.#clientPorts = clientPorts;
  }

  /**
   * Others are started if new servers elect no leader for half a minute, which happens on a busy machine, or if another
   * process has taken one of their ports meanwhile.
   */
  static async start(options: Options = {}): Promise<NatsServers> {
    try {
      return await NatsServers.#start(options);
    } catch (error) {
      const {message} = error as Error;
      if (!message.endsWith(ELECTION) && !message.includes('address already in use')) throw error;
      return await NatsServers.#start(options);
    }
  }

  static async #start(options: Options): Promise<NatsServers> {
    const {
      count = 3,
      jetstream = 'sync_interval: always',
      sections = '',
      stores,
      credentials = NO_CREDENTIALS,
    } = options;
    const directory = mkdtempSync(join(tmpdir(), 'svc-nats-'));
    const ports = async () => Promise.all(Array.from({length: count}, freePort));
    const [clients, routes, monitors] = [await ports(), await ports(), await ports()];
    const links = await Promise.all(routes.map(() => Promise.all(routes.map(port => TcpLink.to(port)))));
    const nowhere = await TcpLink.to(1);
    nowhere.cut();
    const servers = monitors.map((monitor, i) => {
      const config = join(directory, `n${i + 1}.conf`);
      const others = links[i]!.filter((_, j) => j !== i).map(link => `nats://127.0.0.1:${link.port}`);
      const cluster = `cluster {
        name: test, listen: "127.0.0.1:${routes[i]}", advertise: "127.0.0.1:${nowhere.port}", no_advertise: true
        routes: ${JSON.stringify(others)}, connect_retries: 0
      }`;
      writeFileSync(
        config,
        `server_name: n${i + 1}
         listen: "127.0.0.1:${clients[i]}"
         http: "127.0.0.1:${monitor}"
         ${jetstream === null ? '' : `jetstream { store_dir: "${stores?.[i] ?? join(directory, `n${i + 1}`)}", ${jetstream} }`}
         ${count > 1 ? cluster : ''}
         ${sections}`,
      );
      return new NatsServer(`n${i + 1}`, `http://127.0.0.1:${monitor}`, config);
    });
    const found = new NatsServers(directory, servers, links, {clientPorts: clients, credentials});
    found.#closing.push(() => nowhere.close());
    process.once('exit', found.#onExit);
    try {
      await Promise.all(servers.map(server => server.start()));
      await found.elected();
    } catch (error) {
      await found.stop();
      throw error;
    }
    return found;
  }

  /** All of them run. Resolves when their leader has all others beside it: before, a stream finds too few servers. */
  async elected(): Promise<void> {
    const others = this.servers.length - 1;
    await until(ELECTION, async () => {
      const pages = await Promise.all(this.servers.map(server => server.page('jsz') as Promise<MetaCluster>));
      // Only the leader's page has them.
      const followers = pages.map(page => (page.meta_cluster?.replicas ?? []).filter(({current}) => current));
      return others === 0 || followers.some(({length}) => length === others);
    });
  }

  readonly #onExit = () => {
    for (const server of this.servers) void server.kill();
  };

  /** Another host, with links of its own. */
  async host(): Promise<{engine: NatsEngine; links: readonly TcpLink[]}> {
    const links = await Promise.all(this.#clientPorts.map(port => TcpLink.to(port)));
    const servers = links.map(link => `nats://127.0.0.1:${link.port}`);
    const name = `host ${++this.#hosts}`;
    const engine = await NatsEngine.connect(SUBJECTS, {servers, name, credentials: this.#credentials});
    this.#closing.push(async () => {
      await engine.close();
      await Promise.all(links.map(link => link.close()));
    });
    return {engine, links};
  }

  /** Copies the stores of servers that are stopped. */
  saveStores(servers = this.servers): void {
    for (const {name} of servers)
      cpSync(join(this.directory, name), join(this.directory, `${name}.saved`), {recursive: true});
  }

  /** Their stores are as they were when they were saved. */
  rollBack(servers: readonly NatsServer[]): void {
    for (const {name} of servers) {
      rmSync(join(this.directory, name), {recursive: true});
      cpSync(join(this.directory, `${name}.saved`), join(this.directory, name), {recursive: true});
    }
  }

  /** As `svc start` is given them. */
  get addresses(): NatsServerAddress[] {
    return this.servers.map(({monitor}, i) => ({server: `nats://127.0.0.1:${this.#clientPorts[i]}`, monitor}));
  }

  /** The links of two servers with each other: whichever of them connects. */
  between(a: NatsServer, b: NatsServer): readonly TcpLink[] {
    const [i, j] = [this.servers.indexOf(a), this.servers.indexOf(b)];
    return [this.#routes[i]![j]!, this.#routes[j]![i]!];
  }

  /** The server that leads a stream, according to the others too. */
  async leaderOf(stream: StreamName, asked = this.servers): Promise<NatsServer> {
    return until('a leader of the stream', async () => {
      const leaders = await Promise.all(
        asked.map(async server => (await this.#detail(server, stream).catch(() => null))?.cluster?.leader),
      );
      const [name] = leaders;
      if (leaders.some(leader => leader !== name)) return null;
      return this.servers.find(server => server.name === name);
    });
  }

  /** The servers that have consumers of a stream, one for each consumer. */
  async consumersOf(stream: StreamName): Promise<NatsServer[]> {
    const found = await Promise.all(this.servers.map(server => this.#detail(server, stream).catch(() => undefined)));
    const names = found.flatMap((detail, i) =>
      (detail?.consumer_detail ?? []).flatMap(({cluster}) =>
        cluster?.leader === this.servers[i]!.name ? [cluster.leader] : [],
      ),
    );
    return names.map(name => this.servers.find(server => server.name === name)!);
  }

  /** @param server whose copy it is; default: that of the leader */
  async bytesOf(stream: StreamName, server?: NatsServer): Promise<number> {
    return (await this.#detail(server ?? (await this.leaderOf(stream)), stream))!.state.bytes;
  }

  /** As an operator does. @param verb of JetStream's API, such as `STREAM.UPDATE` */
  async configure(verb: string, config: {name: string; [setting: string]: unknown}): Promise<void> {
    const servers = this.addresses.map(({server}) => server);
    const connection = await connectToAny({servers, name: 'operator', credentials: this.#credentials});
    try {
      const answer = await connection.request(
        `$JS.API.${verb}.${config.name}`,
        BARE_VERBS.includes(verb) ? '' : JSON.stringify(config),
      );
      const {error} = answer.json<{error?: {description: string}}>();
      if (error !== undefined) throw new Error(error.description);
    } finally {
      await connection.close();
    }
  }

  /**
   * Limits a stream, which svc refuses at a start. Nothing may be written until it returns: a copy that does not have the limit
   * yet would store other records than the others.
   */
  async limit(stream: StreamName, bytesMax: number): Promise<void> {
    const settings = streamSettings(SUBJECTS, stream, this.servers.length);
    await this.configure('STREAM.UPDATE', {...settings, max_bytes: bytesMax});
    await until('all copies to have the limit', async () => {
      const copies = await Promise.all(this.servers.map(server => this.#detail(server, stream)));
      return copies.every(copy => copy?.config.max_bytes === bytesMax);
    });
  }

  /** Another program stores so much on one server that svc has none left. They need a small `max_file_store`. */
  async fill(): Promise<void> {
    const servers = this.addresses.map(({server}) => server);
    const connection = await connectToAny({servers, name: 'another program', credentials: this.#credentials});
    const pages = new MonitorPages(this.servers.map(({monitor}) => monitor));
    const space = new ServerSpace(pages);
    try {
      await this.configure('STREAM.CREATE', {name: FILLER, subjects: [FILLER], storage: 'file', num_replicas: 1});
      for (await space.read(); space.freeBytes !== 0; await space.read()) {
        await connection.request(FILLER, Buffer.alloc(FILLER_BYTES));
      }
    } finally {
      await pages.close();
      await connection.close();
    }
  }

  /** Ends `fill`. */
  async makeSpace(): Promise<void> {
    await this.configure('STREAM.DELETE', {name: FILLER}).catch((error: Error) => {
      if (error.message !== 'stream not found') throw error;
    });
  }

  async stop(): Promise<void> {
    process.off('exit', this.#onExit);
    for (const close of this.#closing) await close();
    await Promise.all(this.servers.map(server => server.kill()));
    await Promise.all(this.#routes.flat().map(link => link.close()));
    rmSync(this.directory, {recursive: true, force: true});
  }

  /**
   * Waits until the copies of each stream on all servers are equal, as far as their pages say. Nothing may be written meanwhile.
   * @returns one sentence for each copy that stays another one than that of its leader, or does not follow it
   */
  async differentCopies(): Promise<string[]> {
    let found: string[] = [];
    await until('equal copies', async () => {
      const pages = await Promise.all(this.servers.map(server => this.#details(server)));
      const names = new Set(pages.flat().map(({name}) => name));
      found = [...names].flatMap(name => {
        const copies = pages.map(page => stateOf(page.find(detail => detail.name === name)));
        return new Set(copies).size === 1 ? [] : [`the copies of ${name} are ${copies.join(' and ')}`];
      });
      return found.length === 0;
    }).catch(() => undefined);
    if (found.length === 0) return [];
    const pages = new MonitorPages(this.servers.map(({monitor}) => monitor));
    const said: string[] = [];
    const report = (sentence: string) => said.push(sentence);
    const copies = new StreamCopies({pages, prefix: streamPrefixOf(SUBJECTS), clock: MONOTONIC_CLOCK, report});
    for (let look = 0; look < COPIES_LOOKS; look++) await copies.look();
    await pages.close();
    return said.length === 0 ? found : said;
  }

  async #detail(server: NatsServer, stream: StreamName): Promise<StreamDetail | undefined> {
    const name = streamNameOf(SUBJECTS, stream);
    return (await this.#details(server)).find(found => found.name === name);
  }

  async #details(server: NatsServer): Promise<StreamDetail[]> {
    const page = (await server.page('jsz?consumers=true&config=true')) as {
      account_details?: {stream_detail?: StreamDetail[]}[];
    };
    return page.account_details?.flatMap(account => account.stream_detail ?? []) ?? [];
  }
}

function stateOf(detail: StreamDetail | undefined): string {
  if (detail === undefined) return 'none';
  const {messages, bytes, first_seq: first, last_seq: last, num_subjects: subjects} = detail.state;
  return `${messages} messages of ${subjects ?? 0} subjects, ${bytes} bytes, ${first} to ${last}`;
}
