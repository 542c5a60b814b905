/** The egress process of a really started service: what holds the policy, and what a death of it costs. */
import {readFileSync, readlinkSync} from 'node:fs';
import {createServer, type Server, type ServerResponse} from 'node:http';
import {type AddressInfo, createServer as createTcpServer, type Socket} from 'node:net';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {metaRow, SET_META} from '../../../engine/storage/meta.ts';
import {missingLayer} from '../../harness/sandbox-layers.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const ACTIONS = {
  'out.ts': `
    import {action} from './_generated/server';
    const failureOf = (promise: Promise<any>) => promise.then(() => 'none', (e: any) => e.name + ': ' + e.message);
    export const get = action(async (_ctx, {url}) => (await fetch(url)).text());
    export const fails = action((_ctx, {url}) => failureOf(fetch(url).then(r => r.text())));
  `,
};

let service: Service;
let outside: Server;
let port: number;
/** Requests that are not answered before somebody says so. */
let held: ServerResponse[] = [];

beforeAll(async () => {
  service = await Service.start();
  outside = createServer((request, response) => {
    if (request.url === '/held') {
      response.write('half');
      held.push(response);
    } else response.end('outside');
  });
  await new Promise<void>(resolve => outside.listen(0, '127.0.0.1', resolve));
  port = (outside.address() as AddressInfo).port;
});
afterAll(async () => {
  outside.closeAllConnections();
  outside.close();
  await service.stop();
});
beforeEach(() => {
  held = [];
  service.showLogOnFailure();
});

const settings = (...allow: string[]) => ({egress: {allow, deny: []}, allowed_origins: null});

let deployed: App | null = null;

async function connected(): Promise<App> {
  deployed ??= await App.deploy(service, ACTIONS);
  const app = deployed;
  await app.admin('PUT', '/settings', settings(`127.0.0.1:${port}`));
  return app;
}

test('a policy holds when its change is answered, whatever was open before', async () => {
  const app = await connected();
  const url = `http://127.0.0.1:${port}/`;
  for (let round = 0; round < 5; round++) {
    expect(await app.action('out:get', {url})).toBe('outside');
    expect((await app.admin('PUT', '/settings', settings())).status).toBe(204);
    expect(await app.action('out:fails', {url})).toMatch(/^EgressRefused: .*127\.0\.0\.1 is a loopback address$/);
    expect((await app.admin('PUT', '/settings', settings(`127.0.0.1:${port}`))).status).toBe(204);
  }
});

test('killed with connections under way, those fail, the next is made, and it is counted', async () => {
  const app = await connected();
  const under = Array.from({length: 20}, () => app.action('out:fails', {url: `http://127.0.0.1:${port}/held`}));
  await until('all to be under way', () => held.length === 20);
  const [pid] = service.children('egress');
  process.kill(pid!, 'SIGKILL');
  for (const failure of await Promise.all(under))
    expect(failure).toMatch(
      /^TypeError: (fetch failed|terminated): The egress process of the server ended; try again$/,
    );
  expect(await app.action('out:get', {url: `http://127.0.0.1:${port}/`})).toBe('outside');
  expect(service.children('egress')).not.toContain(pid);
  const {text} = await service.get('/metrics');
  expect(text).toMatch(/^svc_process_deaths_total\{process="egress"\} [1-9]/m);
  expect(text).toMatch(/^svc_egress_connections_total\{outcome="opened"\} [1-9]/m);
});

test('an answer that ends with its connection is not taken for whole when the egress process ends in the middle of it', async () => {
  const app = await connected();
  const arrived: Socket[] = [];
  const raw = createTcpServer(socket => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf');
    arrived.push(socket);
  });
  await new Promise<void>(resolve => raw.listen(0, '127.0.0.1', resolve));
  const at = (raw.address() as AddressInfo).port;
  await app.admin('PUT', '/settings', settings(`127.0.0.1:${at}`));
  const whole = app.action('out:get', {url: `http://127.0.0.1:${at}/`});
  await until('it to arrive', () => arrived.length === 1);
  arrived[0]!.end();
  expect(await whole).toBe('half');
  const cut = Array.from({length: 10}, () => app.action('out:fails', {url: `http://127.0.0.1:${at}/`}));
  await until('all to arrive', () => arrived.length === 11);
  process.kill(service.children('egress')[0]!, 'SIGKILL');
  for (const failure of await Promise.all(cut)) expect(failure).toMatch(/^TypeError: /);
  raw.close();
});

test('an answer that breaks off is not taken for one that ended', async () => {
  const app = await connected();
  const failing = app.action('out:fails', {url: `http://127.0.0.1:${port}/held`});
  await until('it to be under way', () => held.length === 1);
  held[0]!.socket!.resetAndDestroy();
  expect(await failing).toMatch(/^TypeError: /);
});

test('a policy that is changed in the file of the tenant, which its worker can write, does not hold', async () => {
  const own = await Service.start();
  try {
    const app = await App.deploy(own, ACTIONS);
    await app.admin('PUT', '/settings', settings());
    const file = join(own.directoryOf(app.tenant)!, 'tenant.sqlite');
    await own.end('SIGTERM');
    const db = new DatabaseSync(file);
    db.prepare(SET_META).run(...metaRow('function_settings', JSON.stringify(settings('127.0.0.1'))));
    db.close();
    await own.run();
    expect(await app.action('out:fails', {url: `http://127.0.0.1:${port}/`})).toMatch(/^EgressRefused: /);
    expect(own.log).toContain('name different egress policies');
    expect((await app.admin('PUT', '/settings', settings('127.0.0.1'))).status).toBe(204);
    expect(await app.action('out:get', {url: `http://127.0.0.1:${port}/`})).toBe('outside');
  } finally {
    await own.stop();
  }
});

test('it has no capability, and can gain none', async ({skip}) => {
  const missing = missingLayer(service, 'privileges');
  skip(missing !== null, `no wall "privileges" on this machine: ${missing}`);
  const app = await connected();
  expect(await app.action('out:get', {url: `http://127.0.0.1:${port}/`})).toBe('outside');
  const status = readFileSync(`/proc/${service.children('egress')[0]}/status`, 'utf8');
  expect(status.match(/^(CapEff|CapPrm|NoNewPrivs):\t.*$/gm)?.sort()).toEqual([
    'CapEff:\t0000000000000000',
    'CapPrm:\t0000000000000000',
    'NoNewPrivs:\t1',
  ]);
});

describe('workers have no network', () => {
  test('each is in a namespace of its own', async ({skip}) => {
    const missing = missingLayer(service, 'network');
    skip(missing !== null, `no wall "network" on this machine: ${missing}`);
    const [one, other] = [await connected(), await App.deploy(service, ACTIONS)];
    const workers = [await service.workerOf(one.tenant), await service.workerOf(other.tenant)];
    for (const kind of ['net', 'ipc']) {
      const namespaces = [process.pid, ...workers].map(pid => readlinkSync(`/proc/${pid}/ns/${kind}`));
      expect(new Set(namespaces).size).toBe(3);
    }
  });
});
