/** Sandboxes over HTTP, as …/sandboxes has them: their records, their executions, and how they end. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {SANDBOX_CODE_CHARS_MAX} from '../../shared/limits.ts';
import {NODE_SANDBOXES_MAX, SANDBOXES_MAX} from '../../worker/control/limits.ts';
import {nightly} from '../harness/nightly.ts';
import type {Reply} from '../harness/service.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {execute, newSandbox, RUNTIMES, type Runtime, type Sandbox, sandboxOf} from './sandbox-client.ts';
import {NODE_VERSION} from './service-client.ts';

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});

/** A sandbox of that runtime, for as long as the test works with it. */
async function withSandbox<T>(runtime: Runtime, options: object, work: (id: string) => Promise<T>): Promise<T> {
  const {id} = await newSandbox(tenant, {...RUNTIMES[runtime], ...options});
  try {
    return await work(id);
  } finally {
    await tenant.request('POST', `/sandboxes/${id}/stop`);
  }
}
const EACH = Object.keys(RUNTIMES) as Runtime[];

describe('a sandbox is made with what was asked for, or with defaults', () => {
  test('POST answers 201 with its record, GET shows the same, the list has it', async () => {
    const {id: _, ...empty} = await newSandbox(tenant);
    expect(empty).toEqual({
      runtime: 'isolate',
      node_version: null,
      memory_mb: 32,
      cpu_ms: 1_000,
      ttl_ms: 300_000,
      env: {},
      network: false,
      state: 'running',
      session_id: null,
      created_at: expect.any(Number),
      expires_at: empty.created_at + 300_000,
      ended_at: null,
      error: null,
    });
    const asked = {runtime: 'isolate', memory_mb: 64, cpu_ms: 50, ttl_ms: 60_000, env: {A: 'b'}, network: true};
    const made = await newSandbox(tenant, asked);
    expect(made).toMatchObject(asked);
    expect(await sandboxOf(tenant, made.id)).toEqual(made);
    const {sandboxes}: {sandboxes: Sandbox[]} = (await tenant.request('GET', '/sandboxes')).body;
    expect(sandboxes.at(-1)).toEqual(made);
  });

  test('a Node sandbox has a version and more memory', async () => {
    const {id, ...made} = await newSandbox(tenant, RUNTIMES.node);
    expect(made).toMatchObject({
      runtime: 'node',
      node_version: NODE_VERSION,
      memory_mb: 64,
      cpu_ms: 1_000,
      state: 'running',
    });
    await tenant.request('POST', `/sandboxes/${id}/stop`);
  });

  test.each<[unknown, string]>([
    [{runtime: 'bun'}, 'runtime must be one of "isolate", "node"'],
    [{memory_mb: 7}, 'memory_mb must be >= 8 with runtime "isolate"'],
    [{memory_mb: 129}, 'memory_mb must be <= 128 with runtime "isolate"'],
    [{memory_mb: 8.5}, 'memory_mb'],
    [{runtime: 'node', memory_mb: 31}, 'memory_mb must be >= 32 with runtime "node"'],
    [{runtime: 'node', memory_mb: 257}, 'memory_mb must be <= 256 with runtime "node"'],
    [{runtime: 'node', node_version: '18'}, 'node_version must be one of "20", "22", "24", "26"'],
    [{runtime: 'isolate', node_version: '22'}, 'node_version is for runtime "node"'],
    [{node_version: '22'}, 'node_version is for runtime "node"'],
    [{cpu_ms: 0}, 'cpu_ms must be >= 1'],
    [{cpu_ms: 30_001}, 'cpu_ms must be <= 30000'],
    [{ttl_ms: 999}, 'ttl_ms must be >= 1000'],
    [{ttl_ms: 86_400_001}, 'ttl_ms must be <= 86400000'],
    [{env: {A: 1}}, 'env.A must be string'],
    [{env: {A: 'x'.repeat(8_192)}}, 'env must have at most 8192 characters'],
    [{env: {'': 'a'}}, 'env must hold valid Unicode, with names that are not empty'],
    [{env: {'A=B': 'a'}}, 'env must hold valid Unicode, with names that are not empty'],
    [{env: {A: 'a\0'}}, 'env must hold valid Unicode'],
    [{network: 'on'}, 'network must be boolean'],
    [[], 'the body must be object'],
  ])('%# is 400: $1', async (body, message) => {
    const error = expectError(await tenant.request('POST', '/sandboxes', body), 400, 'op.invalid_input');
    expect(error.message).toContain(message);
  });

  test('with the same Idempotency-Key it is made once', async () => {
    const headers = {'idempotency-key': 'once'};
    const first = await tenant.request('POST', '/sandboxes', {ttl_ms: 50_000}, headers);
    const again = await tenant.request('POST', '/sandboxes', {ttl_ms: 50_000}, headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  test('a tenant that is not there is 404, as is a sandbox of another tenant', async () => {
    const {id} = await newSandbox(tenant);
    const other = await Tenant.make(service);
    expectError(await other.request('GET', `/sandboxes/${id}`), 404, 'op.not_found');
    expectError(await other.request('POST', `/sandboxes/${id}/execute`, {code: '1'}), 404, 'op.not_found');
    expectError(await other.request('POST', `/sandboxes/${id}/stop`), 404, 'op.not_found');
    expectError(await service.get('/api/tenants/nobody/sandboxes'), 404, 'session.tenant_not_found');
  });
});

describe.each(EACH)('%s: an execution runs the body of an async function of args', runtime => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await newSandbox(tenant, {...RUNTIMES[runtime], env: {WHO: 'world'}, cpu_ms: 10_000});
  });
  afterAll(() => tenant.request('POST', `/sandboxes/${sandbox.id}/stop`));
  const isNode = runtime === 'node';
  const run = (body: object) => execute(tenant, sandbox.id, body);

  test('and answers its value, its console lines and how long it took', async () => {
    const answer = await run({
      code: 'console.log("hi", args.a + args.b); return {sum: args.a + args.b}',
      args: {a: 1, b: 2},
    });
    expect(answer).toEqual({
      value: {sum: 3},
      log_lines: ["[LOG] 'hi' 3"],
      duration_ms: expect.any(Number),
    });
  });

  test.each<[string, unknown]>([
    ['', null],
    ['return undefined', null],
    ['return args', {}],
    ['return await new Promise(done => setTimeout(() => done("later"), 5))', 'later'],
    ['return process.env.WHO', 'world'],
    ['return Object.keys(process.env).sort()', isNode ? ['TZ', 'WHO'] : ['WHO']],
    [
      'return [typeof require, typeof Buffer, typeof ctx]',
      isNode ? ['function', 'function', 'undefined'] : ['undefined', 'undefined', 'undefined'],
    ],
    ['return NaN', {$float: 'AAAAAAAA+H8='}],
    ['return (() => this)() === undefined', true],
    ['// it ends with a comment', null],
    ['return new URL("/x", "https://a.example").href', 'https://a.example/x'],
    ['return await crypto.subtle.digest("SHA-256", new Uint8Array()).then(d => d.byteLength)', 32],
  ])('%s → %j', async (code, value) => {
    expect((await run({code: code || ';'})).value).toEqual(value);
  });

  test('what it puts on globalThis is there the next time', async () => {
    await run({code: 'globalThis.n = 1; globalThis.add = by => (globalThis.n += by)'});
    await run({code: 'add(args.by)', args: {by: 41}});
    expect((await run({code: 'return n'})).value).toBe(42);
  });

  test('and not in another sandbox', async () => {
    await run({code: 'globalThis.mine = 1; Array.prototype.mine = 1'});
    await withSandbox(runtime, {}, async id => {
      const {value} = await execute(tenant, id, {code: 'return [typeof mine, typeof [].mine]'});
      expect(value).toEqual(['undefined', 'undefined']);
    });
  });

  test('executions of one sandbox run one after another, in the order they came', async () => {
    const code =
      'globalThis.seen ??= []; seen.push(args.i + " begins"); await new Promise(done => setTimeout(done, 3)); ' +
      'seen.push(args.i + " ends"); return seen';
    const answers = await Promise.all([0, 1, 2].map(i => run({code, args: {i}})));
    expect(answers.at(-1)!.value).toEqual(['0 begins', '0 ends', '1 begins', '1 ends', '2 begins', '2 ends']);
  });

  test.runIf(isNode)('what it left running stands still, and goes on unheard with the next execution', async () => {
    await withSandbox(runtime, {}, async id => {
      const left = await execute(tenant, id, {
        code: 'globalThis.ticks = 0; setInterval(() => { ticks++; console.log("left"); }, 1)',
      });
      await run({code: 'await new Promise(done => setTimeout(done, 50))'});
      const next = await execute(tenant, id, {
        code: 'const n = ticks; while (ticks < n + 3) await new Promise(done => setTimeout(done, 1)); return n',
      });
      expect([left.log_lines, next.log_lines]).toEqual([[], []]);
      expect(next.value).toBeLessThan(10);
    });
  });

  test.runIf(isNode)('what it left running and throws is not the failure of the next', async () => {
    await run({code: 'setTimeout(() => { throw new Error("left"); }, 1); void Promise.reject(new Error("dropped"));'});
    expect((await run({code: 'await new Promise(done => setTimeout(done, 20)); return 1'})).value).toBe(1);
  });

  test.runIf(!isNode)('what it left running does not go on', async () => {
    await run({code: 'globalThis.ticks = 0; setInterval(() => globalThis.ticks++, 1)'});
    expect((await run({code: 'await new Promise(done => setTimeout(done, 20)); return ticks'})).value).toBe(0);
  });

  const FAILS: [string, string, object, string][] = [
    ['throw new TypeError("no")', 'threw', {name: 'TypeError', stack: expect.stringContaining('sandbox.js:1')}, 'no'],
    ['throw "text"', 'threw', {stack: null}, 'text'],
    ['return await Promise.reject(new Error("late"))', 'threw', {name: 'Error'}, 'late'],
    ['return (', 'syntax', {name: 'SyntaxError'}, 'Unexpected token'],
    ['}, 1, {', 'syntax', {name: 'SyntaxError'}, 'not the body of a function'],
    ['return () => 1', 'threw', {}, 'not a supported'],
    ['await new Promise(() => {})', 'unfinished', {}, 'can never happen'],
    [
      isNode
        ? 'try { await fetch("https://example.com/"); } catch (e) { throw e.cause; }'
        : 'await fetch("https://example.com/")',
      'threw',
      {name: isNode ? 'EgressRefused' : 'TypeError'},
      '"network": true',
    ],
    [
      'setTimeout(() => { throw new RangeError("later"); }, 1); await new Promise(done => setTimeout(done, 30_000))',
      'threw',
      {name: 'RangeError'},
      'later',
    ],
    ['new WebSocket("wss://example.com/"); await new Promise(done => setTimeout(done, 30)); throw 1', 'threw', {}, '1'],
    ['await new Promise(done => setTimeout(done, 30_000))', 'timed_out', {}, 'longer than timeout_ms, 1000 ms'],
    ['return "x".repeat(2 ** 20)', 'threw', {}, 'the value is longer than'],
    ['return (await import("./other.js"))', 'threw', {}, ''],
  ];
  test.each(FAILS)('%s is 422, %s; the sandbox goes on', async (code, reason, detail, message) => {
    await run({code: 'globalThis.kept = 1'});
    const reply = await tenant.request('POST', `/sandboxes/${sandbox.id}/execute`, {
      code: `console.log('x'); ${code}`,
      timeout_ms: reason === 'timed_out' ? 1_000 : 30_000,
    });
    const error = expectFailed(reply);
    expect(error.message).toContain(message);
    expect(error.detail).toMatchObject({reason, ...detail, state: 'running', duration_ms: expect.any(Number)});
    expect(error.detail!.log_lines).toEqual(reason === 'syntax' ? [] : ["[LOG] 'x'"]);
    expect((await run({code: 'return kept'})).value).toBe(1);
  });

  test.each<[object, string]>([
    [{}, 'code'],
    [{code: ''}, 'code'],
    [{code: 1}, 'code must be string'],
    [{code: 'x'.repeat(SANDBOX_CODE_CHARS_MAX + 1)}, 'code'],
    [{code: '1', timeout_ms: 0}, 'timeout_ms must be >= 1'],
    [{code: '1', timeout_ms: 300_001}, 'timeout_ms must be <= 300000'],
  ])('%# is 400: $1', async (body, message) => {
    const reply = await tenant.request('POST', `/sandboxes/${sandbox.id}/execute`, body);
    expect(expectError(reply, 400, 'op.invalid_input').message).toContain(message);
  });

  test('code of just the limit runs', async () => {
    const code = `return 1 //${'x'.repeat(SANDBOX_CODE_CHARS_MAX - 11)}`;
    expect(code.length).toBe(SANDBOX_CODE_CHARS_MAX);
    expect((await run({code})).value).toBe(1);
  });
});

