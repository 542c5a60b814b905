/**
 * The verbs of `svc cluster` that ask a server, against one that answers as the API is described: a cluster of two hosts
 * in memory. test/cluster has them against real hosts.
 */
import {once} from 'node:events';
import {createServer, type IncomingMessage} from 'node:http';
import type {AddressInfo} from 'node:net';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {CLUSTER_TEXTS} from '../../build/openapi/texts/cluster.ts';
import type {ClusterHost, ClusterStatus, ClusterTenant} from '../../shared/protocol/cluster.ts';
import {type Outcome, svc} from '../harness/command.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
const documented = CLUSTER_TEXTS['cluster.status'].example.answer as ClusterStatus;

let status: ClusterStatus;
/** Tenants of a page, whatever is requested. */
let pageTenants: number;
/** Becomes the state of a host when it reads that it is to drain, after the first look at the members. */
let readsDrain: Partial<ClusterHost>;
const bodies: Record<string, string>[] = [];

beforeEach(() => {
  status = structuredClone(documented);
  pageTenants = 10;
  readsDrain = {state: 'draining'};
  bodies.length = 0;
});

async function bodyOf(request: IncomingMessage): Promise<Record<string, string>> {
  let text = '';
  for await (const chunk of request) text += chunk;
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, string>);
  if (text !== '') bodies.push(body);
  return body;
}

function answerTo(path: string, query: URLSearchParams, {tenant: id, host: name}: Record<string, string>): unknown {
  const {hosts, tenants} = status;
  const tenant = tenants.find(one => one.tenant === id) as ClusterTenant;
  switch (path) {
    // Each command checks its credential first.
    case '/api/tenants':
      return {tenants: []};
    case '/api/cluster': {
      const from = Number(query.get('cursor') ?? 0);
      const next = from + pageTenants;
      return {
        ...status,
        tenants: tenants.slice(from, next),
        next_cursor: next < tenants.length ? String(next) : null,
      };
    }
    case '/api/cluster/members': {
      // Each look finds one tenant less on a host that drains.
      const answer = {hosts: structuredClone(hosts)};
      for (const host of hosts) {
        if (host.state === 'draining' && host.tenants > 0) host.tenants--;
        if (bodies.some(body => body.host === host.host)) Object.assign(host, readsDrain);
      }
      return answer;
    }
    case '/api/cluster/move':
      return {tenant: Object.assign(tenant, {owner: name, epoch: tenant.epoch + 1, state: 'moving'})};
    case '/api/cluster/pin':
      return {tenant: Object.assign(tenant, {pin: name})};
    default: {
      const host = hosts.find(one => one.host === name) as ClusterHost;
      return {host: structuredClone(Object.assign(host, {tenants: 2}))};
    }
  }
}

const server = createServer(async (request, response) => {
  const {pathname, searchParams} = new URL(request.url!, 'http://x');
  const answer = answerTo(pathname, searchParams, await bodyOf(request));
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
});
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => void server.close());

function cluster(...args: string[]): Promise<Outcome> {
  const {port} = server.address() as AddressInfo;
  return svc(['cluster', ...args], {SVC_URL: `http://127.0.0.1:${port}`, SVC_ACCESS_TOKEN: 'x'.repeat(32)});
}

test('status shows the hosts, and of the tenants those that are not where they should be', async () => {
  const [acme] = status.tenants as [ClusterTenant];
  status.tenants.push({...acme, tenant: 'lost', state: 'lost'}, {...acme, tenant: 'astray', pin: 'b'});
  const {code, stdout} = await cluster('status');
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'cluster  prod, as a knows it (live, with its lease)',
    'hosts    2',
    '  a  live  10.0.0.1:4201  12 tenants  silent for 0.4 s  svc 0.1.0',
    '  b  live  10.0.0.2:4201  14 tenants  silent for 0.1 s  svc 0.1.0',
    'tenants  3, 2 of them moving, lost or not where they are pinned',
    '  lost    at a  lost  epoch 7  standby b',
    '  astray  at a  owned  epoch 7  standby b  pinned to b',
    '',
  ]);
  expect((await cluster('status', '--tenants')).stdout).toContain('  acme    at a  owned  epoch 7');
});

test('status --json has all pages; a host without its lease is exit code 1', async () => {
  const [acme] = status.tenants as [ClusterTenant];
  status.tenants = Array.from({length: 5}, (_, i) => ({...acme, tenant: `t${i}`}));
  status.lease = false;
  pageTenants = 2;
  const {code, stdout} = await cluster('status', '--json');
  expect(code).toBe(1);
  const {next_cursor, ...whole} = status;
  expect(JSON.parse(stdout)).toEqual(whole);
});

test('members shows one host per line', async () => {
  status.hosts[0] = {...status.hosts[0]!, tenants: 1};
  status.hosts[1] = {...status.hosts[1]!, state: 'expired', address: null, versions: null, tenants: 0};
  const {stdout} = await cluster('members');
  expect(stdout.trim().split('\n')).toEqual([
    'a  live  10.0.0.1:4201  1 tenant  silent for 0.4 s  svc 0.1.0',
    'b  expired  0 tenants  silent for 0.1 s',
  ]);
  const lines = (await cluster('members', '--json')).stdout.trim().split('\n');
  expect(lines.map(line => JSON.parse(line))).toEqual(status.hosts);
});

test('move, pin and unpin show where the tenant is then', async () => {
  expect(await cluster('move', 'acme', 'b')).toEqual({
    code: 0,
    stdout: 'acme  at b  moving  epoch 8  standby b\n',
    stderr: '',
  });
  expect((await cluster('pin', 'acme', 'b')).stdout).toContain('pinned to b');
  expect(JSON.parse((await cluster('unpin', 'acme', '--json')).stdout)).toMatchObject({tenant: 'acme', pin: null});
  expect(bodies).toEqual([
    {tenant: 'acme', host: 'b'},
    {tenant: 'acme', host: 'b'},
    {tenant: 'acme', host: null},
  ]);
  expect(await cluster('move', 'acme')).toMatchObject({code: 2});
});

test('drain waits until the host has no tenants; without a name it is the host that answers', async () => {
  expect((await cluster('drain')).stdout).toBe('a is draining and has 0 tenants\n');
  expect((await cluster('drain', 'b', '--no-wait')).stdout).toBe('b is live and has 2 tenants\n');
  expect(JSON.parse((await cluster('drain', 'b', '--json')).stdout)).toMatchObject({host: 'b', tenants: 0});
  expect(bodies).toEqual([{host: 'a'}, {host: 'b'}, {host: 'b'}]);
});

test('drain of a host without tenants waits until it has read the request', async () => {
  status.hosts[1]!.tenants = 0;
  expect((await cluster('drain', 'b')).stdout).toBe('b is draining and has 0 tenants\n');
});

test('a host that was started again meanwhile does not drain', async () => {
  readsDrain = {incarnation: 99};
  const {code, stderr} = await cluster('drain', 'b');
  expect([code, stderr]).toEqual([1, 'svc cluster drain: b was started again and has 2 tenants\n']);
});

test('a server that is no host of a cluster is one sentence', async () => {
  const env = {SVC_URL: service.url, SVC_DATA: service.data};
  for (const args of [['status'], ['members'], ['move', 'acme', 'b'], ['drain']]) {
    const {code, stderr} = await svc(['cluster', ...args], env);
    expect([code, stderr]).toEqual([
      1,
      `svc cluster ${args[0]}: this server is no host of a cluster: start it with --cluster\n`,
    ]);
  }
});
