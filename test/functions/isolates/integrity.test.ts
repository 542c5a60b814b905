/** A realm whose built-ins a call has changed serves no other caller; what modules do at load is how it stays. */
import {describe, expect, test} from 'vitest';
import {handler, TestRunner} from './runner.ts';

const LOOK = `
  return [
    ({}).admin, [1, 2].map(x => x + 1).join(), JSON.stringify({a: 1}), typeof Promise.prototype.then,
    globalThis.left, 'abc'.toUpperCase(), new Headers([['a', 'b']]).get('a'), Object.getPrototypeOf(globalThis) === Object.prototype,
    Math.max(1, 2), (() => {}).call.name, new Error('m').message, [].includes.mark ?? null,
  ].map(value => value ?? null);`;

describe('after a call that', () => {
  test.each([
    [
      'pollutes Object.prototype through a merge',
      'const merge = (a, b) => { for (const k of Object.keys(b)) { if (typeof b[k] === \'object\') merge(a[k], b[k]); else a[k] = b[k]; } }; merge({}, JSON.parse(\'{"__proto__": {"admin": true}}\'))',
    ],
    ['pollutes it by its constructor', '({}).constructor.prototype.admin = true'],
    ['defines on it what is not enumerable', "Object.defineProperty(Object.prototype, 'admin', {value: true})"],
    ['replaces Array.prototype.map', 'Array.prototype.map = () => []'],
    ['replaces Array.prototype.join', "Array.prototype.join = () => 'x'"],
    ['replaces JSON', "globalThis.JSON = {stringify: () => 'x', parse: () => 1}"],
    ['replaces JSON.stringify', "JSON.stringify = () => 'x'"],
    ['replaces Promise.prototype.then', 'Promise.prototype.then = function () {}'],
    ['replaces String.prototype.toUpperCase', "String.prototype.toUpperCase = () => 'x'"],
    ['replaces Math.max', 'Math.max = () => 7'],
    ['replaces Headers', 'globalThis.Headers = class {}'],
    ['replaces a method of Headers', "Headers.prototype.get = () => 'x'"],
    ['replaces Function.prototype.call', 'Function.prototype.call = function other() {}'],
    ['marks a built-in function', "[].includes.mark = 'x'"],
    ['makes a global', "globalThis.left = 'x'"],
    ['changes the prototype of the global object', 'Object.setPrototypeOf(globalThis, {admin: true})'],
  ])('%s, the next caller finds all as it was', (_title, body) => {
    const runner = new TestRunner({'a.js': handler('look', LOOK) + handler('change', `${body}; return null`)});
    const before = runner.value('a:look');
    runner.run('a:change');
    expect(runner.value('a:look')).toEqual(before);
    expect(runner.value('a:look')).toEqual(before);
  });
});

describe('what is no change', () => {
  test('state of modules, and assigning to own objects what built-ins have by the same name', () => {
    const body = `
      const error = new Error('x'); error.message = 'y'; error.name = 'Mine'; error.toString = () => 'z';
      const f = () => 1; f.toString = () => 'f'; f.call = 1;
      const list = [1]; list.push = () => 0; list.map = null;
      const promise = Promise.resolve(1); promise.then = promise.then;
      class Sub extends Array { static from() { return 1; } }
      const limit = Error.stackTraceLimit; Error.stackTraceLimit = 1; Error.stackTraceLimit = limit;
      Error.prepareStackTrace = (_, frames) => frames; Error.prepareStackTrace = undefined;
      return ++count + ' ' + error.name + error.message + error + f;`;
    const runner = new TestRunner({'a.js': `let count = 0;\n${handler('f', body)}`});
    expect(runner.value('a:f')).toBe('1 Mineyzf');
    expect(runner.value('a:f')).toBe('2 Mineyzf');
  });

  test('what modules patch while they are loaded, whenever that is', () => {
    const patch = (name: string) => `
      Array.prototype.${name} = function () { return '${name}'; };
      Object.defineProperty(String.prototype, '${name}', {value: () => '${name}', configurable: true, writable: true});
      globalThis.${name}Global = NaN; Array.prototype.${name}NaN = NaN;`;
    const files = {
      'a.js': patch('first') + handler('f', 'return [[].first(), "".first(), typeof firstGlobal]'),
      'b.js': patch('second') + handler('f', 'return [[].second(), "".second(), [].first(), typeof secondGlobal]'),
    };
    const runner = new TestRunner(files);
    for (let i = 0; i < 2; i++) {
      expect(runner.value('a:f')).toEqual(['first', 'first', 'number']);
      expect(runner.value('b:f')).toEqual(['second', 'second', 'first', 'number']);
    }
  });
});

test('what is made when it is first asked for, and what we replace ourselves, is no change', () => {
  const body = `
    new URL('http://a/').searchParams.get('b'); new ReadableStream(); crypto.randomUUID(); void crypto.subtle;
    const {AsyncLocalStorage} = globalThis[Symbol.for('svc.async_hooks')];
    return [++count, new AsyncLocalStorage().run(1, () => 'in'), await Promise.resolve(2)];`;
  const runner = new TestRunner({'a.js': `let count = 0;\n${handler('f', body)}`});
  for (let count = 1; count <= 3; count++) expect(runner.value('a:f')).toEqual([count, 'in', 2]);
});

test('a realm that has served many calls still sees each change', () => {
  const files = {'a.js': `let count = 0;\n${handler('f', 'return ++count')}${handler('g', 'Map.prototype.get = 1')}`};
  const runner = new TestRunner(files);
  for (let count = 1; count <= 3_000; count++) expect(runner.value('a:f')).toBe(count);
  runner.run('a:g');
  expect(runner.value('a:f')).toBe(1);
});

test('a realm in which calls keep WebAssembly memories is replaced', () => {
  const body = 'kept.push(new WebAssembly.Memory({initial: 1})); return kept.length';
  const runner = new TestRunner({'a.js': `const kept = [];\n${handler('f', body)}`});
  const lengths = Array.from({length: 12}, () => runner.value('a:f') as number);
  expect(Math.max(...lengths)).toBe(5);
});