describe.each(EACH)('%s: a sandbox ends, and what it held is gone', runtime => {
  const make = (options: object = {}) => newSandbox(tenant, {...RUNTIMES[runtime], ...options});
  const refused = async (id: string, state: string): Promise<void> => {
    const error = expectError(
      await tenant.request('POST', `/sandboxes/${id}/execute`, {code: 'return 1'}),
      409,
      'op.conflict',
    );
    expect(error.message).toContain(`is ${state}`);
    expect(error.detail).toEqual({state});
  };

  test('stopped: by POST …/stop, which may be repeated', async () => {
    const {id} = await make();
    const first = await tenant.request('POST', `/sandboxes/${id}/stop`);
    const {sandbox}: {sandbox: Sandbox} = first.body;
    expect([first.status, sandbox.state, sandbox.error]).toEqual([200, 'stopped', null]);
    expect(sandbox.ended_at).toBeGreaterThanOrEqual(sandbox.created_at);
    const again = await tenant.request('POST', `/sandboxes/${id}/stop`);
    expect([again.status, again.text]).toEqual([200, first.text]);
    await refused(id, 'stopped');
  });

  test('stopped while code runs and while code waits: both callers get an error', async () => {
    const {id} = await make({cpu_ms: 30_000});
    const running = tenant.request('POST', `/sandboxes/${id}/execute`, {code: 'for (;;);'});
    const waiting = tenant.request('POST', `/sandboxes/${id}/execute`, {code: 'return 1'});
    await tenant.request('POST', `/sandboxes/${id}/stop`);
    const outcomes = await Promise.all([running, waiting]);
    // The stop may overtake one of them on its way.
    for (const reply of outcomes) {
      const {error}: {error: {code: string; detail: {state: string}}} = reply.body;
      expect(['sandbox.execution_failed', 'op.conflict']).toContain(error.code);
      expect(error.detail.state).toBe('stopped');
    }
  });

  test('expired: ttl_ms after it was made', async () => {
    const {id} = await make({ttl_ms: 1_000});
    await until('it has expired', async () => (await sandboxOf(tenant, id)).state === 'expired');
    await refused(id, 'expired');
  });

  const least = runtime === 'node' ? 32 : 8;
  test.each<[string, string, object, string]>([
    ['computes for longer than cpu_ms', 'for (;;);', {cpu_ms: 50}, 'timed_out'],
    ['computes beyond its timeout_ms', 'for (;;);', {cpu_ms: 30_000, timeout_ms: 50}, 'timed_out'],
    ['loops in microtasks', 'const f = () => Promise.resolve().then(f); await f()', {cpu_ms: 50}, 'timed_out'],
    [
      'needs too much memory',
      'const a = []; for (;;) a.push(new Array(1e4).fill(1.5))',
      {memory_mb: least, cpu_ms: 30_000},
      'out_of_memory',
    ],
    [
      'needs too many buffers',
      'const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))',
      {memory_mb: least, cpu_ms: 30_000},
      runtime === 'node' ? 'out_of_memory' : 'threw',
    ],
  ])('failed: its code %s', async (_, code, {timeout_ms, ...options}: {timeout_ms?: number}, reason) => {
    const {id} = await make(options);
    const reply = await tenant.request('POST', `/sandboxes/${id}/execute`, {code, timeout_ms});
    const error = expectFailed(reply);
    if (reason === 'threw') return; // a RangeError that it may catch
    expect(error.detail).toMatchObject({reason, state: 'failed'});
    expect(await sandboxOf(tenant, id)).toMatchObject({state: 'failed', error: expect.stringMatching(/\S/)});
    await refused(id, 'failed');
  });
});

