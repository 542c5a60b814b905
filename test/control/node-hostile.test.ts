/**
 * What code in a Node sandbox must not reach, and what it must not be able to do to others, on each version of Node that there is here. It has
 * Node itself, so its wall is the process: what is tried is what Node offers. Whatever comes of it, the tenant, its other sandboxes and
 * other tenants serve on.
 */
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync} from 'node:fs';
import {createServer as createHttpServer, type Server} from 'node:http';
import {type AddressInfo, createServer as createSocketServer, type Server as SocketServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {FROZEN_FLAGS} from '../../shared/node-flags.ts';
import {NODE_VERSIONS} from '../../shared/node-version.ts';
import {LOG_LINES_MAX} from '../../worker/runtime/guest/limits.ts';
import {LOG_CALL_CHARS_MAX} from '../../worker/runtime/limits.ts';
import {nodeVariables} from '../functions/node/node-app.ts';
import {firstOf, nightly, rounds} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {type Reply, Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {connected, connections, ESCAPES, FILES, flags, processes} from './node-probes.ts';
import {probing} from './probes.ts';
import {execute, newSandbox, sandboxOf} from './sandbox-client.ts';
import {NODE_VERSION} from './service-client.ts';

const INSTALL_MS = 300_000;

let service: Service;
let tenant: Tenant;
let inside: Server;
let socket: SocketServer;
let directory: string;
let socketPath: string;
let reached = 0;
const executables: Record<string, string> = {};
beforeAll(async () => {
  const variables = await nodeVariables();
  for (const version of NODE_VERSIONS) executables[version] = variables[`SVC_NODE_${version}`]!;
  service = await Service.start({env: {...variables, SECRET_OF_THE_SERVER: 'x'}});
  tenant = await Tenant.make(service);
  await tenant.request('PUT', '/env/SECRET', {value: 'of the tenant'});
  inside = createHttpServer((_, response) => response.end('inside'));
  inside.on('connection', () => reached++);
  await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', resolve));
  directory = mkdtempSync(join(tmpdir(), 'svc-node-hostile-'));
  socketPath = join(directory, 'worker.sock');
  writeFileSync(join(directory, 'secret.js'), 'module.exports = 1');
  writeFileSync(join(directory, 'secret.json'), '{"a": 1}');
  writeFileSync(join(directory, '.env'), 'SECRET_IN_A_FILE=1');
  socket = createSocketServer(() => reached++);
  await new Promise<void>(resolve => socket.listen(socketPath, resolve));
}, INSTALL_MS);
afterAll(async () => {
  inside.close();
  socket.close();
  rmSync(directory, {recursive: true});
  await service.stop();
});
const made: string[] = [];
/** Whatever was tried: everybody else is as they were. */
afterEach(async () => {
  for (const id of made.splice(0)) await tenant.request('POST', `/sandboxes/${id}/stop`);
  await tenant.insert('witness', {});
});

async function make(options: object = {}): Promise<string> {
  const {id} = await newSandbox(tenant, {runtime: 'node', node_version: NODE_VERSION, cpu_ms: 5_000, ...options});
  made.push(id);
  return id;
}

async function attempt(id: string, code: string, args: object = {}, timeout_ms = 20_000): Promise<Reply> {
  const reply = await tenant.request('POST', `/sandboxes/${id}/execute`, {code, args, timeout_ms});
  expect([200, 409, 422]).toContain(reply.status);
  return reply;
}

/** @returns what came off, with what it gave */
async function succeeded(probes: Record<string, string>, options: object, args: object = {}): Promise<object> {
  const {value} = await execute(tenant, await make(options), {code: probing(probes), args});
  return value as object;
}

async function pidOf(id: string): Promise<number> {
  return (await execute(tenant, id, {code: 'return process.pid'})).value as number;
}

const port = () => (inside.address() as AddressInfo).port;

describe.each(rounds<readonly string[]>({commit: [NODE_VERSION], nightly: NODE_VERSIONS}))(
  'on Node %s',
  node_version => {
    test('its code runs on that version', async () => {
      const {value} = await execute(tenant, await make({node_version}), {code: 'return process.versions.node'});
      expect(value).toMatch(new RegExp(`^${node_version}\\.`));
    });

    test('escape: neither what is inside of Node nor our own side of the process', async () => {
      const found = await succeeded(ESCAPES, {node_version});
      expect(found).toEqual({});
    });

    test('files: nothing is read but the scripts that run it, and nothing is written', async () => {
      const found = await succeeded(
        FILES,
        {node_version},
        {database: `${service.directoryOf(tenant.id)}/tenant.sqlite`, admin: `${service.data}/admin.json`, directory},
      );
      expect(found).toEqual({});
      expect(readdirSync(tmpdir()).filter(name => /^svc-(copied|written)/.test(name))).toEqual([]);
    });

    test("V8's flags stay as they are: it writes no files and compiles no WebAssembly without checks", async () => {
      const found = await succeeded(flags(directory), {node_version, cpu_ms: 20_000});
      expect(found).toEqual({});
      expect(readdirSync(directory).filter(name => /turbo|trace/.test(name))).toEqual([]);
    });

    test('what changes a flag all the same ends its process: V8 has them in read-only memory', () => {
      const code = 'console.log(1); require("node:v8").setFlagsFromString("--trace-turbo"); console.log(2)';
      const {stdout, signal} = spawnSync(executables[node_version]!, [...FROZEN_FLAGS, '-e', code], {encoding: 'utf8'});
      expect([stdout, signal]).toEqual(['1\n', expect.stringMatching(/^SIG(TRAP|ILL|ABRT)$/)]);
    });

    test('fork: no processes, no threads, no signals to others', async () => {
      const worker = await service.workerOf(tenant.id);
      const found = await succeeded(processes(worker), {node_version});
      expect(found).toEqual({});
      expect([isAlive(worker), await service.workerOf(tenant.id)]).toEqual([true, worker]);
    });

    test('the environment is its own alone', async () => {
      const id = await make({node_version, env: {MINE: 'a', NODE_OPTIONS: '--allow-fs-read=/'}});
      const {value} = await execute(tenant, id, {
        code: 'try { require("node:fs").readFileSync("/etc/hostname"); return "read"; } catch { return Object.keys(process.env).sort(); }',
      });
      expect(value).toEqual(['MINE', 'NODE_OPTIONS', 'TZ']);
    });

    test('the network is off unless it was asked for: no connection, no question to anybody', async () => {
      const before = reached;
      const outside = {
        'a name': 'require("node:dns").promises.lookup("example.com").then(() => 1)',
        localhost: 'require("node:dns").promises.lookup("localhost").then(() => 1)',
        'an address outside': connected('require("node:net").connect(80, "93.184.216.34")'),
      };
      expect(await succeeded({...connections(port(), socketPath), ...outside}, {node_version})).toEqual({});
      expect(reached).toBe(before);
    });

    test('on, it goes where the egress policy of the tenant lets it: not to this machine, nor to sockets of others', async () => {
      const before = reached;
      expect(await succeeded(connections(port(), socketPath), {node_version, network: true})).toEqual({});
      expect(reached).toBe(before);
    });
  },
);

describe('the egress policy', () => {
  const policy = (allow: string[], deny: string[] = []) =>
    tenant.request('PUT', '/settings', {egress: {allow, deny}, allowed_origins: null});
  const ask = () => `return (await fetch("http://127.0.0.1:${port()}/")).status`;

  test('opens what it opens for a sandbox with a network, and nothing for one without', async () => {
    await policy([`127.0.0.1:${port()}`]);
    const [open, closed] = [await make({network: true}), await make()];
    expect((await execute(tenant, open, {code: ask()})).value).toBe(200);
    expect((await attempt(closed, ask())).status).toBe(422);
    await policy([]);
  });

  test('that is changed holds at once: what it closes is closed, open connections included, and the sandbox goes on', async () => {
    await policy([`127.0.0.1:${port()}`]);
    const id = await make({network: true});
    const ended = new Promise(resolve => inside.once('connection', socket => socket.once('close', resolve)));
    await execute(tenant, id, {
      code: `globalThis.held = require("node:net").connect(${port()}, "127.0.0.1"); await new Promise(done => held.on("connect", done))`,
    });
    await policy([]);
    await ended;
    expect((await attempt(id, ask())).status).toBe(422);
    await policy([`127.0.0.1:${port()}`]);
    expect((await execute(tenant, id, {code: ask()})).value).toBe(200);
    await policy([]);
  });
});

describe('its process', () => {
  test('has no variables, no file and no socket of anybody but the pipe to its worker', async () => {
    const pid = await pidOf(await make({network: true}));
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
    expect(variables).toEqual(['TZ=UTC']);
    const files = readdirSync(`/proc/${pid}/fd`).map(fd => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return ''; // closed meanwhile
      }
    });
    expect(files.filter(path => path.startsWith('/') && path !== '/dev/null')).toEqual([]);
    // The pipe to its worker and its standard error, which Node makes of sockets.
    expect(files.filter(path => path.startsWith('socket:'))).toHaveLength(2);
  });

  test('stands still between executions, and its end is that of its worker all the same', async () => {
    const other = await Tenant.make(service);
    const {id} = await newSandbox(other, {runtime: 'node', node_version: NODE_VERSION});
    const {value: pid} = await execute(other, id, {code: 'setInterval(() => {}, 1); return process.pid'});
    const stateOf = () => /^State:\t(\w)/m.exec(readFileSync(`/proc/${pid as number}/status`, 'utf8'))![1];
    await until('it stands still', () => stateOf() === 'T');
    process.kill(await service.workerOf(other.id), 'SIGKILL');
    await until('it is gone', () => !isAlive(pid as number));
    expect((await sandboxOf(other, id)).state).toBe('failed');
  });

  test.each([
    ['process.exit', 'process.exit(0)', 'exit code 0'],
    ['process.abort', 'process.abort()', 'SIGABRT'],
    [
      'a fatal error of Node',
      'require("node:async_hooks").createHook({init() { throw new Error("x"); }}).enable(); Promise.resolve()',
      'The Node process ended',
    ],
    [
      'bytes on its pipe that mean nothing',
      'require("node:fs").writeSync(3, Buffer.alloc(64, 255)); await new Promise(done => setTimeout(done, 1e4))',
      'violated the protocol',
    ],
    [
      'an answer that is no JSON',
      'forge({type: "executed", action: args.n, fault: null}, "{"); await new Promise(done => setTimeout(done, 1e4))',
      'violated the protocol',
    ],
    [
      'an answer with a reason of its own',
      'forge({type: "executed", action: args.n, fault: "well"}, "1"); await new Promise(done => setTimeout(done, 1e4))',
      'violated the protocol',
    ],
    [
      'a call of the tenant’s functions',
      'forge({type: "start", action: args.n, call: 1, operation: "runQuery"}, "{}"); await new Promise(done => setTimeout(done, 1e4))',
      'violated the protocol',
    ],
    [
      'signs of life that nobody asked for',
      'for (let i = 0; i < 1e4; i++) forge({type: "alive"}, ""); await new Promise(done => setTimeout(done, 1e4))',
      'violated the protocol',
    ],
  ])('ended by %s: the sandbox has failed, and nobody else', async (_, code, error) => {
    const bystander = await make();
    await execute(tenant, bystander, {code: 'globalThis.kept = 1'});
    const id = await make();
    const worker = await service.workerOf(tenant.id);
    const forge = `const forge = (head, text) => {
      const [json, body] = [Buffer.from(JSON.stringify(head)), Buffer.from(text)];
      const frame = Buffer.alloc(8);
      frame.writeUInt32LE(json.length + body.length, 0);
      frame.writeUInt32LE(json.length, 4);
      const whole = Buffer.concat([frame, json, body]);
      for (let at = 0; at < whole.length; ) { try { at += require("node:fs").writeSync(3, whole, at); } catch (e) { if (e.code !== "EAGAIN") throw e; } }
    };`;
    const {status, body} = await attempt(id, `${forge} ${code}`, {n: 1});
    const {detail} = (body as {error: {detail: object}}).error;
    expect([status, detail]).toEqual([422, expect.objectContaining({reason: 'ended', state: 'failed'})]);
    expect(await sandboxOf(tenant, id)).toMatchObject({state: 'failed', error: expect.stringContaining(error)});
    expect((await execute(tenant, bystander, {code: 'return kept'})).value).toBe(1);
    expect(await service.workerOf(tenant.id)).toBe(worker);
  });

  test('kill -9 of it while code runs, and while nothing does: it has failed, and what it holds is not found empty', async () => {
    const [busy, idle] = [await make(), await make()];
    const [busyPid, idlePid] = [await pidOf(busy), await pidOf(idle)];
    const running = attempt(busy, 'globalThis.n = 1; await new Promise(done => setTimeout(done, 1e5))');
    const stateOf = () => /^State:\t(\w)/m.exec(readFileSync(`/proc/${busyPid}/status`, 'utf8'))![1];
    await until('it runs', () => stateOf() !== 'T');
    for (const pid of [busyPid, idlePid]) process.kill(pid, 'SIGKILL');
    const {error} = (await running).body as {error: {detail: object}};
    expect(error.detail).toMatchObject({reason: 'ended', state: 'failed'});
    await until('both have failed', async () => (await sandboxOf(tenant, idle)).state === 'failed');
    expect((await attempt(idle, 'return 1')).status).toBe(409);
  });
});

