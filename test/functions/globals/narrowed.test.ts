/** What V8 brings and a function must not have, and what other runtimes have and this one has not. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {TestRealm} from './realm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await TestRealm.open();
});
afterAll(() => realm.close());

const REFUSED = 'EvalError: Code generation from strings disallowed for this context';

describe('code from strings', () => {
  test.each([
    ['eval', "eval('1')"],
    ['indirect eval', "(0, eval)('1')"],
    ['eval by name', "globalThis['ev' + 'al']('1')"],
    ['new Function', "new Function('return 1')"],
    ['a call of Function', "Function('return 1')()"],
    ['the constructor of a function', "(() => {}).constructor('return 1')"],
    ['of an async function', "(async () => {}).constructor('return 1')"],
    ['of a generator', "(function* () {}).constructor('yield 1')"],
    ['of an async generator', "(async function* () {}).constructor('yield 1')"],
    ['of a class', "(class {}).constructor('return 1')"],
    ['of a built-in', "Array.prototype.map.constructor('return 1')"],
    ['of a bound function', "(() => {}).bind(1).constructor('return 1')"],
    ['of a method of Reflect', "Reflect.apply.constructor('return 1')"],
    ['of the prototype of Function', "Object.getPrototypeOf(Object.getPrototypeOf).constructor('return 1')"],
    [
      'the parent of an async function’s constructor',
      "Object.getPrototypeOf((async () => {}).constructor)('return 1')",
    ],
    ['Reflect.construct', "Reflect.construct(Function, ['return 1'])"],
    ['a subclass', "new (class extends Function {})('return 1')"],
    ['a subclass of an async function', "new (class extends (async () => {}).constructor {})('return 1')"],
  ])('%s', (_title, expression) => {
    expect(() => realm.in('query', `return ${expression}`)).toThrow(REFUSED);
  });

  test('what has nothing to do with strings stays', () => {
    expect(
      realm.in('query', 'return [(() => {}) instanceof Function, typeof Function, eval(4), Function.name]'),
    ).toEqual([true, 'function', 4, 'Function']);
  });
});

describe('absent', () => {
  const NAMES = [
    'window global Buffer require __dirname __filename module exports XMLHttpRequest localStorage sessionStorage navigator',
    'document importScripts SharedArrayBuffer gc Deno Bun setImmediate ShadowRealm',
  ];

  test.each(NAMES.join(' ').split(' '))('%s', name => {
    expect(realm.in('query', `return typeof ${name} + (${JSON.stringify(name)} in globalThis)`)).toBe('undefinedfalse');
  });

  test('process has nothing but env', () => {
    expect(realm.in('query', 'return Reflect.ownKeys(process)')).toEqual(['env']);
  });

  test('node:async_hooks has two classes', () => {
    expect(realm.in('query', "return Reflect.ownKeys(globalThis[Symbol.for('svc.async_hooks')])")).toEqual([
      'AsyncLocalStorage',
      'AsyncResource',
    ]);
  });

  test.each(['table', 'group', 'count', 'dir', 'assert', 'context', 'profile'])('console.%s', name => {
    expect(realm.in('query', `return typeof console.${name}`)).toBe('undefined');
  });

  test('a module cannot be imported from an address', () => {
    expect(() => realm.in('query', "await import('data:text/javascript,1')")).toThrow('Not supported');
  });
});

describe('present', () => {
  const NAMES = [
    'globalThis self URL URLSearchParams Headers Request Response Blob File FormData TextEncoder TextDecoder atob btoa',
    'ReadableStream WritableStream TransformStream Event EventTarget CustomEvent AbortController AbortSignal DOMException',
    'structuredClone queueMicrotask crypto performance process console fetch WebSocket setTimeout setInterval clearTimeout',
    'clearInterval WebAssembly TextDecoderStream TextEncoderStream CryptoKey Intl WeakRef FinalizationRegistry',
  ];

  test.each(NAMES.join(' ').split(' '))('%s, in every phase, not enumerable', name => {
    for (const phase of ['import', 'query', 'mutation', 'action'] as const) {
      const body = `return [typeof ${name} !== 'undefined', Object.keys(globalThis).includes('${name}')]`;
      expect(realm.in(phase, body)).toEqual([true, false]);
    }
  });

  test('self is the global object, and a global can be replaced', () => {
    expect(realm.in('query', 'return self === globalThis')).toBe(true);
    expect(realm.in('query', 'globalThis.TextEncoderStream = 5; return TextEncoderStream')).toBe(5);
  });
});

describe('what only actions have', () => {
  const IN_FUNCTIONS = 'in queries and mutations. Please consider using an action';
  const CALLS: [string, string, string, string][] = [
    ['fetch', "fetch('https://example.com')", `Error: Can't use fetch() ${IN_FUNCTIONS}.`, 'fetch'],
    ['setTimeout', 'setTimeout(() => {}, 1)', `Error: Can't use setTimeout ${IN_FUNCTIONS}`, 'setTimeout'],
    ['setInterval', 'setInterval(() => {}, 1)', `Error: Can't use setInterval ${IN_FUNCTIONS}`, 'setInterval'],
    ['WebSocket', "new WebSocket('wss://example.com')", `Error: Can't use WebSocket ${IN_FUNCTIONS}.`, 'WebSocket'],
    [
      'AbortSignal.timeout',
      'AbortSignal.timeout(1)',
      `Error: Can't use AbortSignal.timeout() ${IN_FUNCTIONS}.`,
      'AbortSignal.timeout',
    ],
  ];

  test.each(CALLS)('[65] %s', (_title, call, refusal, name) => {
    for (const phase of ['query', 'mutation'] as const) {
      expect(() => realm.in(phase, `return await ${call}`)).toThrow(new Error(refusal));
    }
    expect(() => realm.in('import', `return await ${call}`)).toThrow(`Error: ${name} unsupported at import time`);
    expect(realm.calls).toEqual([]);
  });

  test('the refusal can be caught, and a look at the name is none', () => {
    expect(realm.in('query', "try { await fetch('x'); } catch { return typeof fetch; }")).toBe('function');
  });

  test('timers that do not exist can be stopped anywhere', () => {
    expect(realm.in('query', 'clearTimeout(1); clearInterval(); return 1')).toBe(1);
    expect(realm.calls).toEqual([]);
  });

  test.each(['action'] as const)('in an %s they go to the host', phase => {
    realm.begin(phase);
    realm.run('globalThis.rang = []; setTimeout((...args) => rang.push(...args), 5, 1, 2);');
    expect(realm.calls).toMatchObject([{operation: 'sleep', parameters: '{"ms":5}'}]);
    realm.settle(realm.calls[0]!.call);
    expect(realm.run('return rang')).toEqual([1, 2]);
    expect(realm.run("return await (await fetch('http://a.example')).text()")).toBe('GET http://a.example/');
    expect(realm.run("return new WebSocket('wss://a.example').url")).toBe('wss://a.example');
    expect(() => realm.run("await fetch('file:///etc/passwd')")).toThrow('TypeError: Unsupported URL scheme');
    expect(() => realm.run("setTimeout('alert(1)')")).toThrow('Not implemented');
  });
});

describe('garbage', () => {
  test('WeakRef holds, FinalizationRegistry is silent', () => {
    const body = `
      const ref = new WeakRef({a: 1});
      const registry = new FinalizationRegistry(() => { throw 1; });
      registry.register({}, 1);
      for (let i = 0; i < 50; i++) new Array(1e5).fill(i);
      return [ref.deref().a, registry.unregister({}), WeakRef.name, String(registry)]`;
    expect(realm.in('query', body)).toEqual([1, false, 'WeakRef', '[object FinalizationRegistry]']);
    expect(() => realm.in('query', 'new WeakRef(1)')).toThrow('TypeError: WeakRef: invalid target');
  });
});

describe('process.env', () => {
  test('is read from the host, one by one', () => {
    realm.env = {A: 'a', B: ''};
    const body =
      "return [process.env.A, process.env.B, process.env.C ?? 'none', 'A' in process.env, 'C' in process.env, {...process.env}]";
    expect(realm.in('query', body)).toEqual(['a', '', 'none', true, false, {A: 'a', B: ''}]);
  });

  test.each([
    'process.env.A = 1',
    'delete process.env.A',
    'Object.defineProperty(process.env, "A", {value: 1})',
    'Object.setPrototypeOf(process.env, {})',
  ])('is read-only: %s', expression => {
    expect(() => realm.in('query', `${expression}; return 1`)).toThrow('TypeError: process.env is read-only');
  });
});
