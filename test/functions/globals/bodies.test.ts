/** Headers, bodies, requests and responses; in queries, so with microtasks only. */
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

describe('Headers', () => {
  hold([
    [
      'no case, sorted, joined',
      "const h = new Headers({B: '2', a: ' 1 '}); h.append('A', '3'); return [...h]",
      [
        ['a', '1, 3'],
        ['b', '2'],
      ],
    ],
    [
      'cookies stay apart',
      "const h = new Headers([['Set-Cookie', 'a=1'], ['set-cookie', 'b=2'], ['a', '1']]); return [h.getSetCookie(), [...h.keys()], h.get('set-cookie')]",
      [['a=1', 'b=2'], ['a', 'set-cookie', 'set-cookie'], 'a=1, b=2'],
    ],
    [
      'set, delete, has, get',
      "const h = new Headers([['a', '1'], ['a', '2']]); h.set('A', '3'); h.delete('B'); return [h.get('a'), h.has('b'), h.get('b')]",
      ['3', false, null],
    ],
    ['a copy', "const h = new Headers({a: '1'}); const c = new Headers(h); c.set('a', '2'); return h.get('a')", '1'],
    [
      'forEach',
      "const out = []; new Headers({a: '1'}).forEach((v, k, h) => out.push(v, k, h instanceof Headers)); return out",
      ['1', 'a', true],
    ],
  ]);
  refuse([
    ["new Headers({'a b': '1'})", 'TypeError'],
    ["new Headers({a: '1\\r\\nb: 2'})", 'TypeError'],
    ["new Headers({a: '€'})", 'TypeError'],
    ["new Headers([['a']])", 'TypeError'],
    ["new Headers('a: 1')", 'TypeError'],
    ["new Headers().set('', '1')", 'TypeError'],
  ]);
});

describe('Blob, File, FormData', () => {
  hold([
    [
      'Blob',
      "const b = new Blob(['aé', new Uint8Array([98]), new Blob(['c'])], {type: 'Text/Plain'}); return [b.size, b.type, await b.text(), await b.slice(1, -1, 'x/y').text(), (await b.arrayBuffer()).byteLength]",
      [5, 'text/plain', 'aébc', 'éb', 5],
    ],
    [
      'a blob does not change with its parts',
      'const u = new Uint8Array([97]); const b = new Blob([u]); u[0] = 98; return await b.text()',
      'a',
    ],
    [
      'the stream of a blob',
      "const out = []; for await (const x of new Blob(['abc']).stream()) out.push(...x); return out",
      [97, 98, 99],
    ],
    [
      'File',
      "const f = new File(['a'], 'n.txt', {type: 'a/b', lastModified: 5}); return [f.name, f.type, f.lastModified, f instanceof Blob, String(f)]",
      ['n.txt', 'a/b', 5, true, '[object File]'],
    ],
    [
      'FormData',
      "const f = new FormData(); f.append('a', 1); f.append('a', '2'); f.append('b', new Blob(['x']), 'n'); f.set('a', '3'); f.append('c', 'd'); f.delete('c'); return [[...f.keys()], f.getAll('a'), f.get('b').name, f.get('c'), f.has('b')]",
      [['a', 'b'], ['3'], 'n', null, true],
    ],
    [
      'a blob without a name is “blob”',
      "const f = new FormData(); f.append('a', new Blob(['x'], {type: 'a/b'})); return [f.get('a').name, f.get('a').type]",
      ['blob', 'a/b'],
    ],
  ]);
  refuse([
    ["new FormData().append('a', 'b', 'c')", 'TypeError'],
    ["new Blob('text')", 'TypeError'],
  ]);
});