describe('memory, time and output', () => {
  test.each(
    firstOf(4, [
      ['objects', 'const a = []; for (;;) a.push({a: [1, 2, 3], b: "x" + a.length});', 'out_of_memory'],
      ['buffers', 'const a = []; for (;;) a.push(Buffer.alloc(4e6, 1));', 'out_of_memory'],
      [
        'buffers, slowly',
        'const a = []; for (;;) { a.push(Buffer.alloc(4e6, 1)); await new Promise(done => setImmediate(done)); }',
        'out_of_memory',
      ],
      [
        'WebAssembly',
        'const a = []; for (;;) { const m = new WebAssembly.Memory({initial: 64}); new Uint8Array(m.buffer).fill(1); a.push(m); }',
        'out_of_memory',
      ],
      ['a loop', 'for (;;);', 'timed_out'],
      [
        'a loop of microtasks',
        '(function again() { Promise.resolve().then(again); })(); await new Promise(() => {});',
        'timed_out',
      ],
      ['a loop of turns', 'for (;;) { await new Promise(done => setImmediate(done)); }', 'timed_out'],
      [
        'a loop of process.nextTick',
        'await new Promise(() => { (function f() { process.nextTick(f); })(); })',
        'timed_out',
      ],
      ['a regular expression', '/^(a+)+$/.test("a".repeat(40) + "b");', 'timed_out'],
      [
        'threads of its pool',
        'for (;;) await Promise.all([1, 2, 3, 4].map(() => new Promise(done => require("node:crypto").pbkdf2("a", "b", 1e7, 64, "sha512", done))));',
        'timed_out',
      ],
      ['getters of the result', 'return {get a() { for (;;); }};', 'timed_out'],
      [
        'what is thrown',
        'throw {toString() { for (;;); }, get message() { for (;;); }, toJSON() { for (;;); }};',
        'timed_out',
      ],
    ]),
  )('%s without end cost the sandbox and nobody else', async (_, code, reason) => {
    const worker = await service.workerOf(tenant.id);
    const bystander = await make();
    await execute(tenant, bystander, {code: 'globalThis.kept = 1'});
    const id = await make({memory_mb: 32, cpu_ms: reason === 'timed_out' ? 500 : 30_000});
    const running = attempt(id, code);
    await tenant.insert('witness', {}); // The tenant answers while it runs.
    const {error} = (await running).body as {error: {detail: object}};
    expect(error.detail).toMatchObject({reason, state: 'failed'});
    expect((await execute(tenant, bystander, {code: 'return kept'})).value).toBe(1);
    expect(await service.workerOf(tenant.id)).toBe(worker);
  });

  test('standing still without computing is not waiting: it is cut off when its time is over', async () => {
    const id = await make();
    const {body} = await attempt(id, 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);', {}, 500);
    expect((body as {error: {detail: object}}).error.detail).toMatchObject({reason: 'timed_out', state: 'failed'});
  });

  test('what it logs without end is cut', async () => {
    const {log_lines} = await execute(tenant, await make({cpu_ms: 30_000}), {
      code: 'for (let i = 0; i < 1e4; i++) console.log("x".repeat(1e4)); return 1',
    });
    expect(log_lines.length).toBeLessThanOrEqual(LOG_LINES_MAX);
    expect(log_lines.join('').length).toBeLessThan(LOG_CALL_CHARS_MAX * 1.1);
    expect(log_lines.at(-1)).toContain('Log overflow');
  });

  test.each(
    firstOf(1, [
      ['its standard error', 'process.stderr.write(big)'],
      ['its standard error, past Node', 'require("node:fs").writeSync(2, big)'],
      ['its standard output', 'process.stdout.write(big)'],
      ['lines that it frames itself', 'require("node:fs").writeSync(3, line)'],
    ]),
  )('endless output to %s costs its own time: the tenant answers meanwhile', async (_, write) => {
    const id = await make({cpu_ms: 1_000});
    const running = attempt(
      id,
      `const big = Buffer.alloc(1e6, 97);
       const json = Buffer.from('{"type":"log","action":1}');
       const head = Buffer.alloc(8); head.writeUInt32LE(json.length + 1e3, 0); head.writeUInt32LE(json.length, 4);
       const line = Buffer.concat([head, json, Buffer.alloc(1e3, 97)]);
       for (;;) { try { ${write}; } catch (e) { if (e.code !== 'EAGAIN') throw e; } }`,
    );
    for (let i = 0; i < 5; i++) await tenant.insert('witness', {i});
    const {status, body} = await running;
    expect([status, (body as {error: {detail: object}}).error.detail]).toEqual([
      422,
      expect.objectContaining({state: 'failed'}),
    ]);
  });

  nightly.test(
    'never reading its messages: executions that wait for it are refused in time, and memory is not',
    async () => {
      const id = await make();
      const code = `require("node:fs").fstatSync(3); for (;;);//${'x'.repeat(9e5)}`;
      const all = await Promise.all(Array.from({length: 8}, () => attempt(id, code, {}, 1_000)));
      expect(all.map(({status}) => status).filter(status => status === 200)).toEqual([]);
      expect((await sandboxOf(tenant, id)).state).toBe('failed');
    },
  );
});

