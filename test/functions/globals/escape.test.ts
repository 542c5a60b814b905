/**
 * Attempts to get out of a realm. Each runs in the real kernel; what comes of it must be an ordinary outcome, and at the end
 * the host is as it was.
 */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type Outcome, Sandbox} from './sandbox.ts';

let sandbox: Sandbox;
beforeAll(() => {
  sandbox = new Sandbox();
});
afterAll(() => sandbox.close());

const hostObject = Object.getOwnPropertyNames(Object.prototype).sort();
const hostGlobals = Object.getOwnPropertyNames(globalThis).sort();

/** In a sandbox of its own: what it leaves behind must not disturb the others. */
function alone(body: string, options: Parameters<Sandbox['attack']>[1] = {}): {outcome: Outcome; sandbox: Sandbox} {
  const own = new Sandbox();
  try {
    return {outcome: own.attack(body, options), sandbox: own};
  } finally {
    own.close();
  }
}

/** A kernel whose globals are gone throws instead of answering; the host drops such a realm. */
function attackOrFail(own: Sandbox, body: string, options: Parameters<Sandbox['attack']>[1] = {}): void {
  try {
    const outcome = own.attack(body, options);
    expect(Object.keys(outcome).every(key => ['value', 'thrown', 'stack'].includes(key))).toBe(true);
  } catch (caught) {
    expect(String(caught)).not.toMatch(/^AssertionError/);
  }
}

afterAll(() => {
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(hostObject);
  expect(Object.getOwnPropertyNames(globalThis).sort()).toEqual(hostGlobals);
  expect(({} as {polluted?: unknown}).polluted).toBeUndefined();
});

describe('constructors lead nowhere', () => {
  test.each([
    'console.log',
    'console',
    'fetch',
    'setTimeout',
    'queueMicrotask',
    'structuredClone',
    'performance.now',
    'performance',
    'crypto',
    'crypto.subtle',
    'crypto.subtle.digest',
    'crypto.getRandomValues',
    'process',
    'process.env',
    'Date',
    'Date.now',
    'Math.random',
    'URL',
    'new URL("http://a/")',
    'Request',
    'Response',
    'ReadableStream',
    'new ReadableStream()',
    'WebSocket',
    'WebAssembly.Module',
    'WebAssembly.instantiate',
    'AbortSignal.any',
    'Event',
    'WeakRef',
    'eval',
    'Function',
    'globalThis[Symbol.for("svc.async_hooks")].AsyncLocalStorage',
    'globalThis[Symbol.for("svc.import")]',
    'ctx',
    'ctx.db',
    'ctx.db.get',
    'ctx.db.query',
    'ctx.auth',
    'ctx.auth.getUserIdentity',
    'args',
    'await ctx.db.get("x").catch(e => e)',
    'await ctx.auth.getUserIdentity().catch(e => e)',
    'new Error()',
    'Intl.DateTimeFormat.prototype',
    'globalThis',
  ])('of %s', expression => {
    const body = `
      const found = [];
      for (let at = ${expression}, i = 0; at != null && i < 10; i++) {
        let made = at.constructor;
        for (const via of [made, made?.constructor, Object.getPrototypeOf(at)?.constructor?.constructor]) {
          if (typeof via !== 'function') continue;
          try { found.push(String(via('return this')())); } catch (e) { found.push(e.name); }
        }
        at = Object.getPrototypeOf(at);
      }
      return found.filter(x => /process|object global/i.test(x))`; // biome-ignore format: a table above
    expect(sandbox.attack(body)).toEqual({value: []});
  });

  test('nothing that is reachable is the host’s', () => {
    const walk = `
      const names = new Set(), seen = new Set(), todo = [globalThis, ...more];
      while (todo.length > 0) {
        const at = todo.pop();
        if ((typeof at !== 'object' && typeof at !== 'function') || at === null || seen.has(at)) continue;
        seen.add(at);
        todo.push(Object.getPrototypeOf(at));
        if (typeof at === 'function' && /\\[native code\\]/.test(Function.prototype.toString.call(at))) names.add(at.name + '/' + at.length);
        for (const key of Reflect.ownKeys(at)) {
          const property = Object.getOwnPropertyDescriptor(at, key);
          if (property === undefined) continue;
          if (at === globalThis && property.get) todo.push(globalThis[key]);
          todo.push(property.value, property.get, property.set);
        }
      }`;
    const result = sandbox.attack(`const more = [ctx, args]; ${walk} return [...names, 'seen ' + (seen.size > 1000)]`);
    const names = result.value as string[];
    expect(names).toContain('seen true');
    const odd = names.filter(name =>
      /ivm|isolate|^reference\/|callback|host|kernel|applySync|derefInto|external/i.test(name),
    );
    expect(odd).toEqual([]);
    expect(sandbox.attack("return [typeof __svcHost, typeof __svcKernel, '__svcHost' in globalThis]").value).toEqual([
      'undefined',
      'undefined',
      false,
    ]);
  });
});

