/**
 * `cluster.json` in the directory that `svc cluster init` makes: what the files of all hosts are made of. The directory also
 * has the key of the CA, and stays with the operator.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import Type, {type Static} from 'typebox';
import Value from 'typebox/value';
import {HOSTS_MAX} from '../../cluster/limits.ts';
import {isClusterName} from '../../cluster/log/subjects.ts';
import {isHostName} from '../../cluster/members/member-record.ts';
import {CommandFailure} from '../failure.ts';
import {writeWhole} from './private-files.ts';

const FORMAT = 1;
const CLUSTER_FILE = 'cluster.json';
/** A cluster has its NATS servers on its first hosts. An even number, or more of them, outlives no more losses for its cost. */
const NATS_SERVERS = 3;
const PORT_NAMES = ['nats', 'routes', 'monitor', 'peers'] as const;

const Port = Type.Integer({minimum: 1, maximum: 65_535});
const Ports = Type.Object({nats: Port, routes: Port, monitor: Port, peers: Port});
const Host = Type.Object({
  name: Type.Refine(Type.String(), isHostName),
  /** An address or a name, at which all other hosts reach it. */
  address: Type.String({minLength: 1}),
  ports: Ports,
  /** Public key of its NATS user. */
  user: Type.String({pattern: '^U[A-Z2-7]{55}$'}),
  hasNats: Type.Boolean(),
});
const ClusterFile = Type.Object({
  format: Type.Literal(FORMAT),
  name: Type.Refine(Type.String(), isClusterName),
  /** Where the files of a host are on it, and the log in its NATS server. `{host}` stands for its name. */
  filesAt: Type.String({minLength: 1}),
  storeAt: Type.String({minLength: 1}),
  logStorageBytes: Type.Integer({minimum: 1}),
  ports: Ports,
  /** The two admin credentials, equal on all hosts. */
  accessToken: Type.String(),
  adminToken: Type.String(),
  hosts: Type.Array(Host, {minItems: 1, maxItems: HOSTS_MAX}),
});

export type Ports = Static<typeof Ports>;
export type ClusterHost = Static<typeof Host>;
export type ClusterFile = Static<typeof ClusterFile>;
export type NamedAddress = {name: string; address: string};

export const DEFAULT_PORTS: Ports = {nats: 4222, routes: 6222, monitor: 8222, peers: 4201};

/** @throws CommandFailure */
export function readClusterFile(directory: string): ClusterFile {
  const path = join(directory, CLUSTER_FILE);
  let found: unknown;
  try {
    found = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const {code} = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'is not there: svc cluster init makes it' : 'cannot be read as JSON';
    throw new CommandFailure(`${path} ${reason}`, 1, {cause});
  }
  if (Value.Check(ClusterFile, found)) return found;
  throw new CommandFailure(`${path} is not of this version of svc, or is damaged`);
}

export function writeClusterFile(directory: string, cluster: Omit<ClusterFile, 'format'>): void {
  writeWhole(join(directory, CLUSTER_FILE), `${JSON.stringify({format: FORMAT, ...cluster}, null, 2)}\n`);
}

/** Hosts with one address are on one machine, so each further one has the next ports. */
export function portsOf(address: string, before: readonly {address: string}[], first: Ports): Ports {
  const offset = before.filter(host => host.address === address).length;
  return Object.fromEntries(PORT_NAMES.map(name => [name, first[name] + offset])) as Ports;
}

export function getsNats(hosts: readonly {hasNats: boolean}[]): boolean {
  return hosts.filter(({hasNats}) => hasNats).length < NATS_SERVERS;
}

/** @throws CommandFailure one sentence about hosts that make no cluster */
export function checkHosts(hosts: readonly NamedAddress[]): void {
  const twice = hosts.find(({name}, i) => hosts.findIndex(other => other.name === name) !== i);
  if (twice !== undefined) throw new CommandFailure(`two hosts have the name ${twice.name}`, 2);
  if (hosts.length > HOSTS_MAX) throw new CommandFailure(`a cluster has ${HOSTS_MAX} hosts at most`, 2);
  if (hosts.length === 1 || hosts.length >= NATS_SERVERS) return;
  throw new CommandFailure(
    `--host names ${hosts.length === 0 ? 'no host' : '2 hosts'}, and a cluster needs ${NATS_SERVERS}: each can be lost then. The third can run NATS alone. One is for development`,
    2,
  );
}

/** `a=10.0.0.1`. @throws CommandFailure */
export function namedAddress(text: string): NamedAddress {
  const [name = '', address = '', ...rest] = text.split('=');
  // Names are part of configurations, URLs and certificates.
  const isAddress = /^(?:[A-Za-z0-9._-]{1,253}|[0-9a-f:]{2,39})$/.test(address);
  if (isHostName(name) && isAddress && rest.length === 0) return {name, address};
  throw new CommandFailure(
    `the host ${JSON.stringify(text)} must be a name and its address, as a=10.0.0.1; the name has 1 to 32 lower-case letters, digits and hyphens`,
    2,
  );
}

/** `nats=4222,peers=4201`: those that are left out are the usual ones. @throws CommandFailure */
export function portsFrom(text: string): Ports {
  const ports = {...DEFAULT_PORTS};
  for (const part of text === '' ? [] : text.split(',')) {
    const [name, number = ''] = part.trim().split('=');
    const found = PORT_NAMES.find(one => one === name);
    if (found === undefined || !/^\d{1,5}$/.test(number) || !Value.Check(Port, Number(number))) {
      throw new CommandFailure(`--ports must be a list such as nats=4222,routes=6222,monitor=8222,peers=4201`, 2);
    }
    ports[found] = Number(number);
  }
  return ports;
}

/** As in a URL. */
export function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/** Of a template such as `/etc/svc/{host}`. */
export function pathOn(host: Pick<ClusterHost, 'name'>, template: string): string {
  return template.replaceAll('{host}', host.name);
}