describe('bodies', () => {
  hold([
    [
      'text, json, bytes',
      "return [await new Response('é').text(), await new Response('{\"a\":1}').json(), [...await new Response(new Uint8Array([1])).bytes()], (await new Response('ab').arrayBuffer()).byteLength, (await new Response('abc').blob()).size]",
      ['é', {a: 1}, [1], 2, 3],
    ],
    ['no body', 'const r = new Response(); return [r.body, await r.text(), r.bodyUsed]', [null, '', false]],
    [
      'a stream',
      "const r = new Response(new ReadableStream({async pull(c) { c.enqueue(new TextEncoder().encode('a')); c.close(); }})); return [await r.text(), r.bodyUsed]",
      ['a', true],
    ],
    [
      'the stream of a text',
      "const r = new Response('abc'); const out = []; for await (const x of r.body) out.push(...x); return [out, r.bodyUsed]",
      [[97, 98, 99], true],
    ],
    [
      'content types',
      "const type = b => new Response(b).headers.get('content-type'); return [type('a'), type(new URLSearchParams()), type(new Blob([], {type: 'a/b'})), type(new Uint8Array(1)), type(new FormData()).slice(0, 30)]",
      [
        'text/plain;charset=UTF-8',
        'application/x-www-form-urlencoded;charset=UTF-8',
        'a/b',
        null,
        'multipart/form-data; boundary=',
      ],
    ],
    [
      'a content type of one’s own wins',
      "return new Response('a', {headers: {'Content-Type': 'x/y'}}).headers.get('content-type')",
      'x/y',
    ],
    [
      'multipart there and back',
      `
      const f = new FormData(); f.append('a"\\r', 'x\\ny'); f.append('f', new File([new Uint8Array([0, 13, 10, 45, 45])], 'ü.bin', {type: 'a/b'}));
      const g = await new Response(f).formData(); const file = g.get('f');
      return [[...g.keys()], g.get('a"\\r\\n') , file.name, file.type, [...await file.bytes()]]`,
      [['a"\r\n', 'f'], 'x\r\ny', 'ü.bin', 'a/b', [0, 13, 10, 45, 45]],
    ],
    [
      'multipart of others',
      `
      const body = ['preamble', '--xx', 'content-disposition: FORM-DATA; name="a"', '', '1', '--xx', 'Content-Type: t/u', 'Content-Disposition: form-data; name="b"; filename="n"', '', '2', '--xx--', ''].join('\\r\\n');
      const f = await new Request('http://a', {method: 'POST', body, headers: {'content-type': 'Multipart/Form-Data; Boundary="xx"'}}).formData();
      return [f.get('a'), await f.get('b').text(), f.get('b').type]`,
      ['1', '2', 't/u'],
    ],
    ['an empty form', 'return [...await new Response(new FormData()).formData()]', []],
    [
      'urlencoded',
      "return [...await new Response(new URLSearchParams({a: '1 ü', b: '&'})).formData()]",
      [
        ['a', '1 ü'],
        ['b', '&'],
      ],
    ],
    [
      'a clone',
      "const r = new Response('a', {status: 201}); const c = r.clone(); return [await r.text(), await c.text(), c.status]",
      ['a', 'a', 201],
    ],
    [
      'a clone of a stream',
      'const r = new Response(new ReadableStream({start(c) { c.enqueue(new Uint8Array([97])); c.close(); }})); const c = r.clone(); return [await c.text(), await r.text()]',
      ['a', 'a'],
    ],
    [
      'a stream that fails',
      "const r = new Response(new ReadableStream({start(c) { c.error(new RangeError('x')); }})); return await r.text().catch(e => e.name)",
      'RangeError',
    ],
  ]);
  refuse([
    ["const r = new Response('a'); await r.text(); await r.text()", 'TypeError: Body is unusable'],
    ["const r = new Response('a'); await r.body.getReader().read(); await r.text()", 'TypeError: Body is unusable'],
    ["const r = new Response('a'); await r.text(); r.clone()", 'TypeError: clone'],
    ['const s = new ReadableStream(); s.getReader(); new Response(s)', 'TypeError: Body'],
    [
      "await new Response(new ReadableStream({start(c) { c.enqueue('text'); c.close(); }})).text()",
      'TypeError: Body: a chunk',
    ],
    ["await new Response('x').formData()", 'TypeError: formData'],
    ["await new Response('x', {headers: {'content-type': 'multipart/form-data'}}).formData()", 'no boundary'],
    [
      "await new Response('--x\\r\\n\\r\\n', {headers: {'content-type': 'multipart/form-data; boundary=x'}}).formData()",
      'multipart/form-data',
    ],
    ["await new Response('nope').json()", 'SyntaxError'],
  ]);
});

describe('Request', () => {
  hold([
    [
      'defaults',
      "const r = new Request('HTTP://A.example'); return [r.url, r.method, r.redirect, r.body, r.signal.aborted, r.headers instanceof Headers]",
      ['http://a.example/', 'GET', 'follow', null, false, true],
    ],
    [
      'methods',
      "return ['post', 'Delete', 'patch', 'X-Y'].map(method => new Request('http://a', {method}).method)",
      ['POST', 'DELETE', 'patch', 'X-Y'],
    ],
    [
      'of a request',
      "const a = new Request('http://a', {method: 'POST', body: 'x', headers: {h: '1'}}); const b = new Request(a, {headers: {h: '2'}}); return [b.method, b.headers.get('h'), await b.text(), a.bodyUsed]",
      ['POST', '2', 'x', true],
    ],
    [
      'a clone',
      "const a = new Request('http://a', {method: 'POST', body: 'x'}); const b = a.clone(); return [await a.text(), await b.text()]",
      ['x', 'x'],
    ],
    [
      'its signal follows',
      "const c = new AbortController(); const r = new Request('http://a', {signal: c.signal}); c.abort(); return r.signal.aborted",
      true,
    ],
    [
      'a subclass',
      "class R extends Request {} return [new R('http://a') instanceof Request, String(new R('http://a'))]",
      [true, '[object Request]'],
    ],
  ]);
  refuse([
    ["new Request('/relative')", 'TypeError'],
    ["new Request('http://u:p@a')", 'TypeError'],
    ["new Request('http://a', {body: 'x'})", 'TypeError: Request: a GET'],
    ["new Request('http://a', {method: 'TRACE'})", 'TypeError'],
    ["new Request('http://a', {method: 'a b'})", 'TypeError'],
    ["new Request('http://a', {redirect: 'x'})", 'TypeError'],
    ["const a = new Request('http://a', {method: 'POST', body: 'x'}); await a.text(); new Request(a)", 'TypeError'],
  ]);
});

describe('Response', () => {
  hold([
    [
      'defaults',
      'const r = new Response(); return [r.status, r.ok, r.statusText, r.type, r.url, r.redirected]',
      [200, true, '', 'default', '', false],
    ],
    [
      'json',
      "const r = Response.json({a: 1}, {status: 404}); return [r.status, r.ok, r.headers.get('content-type'), await r.json()]",
      [404, false, 'application/json', {a: 1}],
    ],
    ['error', 'const r = Response.error(); return [r.status, r.type, r.clone().type]', [0, 'error', 'error']],
    [
      'redirect',
      "const r = Response.redirect('http://a/b', 303); return [r.status, r.headers.get('location')]",
      [303, 'http://a/b'],
    ],
  ]);
  refuse([
    ['new Response(null, {status: 199})', 'RangeError'],
    ['new Response(null, {status: 600})', 'RangeError'],
    ["new Response('', {status: 204})", 'TypeError'],
    ["new Response(null, {statusText: 'a\\r\\nb'})", 'TypeError'],
    ["Response.redirect('http://a', 200)", 'RangeError'],
    ['Response.json(undefined)', 'TypeError'],
  ]);
});