describe('stacks', () => {
  test('frames of the kernel give away neither functions nor what they were called on', () => {
    const body = `
      Error.stackTraceLimit = 100;
      Error.prepareStackTrace = (error, frames) => frames.map(frame => [
        frame.getFunction(), frame.getThis === undefined ? undefined : frame.getThis(), String(frame.getScriptNameOrSourceURL?.())]);
      const stacks = [];
      const note = () => stacks.push(new Error('x').stack);
      try { console.log(new Proxy({}, {ownKeys() { note(); return []; }})); } catch {}
      try { new Headers({get a() { note(); return '1'; }}); } catch {}
      try { structuredClone({get a() { note(); return 1; }}); } catch {}
      await Promise.resolve().then(note);
      try { await ctx.db.get('x'); } catch (e) { stacks.push(e.stack); }
      const ours = stacks.flat().filter(frame => Array.isArray(frame) && frame[2] === 'svc:realm');
      return [ours.length > 0, ours.filter(frame => frame[0] !== undefined || frame[1] !== undefined).map(frame => String(frame[0]).slice(0, 80))]`;
    expect(alone(body).outcome).toEqual({value: [true, []]});
  });

  test.each([
    ['an error of the host', "return (await ctx.db.get('x').catch(e => e)).stack"],
    ['captureStackTrace', 'const o = {}; Error.captureStackTrace(o); return o.stack'],
    ['an asynchronous stack', 'const f = async () => { await null; return new Error("x").stack; }; return await f()'],
  ])('%s shows no file of the host', (_title, body) => {
    const {value} = sandbox.attack(body) as {value: string};
    expect(value).toMatch(/\n {4}at /);
    expect(value).not.toMatch(/node:|node_modules|\/work\/|\.ts:|isolated-vm boundary/);
  });

  test('an error of the host is one of the realm', () => {
    const body = `
      const e = await ctx.db.get('x').catch(e => e);
      return [e instanceof TypeError, Object.getPrototypeOf(e) === TypeError.prototype, e.message, e.constructor === TypeError]`;
    expect(sandbox.attack(body).value).toEqual([true, true, expect.any(String), true]);
  });

  test('a caller is not found through arguments or caller', () => {
    const body = 'const f = Function.prototype; try { return String(f.caller); } catch (e) { return e.name; }';
    expect(JSON.stringify(sandbox.attack(body))).not.toContain('svc');
  });
});

describe('pollution stays inside', () => {
  test.each([
    'Object.prototype.polluted = 1',
    'Array.prototype.polluted = 1',
    'Function.prototype.polluted = 1',
    'Error.prototype.polluted = 1',
    'Promise.prototype.polluted = 1',
    'Object.defineProperty(Object.prototype, "op", {get() { return 1; }, configurable: true})',
    'Object.prototype.then = function (ok) { ok(1); }',
    'Object.prototype.toJSON = () => "x"',
    'Array.prototype[Symbol.iterator] = function* () { yield 1; }',
    'Object.setPrototypeOf(Object.getPrototypeOf(async function* () {}), {polluted: 1})',
    'globalThis.polluted = 1',
    'JSON.parse("{\\"__proto__\\": {\\"polluted\\": 1}}")',
  ])('%s', body => {
    alone(`${body}; return 1`);
    expect(({} as {polluted?: unknown}).polluted).toBeUndefined();
    expect(([] as {polluted?: unknown}).polluted).toBeUndefined();
    expect((globalThis as {polluted?: unknown}).polluted).toBeUndefined();
    expect([...[1, 2]]).toEqual([1, 2]);
  });

  test('the result, too, is only text', () => {
    const {outcome} = alone('return JSON.parse(\'{"a": {"__proto__x": 1}}\')');
    expect(outcome.value).toEqual({a: {__proto__x: 1}});
  });
});

