/** `console`: what lines look like, and how many there are. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {LOG_LINE_CHARS_MAX, LOG_LINES_MAX} from '../../../worker/runtime/guest/limits.ts';
import {TestRealm} from './realm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await TestRealm.open();
});
afterAll(() => realm.close());

function lines(body: string, phase: 'query' | 'action' = 'query'): string[] {
  realm.in(phase, body);
  return realm.lines;
}

describe('one line', () => {
  test.each([
    ["'myString'", "'myString'"],
    ['"it\'s"', '"it\'s"'],
    ["'a\\nb\\\\'", "'a\\nb\\\\'"],
    ["'\\x01'", "'\\x01'"],
    ['42, -0, NaN, 10n, true, null, undefined', '42 -0 NaN 10n true null undefined'],
    ["Symbol('s')", 'Symbol(s)'],
    ['{a: 1}', '{\n  a: 1\n}'],
    ["{a: {b: 'c'}, 'd-e': [1]}", "{\n  a: {\n    b: 'c'\n  },\n  'd-e': [ 1 ]\n}"],
    ['{}, []', '{} []'],
    ["['a', 42]", "[ 'a', 42 ]"],
    ['[1, , 3]', '[ 1, <empty>, 3 ]'],
    ['[{a: 1}]', '[\n  {\n    a: 1\n  }\n]'],
    ['function f() {}, () => {}, class A {}', '[Function: f] [Function (anonymous)] [class A]'],
    ['new (class MyClass {})()', 'MyClass {}'],
    ['new (class MyClass { x = 1 })()', 'MyClass {\n  x: 1\n}'],
    ['Object.create(null)', '[Object: null prototype] {}'],
    ["new Map([['a', {b: 1}]])", "Map(1) {\n  'a' => {\n    b: 1\n  }\n}"],
    ['new Set([1, 2]), new Map()', 'Set(2) { 1, 2 } Map(0) {}'],
    ['new Uint8Array([1, 2])', 'Uint8Array(2) [ 1, 2 ]'],
    ['new ArrayBuffer(3)', 'ArrayBuffer {\n  byteLength: 3\n}'],
    ['new Date(0), new Date(NaN)', '1970-01-01T00:00:00.000Z Invalid Date'],
    ['/a+/gi', '/a+/gi'],
    ['Promise.resolve(1)', 'Promise {}'],
    ["new String('a'), Object(1n)", "[String: 'a'] [BigInt: 1n]"],
    ['{get a() { throw 1; }, set b(x) {}}', '{\n  a: [Getter],\n  b: [Setter]\n}'],
    ['process.env, process', '[process.env] {\n  env: [process.env]\n}'],
    ['(x => { x.x = x; return x; })({})', '{\n  x: [Circular]\n}'],
    ['(s => ({a: s, b: s}))({c: 1})', '{\n  a: {\n    c: 1\n  },\n  b: {\n    c: 1\n  }\n}'],
    ["{[Symbol('k')]: 1}", '{\n  [Symbol(k)]: 1\n}'],
    ["new Proxy({}, {ownKeys() { throw new Error('no'); }})", '[a value that cannot be shown]'],
    ['new URL("http://a.example/"), new URLSearchParams("a=1")', "URL 'http://a.example/' URLSearchParams 'a=1'"],
    ["new Headers({b: '2', a: '1'})", "Headers {\n  a: '1',\n  b: '2'\n}"],
    ['Array.from({length: 200}, (_, i) => i).slice(0, 3)', '[ 0, 1, 2 ]'],
  ])('of %s', (values, expected) => {
    expect(lines(`console.log(${values})`)).toEqual([`[LOG] ${expected}`]);
  });

  test('of an error has its stack, its cause and its fields', () => {
    const [line] = lines("console.log(Object.assign(new TypeError('bad', {cause: new Error('why')}), {code: 7}))");
    expect(line).toMatch(/^\[LOG\] TypeError: bad\n {4}at /);
    expect(line).toContain('[cause]: Error: why');
    expect(line).toContain('code: 7');
  });

  test('of many items says how many more', () => {
    expect(lines('console.log(Array.from({length: 103}, () => 0))')[0]).toContain('… 3 more');
  });

  test('of something deep ends somewhere', () => {
    const body = 'let x = {}; for (let i = 0; i < 50; i++) x = {x}; console.log(x)';
    expect(lines(body)[0]).toContain('[Object]');
  });

  test.each(['log', 'info', 'warn', 'error', 'debug'])('console.%s has its level', level => {
    expect(lines(`console.${level}('a', 1)`)).toEqual([`[${level.toUpperCase()}] 'a' 1`]);
  });

  test('trace has a stack, of the caller only', () => {
    const [line] = lines("(function here() { console.trace('x', 1); })()");
    expect(line).toMatch(/^\[LOG\] Trace: 'x' 1\n {4}at here /);
    expect(line).not.toContain('svc:realm');
  });

  test('methods need no console', () => {
    expect(lines('const {log} = console; log(1)')).toEqual(['[LOG] 1']);
  });
});

describe('timers of the console', () => {
  test.each([
    ["console.time('x'); console.timeLog('x', 7); console.timeEnd('x')", ['[INFO] x: 0ms 7', '[INFO] x: 0ms']],
    ['console.time(); console.timeEnd()', ['[INFO] default: 0ms']],
    ["console.time('x'); console.time('x')", ["[WARN] Timer 'x' already exists"]],
    ["console.timeEnd('y')", ["[WARN] Timer 'y' does not exist"]],
    [
      "console.time('x'); console.timeEnd('x'); console.timeEnd('x')",
      ['[INFO] x: 0ms', "[WARN] Timer 'x' does not exist"],
    ],
  ])('%s', (body, expected) => {
    expect(lines(body)).toEqual(expected);
  });
});

describe('limits', () => {
  test('[66] 300 lines are 256, the last of which says that there were more', () => {
    const all = lines("for (let i = 0; i < 300; i++) console.log('x', {a: 1})");
    expect(all[0]).toBe("[LOG] 'x' {\n  a: 1\n}");
    expect(all).toHaveLength(LOG_LINES_MAX);
    expect(all.at(-1)).toBe('[ERROR] Log overflow (maximum 256). Remaining log lines omitted.');
    expect(lines('console.log(1)')).toHaveLength(1);
  });

  test('a long line is cut, the host learns that there was more', () => {
    const long = LOG_LINE_CHARS_MAX + 1;
    expect(lines("console.log('x'.repeat(1e6))")[0]).toHaveLength(long);
    expect(lines("console.log(Array.from({length: 1e5}, () => 'x'.repeat(1e3)))")[0]).toHaveLength(long);
    expect(
      lines('let o = {}; for (let i = 0; i < 1e5; i++) o["k" + i] = {}; console.log(o)')[0]!.length,
    ).toBeLessThanOrEqual(long);
  });

  test('a small graph with very many paths is shown in bounded time', () => {
    const body = 'let x = [1]; for (let i = 0; i < 7; i++) x = Array(100).fill(x); console.log(x)';
    expect(lines(body)[0]!.length).toBeLessThanOrEqual(LOG_LINE_CHARS_MAX + 1);
  });
});
