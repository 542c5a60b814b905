/** Code that has taken over a worker, as far as the network goes: a script that is started exactly as a worker is, with the attacks in it. */
import {execFile} from 'node:child_process';
import {createSocket} from 'node:dgram';
import type {AddressInfo} from 'node:net';
import {createServer, type Server} from 'node:net';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {type Confinement, findConfinement} from '../../supervisor/confinement/confinement.ts';

const run = promisify(execFile);
const ABSTRACT = '\0svc-network-wall-test';

let confinement: Confinement;
/** Loopback, and an abstract socket of the machine. */
let servers: Server[];
let port: number;
let reached = 0;

beforeAll(async () => {
  confinement = await findConfinement({setting: 'none', data: '/', reads: [], runs: [], passes: '/', socketBases: []});
  const listening = async (where: object) => {
    const server = createServer(socket => {
      reached++;
      socket.destroy();
    });
    await new Promise<void>(resolve => server.listen(where, resolve));
    return server;
  };
  servers = [await listening({host: '127.0.0.1', port: 0}), await listening({path: ABSTRACT})];
  port = (servers[0]!.address() as AddressInfo).port;
});
afterAll(() => {
  for (const server of servers) server.close();
});

const ATTACKS = `
  const net = require('node:net'), dgram = require('node:dgram'), dns = require('node:dns'), os = require('node:os');
  const [port, udp] = process.argv.slice(1).map(Number);
  const connected = options => new Promise((resolve, reject) => net.connect(options).once('connect', () => resolve('connected')).once('error', reject));
  const sent = (to, host) => new Promise((resolve, reject) => {
    const socket = dgram.createSocket('udp4').once('error', reject);
    socket.send('x', to, host, error => { socket.close(); error ? reject(error) : resolve('sent'); });
  });
  const attacks = {
    'TCP to loopback': () => connected({host: '127.0.0.1', port}),
    'TCP to loopback, IPv6': () => connected({host: '::1', port}),
    'TCP to a metadata service': () => connected({host: '169.254.169.254', port: 80}),
    'TCP to the public internet': () => connected({host: '93.184.216.34', port: 80}),
    'UDP to loopback': () => sent(udp, '127.0.0.1'),
    'UDP to a name server': () => sent(53, '9.9.9.9'),
    'a question to a name server': () => new dns.promises.Resolver({timeout: 500, tries: 1}).resolve4('secret.example.com'),
    'an abstract socket of the machine': () => connected({path: ${JSON.stringify(ABSTRACT)}}),
    'listening where others reach it': () => new Promise((resolve, reject) => {
      const server = net.createServer().once('error', reject);
      server.listen(0, '0.0.0.0', () => connected({host: '127.0.0.1', port: server.address().port}).then(resolve, reject));
    }),
    'an address to be reached at': () => { if (Object.values(os.networkInterfaces()).flat().length === 0) throw new Error('no interface is up'); },
  };
  (async () => {
    const done = [];
    for (const [name, attack] of Object.entries(attacks)) await Promise.resolve().then(attack).then(() => done.push(name), () => undefined);
    console.log(JSON.stringify(done));
    process.exit(0);
  })();
`;

async function doneBy(command: readonly string[]): Promise<string[]> {
  const datagrams = createSocket('udp4');
  datagrams.on('message', () => {
    reached++;
  });
  await new Promise<void>(resolve => datagrams.bind(0, '127.0.0.1', resolve));
  const [program, ...args] = [
    ...command,
    process.execPath,
    '-e',
    ATTACKS,
    String(port),
    String(datagrams.address().port),
  ];
  const {stdout} = await run(program!, args, {cwd: '/'});
  datagrams.close();
  return JSON.parse(stdout) as string[];
}

test('started as a worker is, it reaches nothing: the kernel refuses', async ({skip}) => {
  const missing = confinement.sandboxLayers.find(({name}) => name === 'network')!.missing;
  skip(missing !== null, `no wall "network" on this machine: ${missing}`);
  // That the attacks work where nothing holds them.
  expect(await doneBy([])).toEqual(
    expect.arrayContaining([
      'TCP to loopback',
      'UDP to loopback',
      'an abstract socket of the machine',
      'listening where others reach it',
    ]),
  );
  reached = 0;
  expect(await doneBy(confinement.worker)).toEqual([]);
  expect(reached).toBe(0);
});

test('its own network has no way to be given one', async ({skip}) => {
  const missing = confinement.sandboxLayers.find(({name}) => name !== 'limits' && name !== 'network')?.missing ?? null;
  skip(missing !== null, `no wall "privileges" on this machine: ${missing}`);
  const [program, ...args] = [...confinement.worker, 'sh', '-c'];
  const tried = (command: string) =>
    run(program!, [...args, command]).then(
      () => 'done',
      () => 'refused',
    );
  expect(await tried('ip link set lo up')).toBe('refused');
  expect(await tried('nsenter --target 1 --net true')).toBe('refused');
  expect(await tried(`nsenter --target ${process.pid} --net true`)).toBe('refused');
});
