/** What `svc cluster init` makes, on three NATS servers that run with it: nothing else was set up. */
import {X509Certificate} from 'node:crypto';
import {mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Command} from 'commander';
import {afterAll, beforeAll, describe, expect, test, vi} from 'vitest';
import {Authority} from '../../cli/cluster/certificates.ts';
import {DEFAULT_PORTS, namedAddress} from '../../cli/cluster/cluster-file.ts';
import {addHost, initCluster, renewHosts} from '../../cli/cluster/make-hosts.ts';
import {clusterSettings} from '../../cli/cluster-settings.ts';
import {addStartOptions, type StartOptions} from '../../cli/config.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {readCredentials} from '../../cluster/nats/credentials.ts';
import {startOnNats} from '../../cluster/nats/start-check.ts';
import {encodeTenant, tenantKey} from '../../cluster/ownership/tenant-record.ts';
import type {ClusterSettings} from '../../supervisor/server/settings.ts';
import {svc} from '../harness/command.ts';
import {freePorts} from '../harness/free-port.ts';
import {until} from '../harness/until.ts';
import {NatsServer} from './harness/nats-servers.ts';
import {opened} from './harness/rig.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-cluster-init-'));
const HOSTS = ['a', 'b', 'c'].map(name => ({name, address: '127.0.0.1'}));

function newCluster(directory: string, hosts = HOSTS, ports = DEFAULT_PORTS) {
  const [filesAt, storeAt] = [join(directory, '{host}'), join(scratch, 'store-{host}')];
  return initCluster(directory, {name: 'prod', hosts, ports, filesAt, storeAt, logStorageBytes: 1024 ** 3});
}

function variablesOf(directory: string, host: string): Record<string, string> {
  const lines = readFileSync(join(directory, host, 'svc.env'), 'utf8')
    .trim()
    .split('\n');
  return Object.fromEntries(lines.map(line => line.split(/=(.*)/).slice(0, 2)));
}

/** As `svc start` would read svc.env. */
function settingsOf(directory: string, host: string): ClusterSettings {
  for (const [name, value] of Object.entries(variablesOf(directory, host))) vi.stubEnv(name, value);
  const command = addStartOptions(new Command('start')).exitOverride();
  command.action(() => undefined).parse([], {from: 'user'});
  vi.unstubAllEnvs();
  return clusterSettings(command.opts<StartOptions>()).cluster!;
}

async function started({cluster, host, servers, nats}: ClusterSettings) {
  const files = Object.fromEntries(Object.entries(nats).map(([name, path]) => [name, path!]));
  return startOnNats({cluster, name: host, servers, credentials: readCredentials(files)});
}

afterAll(() => {
  rmSync(scratch, {recursive: true, force: true});
});

describe('on three servers', () => {
  const directory = join(scratch, 'prod');
  const servers: NatsServer[] = [];

  beforeAll(async () => {
    const [nats, routes, monitor, peers] = [
      await freePorts(4),
      await freePorts(4),
      await freePorts(4),
      await freePorts(4),
    ];
    const {hosts} = newCluster(directory, HOSTS, {nats, routes, monitor, peers});
    const ca = readFileSync(join(directory, 'ca.pem'), 'utf8');
    for (const {name, ports} of hosts) {
      const config = join(directory, name, 'nats/nats-server.conf');
      servers.push(new NatsServer(`prod-${name}`, `https://127.0.0.1:${ports.monitor}`, config, ca));
    }
    await Promise.all(servers.map(server => server.start()));
  });
  afterAll(async () => {
    await Promise.all(servers.map(server => server.kill()));
  });

  test('each host starts on them with its own user; a host that is added does once they have loaded it', async () => {
    for (const name of ['a', 'b', 'c']) {
      const {engine, warnings} = await started(settingsOf(directory, name));
      expect(warnings).toEqual([]);
      await engine.close();
    }
    const {host} = addHost(directory, {name: 'd', address: '127.0.0.1'});
    expect(host).toMatchObject({hasNats: false, ports: {peers: expect.any(Number)}});
    const settings = settingsOf(directory, 'd');
    expect(settings.servers).toEqual(settingsOf(directory, 'a').servers);
    await expect(started(settings)).rejects.toThrow("does not accept this host's nkey user");
    for (const server of servers) server.reload();
    const engine = await until('the servers to know the user', () =>
      started(settings).then(
        found => found.engine,
        () => null,
      ),
    );
    await engine!.close();
  });

  test('svc cluster verify and forget need the files of a host, and no server', async () => {
    const {engine} = await started(settingsOf(directory, 'a'));
    const log = new ReplicatedLog(engine, 'prod');
    const entry = {
      generation: 1,
      epoch: 1,
      owner: {host: 'a', incarnation: 1},
      pin: null,
      createdMs: 1,
      dueMs: null,
      isDeleted: false,
    };
    await log.records.set(tenantKey('acme'), encodeTenant(entry), 0);
    await opened(log.tenant({id: 'acme', generation: 1}), 1);
    await engine.close();

    const env = variablesOf(directory, 'b');
    const {code, stdout} = await svc(['cluster', 'verify'], env);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^acme {2}at a {2}epoch 1 {2}0 bases and 1 records, .*\n1 tenant, 0 with findings\n$/),
    ]);
    const json = (await svc(['cluster', 'verify', 'acme', '--json'], env)).stdout;
    expect(JSON.parse(json)).toMatchObject({tenant: 'acme', records: 1, findings: []});
    expect(await svc(['cluster', 'verify', 'none'], env)).toMatchObject({
      code: 1,
      stderr: 'svc cluster verify: the cluster has no tenant none\n',
    });
    expect(await svc(['cluster', 'forget', 'z'], env)).toMatchObject({
      code: 1,
      stderr: 'svc cluster forget: the cluster has no host z\n',
    });
    expect(await svc(['cluster', 'verify'])).toMatchObject({code: 2, stderr: expect.stringContaining('svc.env')});
  });

  test('servers and hosts go on with renewed certificates', async () => {
    const before = readFileSync(join(directory, 'a/host.pem'), 'utf8');
    const renewed = renewHosts(directory, ['a']);
    expect(renewed.map(({name}) => name)).toEqual(['a']);
    expect(readFileSync(join(directory, 'a/host.pem'), 'utf8')).not.toBe(before);
    servers[0]!.reload();
    const {engine} = await started(settingsOf(directory, 'a'));
    await engine.close();
  });
});

