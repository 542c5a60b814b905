/**
 * Attempts to hold a thread for ever or to fill the memory. They end with a time-out, with their isolate or with an error; the
 * process and the other isolates go on.
 */
import {spawnSync} from 'node:child_process';
import {tmpdir} from 'node:os';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {HostOp} from '../../../worker/runtime/guest/host-call.ts';
import {firstOf} from '../../harness/nightly.ts';
import {Sandbox} from './sandbox.ts';
import {loop, memory} from './wasm.ts';

let sandbox: Sandbox;
beforeAll(() => {
  sandbox = new Sandbox();
});
afterAll(() => sandbox.close());

function attackInProcess(body: string): {signal: NodeJS.Signals | null; status: number | null} {
  const script = fileURLToPath(new URL('attack-process.ts', import.meta.url));
  const flags = ['--no-node-snapshot', '--experimental-strip-types', '--no-warnings'];
  return spawnSync(process.execPath, [...flags, script, body], {timeout: 30_000, cwd: tmpdir(), stdio: 'ignore'});
}

describe('what would not end is ended', () => {
  const TIMED_OUT = 'Script execution timed out.';

  test.each(
    firstOf(8, [
      ['a loop', 'for (;;);'],
      ['a loop around try', 'for (;;) try { for (;;); } catch {} finally { continue; }'],
      ['microtasks without end', 'const f = () => Promise.resolve().then(f); await f()'],
      ['queueMicrotask without end', 'const f = () => queueMicrotask(f); f(); await new Promise(() => {})'],
      ['awaits without end', 'for (;;) await null'],
      ['a regular expression that goes back and back', "/^(a+)+$/.test('a'.repeat(40) + 'b')"],
      [
        'a loop in WebAssembly',
        `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([${loop}]))).exports.f()`,
      ],
      ['a loop in a getter of the result', 'return {get a() { for (;;); }}'],
      ['a loop in a proxy that is logged', 'console.log(new Proxy({}, {ownKeys() { for (;;); }}))'],
      ['a thenable without end', 'const t = {then(ok) { ok(t); }}; await t'],
      [
        'a sort that never agrees',
        'const a = Array.from({length: 3e6}, Math.random); for (;;) a.sort(() => Math.random() - 0.5)',
      ],
      ['an iterator without end', 'new Set((function* () { for (;;) yield 1; })())'],
      ['lines without end', 'for (;;) console.log(1)'],
      ['calls of the host without end', "for (;;) await ctx.db.get('x').catch(() => {})"],
      ['big numbers', 'let x = 3n; for (;;) x = (x * x) % (2n ** 100000n)'],
    ]),
  )('%s', (_title, body) => {
    const own = new Sandbox();
    expect(() => own.attack(body, {timeoutMs: 150})).toThrow(TIMED_OUT);
    own.close();
    expect(sandbox.attack('return 1')).toEqual({value: 1});
  });

  test('console bombs cost the host 256 lines', () => {
    const own = new Sandbox();
    own.attack('for (let i = 0; i < 1e5; i++) console.log(i)');
    expect(own.calls.filter(({op}) => op === HostOp.log)).toHaveLength(256);
    own.close();
  });
});

