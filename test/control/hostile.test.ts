/**
 * What code in a sandbox must not reach, and what it must not be able to do to others: generated code is assumed to try. Each attack runs
 * against a really started service; whatever comes of it in the sandbox, the tenant, its other sandboxes and other tenants serve on, and
 * nothing that is not the sandbox's was touched.
 */
import {mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync} from 'node:fs';
import {createServer as createHttpServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {createServer as createSocketServer, type Server as SocketServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {LOG_LINES_MAX} from '../../worker/runtime/guest/limits.ts';
import {LOG_CALL_CHARS_MAX} from '../../worker/runtime/limits.ts';
import {firstOf} from '../harness/nightly.ts';
import {childrenOf, commandLine, isAlive} from '../harness/processes.ts';
import {type Reply, Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {probing} from './probes.ts';
import {execute, newSandbox, sandboxOf} from './sandbox-client.ts';

let service: Service;
let tenant: Tenant;
let inside: Server;
let socket: SocketServer;
let socketPath: string;
let reached = 0;
beforeAll(async () => {
  service = await Service.start({env: {SECRET_OF_THE_SERVER: 'x'}});
  tenant = await Tenant.make(service);
  inside = createHttpServer((request, response) => {
    reached++;
    if (request.url === '/away') response.writeHead(302, {location: 'http://169.254.169.254/latest/meta-data/'}).end();
    else response.end('inside');
  });
  await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', resolve));
  socketPath = join(mkdtempSync(join(tmpdir(), 'svc-hostile-')), 'worker.sock');
  socket = createSocketServer(() => reached++);
  await new Promise<void>(resolve => socket.listen(socketPath, resolve));
});
afterAll(async () => {
  inside.close();
  socket.close();
  rmSync(join(socketPath, '..'), {recursive: true});
  await service.stop();
});
/** Whatever was tried: everybody else is as they were. */
afterEach(async () => {
  const {id} = await newSandbox(tenant);
  expect((await execute(tenant, id, {code: 'return [1, typeof polluted, typeof {}.polluted]'})).value).toEqual([
    1,
    'undefined',
    'undefined',
  ]);
  await tenant.request('POST', `/sandboxes/${id}/stop`);
  await tenant.insert('witness', {});
});

const port = () => (inside.address() as AddressInfo).port;

async function attempt(id: string, code: string, args: object = {}, timeout_ms = 20_000): Promise<Reply> {
  const reply = await tenant.request('POST', `/sandboxes/${id}/execute`, {code, args, timeout_ms});
  expect([200, 409, 422]).toContain(reply.status);
  return reply;
}

/** In a sandbox of its own. @returns what it answered */
async function alone(code: string, args: object = {}, options: object = {}): Promise<Reply> {
  const {id} = await newSandbox(tenant, options);
  try {
    return await attempt(id, code, args);
  } finally {
    await tenant.request('POST', `/sandboxes/${id}/stop`);
  }
}

/** Tries each expression. @returns those that did not throw, with what they gave */
async function succeeded(probes: Record<string, string>, args: object = {}, options: object = {}): Promise<object> {
  const reply = await alone(probing(probes), args, options);
  expect({status: reply.status, text: reply.text}).toEqual({status: 200, text: expect.any(String)});
  return (reply.body as {value: object}).value;
}

const processOf = (worker: number): number =>
  childrenOf(worker).find(pid => commandLine(pid).includes('sandboxes.js'))!;

describe('escape', () => {
  test('no code from strings, no modules, no host objects', async () => {
    const found = await succeeded({
      Function: 'Function("return process")()',
      'a constructor of a constructor': '(() => {}).constructor("return globalThis")()',
      'an async constructor': '(async () => {}).constructor("return 1")()',
      'a generator constructor': '(function* () {}).constructor("yield 1")().next()',
      eval: '(0, eval)("1 + 1")',
      'a timer from a string': 'setTimeout("globalThis.polluted = 1", 0)',
      'a constructor of args': 'args.constructor.constructor("return process")()',
      'a constructor of console': 'console.log.constructor("return process")()',
      'a constructor of an error':
        '(() => { try { null.x; } catch (e) { return e.constructor.constructor("return process")(); } })()',
      'import fs': 'import("node:fs")',
      'import fs, bare': 'import("fs")',
      'import a file': 'import("/etc/passwd")',
      'import data': 'import("data:text/javascript,export default 1")',
      require: 'require("fs")',
      'import.meta through a module': 'import("./sandbox.js")',
      'process.binding': 'process.binding("fs")',
      'process.mainModule': 'process.mainModule.require("fs")',
      'process.getBuiltinModule': 'process.getBuiltinModule("fs")',
      'Deno, Bun': '(globalThis.Deno ?? globalThis.Bun).version',
      'shared memory': 'new SharedArrayBuffer(8)',
      'shared memory of WebAssembly': 'new WebAssembly.Memory({initial: 1, maximum: 1, shared: true})',
    });
    expect(found).toEqual({});
  });

  test('frames of a stack give away neither functions nor what they were called on', async () => {
    const reply = await alone(`
      Error.stackTraceLimit = 100;
      let seen = null;
      Error.prepareStackTrace = (error, frames) => {
        seen = frames.map(frame => [typeof frame.getFunction?.(), typeof frame.getThis?.()].join());
        return frames.length;
      };
      new Error().stack;
      return seen;`);
    const {value}: {value: string[] | null} = reply.body as {value: string[] | null};
    expect((value ?? []).filter(frame => frame !== 'undefined,undefined')).toEqual([]);
  });

  test('the answer is the host’s: what code does to JSON, to prototypes and to promises forges none of it', async () => {
    const {id} = await newSandbox(tenant);
    const forgeries = [
      'JSON.stringify = () => \'1,"log_lines":["forged"],"duration_ms":-1}\'; return {a: 1}',
      'JSON.parse = () => ({forged: true}); return args',
      'Object.prototype.toJSON = () => "forged"; return {a: 1}',
      'Array.prototype.join = () => "forged"; Array.prototype.push = () => 1; return [1]',
      'String.prototype.slice = String.prototype.toString = () => "forged"; return "a"',
      'Promise.prototype.then = function () { return this; }; return 1',
      'Object.defineProperty(Object.prototype, "ok", {get: () => true, configurable: true}); throw new Error("no")',
      'return new Proxy({}, {get: () => { throw new Error("trap"); }, ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({value: 1, enumerable: true, configurable: true})})',
      'return {get a() { globalThis.polluted = 1; return 1; }, toJSON: () => ({forged: 1})}',
      'throw {get message() { throw 1; }, toString() { throw 2; }}',
      'throw new Proxy(new Error("x"), {get() { throw new Error("trap"); }})',
      'class E extends Error { get stack() { return "x".repeat(1e6); } } throw new E("y".repeat(1e6))',
    ];
    for (const code of forgeries) {
      const {status, body, text} = await attempt(id, code);
      if (status === 409) break; // A realm whose promises are broken is given up.
      if (status === 200) {
        expect(Object.keys(body as object).sort()).toEqual(['duration_ms', 'log_lines', 'value']);
        expect(body).toMatchObject({log_lines: [], duration_ms: expect.any(Number)});
        expect((body as {duration_ms: number}).duration_ms).toBeGreaterThanOrEqual(0);
      } else {
        const {error} = body as {error: {code: string; detail: object}};
        expect(error.code).toBe('sandbox.execution_failed');
        expect(error.detail).toMatchObject({log_lines: []});
      }
      expect(text.length).toBeLessThan(200_000);
    }
    await tenant.request('POST', `/sandboxes/${id}/stop`);
  });

  test('it reaches nothing of the tenant: no documents, functions, variables, nor the variables of the server', async () => {
    await tenant.request('PUT', '/env/SECRET', {value: 'of the tenant'});
    await tenant.insert('secrets', {text: 'deep'});
    const found = await succeeded({
      'a query': 'ctx.runQuery("m:list", {})',
      'a database': 'ctx.db.query("secrets").collect()',
      'a variable': 'process.env.SECRET.length',
      'a variable of the server': 'process.env.SECRET_OF_THE_SERVER.length',
      'a path': 'process.cwd()',
      'arguments of the process': 'process.argv.join()',
    });
    expect(found).toEqual({});
    const reply = await alone('return [Object.keys(process.env), Object.keys(process)]');
    expect((reply.body as {value: unknown}).value).toEqual([[], ['env']]);
  });
});

describe('its process', () => {
  test('has no variables, no file and no socket of anybody, and may neither write nor start anything', async () => {
    const {id} = await newSandbox(tenant, {network: true});
    await execute(tenant, id, {code: 'return 1'});
    const pid = processOf(await service.workerOf(tenant.id));
    // Node takes those of its channel away before anything else runs.
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
    expect(variables.filter(variable => !variable.startsWith('NODE_CHANNEL_'))).toEqual(['TZ=UTC']);
    const files = readdirSync(`/proc/${pid}/fd`).map(fd => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return ''; // closed meanwhile
      }
    });
    expect(files.filter(path => path.startsWith(service.data))).toEqual([]);
    // The channel to its worker and its standard error, which Node makes of sockets: no listener, no link to a router or another worker.
    expect(files.filter(path => path.startsWith('socket:'))).toHaveLength(2);
    const command = commandLine(pid).split('\0');
    expect(command).toContain('--permission');
    expect(command.filter(flag => /^--allow-(?!addons$|fs-read=)/.test(flag))).toEqual([]);
    expect(
      command.filter(flag => flag.startsWith('--allow-fs-read=') && flag.includes(`${service.data}/tenants`)),
    ).toEqual([]);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
  });

  test('a signal from its code reaches nobody', async () => {
    const worker = await service.workerOf(tenant.id);
    const found = await succeeded({
      kill: `process.kill(${worker}, 9)`,
      'kill below': `process._kill(${worker}, 9)`,
      abort: 'process.abort()',
      exit: 'process.exit(0)',
      'a debugger': `process._debugProcess(${worker})`,
      'a thread': 'new Worker("data:text/javascript,1")',
      'a child': 'import("node:child_process").then(({spawn}) => spawn("true"))',
    });
    expect(found).toEqual({});
    expect(isAlive(worker)).toBe(true);
    expect(await service.workerOf(tenant.id)).toBe(worker);
  });
});

describe('the network', () => {
  /** Every way to the server inside, as URLs say it. */
  const ways = (at: number): Record<string, string> =>
    Object.fromEntries(
      [
        `http://127.0.0.1:${at}/`,
        `http://localhost:${at}/`,
        `http://2130706433:${at}/`,
        `http://0x7f.1:${at}/`,
        `http://0177.0.0.1:${at}/`,
        `http://127.1:${at}/`,
        `http://0.0.0.0:${at}/`,
        `http://[::1]:${at}/`,
        `http://[::ffff:127.0.0.1]:${at}/`,
        `http://[::ffff:7f00:1]:${at}/`,
        `http://user:pass@127.0.0.1:${at}/`,
        `http://localhost.:${at}/`,
        'http://169.254.169.254/latest/meta-data/',
        'file:///etc/passwd',
        `unix:${socketPath}:/`,
        `http://unix:${socketPath}:/`,
        `http+unix://${encodeURIComponent(socketPath)}/`,
      ].map(url => [url, `fetch(${JSON.stringify(url)}, {signal: AbortSignal.timeout(3_000)}).then(r => r.status)`]),
    );
  const webSocket = (at: number): Record<string, string> => ({
    'a WebSocket': `new Promise((resolve, reject) => {
      const socket = new WebSocket('ws://127.0.0.1:${at}/');
      socket.onopen = () => resolve('open');
      socket.onerror = reject;
      socket.onclose = reject;
    })`,
  });

  test('is off unless it was asked for', async () => {
    const before = reached;
    expect(await succeeded({...ways(port()), ...webSocket(port())})).toEqual({});
    expect(reached).toBe(before);
  });

  test('on, it goes where the egress policy of the tenant lets it: not to this machine, whatever it is called', async () => {
    const before = reached;
    expect(await succeeded({...ways(port()), ...webSocket(port())}, {}, {network: true})).toEqual({});
    expect(reached).toBe(before);
  });

  test('what the policy opens is open, its redirects are not, and the sockets of workers stay closed', async () => {
    await tenant.request('PUT', '/settings', {
      egress: {allow: [`127.0.0.1:${port()}`], deny: []},
      allowed_origins: null,
    });
    const way = `http://127.0.0.1:${port()}/`;
    const found = await succeeded(
      {...ways(port()), away: `fetch('${way}away').then(r => r.status)`},
      {},
      {network: true},
    );
    expect(found).toMatchObject({[way]: '200'});
    expect(Object.keys(found).filter(url => /169\.254|file:|unix|away/.test(url))).toEqual([]);
    // A sandbox that was made with a network loses what the policy closes.
    const {id} = await newSandbox(tenant, {network: true});
    const ask = {code: `return (await fetch('${way}')).status`};
    expect((await execute(tenant, id, ask)).value).toBe(200);
    await tenant.request('PUT', '/settings', {egress: {allow: [], deny: []}, allowed_origins: null});
    expect((await attempt(id, ask.code)).status).toBe(422);
    await tenant.request('POST', `/sandboxes/${id}/stop`);
  });
});

describe('memory and time', () => {
  test.each(
    firstOf(6, [
      ['objects', 'const a = []; for (;;) a.push({a: [1, 2, 3], b: "x" + a.length});'],
      ['one string', 'let s = "x"; for (;;) s = s + s + Math.random();'],
      ['a flat string', 'const a = []; for (;;) a.push("x".repeat(1e7) + a.length + "y");'],
      ['buffers', 'const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1));'],
      [
        'closures in promises',
        'const all = []; for (;;) { const big = new Array(1e4).fill(all.length); all.push(Promise.resolve().then(() => big)); }',
      ],
      ['WebAssembly', 'const a = []; for (;;) a.push(new WebAssembly.Memory({initial: 256}));'],
      ['a regular expression', '/^(a+)+$/.test("a".repeat(40) + "b");'],
      ['sorting', 'const a = Array.from({length: 5e6}, Math.random); for (;;) a.sort(() => Math.random() - 0.5);'],
      ['a loop of microtasks', 'const again = () => Promise.resolve().then(again); await again();'],
      ['a loop that catches', 'for (;;) { try { (function f() { f(); })(); } catch {} }'],
      ['getters of the result', 'return {get a() { for (;;); }};'],
      ['what is thrown', 'throw {toString() { for (;;); }, get message() { for (;;); }};'],
      ['JSON', 'let o = {}; for (let i = 0; i < 1e6; i++) o = {o}; return o;'],
      ['a huge array', 'return new Array(2 ** 32 - 1);'],
      ['structuredClone', 'let a = [1]; for (;;) a = [...structuredClone(a), ...structuredClone(a)];'],
      ['timers', 'for (;;) setTimeout(() => {}, 1e6);'],
    ]),
  )('%s without end cost the sandbox and nobody else', async (_, code) => {
    const worker = await service.workerOf(tenant.id);
    const bystander = await newSandbox(tenant);
    await execute(tenant, bystander.id, {code: 'globalThis.kept = 1'});
    const {id} = await newSandbox(tenant, {memory_mb: 16, cpu_ms: 500});
    const running = attempt(id, code);
    // The tenant answers while it runs.
    await tenant.insert('witness', {});
    const {status} = await running;
    expect(status).toBe(422);
    expect(['running', 'failed']).toContain((await sandboxOf(tenant, id)).state);
    expect((await execute(tenant, bystander.id, {code: 'return kept'})).value).toBe(1);
    expect(await service.workerOf(tenant.id)).toBe(worker);
    for (const each of [id, bystander.id]) await tenant.request('POST', `/sandboxes/${each}/stop`);
  });

  test.each(
    firstOf(1, [
      ['a table that V8 cannot make', 'const m = new Map(); for (let i = 0; ; i++) m.set(i, {i});'],
      ['a multiplication that V8 does not interrupt', 'let n = 3n; for (;;) n = n * n;'],
    ]),
  )('%s may cost the tenant its sandboxes, as the docs say, and nothing else', async (_, code) => {
    const worker = await service.workerOf(tenant.id);
    const other = await Tenant.make(service);
    const [bystander, foreign] = [await newSandbox(tenant), await newSandbox(other)];
    for (const [of, {id}] of [
      [tenant, bystander],
      [other, foreign],
    ] as const) {
      await execute(of, id, {code: 'globalThis.kept = 1'});
    }
    const {id} = await newSandbox(tenant, {memory_mb: 16, cpu_ms: 500});
    const {status} = await attempt(id, code, {}, 1_000);
    expect(status).toBe(422);
    expect((await sandboxOf(tenant, id)).state).toBe('failed');
    const {state, error} = await sandboxOf(tenant, bystander.id);
    if (state === 'failed') expect(error).toMatch(/the process of the sandboxes ended|it gave no sign of life/);
    else expect((await execute(tenant, bystander.id, {code: 'return kept'})).value).toBe(1);
    expect((await execute(other, foreign.id, {code: 'return kept'})).value).toBe(1);
    expect(await service.workerOf(tenant.id)).toBe(worker);
  });

  test('what it logs without end is cut', async () => {
    const reply = await alone(
      'for (let i = 0; i < 1e5; i++) console.log("x".repeat(1e4)); return 1',
      {},
      {cpu_ms: 20_000},
    );
    const body = reply.body as {log_lines: string[]};
    expect(body.log_lines.length).toBeLessThanOrEqual(LOG_LINES_MAX);
    expect(body.log_lines.join('').length).toBeLessThan(LOG_CALL_CHARS_MAX * 1.1);
    expect(body.log_lines.at(-1)).toContain('Log overflow');
  });

  test('waiting is not computing: what is ended while it waits costs the execution alone', async () => {
    const {id} = await newSandbox(tenant);
    const reply = await attempt(id, 'globalThis.kept = 1; await new Promise(done => setTimeout(done, 1e6))', {}, 300);
    const {error} = reply.body as {error: {detail: object}};
    expect(error.detail).toMatchObject({reason: 'timed_out', state: 'running'});
    expect((await execute(tenant, id, {code: 'return kept'})).value).toBe(1);
    await tenant.request('POST', `/sandboxes/${id}/stop`);
  });
});

describe('other tenants', () => {
  test('neither their sandboxes nor their processes are in reach', async () => {
    const other = await Tenant.make(service);
    const theirs = await newSandbox(other, {env: {SECRET: 'theirs'}});
    await execute(other, theirs.id, {code: 'globalThis.secret = process.env.SECRET'});
    const mine = await newSandbox(tenant);
    expect((await tenant.request('POST', `/sandboxes/${theirs.id}/execute`, {code: 'return secret'})).status).toBe(404);
    expect(
      (await execute(tenant, mine.id, {code: 'return [typeof secret, process.env.SECRET ?? null]'})).value,
    ).toEqual(['undefined', null]);
    const [ours, others] = [processOf(await service.workerOf(tenant.id)), processOf(await service.workerOf(other.id))];
    expect(ours).not.toBe(others);
    process.kill(ours, 'SIGKILL');
    await until('ours has failed', async () => (await sandboxOf(tenant, mine.id)).state === 'failed');
    expect((await execute(other, theirs.id, {code: 'return secret'})).value).toBe('theirs');
  });
});
