/**
 * Makes the directories of hosts: certificates, users of NATS and configurations. This module loads what makes
 * certificates, so verbs import it when they run.
 */
import {randomBytes} from 'node:crypto';
import {existsSync, mkdtempSync, readFileSync, renameSync, rmdirSync, rmSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {nkeys} from '@nats-io/transport-node';
import {ACCESS_TOKEN_PREFIX, ADMIN_TOKEN_PREFIX} from '../../shared/own-credential.ts';
import {CommandFailure} from '../failure.ts';
import {Authority, endOf} from './certificates.ts';
import {
  type ClusterFile,
  type ClusterHost,
  checkHosts,
  getsNats,
  type NamedAddress,
  type Ports,
  portsOf,
  readClusterFile,
  writeClusterFile,
} from './cluster-file.ts';
import {hostEnvironment} from './host-environment.ts';
import {HOST_FILES, NATS_FILES} from './host-files.ts';
import {natsConfig} from './nats-config.ts';
import {makeDirectory, writeWhole} from './private-files.ts';

const CA_KEY = 'ca.key';
const TOKEN_BYTES = 32;

export type NewCluster = {
  name: string;
  hosts: readonly NamedAddress[];
  ports: Ports;
  filesAt: string;
  storeAt: string;
  logStorageBytes: number;
};

/** The directory is there with all that belongs into it, or not at all. @throws CommandFailure */
export function initCluster(directory: string, {hosts, ports, ...rest}: NewCluster): ClusterFile {
  checkHosts(hosts);
  const parent = dirname(directory);
  if (existsSync(directory) && !isEmptied(directory)) {
    throw new CommandFailure(`${directory} is there already: svc cluster add-host adds a host to it`);
  }
  const partial = partialIn(parent, basename(directory));
  try {
    const {authority, key} = Authority.make(rest.name);
    writeWhole(join(partial, CA_KEY), key);
    writeWhole(join(partial, HOST_FILES.ca), authority.certificate);
    const members: ClusterHost[] = [];
    for (const {name, address} of hosts) {
      const user = makeUser(join(partial, name));
      members.push({name, address, ports: portsOf(address, members, ports), user, hasNats: getsNats(members)});
    }
    const cluster: ClusterFile = {
      format: 1,
      ...rest,
      ports,
      accessToken: token(ACCESS_TOKEN_PREFIX),
      adminToken: token(ADMIN_TOKEN_PREFIX),
      hosts: members,
    };
    for (const host of members) issue(partial, host, authority);
    writeConfigurations(partial, cluster);
    writeClusterFile(partial, cluster);
    renameSync(partial, directory);
    return cluster;
  } catch (caught) {
    rmSync(partial, {recursive: true, force: true});
    throw caught;
  }
}

/** It runs no NATS server if there are three. @throws CommandFailure */
export function addHost(directory: string, {name, address}: NamedAddress): {cluster: ClusterFile; host: ClusterHost} {
  const before = readClusterFile(directory);
  if (before.hosts.some(host => host.name === name)) throw new CommandFailure(`two hosts have the name ${name}`, 2);
  if (before.hosts.length === 1) {
    throw new CommandFailure(
      'this cluster has one NATS server, and its streams one copy: more hosts need a cluster that svc cluster init made with three',
    );
  }
  const authority = authorityOf(directory);
  const user = makeUser(join(directory, name));
  const ports = portsOf(address, before.hosts, before.ports);
  const host = {name, address, ports, user, hasNats: false};
  const cluster = {...before, hosts: [...before.hosts, host]};
  checkHosts(cluster.hosts);
  issue(directory, host, authority);
  writeConfigurations(directory, cluster);
  // Last: until then, the command can be repeated.
  writeClusterFile(directory, cluster);
  return {cluster, host};
}

/** New keys and certificates. @param names of hosts; empty: all. @throws CommandFailure */
export function renewHosts(directory: string, names: readonly string[]): {name: string; endsMs: number}[] {
  const {hosts} = readClusterFile(directory);
  const unknown = names.find(name => hosts.every(host => host.name !== name));
  if (unknown !== undefined) {
    throw new CommandFailure(`the cluster has no host ${unknown}; it has ${hosts.map(({name}) => name).join(', ')}`, 2);
  }
  const authority = authorityOf(directory);
  return hosts
    .filter(({name}) => names.length === 0 || names.includes(name))
    .map(host => ({name: host.name, endsMs: issue(directory, host, authority)}));
}

/** @throws CommandFailure */
function authorityOf(directory: string): Authority {
  try {
    const [certificate, key] = [HOST_FILES.ca, CA_KEY].map(name => readFileSync(join(directory, name), 'utf8'));
    return Authority.from({certificate: certificate!, key: key!});
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    throw new CommandFailure(`the CA of the cluster cannot be read: ${(cause as Error).message}`, 1, {cause});
  }
}

/** A seed that is there stays. @returns the public key */
function makeUser(directory: string): string {
  // Another user, that of NATS, passes through it to its own directory.
  makeDirectory(directory, 0o711);
  const path = join(directory, HOST_FILES.seed);
  if (existsSync(path)) return nkeys.fromSeed(readFileSync(path)).getPublicKey();
  const user = nkeys.createUser();
  writeWhole(path, Buffer.from(user.getSeed()).toString());
  return user.getPublicKey();
}

/** @returns when its certificates end, in epoch milliseconds */
function issue(directory: string, {name, address, hasNats}: ClusterHost, authority: Authority): number {
  const at = (file: string) => join(directory, name, file);
  const own = authority.issue([name, address]);
  writeWhole(at(HOST_FILES.ca), authority.certificate);
  writeWhole(at(HOST_FILES.certificate), own.certificate);
  writeWhole(at(HOST_FILES.key), own.key);
  if (hasNats) {
    makeDirectory(at('nats'));
    const server = authority.issue([name, address]);
    writeWhole(at(NATS_FILES.ca), authority.certificate);
    writeWhole(at(NATS_FILES.certificate), server.certificate);
    writeWhole(at(NATS_FILES.key), server.key);
  }
  return endOf(own.certificate);
}

function writeConfigurations(directory: string, cluster: ClusterFile): void {
  for (const host of cluster.hosts) {
    writeWhole(join(directory, host.name, HOST_FILES.environment), hostEnvironment(cluster, host));
    if (host.hasNats) writeWhole(join(directory, host.name, NATS_FILES.configuration), natsConfig(cluster, host));
  }
}

function token(prefix: string): string {
  return `${prefix}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

/** An empty directory is replaced. */
function isEmptied(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch {
    return false;
  }
}

/** @throws CommandFailure */
function partialIn(parent: string, name: string): string {
  try {
    return mkdtempSync(join(parent, `.${name}-`));
  } catch (cause) {
    throw new CommandFailure(`${parent} cannot be written: ${(cause as Error).message}`, 1, {cause});
  }
}
