/** What code of a module with "use node" must not reach, on each version of Node. */
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {NODE_VERSIONS} from '../../../shared/node-version.ts';
import {rounds} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {App} from '../app.ts';
import {nodeVariables, onNode} from './node-app.ts';

const INSTALL_MS = 300_000;

let service: Service;
let inside: Server;
let reached = 0;
beforeAll(async () => {
  service = await Service.start({env: {...(await nodeVariables()), SECRET_OF_THE_SERVER: 'x'}});
  inside = createServer((_request, response) => {
    reached++;
    response.end('inside');
  });
  await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', resolve));
}, INSTALL_MS);
afterAll(async () => {
  inside.close();
  await service.stop();
});

const PROBES = `"use node";
  import fs from 'node:fs';
  import net from 'node:net';
  import os from 'node:os';
  import http from 'node:http';
  import https from 'node:https';
  import tls from 'node:tls';
  import dns from 'node:dns';
  import dgram from 'node:dgram';
  import childProcess from 'node:child_process';
  import cluster from 'node:cluster';
  import inspector from 'node:inspector';
  import {Worker} from 'node:worker_threads';
  import {WASI} from 'node:wasi';
  import {fileURLToPath} from 'node:url';
  import {action} from './_generated/server';

  const said = async (probe: () => unknown) => {
    try { return 'DONE ' + String(await probe()).slice(0, 60); }
    catch (error) { return String((error as any).code ?? '') + ' ' + String((error as any).message); }
  };
  const all = async (probes: Record<string, () => unknown>) => {
    const found: Record<string, string> = {};
    for (const [name, probe] of Object.entries(probes)) found[name] = await said(probe);
    return found;
  };
  const connected = (socket: any) => new Promise((resolve, reject) => {
    socket.on('connect', () => resolve('connected')); socket.on('response', () => resolve('response')); socket.on('error', reject);
  });
  const sqlite = () => (process as any).getBuiltinModule('node:sqlite');
  const here = fileURLToPath(import.meta.url);

  export const files = action(async (_ctx, {database}) => all({
    'read outside': () => fs.readFileSync('/etc/hostname', 'utf8'),
    'read the data of the tenant': () => fs.readFileSync(database),
    'list outside': () => fs.readdirSync('/'),
    'read through promises': () => fs.promises.readFile('/proc/self/environ'),
    'open outside': () => fs.openSync('/etc/passwd', 'r'),
    'write its code': () => fs.writeFileSync(here, ''),
    'write beside its code': () => fs.writeFileSync(here + '.txt', ''),
    'write a temporary file': () => fs.mkdtempSync(os.tmpdir() + '/x'),
    'link out': () => fs.symlinkSync('/etc', here + '.d'),
    'a file through SQLite': () => { const db = new (sqlite().DatabaseSync)(':memory:'); db.exec("ATTACH '/tmp/svc-hostile.db' AS o"); return 'attached'; },
    'write a heap snapshot': () => (process as any).getBuiltinModule('node:v8').writeHeapSnapshot('/tmp/x.heapsnapshot'),
  }));
  export const own = action(async () => fs.readFileSync(here, 'utf8').length > 100);
  export const processes = action(async () => all({
    'spawn': () => childProcess.spawnSync('true').error ? Promise.reject(childProcess.spawnSync('true').error) : 'ran',
    'exec': () => childProcess.execSync('true'),
    'fork': () => childProcess.fork(here),
    'cluster': () => cluster.fork(),
    'a thread': () => new Worker('1', {eval: true}),
    'native code': () => (process as any).dlopen({exports: {}}, '/usr/lib/x86_64-linux-gnu/libz.so.1'),
    'native code through require': () => (globalThis as any).require('/tmp/x.node'),
    'wasi': () => new WASI({version: 'preview1', preopens: {'/': '/'}} as any),
    'inside of Node': () => (process as any).binding('tcp_wrap'),
    'a signal to its worker': () => process.kill(process.ppid, 0),
    'a signal below process.kill': () => (process as any)._kill(process.ppid, 0),
    'a signal to its group': () => process.kill(0, 0),
    'a debugger in another': () => (process as any)._debugProcess(process.ppid),
    'the priority of another': () => os.setPriority(process.ppid, 5),
    'a debugger': () => inspector.open(0),
    'a debugger session': () => new inspector.Session().connect(),
    'another user': () => (process as any).setuid(65534),
  }));
  export const environment = action(async () => Object.keys(process.env).sort());
  export const network = action(async (_ctx, {port}) => all({
    'fetch': async () => { try { return await (await fetch('http://127.0.0.1:' + port)).text(); } catch (error) { throw (error as any).cause ?? error; } },
    'fetch by name': async () => { try { return await (await fetch('http://localhost:' + port)).text(); } catch (error) { throw (error as any).cause ?? error; } },
    'http': () => connected(http.get({host: '127.0.0.1', port})),
    'http by name': () => connected(http.get('http://localhost:' + port)),
    'http with a look-up of its own': () => connected(http.get({host: 'example.com', port, lookup: ((_h: any, o: any, cb: any) => o.all ? cb(null, [{address: '127.0.0.1', family: 4}]) : cb(null, '127.0.0.1', 4)) as any})),
    'https': () => connected(https.get({host: '127.0.0.1', port})),
    'tls': () => connected(tls.connect({host: '127.0.0.1', port})),
    'net': () => connected(net.connect(port, '127.0.0.1')),
    'net with a socket': () => connected(new net.Socket().connect({host: '127.0.0.1', port})),
    'net, IPv6': () => connected(net.connect(port, '::1')),
    'the metadata service': () => connected(net.connect(80, '169.254.169.254')),
    'a Unix socket': () => connected(net.connect('/run/x.sock')),
    'listen': () => new Promise((resolve, reject) => net.createServer().on('error', reject).listen(0, '127.0.0.1', () => resolve('listens'))),
    'a datagram': () => new Promise((resolve, reject) => { const s = dgram.createSocket('udp4'); s.on('error', reject); s.send('x', 53, '127.0.0.1', error => error ? reject(error) : resolve('sent')); }),
    'a question to a name server': () => dns.promises.resolve4('secret.example.com'),
    'a question by a resolver of its own': () => new dns.promises.Resolver().resolveTxt('secret.example.com'),
  }));
  export const handle = action(async (_ctx, {port}) => all({
    'a handle of its own': () => {
      const socket: any = net.connect({host: '93.184.216.34', port: 9});
      const handle = socket._handle;
      socket.on('error', () => {});
      socket.destroy();
      const own = new handle.constructor(0);
      const status = own.connect({}, '127.0.0.1', port);
      if (status !== 0) throw new Error('status ' + status);
      return 'connected';
    },
  }));
`;

