/**
 * The settings of `svc start` for a server that is one host of a cluster. `svc cluster init` writes most of them to a
 * file of variables for each host. All but `--cluster` are refused without it.
 */
import {InvalidArgumentError, Option} from 'commander';
import {
  CAPACITY_MAX,
  COPY_RATE_BYTES_DEFAULT,
  DRAIN_MS_DEFAULT,
  DRAIN_MS_MAX,
  LAG_MS_DEFAULT,
  LAG_MS_MAX,
  LAG_MS_MIN,
  LEASE_MS,
  LEASE_MS_MAX,
  LEASE_MS_MIN,
  STANDBYS_MAX,
} from '../cluster/limits.ts';
import {isClusterName} from '../cluster/log/subjects.ts';
import {isHostName} from '../cluster/members/member-record.ts';
import {REPLICAS_LEAST} from '../cluster/nats/stream-settings.ts';
import {isLoopback} from '../shared/loopback.ts';
import type {ClusterSettings, NatsAddress, SupervisorSettings} from '../supervisor/server/settings.ts';
import {hostFiles} from './cluster/host-files.ts';
import {duration, integer, path, size, yesOrNo} from './option-values.ts';

export const NATS_PORT = 4222;
export const NATS_MONITOR_PORT = 8222;

type Address = {host: string; port: number};

export type ClusterOptions = {
  /** URLs of the NATS servers. */
  cluster?: string[];
  clusterName?: string;
  hostName?: string;
  /** Absolute. */
  clusterFiles?: string;
  peerListen?: Address;
  peerAddress?: Address;
  ack: 'replicated' | 'local';
  /** Milliseconds. */
  replicationLagMax: number;
  standbys: number;
  /** Milliseconds. */
  lease: number;
  capacity: number;
  /** Bytes in a second; 0: no limit. */
  copyRate: number;
  /** Milliseconds. */
  drainTimeout: number;
  allowSingleLog: boolean;
  natsMonitor?: string[];
  natsPlain: boolean;
};

/** Those that have no meaning without `--cluster`, by the names of their flags. */
const ONLY_IN_CLUSTER: Record<Exclude<keyof ClusterOptions, 'cluster'>, string> = {
  clusterName: '--cluster-name',
  hostName: '--host-name',
  clusterFiles: '--cluster-files',
  peerListen: '--peer-listen',
  peerAddress: '--peer-address',
  ack: '--ack',
  replicationLagMax: '--replication-lag-max',
  standbys: '--standbys',
  lease: '--lease',
  capacity: '--capacity',
  copyRate: '--copy-rate',
  drainTimeout: '--drain-timeout',
  allowSingleLog: '--allow-single-log',
  natsMonitor: '--nats-monitor',
  natsPlain: '--nats-plain',
};