describe('what the kernel uses may be replaced, the host stays well', () => {
  test.each([
    ['JSON.parse', 'JSON.parse = () => ({name: {}, message: {}})'],
    ['JSON.stringify', 'JSON.stringify = () => ({toString() { throw 1; }})'],
    ['Promise.prototype.then', 'Promise.prototype.then = function () { throw 1; }'],
    ['Promise', 'globalThis.Promise = class { constructor() { throw 1; } }'],
    [
      'Promise[Symbol.species]',
      'Object.defineProperty(Promise, Symbol.species, {value: class { constructor(f) { f(() => {}, () => {}); } }})',
    ],
    [
      'Array[Symbol.species]',
      'Object.defineProperty(Array, Symbol.species, {value: function () { return new Proxy([], {}); }})',
    ],
    ['Map.prototype.get', 'Map.prototype.get = () => ({f: {_handler: () => "taken over"}})'],
    ['String.prototype.charCodeAt', 'String.prototype.charCodeAt = () => 0x2b'],
    ['String.prototype.slice', 'String.prototype.slice = function () { return this; }'],
    ['Array.prototype.map and push', 'Array.prototype.map = Array.prototype.push = () => { throw 1; }'],
    ['Object.keys', 'Object.keys = () => ["x"]'],
    ['Reflect.apply', 'Reflect.apply = () => { throw 1; }'],
    ['Symbol.iterator of strings', 'String.prototype[Symbol.iterator] = function* () {}'],
    ['Symbol.toPrimitive of all', 'Object.prototype[Symbol.toPrimitive] = () => { throw 1; }'],
    ['Error', 'globalThis.Error = class { constructor() { return {}; } }'],
    ['instanceof', 'Object.defineProperty(Error, Symbol.hasInstance, {value: () => true})'],
    ['RegExp.prototype.exec', 'RegExp.prototype.exec = () => { throw 1; }'],
    ['console', 'globalThis.console = null'],
    ['everything', 'for (const k of Reflect.ownKeys(globalThis)) { try { delete globalThis[k]; } catch {} }'],
  ])('%s', (_title, body) => {
    const own = new Sandbox();
    attackOrFail(own, `${body}; return 1`);
    for (const kind of ['query', 'mutation'] as const) {
      attackOrFail(own, "console.log({a: 1}); await ctx.db.get('x'); return [1]", {kind});
      for (const {args} of own.calls) {
        expect(
          args.every(arg => ['string', 'number', 'undefined'].includes(typeof arg) || arg instanceof Uint8Array),
        ).toBe(true);
      }
    }
    own.close();
    // Another realm has its own.
    expect(sandbox.attack('return 1')).toEqual({value: 1});
  });
});