describe('what would fill the memory ends its isolate, or fails, and nothing else', () => {
  test.each(
    firstOf(7, [
      ['objects', 'const a = []; for (;;) a.push({x: new Array(100).fill(a)})'],
      ['arrays', 'const a = []; for (;;) a.push(new Array(1e6).fill(1.5))'],
      ['array buffers', 'const a = []; for (;;) a.push(new ArrayBuffer(1e7))'],
      ['one huge buffer', 'new ArrayBuffer(2 ** 33)'],
      ['a resizable buffer', 'new ArrayBuffer(1, {maxByteLength: 2 ** 33}).resize(2 ** 33)'],
      ['strings that double', "let s = 'x'; for (;;) s += s"],
      ['many repeated strings', "const a = []; for (let i = 0; ; i++) a.push(('x' + i).repeat(1e6).toUpperCase())"],
      ['a padded string', "const a = []; for (;;) a.push(''.padEnd(2 ** 28, 'ab'))"],
      ['joins', "Array(2 ** 20).fill('x'.repeat(2 ** 20)).join('')"],
      ['promises', 'const a = []; for (;;) a.push(new Promise(() => {}))'],
      ['closures', 'let f = () => {}; for (;;) { const g = f; f = () => g; }'],
      ['typed arrays', 'const a = []; for (;;) a.push(new Float64Array(1e6).fill(1))'],
      ['deep JSON', "JSON.parse('['.repeat(1e7))"],
      ['wide JSON', 'JSON.stringify(Array(1e7).fill({a: 1}))'],
      ['a big number', '2n ** (2n ** 30n)'],
      ['a result', "return Array(1e6).fill('x'.repeat(1e3))"],
      ['what is logged', "console.log(Array.from({length: 1e6}, () => 'x'.repeat(1e3)))"],
      ['bytes for the host', 'await crypto.subtle.digest("SHA-1", new Uint8Array(2 ** 30))'],
      ['text for the host', "await ctx.db.get('x'.repeat(2 ** 28))"],
      [
        'WebAssembly memories',
        `const a = [], m = new WebAssembly.Module(new Uint8Array([${memory(0, 1)}])); for (;;) { const i = new WebAssembly.Instance(m); i.exports.f(511); a.push(i); }`,
      ],
      [
        'streams',
        'const s = new ReadableStream({pull(c) { c.enqueue(new Uint8Array(1e6)); }}); const all = []; for await (const x of s) all.push(x)',
      ],
      ['symbols and keys', 'const o = {}; for (let i = 0; ; i++) o["k" + i] = Symbol(i)'],
      ['iterated spread', 'const a = []; for (;;) a.push(...Array(1e5).fill(0))'],
      [
        'regular expressions',
        "const a = []; for (let i = 0; ; i++) { const r = new RegExp('(a|b){1,500}' + i); r.test('a'.repeat(100)); a.push(r); }",
      ],
    ]),
  )('%s', (_title, body) => {
    const own = new Sandbox();
    let ended: string;
    try {
      ended = own.attack(body, {timeoutMs: 1_500}).thrown ?? 'an outcome';
    } catch (caught) {
      ended = (caught as Error).message;
    }
    expect(ended).toMatch(/disposed|memory|RangeError|SyntaxError|DataError|OperationError|timed out|an outcome|Error/);
    own.close();
    expect(sandbox.attack('return 1')).toEqual({value: 1});
  });
});

/**
 * One allocation that is larger than the rest of the heap, and some sizes of strings and arrays, end in V8's own abort, which
 * no embedder can turn into an error. A worker process has one tenant, so its supervisor starts another.
 */
describe('what V8 itself gives up on ends its process at worst', () => {
  test.each(
    firstOf(1, [
      ['one huge array', 'new Array(2 ** 27).fill({})'],
      ['a string with very many parts', "'x'.repeat(2 ** 29 - 24).split('')"],
      ['a map that doubles its table', 'const m = new Map(); for (let i = 0; ; i++) m.set(i, {})'],
    ]),
  )('%s', (_title, body) => {
    const {signal, status} = attackInProcess(body);
    expect([null, 'SIGABRT', 'SIGTRAP', 'SIGILL']).toContain(signal);
    if (signal === null) expect(status).toBe(0);
    expect(sandbox.attack('return 1')).toEqual({value: 1});
  });
});

describe('what goes deep is an error like any', () => {
  test.each([
    ['recursion', 'const f = () => f(); f()', 'RangeError'],
    [
      'recursion through the host',
      'const f = n => { console.log({get a() { return 1; }}); return f(n + 1); }; f(0)',
      'RangeError',
    ],
    ['a deep result', 'let x = []; for (let i = 0; i < 1e5; i++) x = [x]; return x', ''],
    ['a deep clone', 'let x = []; for (let i = 0; i < 1e5; i++) x = [x]; structuredClone(x)', 'RangeError'],
    [
      'a deep promise chain',
      'let p = Promise.resolve(); for (let i = 0; i < 1e5; i++) p = p.then(() => i); return await p',
      null,
    ],
    ['a long regular expression', "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))", 'SyntaxError|RangeError'],
  ])('%s', (_title, body, error) => {
    const own = new Sandbox();
    const outcome = own.attack(body);
    own.close();
    if (error === null) expect(outcome.thrown).toBeUndefined();
    else expect(outcome.thrown).toMatch(new RegExp(`^(${error})`));
  });
});