test('files are for their owner alone, and the user of NATS can reach its own', () => {
  const directory = join(scratch, 'modes');
  newCluster(directory);
  for (const entry of readdirSync(directory, {recursive: true, withFileTypes: true})) {
    const path = join(entry.parentPath, entry.name);
    const isHost = entry.parentPath === directory && entry.isDirectory();
    expect([path, (statSync(path).mode & 0o777).toString(8)]).toEqual([
      path,
      isHost ? '711' : entry.isDirectory() ? '700' : '600',
    ]);
  }
  expect((statSync(directory).mode & 0o777).toString(8)).toBe('700');
  // The key of the CA leaves this directory with no host.
  expect(readdirSync(join(directory, 'a'), {recursive: true}).toSorted()).toEqual([
    'ca.pem',
    'host.key',
    'host.pem',
    'nats',
    'nats.seed',
    'nats/ca.pem',
    'nats/nats-server.conf',
    'nats/server.key',
    'nats/server.pem',
    'svc.env',
  ]);
});

test('a certificate is for the name and the address of its host, as server and client, for two years', () => {
  const nowMs = Date.UTC(2026, 0, 31);
  const {authority, key} = Authority.make('prod', nowMs);
  const ca = new X509Certificate(authority.certificate);
  expect(ca).toMatchObject({ca: true, subject: 'CN=CA of the svc cluster prod'});
  expect(Date.parse(ca.validTo)).toBe(nowMs + 3_650 * 86_400_000);
  const again = Authority.from({certificate: authority.certificate, key});
  for (const [address, alternative] of [
    ['10.0.0.1', 'IP Address:10.0.0.1'],
    ['fd00::1', 'IP Address:FD00:0:0:0:0:0:0:1'],
    ['a.example.com', 'DNS:a.example.com'],
  ]) {
    const found = new X509Certificate(again.issue(['a', address!], nowMs).certificate);
    expect(found.checkIssued(ca) && found.verify(ca.publicKey)).toBe(true);
    expect(found).toMatchObject({ca: false, subject: 'CN=a', subjectAltName: `DNS:a, ${alternative}`});
    expect(found.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    expect(Date.parse(found.validTo)).toBe(nowMs + 730 * 86_400_000);
    expect(Date.parse(found.validFrom)).toBeLessThan(nowMs);
  }
});

describe('what cannot be is one sentence, and nothing is made', () => {
  test.each<[string, () => unknown, string]>([
    ['two hosts', () => newCluster(join(scratch, 'two'), HOSTS.slice(1)), 'a cluster needs 3'],
    ['a name twice', () => newCluster(join(scratch, 'two'), [...HOSTS, HOSTS[0]!]), 'two hosts have the name a'],
    ['no directory for it', () => newCluster(join(scratch, 'none/prod')), 'cannot be written'],
    ['no address', () => namedAddress('a'), 'must be a name and its address'],
    ['a bad address', () => namedAddress('a=10.0.0.1"'), 'must be a name and its address'],
    ['a bad name', () => namedAddress('A=10.0.0.1'), 'must be a name and its address'],
    ['no cluster', () => addHost(join(scratch, 'nothing'), HOSTS[0]!), 'is not there'],
  ])('%s', (_, make, sentence) => {
    expect(make).toThrow(sentence);
    expect(readdirSync(scratch)).not.toContainEqual(expect.stringMatching(/^\.?two/));
  });

  test('a directory that is there stays; a host that is there stays, and so does one that is unknown', () => {
    const directory = join(scratch, 'kept');
    newCluster(directory);
    const seed = readFileSync(join(directory, 'a/nats.seed'), 'utf8');
    expect(() => newCluster(directory)).toThrow('is there already');
    expect(() => addHost(directory, HOSTS[0]!)).toThrow('two hosts have the name a');
    expect(() => renewHosts(directory, ['z'])).toThrow('the cluster has no host z; it has a, b, c');
    expect(readFileSync(join(directory, 'a/nats.seed'), 'utf8')).toBe(seed);
    writeFileSync(join(directory, 'ca.key'), 'no key');
    expect(() => renewHosts(directory, [])).toThrow('ca.key is not the key of ca.pem');
    writeFileSync(join(directory, 'cluster.json'), '{}');
    expect(() => renewHosts(directory, [])).toThrow('is not of this version of svc, or is damaged');
  });

  test('one host is a cluster for development, and cannot grow', () => {
    const directory = join(scratch, 'one');
    newCluster(directory, HOSTS.slice(0, 1));
    expect(settingsOf(directory, 'a')).toMatchObject({allowSingleLog: true, servers: [expect.anything()]});
    expect(() => addHost(directory, HOSTS[1]!)).toThrow('one NATS server');
  });
});