describe('other tenants', () => {
  test('neither their sandboxes nor their processes are in reach', async () => {
    const other = await Tenant.make(service);
    const theirs = await newSandbox(other, {runtime: 'node', node_version: NODE_VERSION, env: {SECRET: 'theirs'}});
    const {value: theirPid} = await execute(other, theirs.id, {
      code: 'globalThis.secret = process.env.SECRET; return process.pid',
    });
    const found = await succeeded(
      {
        'a signal': `process.kill(${theirPid as number}, 9)`,
        'their environment': `require("node:fs").readFileSync("/proc/${theirPid as number}/environ")`,
        'their memory': `require("node:fs").openSync("/proc/${theirPid as number}/mem", "r")`,
        'their pipe': `require("node:fs").openSync("/proc/${theirPid as number}/fd/3", "r+")`,
        'their secret': 'secret',
        'their file': 'require("node:fs").readFileSync(args.database)',
      },
      {},
      {database: `${service.directoryOf(other.id)}/tenant.sqlite`},
    );
    expect(found).toEqual({});
    expect((await tenant.request('POST', `/sandboxes/${theirs.id}/execute`, {code: 'return secret'})).status).toBe(404);
    expect((await execute(other, theirs.id, {code: 'return secret'})).value).toBe('theirs');
  });
});
