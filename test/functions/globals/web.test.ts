/** The web's interfaces that need no network: URLs, encodings, events, aborts, clones, streams. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {TestRealm} from './realm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await TestRealm.open();
});
afterAll(() => realm.close());

type Case = [title: string, body: string, expected: unknown];
function hold(cases: Case[]): void {
  test.each(cases)('%s', (_title, body, expected) => expect(realm.in('query', body)).toEqual(expected));
}
function refuse(cases: [body: string, message: string][]): void {
  test.each(cases)('refused: %s', (body, message) => expect(() => realm.in('query', body)).toThrow(message));
}

describe('URL', () => {
  hold([
    [
      'parts',
      "const u = new URL('../c?d=1#e', 'https://u:p@a.example:8080/b/x'); return [u.origin, u.pathname, u.search, u.hash, u.username]",
      ['https://a.example:8080', '/c', '?d=1', '#e', 'u'],
    ],
    [
      'percent-encoding',
      "return new URL('http://a.example/ü?q=ä \\'\"#f g').href",
      'http://a.example/%C3%BC?q=%C3%A4%20%27%22#f%20g',
    ],
    ['a host with upper case', "return new URL('http://A.Example/').host", 'a.example'],
    ['a host outside ASCII', "return new URL('http://bücher.example/').host", 'xn--bcher-kva.example'],
    ['an IPv4 host in hexadecimal', "return new URL('http://0x7f.1/').host", '127.0.0.1'],
    ['an IPv6 host', "return new URL('http://[::0001]/').host", '[::1]'],
    ['canParse', "return [URL.canParse('http://a'), URL.canParse('nope')]", [true, false]],
    [
      'searchParams',
      "const u = new URL('http://a/?x=1&x=2'); u.searchParams.append('y', 'ä b'); return [u.searchParams.getAll('x'), u.href]",
      [['1', '2'], 'http://a/?x=1&x=2&y=%C3%A4+b'],
    ],
    ['URLSearchParams of a record', "return String(new URLSearchParams({a: '1 2', b: 'é'}))", 'a=1+2&b=%C3%A9'],
    [
      'URLSearchParams, iterated and sorted',
      "const p = new URLSearchParams('b=2&a=1'); p.sort(); return [...p]",
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    [
      'its class tag',
      'return String(Object.prototype.toString.call(new URLSearchParams()))',
      '[object URLSearchParams]',
    ],
  ]);
  refuse([
    ["new URL('/a')", 'TypeError'],
    ["new URL('http://a b/')", 'TypeError'],
    ["new URL('http://xn--iñvalid.example/')", 'TypeError'],
  ]);
});

describe('encodings', () => {
  hold([
    [
      'UTF-8 and back',
      "const s = 'aé€😀\\0'; return new TextDecoder().decode(new TextEncoder().encode(s)) === s",
      true,
    ],
    ['half a pair', "return [...new TextEncoder().encode('\\ud800a')]", [0xef, 0xbf, 0xbd, 0x61]],
    [
      'encodeInto stops at a character',
      "const b = new Uint8Array(4); return [new TextEncoder().encodeInto('a€€', b), [...b]]",
      [{read: 2, written: 4}, [97, 0xe2, 0x82, 0xac]],
    ],
    [
      'ill-formed bytes',
      'return new TextDecoder().decode(new Uint8Array([0x61, 0xff, 0xe2, 0x82, 0x62, 0xc0, 0x80, 0xed, 0xa0, 0x80]))',
      'a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd',
    ],
    ['a byte order mark is left out', 'return new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))', 'a'],
    [
      '… unless it is ignored',
      "return new TextDecoder('utf-8', {ignoreBOM: true}).decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))",
      '\ufeffa',
    ],
    [
      'a stream',
      'const d = new TextDecoder(); return [d.decode(new Uint8Array([0xf0, 0x9f]), {stream: true}), d.decode(new Uint8Array([0x98, 0x80])), d.decode()]',
      ['', '😀', ''],
    ],
    [
      'a stream that breaks off',
      'const d = new TextDecoder(); d.decode(new Uint8Array([0xf0]), {stream: true}); return d.decode()',
      '\ufffd',
    ],
    [
      'UTF-16, little end first',
      "return new TextDecoder('utf-16le').decode(new Uint8Array([0x3d, 0xd8, 0x00, 0xde, 0x61]))",
      '😀\ufffd',
    ],
    [
      'UTF-16, big end first',
      "return new TextDecoder('UTF-16BE ').decode(new Uint8Array([0xd8, 0x3d, 0xde, 0x00]))",
      '😀',
    ],
    ['a view with an offset', 'return new TextDecoder().decode(new Uint8Array([97, 98, 99]).subarray(1))', 'bc'],
    [
      'its members',
      "const d = new TextDecoder('ucs2', {fatal: true}); return [d.encoding, d.fatal, d.ignoreBOM]",
      ['utf-16le', true, false],
    ],
    [
      'a long text',
      "const s = 'x€'.repeat(1e5); return new TextDecoder().decode(new TextEncoder().encode(s)) === s",
      true,
    ],
    [
      'btoa and atob',
      "return [btoa('a'), btoa('\\xff\\x00ab'), atob(' YQ = ='), atob('/wBhYg') === '\\xff\\x00ab', btoa('')]",
      ['YQ==', '/wBhYg==', 'a', true, ''],
    ],
  ]);
  refuse([
    ["new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([0xff]))", 'TypeError'],
    ["new TextDecoder('latin-9')", 'RangeError'],
    ["new TextDecoder('constructor')", 'RangeError'],
    ["btoa('€')", 'InvalidCharacterError'],
    ["atob('a')", 'InvalidCharacterError'],
    ["atob('a=b=')", 'InvalidCharacterError'],
  ]);
});

describe('events', () => {
  hold([
    [
      'listeners in their order, once, objects',
      `
      const t = new EventTarget(), seen = [];
      t.addEventListener('x', () => seen.push(1), {once: true});
      t.addEventListener('x', {handleEvent(e) { seen.push(e.type, e.target === t, this !== t); }});
      t.dispatchEvent(new Event('x')); t.dispatchEvent(new Event('x')); return seen`,
      [1, 'x', true, true, 'x', true, true],
    ],
    [
      'one listener is added once, and removed',
      `
      const t = new EventTarget(); let n = 0; const f = () => n++;
      t.addEventListener('x', f); t.addEventListener('x', f); t.dispatchEvent(new Event('x'));
      t.removeEventListener('x', f); t.dispatchEvent(new Event('x')); return n`,
      1,
    ],
    [
      'preventDefault',
      "const t = new EventTarget(); t.addEventListener('x', e => e.preventDefault()); return [t.dispatchEvent(new Event('x', {cancelable: true})), t.dispatchEvent(new Event('x'))]",
      [false, true],
    ],
    [
      'stopImmediatePropagation',
      "const t = new EventTarget(); let n = 0; t.addEventListener('x', e => e.stopImmediatePropagation()); t.addEventListener('x', () => n++); t.dispatchEvent(new Event('x')); return n",
      0,
    ],
    [
      'a signal removes',
      "const t = new EventTarget(), c = new AbortController(); let n = 0; t.addEventListener('x', () => n++, {signal: c.signal}); c.abort(); t.dispatchEvent(new Event('x')); return n",
      0,
    ],
    [
      'the type of an event is whatever is given, as text',
      'return [new Event(undefined).type, new Event(5).type, new CustomEvent(undefined).type]',
      ['undefined', '5', 'undefined'],
    ],
    [
      'without a type there is no event',
      "return [Event, CustomEvent].map(E => { try { new E(); return 'made'; } catch (e) { return e.name; } })",
      ['TypeError', 'TypeError'],
    ],
    ['CustomEvent', "return new CustomEvent('x', {detail: {a: 1}}).detail", {a: 1}],
    ['a subclass', 'class T extends EventTarget {} return new T() instanceof EventTarget', true],
  ]);

  test('a listener that throws does not stop the others', () => {
    const body = `
      const t = new EventTarget(); let n = 0;
      t.addEventListener('x', () => { throw new Error('mine'); }); t.addEventListener('x', () => n++);
      t.dispatchEvent(new Event('x')); return n`;
    expect(realm.in('query', body)).toBe(1);
    expect(realm.lines[0]).toContain('Error: mine');
  });
});

describe('aborts', () => {
  hold([
    [
      'the reason',
      "const c = new AbortController(); const s = c.signal; let n = 0; s.onabort = () => n++; c.abort(); c.abort('again'); return [n, s.aborted, s.reason.name, s.reason instanceof DOMException, s.reason.code]",
      [1, true, 'AbortError', true, 20],
    ],
    ['a reason of one’s own', "try { AbortSignal.abort('why').throwIfAborted(); } catch (e) { return e; }", 'why'],
    [
      'any',
      'const c = new AbortController(); const s = AbortSignal.any([new AbortController().signal, c.signal]); c.abort(7); return s.reason',
      7,
    ],
    ['any of one that is aborted', 'return AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason', 1],
  ]);
  refuse([['new AbortSignal()', 'TypeError: Illegal constructor']]);

  test('a time-out, in actions', () => {
    realm.begin('action');
    realm.run('globalThis.signal = AbortSignal.timeout(10);');
    realm.settle(realm.calls[0]!.call);
    expect(realm.run('return [signal.aborted, signal.reason.name]')).toEqual([true, 'TimeoutError']);
  });
});

describe('DOMException', () => {
  hold([
    [
      'is an error',
      "const e = new DOMException('m', 'NotFoundError'); return [e instanceof Error, e.name, e.message, e.code, DOMException.NOT_FOUND_ERR, String(e), typeof e.stack]",
      [true, 'NotFoundError', 'm', 8, 8, 'NotFoundError: m', 'string'],
    ],
    ['with a cause', "return new DOMException('m', {name: 'X', cause: 1}).cause", 1],
  ]);
});

describe('structuredClone', () => {
  hold([
    [
      'values',
      "return structuredClone({a: [1, null, 'x', true], b: {c: undefined}})",
      {a: [1, null, 'x', true], b: {}},
    ],
    [
      'what JSON does not have',
      `
      const c = structuredClone({m: new Map([[1, new Set([2])]]), d: new Date(5), r: /a/g, n: 1n, e: new RangeError('x'), u: undefined, b: Object('s')});
      return [c.m.get(1).has(2), c.d.getTime(), String(c.r), String(c.n), c.e instanceof RangeError, c.e.message, 'u' in c, c.b instanceof String]`,
      [true, 5, '/a/g', '1', true, 'x', true, true],
    ],
    [
      'cycles and shared parts',
      'const a = {}; a.a = a; a.b = [a]; const c = structuredClone(a); return [c !== a, c.a === c, c.b[0] === c]',
      [true, true, true],
    ],
    [
      'buffers are copied, views of one stay views of one',
      'const b = new ArrayBuffer(4); const [x, y] = structuredClone([new Uint8Array(b), new Uint16Array(b, 2, 1)]); x[2] = 7; return [y[0], new Uint8Array(b)[2], y.byteOffset]',
      [7, 0, 2],
    ],
    [
      'classes are lost, getters are read',
      'class A { x = 1; get y() { return 2; } } const c = structuredClone(new A()); return [c.constructor === Object, c]',
      [true, {x: 1}],
    ],
    [
      '__proto__ is a key like any',
      'const c = structuredClone(JSON.parse(\'{"__proto__": {"x": 1}}\')); return [Object.getPrototypeOf(c) === Object.prototype, Object.keys(c)]',
      [true, ['__proto__']],
    ],
  ]);
  refuse([
    ['structuredClone(() => {})', 'DataCloneError'],
    ["structuredClone({a: Symbol('x')})", 'DataCloneError'],
    ['structuredClone(Promise.resolve())', 'DataCloneError'],
    ['structuredClone(new ArrayBuffer(1), {transfer: [new ArrayBuffer(1)]})', 'transfer not supported'],
  ]);
});

describe('streams, with microtasks only', () => {
  hold([
    [
      'pipeThrough',
      `
      const source = new ReadableStream({start(c) { c.enqueue('a'); c.enqueue('é'); c.close(); }});
      const upper = new TransformStream({transform(x, c) { c.enqueue(x.toUpperCase()); }});
      const out = []; for await (const x of source.pipeThrough(upper)) out.push(x); return out`,
      ['A', 'É'],
    ],
    [
      'text streams',
      `
      const source = new ReadableStream({start(c) { c.enqueue('a\\ud83d'); c.enqueue('\\ude00'); c.close(); }});
      const out = []; for await (const x of source.pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream())) out.push(x);
      return out.join('')`,
      'a😀',
    ],
    [
      'WritableStream',
      'const out = []; const w = new WritableStream({write(x) { out.push(x); }}).getWriter(); await w.write(1); await w.close(); return out',
      [1],
    ],
    ['queueMicrotask', 'const out = []; queueMicrotask(() => out.push(1)); await null; await null; return out', [1]],
  ]);
});