const OWN = process.versions.node.split('.')[0]!;

describe.each(rounds<readonly string[]>({commit: [OWN, '20'], nightly: NODE_VERSIONS}))('on Node %s', version => {
  let app: App;
  beforeAll(async () => {
    app = await App.deploy(service, {...onNode(version), 'probe.ts': PROBES});
  });

  const done = (found: unknown) =>
    Object.entries(found as Record<string, string>).filter(([, said]) => said.startsWith('DONE'));

  test('files: its code can be read, nothing else, and nothing written', async () => {
    const database = `${service.directoryOf(app.tenant)}/tenant.sqlite`;
    expect(done(await app.action('probe:files', {database}))).toEqual([]);
    expect(await app.action('probe:own', {})).toBe(true);
  });

  test('no processes, threads, native code, debuggers, signals', async () => {
    expect(done(await app.action('probe:processes', {}))).toEqual([]);
  });

  test("the environment is the tenant's variables alone", async () => {
    await app.admin('PUT', '/env/NODE_OPTIONS', {value: '--allow-fs-read=/'});
    await app.admin('PUT', '/env/COLOUR', {value: 'red'});
    expect(await app.action('probe:environment', {})).toEqual(['COLOUR', 'NODE_OPTIONS', 'TZ']);
    const database = `${service.directoryOf(app.tenant)}/tenant.sqlite`;
    expect(done(await app.action('probe:files', {database}))).toEqual([]);
  });

  test('the network: what the egress policy closes is closed by every way out, and what it opens is open', async () => {
    const {port} = inside.address() as AddressInfo;
    const before = reached;
    const found = (await app.action('probe:network', {port})) as Record<string, string>;
    expect(done(found)).toEqual([]);
    expect(done(await app.action('probe:handle', {port}))).toEqual([]);
    expect(found.fetch).toContain("refused by the tenant's egress policy");
    expect(reached).toBe(before);
    await app.admin('PUT', '/settings', {
      egress: {allow: [`127.0.0.1:${port}`, `localhost:${port}`], deny: []},
      allowed_origins: null,
    });
    const open = (await app.action('probe:network', {port})) as Record<string, string>;
    for (const way of ['fetch', 'fetch by name', 'http', 'http by name', 'net', 'net with a socket']) {
      expect([way, open[way]]).toEqual([way, expect.stringMatching(/^DONE/)]);
    }
    expect(open['the metadata service']).not.toMatch(/^DONE/);
  });
});
