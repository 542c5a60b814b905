/** A worker that was taken over, in a real server: what it sends its router costs its own tenant, and no other. */
import {Buffer} from 'node:buffer';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {ChangedBuild} from '../harness/changed-build.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

/** Its workers write on their link what a request says after `attack:`, in hex, and tell the supervisor what it says after `tell:`. */
const SHIM = `
  import {Server} from 'node:net';
  const {emit} = Server.prototype;
  Server.prototype.emit = function (name, ...given) {
    if (name === 'connection') {
      given[0].on('data', bytes => {
        const [, hex] = /attack:([0-9a-f]+)/.exec(bytes.toString('latin1')) ?? [];
        if (hex !== undefined) given[0].write(Buffer.from(hex, 'hex'));
        const [, type, times] = /tell:([a-z_]+):([0-9]+)/.exec(bytes.toString('latin1')) ?? [];
        for (let n = 0; n < Number(times ?? 0); n++) process.send({type, nextDueMs: null, hasCode: false, egress: {allow: [], deny: []}});
      });
    }
    return emit.call(this, name, ...given);
  };`;

let build: ChangedBuild;
let service: Service;
let attackers: Tenant[];
let other: Tenant;
beforeAll(async () => {
  build = new ChangedBuild();
  build.runFirst('worker.js', SHIM);
  service = await Service.start({dist: build.dist});
  other = await Tenant.make(service);
  attackers = [await Tenant.make(service), await Tenant.make(service)];
  for (const tenant of [...attackers, other]) await tenant.insert('t', {n: 1});
});
afterAll(async () => {
  await service.stop();
  build.remove();
});
beforeEach(() => service.showLogOnFailure());

const head = (bodyBytes: number, stream: number, kind: number, flags: number) => {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(bodyBytes, 0);
  bytes.writeUInt32LE(stream, 4);
  bytes[8] = kind;
  bytes[9] = flags;
  return bytes.toString('hex');
};

test('frames and messages that no worker sends end that worker; the router lives, and other tenants are served', async () => {
  const routers = service.children('router');
  const attacks = [
    `attack:${head(9, 1, 10, 4)}${Buffer.from('{not json').toString('hex')}`, // a live query fails
    `attack:${head(0, 4_000_000_000, 3, 0)}`, // an answer to nothing
    `attack:${'ee'.repeat(64)}`,
    'tell:opened:1', // a second time
    'tell:closed:2',
    'tell:egress_wanted:2100',
  ];
  let isOver = false;
  const probes = (async () => {
    const answers = [];
    while (!isOver) answers.push((await other.list('t')).length);
    return answers;
  })();
  for (const [at, attack] of attacks.entries()) {
    // A tenant whose worker ends too often rests.
    const attacker = attackers[at % 2]!;
    const worker = await service.workerOf(attacker.id);
    await attacker.request('POST', '/documents', {table: 't', fields: {text: attack}});
    await until('the worker to be ended', () => service.ownerOf(attacker.id) !== worker);
    await until('its tenant to be served', async () => (await attacker.request('GET', '/documents/t')).status === 200);
  }
  isOver = true;
  expect(new Set(await probes)).toEqual(new Set([1]));
  expect(service.children('router')).toEqual(routers);
  const {text} = await service.get('/metrics');
  expect(text).toMatch(/^svc_malformed_links_total 3$/m);
  expect(text).toMatch(/^svc_process_kills_total\{.*nonsense.*\} 6$/m);
});
