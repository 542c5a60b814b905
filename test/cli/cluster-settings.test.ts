/** The settings of a host of a cluster: what `svc start ARGS` makes of them, or the sentence it ends with. */
import {Command, CommanderError} from 'commander';
import {afterEach, describe, expect, test, vi} from 'vitest';
import {clusterSettings} from '../../cli/cluster-settings.ts';
import {addStartOptions, type StartOptions} from '../../cli/config.ts';
import type {ClusterSettings} from '../../supervisor/server/settings.ts';

function parse(args: string[]): ClusterSettings | null | string {
  let said = '';
  const command = addStartOptions(new Command('start'))
    .exitOverride()
    .configureOutput({writeErr: text => (said += text)})
    .action(() => undefined);
  try {
    command.parse(args, {from: 'user'});
    return clusterSettings(command.opts<StartOptions>()).cluster;
  } catch (caught) {
    if (!(caught instanceof CommanderError)) throw caught;
    return said;
  }
}

const SERVERS = ['nats://10.0.0.1:4222', 'nats://10.0.0.2:4222', 'nats://10.0.0.3:4222'];
const CLUSTER = ['--cluster', SERVERS.join(',')];
const HOST = [
  ...['--cluster-name', 'prod', '--host-name', 'a', '--cluster-files', '/etc/svc/cluster'],
  ...['--peer-listen', '10.0.0.1:4201'],
];

afterEach(() => {
  vi.unstubAllEnvs();
});

test('without --cluster there is none', () => {
  expect(parse([])).toBe(null);
});

test('the files are those of svc cluster init, and the rest has its default', () => {
  const [ca, certificate, key] = ['ca.pem', 'host.pem', 'host.key'].map(name => `/etc/svc/cluster/${name}`);
  expect(parse([...CLUSTER, ...HOST])).toEqual({
    cluster: 'prod',
    host: 'a',
    servers: [1, 2, 3].map(i => ({server: `nats://10.0.0.${i}:4222`, monitor: `https://10.0.0.${i}:8222`})),
    nats: {ca, certificate, key, seed: '/etc/svc/cluster/nats.seed'},
    peers: {listen: {host: '10.0.0.1', port: 4201}, address: '10.0.0.1:4201', files: {ca, certificate, key}},
    ack: 'replicated',
    lagMaxMs: 5_000,
    standbys: 1,
    leaseMs: 6_000,
    capacity: 1,
    allowSingleLog: false,
    copyRateBytes: 16 * 1024 ** 2,
    drainTimeoutMs: 60_000,
  });
});

test('each is also a variable', () => {
  const variables = {
    SVC_CLUSTER: 'nats://127.0.0.1',
    SVC_CLUSTER_NAME: 'test',
    SVC_HOST_NAME: 'a',
    SVC_CLUSTER_FILES: '/files',
    SVC_PEER_LISTEN: '[::]:80',
    SVC_PEER_ADDRESS: '[fd00::1]:4201',
    SVC_NATS_PLAIN: '1',
    SVC_ALLOW_SINGLE_LOG: '1',
    SVC_ACK: 'local',
    SVC_REPLICATION_LAG_MAX: '1s',
    SVC_CAPACITY: '0.5',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  expect(parse([])).toMatchObject({
    servers: [{server: 'nats://127.0.0.1:4222', monitor: 'http://127.0.0.1:8222'}],
    nats: {ca: null, certificate: null, key: null, seed: null},
    peers: {listen: {host: '::', port: 80}, address: '[fd00::1]:4201', files: {ca: '/files/ca.pem'}},
    ack: 'local',
    lagMaxMs: 1_000,
    capacity: 0.5,
    allowSingleLog: true,
  });
});

test('monitoring pages are in the order of the servers', () => {
  const pages = ['https://a.example:1', 'https://b.example:2', 'http://c.example:3'];
  expect(parse([...CLUSTER, ...HOST, '--nats-monitor', pages.join(', ')])).toMatchObject({
    servers: SERVERS.map((server, i) => ({server, monitor: pages[i]})),
  });
});

describe('what does not fit together is one sentence', () => {
  test.each<[string[], string]>([
    [CLUSTER, '--cluster needs --cluster-name'],
    [[...CLUSTER, ...HOST.slice(0, 4)], '--cluster needs --cluster-files'],
    [[...CLUSTER, ...HOST.slice(0, 6)], '--cluster needs --peer-listen'],
    [HOST, '--cluster-name needs --cluster'],
    [['--ack', 'local'], '--ack needs --cluster'],
    [['--standbys', '2'], '--standbys needs --cluster'],
    [['--cluster', SERVERS.slice(1).join(','), ...HOST], 'names 2 NATS servers, and a cluster needs 3'],
    [[...CLUSTER, ...HOST, '--nats-monitor', 'https://a.example:1'], '--nats-monitor has 1 pages'],
    [[...CLUSTER, ...HOST, '--nats-plain'], 'nats://10.0.0.1:4222 is not'],
    [[...CLUSTER, ...HOST.slice(0, 6), '--peer-listen', '0.0.0.0:4201'], 'give --peer-address'],
  ])('%j → %s', (args, sentence) => {
    expect(parse(args)).toMatch(/^error: .+\n$/);
    expect(parse(args)).toContain(sentence);
  });

  test.each<[string, string]>([
    ['--cluster', 'http://10.0.0.1:4222'],
    ['--cluster', '10.0.0.1:4222'],
    ['--cluster', 'nats://user:word@10.0.0.1:4222'],
    ['--cluster', 'nats://10.0.0.1:4222/x'],
    ['--cluster', 'nats://10.0.0.1,nats://10.0.0.1:4222,nats://10.0.0.3'],
    ['--cluster', ''],
    ['--cluster-name', 'Prod'],
    ['--host-name', 'a.example'],
    ['--cluster-files', ''],
    ['--peer-listen', '4201'],
    ['--peer-listen', '10.0.0.1'],
    ['--peer-listen', '10.0.0.1:0'],
    ['--peer-listen', '10.0.0.1:65536'],
    ['--peer-listen', 'fd00::1:4201'],
    ['--peer-address', 'https://a.example:4201'],
    ['--ack', 'none'],
    ['--replication-lag-max', '0'],
    ['--lease', '1s'],
    ['--lease', '2m'],
    ['--standbys', '8'],
    ['--capacity', '0'],
    ['--capacity', '-1'],
    ['--copy-rate', '16'],
    ['--drain-timeout', '2h'],
    ['--nats-monitor', '10.0.0.1:8222'],
  ])('%s %j names the flag', (flag, value) => {
    const others = [...CLUSTER, ...HOST];
    const at = others.indexOf(flag);
    if (at >= 0) others.splice(at, 2);
    expect(parse([...others, flag, value])).toContain(flag);
  });
});