describe('the host receives copies of plain values only', () => {
  test.each([
    ['an object as an id', 'await ctx.db.get({toString() { return "x"; }})'],
    ['a function as an id', 'await ctx.db.get(() => {})'],
    ['a proxy as an id', 'await ctx.db.get(new Proxy({}, {}))'],
    ['a getter in arguments', 'await ctx.db.insert("t", {get a() { return () => {}; }})'],
    [
      'a proxy as fields',
      'await ctx.db.insert("t", new Proxy({}, {ownKeys() { return ["a"]; }, getOwnPropertyDescriptor() { return {value: 1, enumerable: true, configurable: true}; }}))',
    ],
    ['a symbol', 'await ctx.db.get(Symbol("x"))'],
    ['a promise', 'await ctx.db.get(Promise.resolve("x"))'],
    ['a String object', 'await ctx.db.get(new String("x"))'],
    ['an Error that is a Proxy', 'throw new Proxy(new Error("x"), {get() { return () => {}; }})'],
    ['an Error with a getter', 'throw Object.defineProperty(new Error("x"), "message", {get() { throw 1; }})'],
    ['an Error whose stack is an object', 'throw Object.assign(new Error("x"), {stack: {toString() { return "x"; }}})'],
    ['a thrown function', 'throw () => {}'],
    ['a thrown symbol', 'throw Symbol("x")'],
    ['a thrown object with a toJSON', 'throw {toJSON() { throw 1; }}'],
    ['a result with a getter', 'return {get a() { throw 1; }}'],
    ['a result that is a Proxy', 'return new Proxy({}, {ownKeys() { throw 1; }})'],
    ['a result with a toJSON', 'return {toJSON() { return () => {}; }}'],
    ['a thenable', 'return {then(ok) { ok(() => {}); ok(1); }}'],
    [
      'a console line of a hostile class',
      'console.log(new (class { get [Symbol.toStringTag]() { throw 1; } static get name() { throw 1; } })())',
    ],
    [
      'a buffer that is changed meanwhile',
      'const b = new Uint8Array(4); const p = crypto.subtle.digest("SHA-1", b); b.fill(1); await p',
    ],
    ['a detached buffer', 'const b = new Uint8Array(4); b.buffer.transfer(); await crypto.subtle.digest("SHA-1", b)'],
    [
      'a lying typed array',
      'await crypto.subtle.digest("SHA-1", Object.defineProperty(new Uint8Array(4), "byteLength", {value: 1e9}))',
    ],
    [
      'a name of a variable that is none',
      'process.env[Symbol.toPrimitive]; process.env["\\0"]; Object.keys(process.env)',
    ],
  ])('%s', (_title, body) => {
    const own = new Sandbox();
    const outcome = own.attack(body, {kind: 'mutation'});
    expect(Object.keys(outcome).length).toBeGreaterThan(0);
    for (const {op, args} of own.calls) {
      expect(typeof op).toBe('number');
      const kinds = args.map(arg => (arg instanceof Uint8Array ? 'bytes' : typeof arg));
      expect(kinds.filter(kind => !['string', 'number', 'bytes', 'undefined'].includes(kind))).toEqual([]);
    }
    own.close();
  });
});

describe('other ways to code and to memory', () => {
  test.each([
    ["import('node:fs')", 'TypeError|Error'],
    ["import('data:text/javascript,export default 1')", 'TypeError|Error'],
    ["globalThis[Symbol.for('svc.import')]('../x.js')", 'TypeError: dynamic module import unsupported'],
    ["eval('1')", 'EvalError'],
    ["(0, eval)('1')", 'EvalError'],
    ["new Function('return this')()", 'EvalError'],
    ["Reflect.construct((async () => {}).constructor, ['1'])", 'EvalError'],
    ["setTimeout('1')", 'Error'],
    ['new SharedArrayBuffer(8)', 'ReferenceError'],
    ['new WebAssembly.Memory({initial: 1, maximum: 1, shared: true})', 'TypeError'],
    ['Atomics.wait(new Int32Array(4), 0, 0)', 'TypeError'],
    ['new ShadowRealm()', 'ReferenceError'],
    ['require("fs")', 'ReferenceError'],
    ['process.binding("fs")', 'TypeError'],
    ['process.mainModule.require("fs")', 'TypeError'],
    ['new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 5, 4, 1, 3, 1, 1]))', 'CompileError'],
  ])('%s', (expression, error) => {
    const {thrown} = sandbox.attack(`return await ${expression}`);
    expect(thrown).toMatch(new RegExp(`^(${error})`));
  });

  test('import.meta says nothing of the host', () => {
    expect(sandbox.attack('return [Object.keys(import.meta), String(import.meta.url)]').value).toEqual([
      [],
      'undefined',
    ]);
  });

  test('a memory that WebAssembly exports has no way to shared memory', () => {
    const body =
      'const m = new WebAssembly.Memory({initial: 1}); return [m.buffer.constructor.name, Object.prototype.toString.call(m.buffer)]';
    expect(sandbox.attack(body).value).toEqual(['ArrayBuffer', '[object ArrayBuffer]']);
  });
});
