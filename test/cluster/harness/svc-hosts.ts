/**
 * Real svc hosts on three real NATS servers, all on loopback. Every link of a host to a NATS server and to the peer port of
 * another host goes through a `TcpLink`, which can cut, stall and delay it.
 */
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {freePort} from '../../harness/free-port.ts';
import {MovableClock} from '../../harness/movable-clock.ts';
import {Service} from '../../harness/service.ts';
import {SmallDisk} from '../../harness/small-disk.ts';
import {until} from '../../harness/until.ts';
import {Authority} from './certificates.ts';
import {NatsServers} from './nats-servers.ts';
import {hasPort} from './port-owner.ts';
import {type Chosen, TcpLink} from './tcp-link.ts';

/** All hosts have the same credentials, as operators give them. */
export const TOKENS = {
  SVC_ACCESS_TOKEN: 'test-access-token-of-a-cluster',
  SVC_ADMIN_TOKEN: 'test-admin-token-of-a-cluster',
};
const NAMES = ['a', 'b', 'c', 'd', 'e'];

export type SvcHostsOptions = {
  /** 0: the test adds them. */
  readonly hosts?: number;
  readonly natsServers?: number;
  /** Lines of their section `jetstream`. */
  readonly jetstream?: string;
  /** Further arguments of `svc start`. */
  readonly args?: readonly string[];
  readonly spares?: number;
  /** Another build than the one beside the tests. */
  readonly dist?: string | undefined;
  /** Each host has a disk that can be full, where root may mount one, and a clock that can be set. */
  readonly hasOwnMachines?: boolean;
};

/** What a host of a test has for itself. */
type Machine = {readonly disk: SmallDisk | null; readonly clock: MovableClock};
const DISK_MEBIBYTES = 256;
/** The processes that decide by the time of the day, or show it. */
const CLOCKED = ['cli.js', 'cluster.js', 'router.js', 'worker.js'];

export class SvcHost {
  readonly name: string;
  readonly service: Service;
  /** From this host to each NATS server. */
  readonly natsLinks: readonly TcpLink[];
  /** In front of its peer port: all other hosts reach it through this one. */
  readonly peerLink: TcpLink;
  readonly machine: Machine | null;

  constructor(parts: Pick<SvcHost, 'name' | 'service' | 'natsLinks' | 'peerLink' | 'machine'>) {
    this.name = parts.name;
    this.service = parts.service;
    this.natsLinks = parts.natsLinks;
    this.peerLink = parts.peerLink;
    this.machine = parts.machine;
  }

  /** Its connections, on a peer link of another host. */
  get own(): Chosen {
    return port => hasPort(this.service.children('router'), port);
  }

  /** The cluster process, or one of the routers. */
  pidOf(entry: 'cluster' | 'router'): number {
    return this.service.children(entry)[0]!;
  }
}

export class SvcHosts {
  readonly nats: NatsServers;
  readonly hosts: SvcHost[] = [];
  readonly #directory = mkdtempSync(join(tmpdir(), 'svc-hosts-'));
  readonly #authority = new Authority('test cluster');
  readonly #options: SvcHostsOptions;
  readonly #links: TcpLink[] = [];
  readonly #machines: Machine[] = [];

  private constructor(nats: NatsServers, options: SvcHostsOptions) {
    this.nats = nats;
    this.#options = options;
  }

  static async start(options: SvcHostsOptions = {}): Promise<SvcHosts> {
    const nats = await NatsServers.start({
      count: options.natsServers ?? 3,
      ...(options.jetstream === undefined ? {} : {jetstream: options.jetstream}),
    });
    const found = new SvcHosts(nats, options);
    try {
      // The first one makes the streams.
      for (let i = 0; i < (options.hosts ?? 3); i++) await found.add();
    } catch (error) {
      await found.stop();
      throw error;
    }
    return found;
  }