test(`a tenant has ${NODE_SANDBOXES_MAX} Node sandboxes that run at once; the next is 429, until one is stopped, and isolates are not counted`, async () => {
  const crowded = await Tenant.make(service);
  const make = () => crowded.request('POST', '/sandboxes', {...RUNTIMES.node, memory_mb: 32});
  const replies = await Promise.all(Array.from({length: NODE_SANDBOXES_MAX + 1}, make));
  expect(replies.map(({status}) => status).sort()).toEqual([...Array(NODE_SANDBOXES_MAX).fill(201), 429]);
  const {id} = await newSandbox(crowded);
  expect((await execute(crowded, id, {code: 'return 1'})).value).toBe(1);
  const error = expectError(await make(), 429, 'op.rate_limited');
  expect(error.message).toContain('runtime "node"');
  const [made] = replies.flatMap(({status, body}) => (status === 201 ? [(body as {sandbox: Sandbox}).sandbox] : []));
  await crowded.request('POST', `/sandboxes/${made!.id}/stop`);
  expect((await make()).status).toBe(201);
  await service.request('DELETE', `/api/tenants/${crowded.id}`);
}, 60_000);

nightly.test(
  `a tenant has ${SANDBOXES_MAX} that run at once; the next is 429, until one is stopped`,
  async () => {
    const crowded = await Tenant.make(service);
    const made: string[] = [];
    const makeSome = async () => {
      for (let i = 0; i < SANDBOXES_MAX / 8; i++) made.push((await newSandbox(crowded, {memory_mb: 8})).id);
    };
    await Promise.all(Array.from({length: 8}, makeSome));
    expectError(await crowded.request('POST', '/sandboxes', {}), 429, 'op.rate_limited');
    const answers = await Promise.all(made.map(id => execute(crowded, id, {code: 'return args.id', args: {id}})));
    expect(answers.map(({value}) => value)).toEqual(made);
    await crowded.request('POST', `/sandboxes/${made[0]}/stop`);
    await newSandbox(crowded);
  },
  60_000,
);

function expectFailed(reply: Reply) {
  const {error}: {error: {code: string; message: string; detail?: Record<string, unknown>}} = reply.body;
  expect([reply.status, error.code]).toEqual([422, 'sandbox.execution_failed']);
  return error;
}