export function clusterOptions(): Option[] {
  return [
    new Option(
      '--cluster <urls>',
      'be one host of a cluster, on these NATS servers, as nats://10.0.0.1:4222,nats://10.0.0.2:4222,nats://10.0.0.3:4222',
    ).argParser(natsServers),
    new Option('--cluster-name <name>', 'name of the cluster, the same on all hosts').argParser(clusterName),
    new Option('--host-name <name>', 'name of this host in the cluster').argParser(hostName),
    new Option('--cluster-files <directory>', 'what svc cluster init made for this host').argParser(path),
    new Option('--peer-listen <address>', 'where routers of other hosts connect, as 10.0.0.1:4201').argParser(address),
    new Option(
      '--peer-address <address>',
      'how other hosts reach --peer-listen, if it is at another address for them',
    ).argParser(address),
    new Option('--ack <when>', 'a write is acknowledged when it is in the log of the cluster, or on this host alone')
      .choices(['replicated', 'local'])
      .default('replicated'),
    new Option(
      '--replication-lag-max <duration>',
      'with --ack local: how long acknowledged writes can be on this host alone; beyond, writes wait',
    )
      .argParser(between(LAG_MS_MIN, LAG_MS_MAX))
      .default(LAG_MS_DEFAULT, '5s'),
    new Option('--standbys <count>', 'hosts that keep a copy of each tenant, in addition to its owner')
      .argParser(integer(0, STANDBYS_MAX))
      .default(1),
    new Option('--lease <duration>', 'how long a silent host is waited for, the same on all hosts')
      .argParser(between(LEASE_MS_MIN, LEASE_MS_MAX))
      .default(LEASE_MS, '6s'),
    new Option('--capacity <number>', 'share of the tenants that this host gets, relative to other hosts')
      .argParser(capacity)
      .default(1),
    new Option('--copy-rate <size>', 'bytes a second for copies of whole tenants, as 16m; 0: no limit')
      .argParser(size)
      .default(COPY_RATE_BYTES_DEFAULT, '16m'),
    new Option('--drain-timeout <duration>', 'time to hand tenants to other hosts before the server stops')
      .argParser(between(0, DRAIN_MS_MAX))
      .default(DRAIN_MS_DEFAULT, '60s'),
    new Option('--allow-single-log [yes]', 'for development: one NATS server is enough')
      .preset('yes')
      .argParser(yesOrNo)
      .default(false),
    new Option(
      '--nats-monitor <urls>',
      `monitoring pages of the NATS servers, in the order of --cluster; otherwise port ${NATS_MONITOR_PORT} of each`,
    ).argParser(monitors),
    new Option('--nats-plain [yes]', 'for development: NATS servers on this machine, without TLS and users')
      .preset('yes')
      .argParser(yesOrNo)
      .default(false),
  ];
}

/** One sentence, or null: the settings fit together. @param isGiven by a flag or a variable */
export function clusterFault(options: ClusterOptions, isGiven: (name: string) => boolean): string | null {
  const {cluster: servers, natsMonitor, natsPlain, peerListen, peerAddress, allowSingleLog} = options;
  if (servers === undefined) {
    const given = Object.entries(ONLY_IN_CLUSTER).find(([name]) => isGiven(name) && isMeant(options, name));
    return given === undefined ? null : `${given[1]} needs --cluster, the NATS servers`;
  }
  for (const name of ['clusterName', 'hostName', 'clusterFiles', 'peerListen'] as const) {
    if (options[name] === undefined) return `--cluster needs ${ONLY_IN_CLUSTER[name]}`;
  }
  if (servers.length < (allowSingleLog ? 1 : REPLICAS_LEAST)) {
    return `--cluster names ${counted(servers.length)}, and a cluster needs ${REPLICAS_LEAST}: each can be lost then; --allow-single-log permits one for development`;
  }
  if (natsMonitor !== undefined && natsMonitor.length !== servers.length) {
    return `--nats-monitor has ${natsMonitor.length} pages, and --cluster ${counted(servers.length)}: give one for each`;
  }
  const remote = servers.find(server => !isLoopback(new URL(server).hostname));
  if (natsPlain && remote !== undefined) {
    return `--nats-plain is for servers on this machine, and ${remote} is not: other machines could read and change the log`;
  }
  if (peerAddress === undefined && isWildcard(peerListen!.host)) {
    return '--peer-listen is at all addresses of this machine: give --peer-address, at which other hosts reach it';
  }
  return null;
}

/** Null: this server is no host of a cluster. @param options without a `clusterFault` */
export function clusterSettings(options: ClusterOptions): Pick<SupervisorSettings, 'cluster'> {
  const {cluster: servers, clusterName: cluster, hostName: host, clusterFiles, peerListen: listen} = options;
  if (servers === undefined || cluster === undefined || host === undefined) return {cluster: null};
  if (clusterFiles === undefined || listen === undefined) return {cluster: null};
  const {nats, peer} = hostFiles(clusterFiles, options.natsPlain);
  const settings: ClusterSettings = {
    cluster,
    host,
    servers: natsAddresses(servers, options),
    nats,
    peers: {listen, address: textOf(options.peerAddress ?? listen), files: peer},
    ack: options.ack,
    lagMaxMs: options.replicationLagMax,
    standbys: options.standbys,
    leaseMs: options.lease,
    capacity: options.capacity,
    allowSingleLog: options.allowSingleLog,
    copyRateBytes: options.copyRate,
    drainTimeoutMs: options.drainTimeout,
  };
  return {cluster: settings};
}