  /** For commands that work on the log, as svc.env of a host. */
  get logEnvironment(): Record<string, string> {
    return {
      SVC_CLUSTER: this.nats.addresses.map(({server}) => server).join(','),
      SVC_NATS_MONITOR: this.nats.addresses.map(({monitor}) => monitor).join(','),
      SVC_CLUSTER_NAME: 'test',
      SVC_CLUSTER_FILES: this.#directory,
      SVC_NATS_PLAIN: '1',
      ...((this.#options.natsServers ?? 3) < 3 ? {SVC_ALLOW_SINGLE_LOG: '1'} : {}),
    };
  }

  /** A further host joins. @param data its directory, which the test removes; default: a new one. @param dist its build */
  async add(data?: string, dist = this.#options.dist): Promise<SvcHost> {
    const name = NAMES[this.hosts.length]!;
    const peerPort = await freePort();
    const peerLink = await TcpLink.to(peerPort);
    const natsLinks = await Promise.all(
      this.nats.addresses.map(({server}) => TcpLink.to(Number(new URL(server).port))),
    );
    this.#links.push(peerLink, ...natsLinks);
    const machine = this.#options.hasOwnMachines === true ? this.#machine() : null;
    const its = machine?.clock.dist ?? dist;
    const service = await Service.start({
      spares: this.#options.spares ?? 0,
      ...(its === undefined ? {} : {dist: its}),
      ...(machine?.disk ? {data: join(machine.disk.path, 'data')} : {}),
      ...(data === undefined ? {} : {data}),
      env: TOKENS,
      args: [
        ...['--cluster', natsLinks.map(({port}) => `nats://127.0.0.1:${port}`).join(',')],
        ...['--nats-monitor', this.nats.addresses.map(({monitor}) => monitor).join(',')],
        ...['--cluster-name', 'test', '--host-name', name, '--cluster-files', this.#files(name), '--nats-plain'],
        ...['--peer-listen', `127.0.0.1:${peerPort}`, '--peer-address', `127.0.0.1:${peerLink.port}`],
        ...((this.#options.natsServers ?? 3) < 3 ? ['--allow-single-log'] : []),
        ...(this.#options.args ?? []),
      ],
    });
    const host = new SvcHost({name, service, natsLinks, peerLink, machine});
    this.hosts.push(host);
    return host;
  }

  /** Resolves when every host serves the tenant to its clients. */
  async tenant(id: string, by: SvcHost = this.hosts[0]!): Promise<string> {
    const {status, text} = await by.service.post('/api/tenants', {id});
    if (status !== 201) throw new Error(`creating ${id}: ${status} ${text}`);
    await this.known(id);
    return id;
  }

  /** Resolves when every running host knows the tenant. */
  async known(id: string, hosts: readonly SvcHost[] = this.hosts): Promise<void> {
    for (const {name, service} of hosts) {
      await until(`host ${name} to know ${id}`, async () => {
        const {tenants} = (await service.get('/api/tenants')).body as {tenants: string[]};
        return tenants.includes(id);
      });
    }
  }

  /** The host that owns the tenant, as the host that is asked knows it. */
  async ownerOf(tenant: string, by: SvcHost = this.hosts[0]!): Promise<SvcHost> {
    const {tenants} = (await by.service.get('/api/cluster')).body as {tenants: {tenant: string; owner: string}[]};
    const {owner} = tenants.find(one => one.tenant === tenant)!;
    return this.hosts.find(({name}) => name === owner)!;
  }

  async stop(): Promise<void> {
    await Promise.all(this.hosts.map(({service}) => service.stop()));
    await Promise.all(this.#links.map(link => link.close()));
    await this.nats.stop();
    for (const {disk, clock} of this.#machines) {
      disk?.remove();
      clock.remove();
    }
    rmSync(this.#directory, {recursive: true, force: true});
  }

  #machine(): Machine {
    const disk = new SmallDisk(DISK_MEBIBYTES);
    if (!disk.isMounted) disk.remove();
    const machine = {disk: disk.isMounted ? disk : null, clock: new MovableClock(CLOCKED, this.#options.dist)};
    this.#machines.push(machine);
    return machine;
  }

  /** What `svc cluster init` makes for a host. */
  #files(name: string): string {
    const directory = join(this.#directory, name);
    mkdirSync(directory, {mode: 0o700});
    const {certificate, key} = this.#authority.issue(name, [name, '127.0.0.1']);
    const files = {'ca.pem': this.#authority.certificate, 'host.pem': certificate, 'host.key': key};
    for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text, {mode: 0o600});
    return directory;
  }
}
