/** AsyncLocalStorage: a store goes where the code that was handed over goes. Async functions are lowered, as in bundles. */
import {transformSync} from 'esbuild';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {TestRealm} from './realm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await TestRealm.open();
  realm.begin('import');
  realm.run(`
    const {AsyncLocalStorage, AsyncResource} = globalThis[Symbol.for('svc.async_hooks')];
    Object.assign(globalThis, {AsyncLocalStorage, AsyncResource, storage: new AsyncLocalStorage(), other: new AsyncLocalStorage()});
  `);
});
afterAll(() => realm.close());

/** @param body of an async function, which the bundler lowers */
function lowered(body: string): string {
  const {code} = transformSync(`globalThis.main = async () => {${body}\n};`, {
    target: 'es2022',
    supported: {'async-await': false, 'async-generator': false, 'for-await': false},
  });
  return `${code}\nreturn main();`;
}

describe('a store', () => {
  test.each([
    ['in run', 'return storage.run(1, () => storage.getStore())', 1],
    ['with arguments', 'return storage.run(1, (a, b) => a + b + storage.getStore(), 2, 3)', 6],
    ['not outside', 'storage.run(1, () => {}); return storage.getStore() ?? null', null],
    [
      'not after a throw',
      'try { storage.run(1, () => { throw 1; }); } catch {} return storage.getStore() ?? null',
      null,
    ],
    ['nested', 'return storage.run(1, () => [storage.run(2, () => storage.getStore()), storage.getStore()])', [2, 1]],
    [
      'of two storages',
      'return storage.run(1, () => other.run(2, () => [storage.getStore(), other.getStore()]))',
      [1, 2],
    ],
    [
      'left with exit',
      'return storage.run(1, () => [storage.exit(() => storage.getStore() ?? null), storage.getStore()])',
      [null, 1],
    ],
    ['disabled', 'return storage.run(1, () => { storage.disable(); return storage.getStore() ?? null; })', null],
    ['across await', 'return storage.run(1, async () => { await null; await 0; return storage.getStore(); })', 1],
    [
      'across await of a chain',
      'const f = async () => { await null; return storage.getStore(); }; return storage.run(1, async () => (await f()) + (await f()))',
      2,
    ],
    [
      'after a rejection',
      'return storage.run(1, async () => { try { await Promise.reject(1); } catch { return storage.getStore(); } })',
      1,
    ],
    [
      'in then, catch, finally',
      'return storage.run(1, () => Promise.resolve().then(() => storage.getStore()).then(a => Promise.reject(a)).catch(a => [a, storage.getStore()]).finally(() => storage.getStore()))',
      [1, 1],
    ],
    [
      'of then, not of the promise',
      'const p = storage.run(1, () => Promise.resolve()); return storage.run(2, () => p.then(() => storage.getStore()))',
      2,
    ],
    [
      'in Promise.all',
      'return storage.run(1, () => Promise.all([0, 1].map(async x => { await x; return storage.getStore(); })))',
      [1, 1],
    ],
    [
      'in Promise.race, any, allSettled',
      'const f = async () => { await 0; return storage.getStore(); }; return storage.run(1, async () => [await Promise.race([f()]), await Promise.any([f()]), (await Promise.allSettled([f()]))[0].value])',
      [1, 1, 1],
    ],
    [
      'of interleaved runs',
      'const out = []; const f = async n => { for (let i = 0; i < 3; i++) { await null; out.push(storage.getStore() === n); } }; await Promise.all([1, 2, 3].map(n => storage.run(n, f, n))); return out.every(Boolean)',
      true,
    ],
    ['in the then of a thenable', 'return storage.run(1, async () => await {then(ok) { ok(storage.getStore()); }})', 1],
    [
      'after a thenable',
      'return storage.run(1, async () => { await {then(ok) { ok(); }}; return storage.getStore(); })',
      1,
    ],
    [
      'in queueMicrotask',
      'return new Promise(ok => storage.run(1, () => queueMicrotask(() => ok(storage.getStore()))))',
      1,
    ],
    [
      'in for await',
      'async function* g() { yield 1; yield 2; } return storage.run(7, async () => { const out = []; for await (const x of g()) out.push(storage.getStore()); return out; })',
      [7, 7],
    ],
    ['entered with enterWith', 'storage.enterWith(5); await null; return storage.getStore()', 5],
    [
      'in bind',
      'const f = storage.run(1, () => AsyncLocalStorage.bind(() => storage.getStore())); return storage.run(2, f)',
      1,
    ],
    [
      'in a snapshot',
      'const run = storage.run(1, () => AsyncLocalStorage.snapshot()); return storage.run(2, () => run((a) => a + storage.getStore(), 10))',
      11,
    ],
    [
      'in an AsyncResource',
      'const r = storage.run(1, () => new AsyncResource("x")); return storage.run(2, () => [r.runInAsyncScope(() => storage.getStore()), r.bind(() => storage.getStore())()])',
      [1, 1],
    ],
    [
      'in AsyncResource.bind',
      'const f = storage.run(1, () => AsyncResource.bind(() => storage.getStore())); return f()',
      1,
    ],
  ])('%s', (_title, body, expected) => {
    expect(realm.in('query', lowered(body))).toEqual(expected);
  });

  test('is gone in the next invocation', () => {
    realm.in('query', 'storage.enterWith(1)');
    expect(realm.in('query', 'return storage.getStore() ?? null')).toBe(null);
  });

  test('in timers of actions', () => {
    realm.begin('action');
    realm.run('globalThis.seen = []; storage.run(1, () => setTimeout(() => seen.push(storage.getStore()), 5));');
    realm.settle(realm.calls[0]!.call);
    expect(realm.run('return seen')).toEqual([1]);
  });

  test('promises keep being promises', () => {
    const body =
      'const p = Promise.resolve(1); return [Promise.resolve(p) === p, await p, String(Promise.prototype.then).length > 0]';
    expect(realm.in('query', body)).toEqual([true, 1, true]);
  });
});

test('a realm without a storage has V8’s own promises', async () => {
  const plain = await TestRealm.open();
  expect(plain.in('query', 'return String(Promise.prototype.then)')).toContain('[native code]');
  plain.close();
});