export function natsAddresses(
  servers: readonly string[],
  options: Pick<ClusterOptions, 'natsMonitor' | 'natsPlain'>,
): NatsAddress[] {
  return servers.map((server, i) => ({server, monitor: options.natsMonitor?.[i] ?? monitorOf(server, options)}));
}

/** The page has the certificate of the server, so it is served over TLS if the server is. */
function monitorOf(server: NatsAddress['server'], {natsPlain}: Pick<ClusterOptions, 'natsPlain'>): string {
  return `${natsPlain ? 'http' : 'https'}://${new URL(server).hostname}:${NATS_MONITOR_PORT}`;
}

/** `SVC_NATS_PLAIN=0` says nothing. */
function isMeant(options: ClusterOptions, name: string): boolean {
  return options[name as keyof ClusterOptions] !== false;
}

function natsServers(text: string): string[] {
  const servers = text.split(',').map(server => natsServer(server.trim()));
  if (new Set(servers).size === servers.length) return servers;
  throw new InvalidArgumentError('It names one server twice.');
}

/** With its port, so that two spellings of a server are equal. */
function natsServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isServer = url !== null && ['nats:', 'tls:'].includes(url.protocol) && url.hostname !== '' && isBare(url);
  if (isServer) return `${url.protocol}//${url.hostname}:${url.port || NATS_PORT}`;
  throw new InvalidArgumentError('It must be a list of servers, as nats://10.0.0.1:4222,nats://10.0.0.2:4222.');
}

function monitors(text: string): string[] {
  return text.split(',').map(page => {
    const url = URL.canParse(page.trim()) ? new URL(page.trim()) : null;
    if (url !== null && ['http:', 'https:'].includes(url.protocol) && isBare(url)) return url.origin;
    throw new InvalidArgumentError('It must be a list of addresses, as https://10.0.0.1:8222,https://10.0.0.2:8222.');
  });
}

/** Credentials in a URL would be in command lines and logs. */
function isBare({username, password, pathname, search, hash}: URL): boolean {
  return `${username}${password}${search}${hash}` === '' && ['', '/'].includes(pathname);
}

function clusterName(text: string): string {
  if (isClusterName(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 32 lower-case letters, digits and hyphens, as prod.');
}

export function hostName(text: string): string {
  if (isHostName(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 32 lower-case letters, digits and hyphens, as a or web-1.');
}

function address(text: string): Address {
  const url = /^[^/?#@\s]+$/.test(text) && URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : null;
  // URL drops port 80, which is one that can be meant.
  const port = Number(/:(\d{1,5})$/.exec(text)?.[1] ?? 0);
  if (url !== null && port > 0 && port <= 65_535) return {host: url.hostname.replace(/^\[|\]$/g, ''), port};
  throw new InvalidArgumentError(
    'It must be an address and a port from 1 to 65535, as 10.0.0.1:4201 or [fd00::1]:4201.',
  );
}

function between(leastMs: number, mostMs: number): (text: string) => number {
  return text => {
    const valueMs = duration(text);
    if (valueMs >= leastMs && valueMs <= mostMs) return valueMs;
    throw new InvalidArgumentError(`It must be from ${leastMs / 1_000}s to ${mostMs / 1_000}s.`);
  };
}

function capacity(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= CAPACITY_MAX) return value;
  throw new InvalidArgumentError(`It must be a number above 0 and up to ${CAPACITY_MAX}, as 1 or 0.5.`);
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function textOf({host, port}: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function counted(servers: number): string {
  return servers === 1 ? '1 NATS server' : `${servers} NATS servers`;
}
