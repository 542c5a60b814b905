/**
 * What the standards say of four globals (HTML structured clone, File API, XHR FormData), in our words: each case is the body of
 * an async function that returns true where it holds. `clone` and `throws` are given.
 */
export const HELPERS = `
  const clone = structuredClone;
  const throws = (what, name) => { try { what(); return false; } catch (error) { return error.name === name; } };
  const isData = what => throws(what, 'DataCloneError');
`;

export const CASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  structuredClone: {
    primitives: "return [1, -0, NaN, 'é', true, null, undefined, 10n].every(v => Object.is(clone(v), v))",
    'boxed primitives':
      "return clone(Object(1n)) == 1n && clone(new String('a')) instanceof String && clone(new Boolean(false)) == false",
    'dates, invalid ones too':
      'return clone(new Date(5)).getTime() === 5 && Number.isNaN(clone(new Date(NaN)).getTime())',
    'regular expressions without lastIndex':
      'const r = /a/gi; r.lastIndex = 3; const c = clone(r); return c.source === "a" && c.flags === "gi" && c.lastIndex === 0',
    'array buffers':
      'const b = new Uint8Array([1, 2]).buffer; const c = clone(b); return c !== b && new Uint8Array(c)[1] === 2',
    'views with their offset':
      'const v = new Uint16Array(new ArrayBuffer(8), 2, 2); v[0] = 7; const c = clone(v); return c.byteOffset === 2 && c.length === 2 && c[0] === 7',
    'a DataView':
      'const c = clone(new DataView(new ArrayBuffer(4), 1, 2)); return c instanceof DataView && c.byteOffset === 1 && c.byteLength === 2',
    'two views of one buffer stay so':
      'const b = new ArrayBuffer(4); const [x, y] = clone([new Uint8Array(b), new Uint8Array(b)]); return x.buffer === y.buffer',
    'maps and sets, in order':
      "const c = clone(new Map([[{}, new Set(['b', 'a'])]])); return c instanceof Map && [...[...c.values()][0]].join() === 'b,a'",
    cycles: 'const o = {}; o.self = o; const c = clone(o); return c !== o && c.self === c',
    'one object named twice is one clone': 'const a = {}; const c = clone([a, a]); return c[0] === c[1]',
    'sparse arrays and their other properties':
      'const a = [1, , 3]; a.x = 2; const c = clone(a); return c.length === 3 && !(1 in c) && c.x === 2',
    'symbols as keys are left out': 'return Object.getOwnPropertySymbols(clone({[Symbol()]: 1})).length === 0',
    'what is inherited or not enumerable is left out':
      "const o = Object.create({a: 1}, {b: {value: 2}, c: {value: 3, enumerable: true}}); const c = clone(o); return Object.keys(c).join() === 'c' && Object.getPrototypeOf(c) === Object.prototype && c.b === undefined",
    'getters become values':
      'const c = clone({get a() { return 5; }}); return Object.getOwnPropertyDescriptor(c, "a").value === 5',
    'an own __proto__ is data':
      "const c = clone(JSON.parse('{\"__proto__\": 1}')); return Object.hasOwn(c, '__proto__')",
    'errors keep type, message, stack and cause':
      "const e = new RangeError('m', {cause: {a: 1}}); const c = clone(e); return c instanceof RangeError && c.message === 'm' && c.cause.a === 1 && c.stack === e.stack",
    'an error of an unknown name is an Error':
      "class Own extends Error {} const e = new Own('m'); e.name = 'Own'; const c = clone(e); return c.constructor === Error && c.name === 'Error'",
    'functions and symbols are refused': 'return isData(() => clone(() => 1)) && isData(() => clone({a: Symbol()}))',
    'weak collections and promises are refused':
      'return isData(() => clone(new WeakMap())) && isData(() => clone(Promise.resolve()))',
    'a class instance is a plain object':
      'class A { x = 1; } const c = clone(new A()); return !(c instanceof A) && c.x === 1',
    'an argument is needed': "return throws(() => clone(), 'TypeError')",
    'BigInt arrays': 'return clone(new BigInt64Array([5n]))[0] === 5n',
    'blobs and files':
      "const c = clone(new File(['abc'], 'n', {type: 'a/b', lastModified: 5})); return c.name === 'n' && c.lastModified === 5 && c.type === 'a/b' && (await c.text()) === 'abc'",
  },
  Blob: {
    'size and type':
      "const b = new Blob(['é', new Uint8Array([1, 2])], {type: 'Text/Plain'}); return b.size === 4 && b.type === 'text/plain'",
    'a type with control characters is none':
      "return new Blob([], {type: 'a\\tb'}).type === '' && new Blob([], {type: 'é/x'}).type === ''",
    'parts of any iterable': "return (await new Blob(new Set(['a', 1, null])).text()) === 'a1null'",
    'strings and numbers are no sequence of parts':
      "return throws(() => new Blob('ab'), 'TypeError') && throws(() => new Blob(1), 'TypeError')",
    'without new': "return throws(() => Blob([]), 'TypeError')",
    'lone surrogates are replaced': "return (await new Blob(['\\ud800']).text()) === '\\ufffd'",
    'views give what they show':
      "return (await new Blob([new Uint8Array([65, 66, 67]).subarray(1, 2)]).text()) === 'B'",
    'later changes of a part are not seen':
      "const u = new Uint8Array([65]); const b = new Blob([u]); u[0] = 66; return (await b.text()) === 'A'",
    'slices count from the end': "return (await new Blob(['abcdef']).slice(-4, -2).text()) === 'cd'",
    'slices beyond the end, or the wrong way':
      "const b = new Blob(['abc']); return b.slice(2, 99).size === 1 && b.slice(2, 1).size === 0 && b.slice(9).size === 0",
    'a slice has the type it is given':
      "const b = new Blob(['a'], {type: 'a/b'}); return b.slice(0, 1).type === '' && b.slice(0, 1, 'C/D').type === 'c/d'",
    'text without its mark of byte order':
      "return (await new Blob([new Uint8Array([0xef, 0xbb, 0xbf, 65])]).text()) === 'A'",
    'arrayBuffer gives a copy each time':
      'const b = new Blob(["a"]); const [x, y] = [await b.arrayBuffer(), await b.arrayBuffer()]; return x !== y && x.byteLength === 1',
    'a stream of its bytes':
      "const r = new Blob(['abc']).stream().getReader(); let n = 0; for (;;) { const {done, value} = await r.read(); if (done) break; n += value.length; } return n === 3",
    'its tag': "return Object.prototype.toString.call(new Blob()) === '[object Blob]'",
    'line ends as on the system':
      "return (await new Blob(['a\\r\\nb\\rc'], {endings: 'native'}).text()) === 'a\\nb\\nc'",
    'unknown endings are refused': "return throws(() => new Blob([], {endings: 'other'}), 'TypeError')",
  },
  File: {
    'is a Blob with a name':
      "const f = new File(['a'], 'n.txt', {type: 'text/plain'}); return f instanceof Blob && f.name === 'n.txt' && f.size === 1",
    'the name is needed': "return throws(() => new File([]), 'TypeError')",
    'lastModified as given, or of now':
      "return new File([], 'n', {lastModified: 5.9}).lastModified === 5 && typeof new File([], 'n').lastModified === 'number'",
    'a slice is a Blob':
      "const s = new File(['ab'], 'n').slice(1); return s instanceof Blob && !(s instanceof File) && s.size === 1",
    'its tag': "return Object.prototype.toString.call(new File([], 'n')) === '[object File]'",
    'the name is text': "return new File([], 5).name === '5' && new File([], '\\ud800').name === '\\ufffd'",
  },
  FormData: {
    'append, get, getAll, has':
      "const f = new FormData(); f.append('a', 1); f.append('a', 2); return f.get('a') === '1' && f.getAll('a').join() === '1,2' && f.has('a') && !f.has('b') && f.get('b') === null",
    'set replaces the first and drops the rest':
      "const f = new FormData(); f.append('a', 1); f.append('b', 2); f.append('a', 3); f.set('a', 4); return [...f].join(';') === 'a,4;b,2'",
    delete: "const f = new FormData(); f.append('a', 1); f.delete('a'); f.delete('a'); return [...f].length === 0",
    'a blob becomes a file':
      "const f = new FormData(); f.append('a', new Blob(['x'], {type: 'a/b'})); const v = f.get('a'); return v instanceof File && v.name === 'blob' && v.type === 'a/b'",
    'a file keeps its identity':
      "const x = new File(['x'], 'n'); const f = new FormData(); f.append('a', x); return f.get('a') === x",
    'a file takes another name':
      "const f = new FormData(); f.append('a', new File(['x'], 'n', {lastModified: 5}), 'm'); return f.get('a').name === 'm' && (await f.get('a').text()) === 'x'",
    'a name for what is no blob is refused': "return throws(() => new FormData().append('a', 'b', 'c'), 'TypeError')",
    'one argument is too few':
      "return throws(() => new FormData().append('a'), 'TypeError') && throws(() => new FormData().get(), 'TypeError')",
    'iterates in order, while it changes too':
      "const f = new FormData(); f.append('a', 1); f.append('b', 2); const seen = []; for (const [k] of f) { seen.push(k); if (k === 'a') f.append('c', 3); } return seen.join() === 'a,b,c'",
    'entries are the iterator': 'return FormData.prototype[Symbol.iterator] === FormData.prototype.entries',
    'forEach with its receiver':
      "const f = new FormData(); f.append('a', 1); let seen; f.forEach(function (v, k, g) { seen = [this.x, v, k, g === f].join(); }, {x: 0}); return seen === '0,1,a,true'",
    'its tag': "return Object.prototype.toString.call(new FormData()) === '[object FormData]'",
    'no form elements':
      "return throws(() => new FormData({}), 'TypeError') && new FormData(undefined) instanceof FormData",
    'lone surrogates are replaced':
      "const f = new FormData(); f.append('\\ud800', '\\ud800'); return [...f].join() === '\\ufffd,\\ufffd'",
  },
};
