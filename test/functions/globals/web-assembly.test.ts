/** WebAssembly works, without the event loop of the host, and its memory is bounded and never shared. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {WASM_MEMORIES_MAX, WASM_MEMORY_PAGES_MAX} from '../../../worker/runtime/guest/limits.ts';
import {TestRealm} from './realm.ts';
import {answer, exportedMemory, memory} from './wasm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await TestRealm.open(128);
});
afterAll(() => realm.close());

const bytes = (module: number[]): string => `new Uint8Array([${module}])`;

describe('WebAssembly', () => {
  test.each([
    ['new Module, new Instance', `new WebAssembly.Instance(new WebAssembly.Module(${bytes(answer)})).exports.f()`],
    ['instantiate of bytes', `(await WebAssembly.instantiate(${bytes(answer)})).instance.exports.f()`],
    ['instantiate of a buffer', `(await WebAssembly.instantiate(${bytes(answer)}.buffer)).instance.exports.f()`],
    [
      'instantiate of a module',
      `(await WebAssembly.instantiate(new WebAssembly.Module(${bytes(answer)}))).exports.f()`,
    ],
    ['compile', `new WebAssembly.Instance(await WebAssembly.compile(${bytes(answer)})).exports.f()`],
  ])('%s', (_title, expression) => {
    for (const phase of ['query', 'action'] as const) expect(realm.in(phase, `return ${expression}`)).toBe(42);
  });

  test('its classes are what instances are of', () => {
    const body = `
      const module = new WebAssembly.Module(${bytes(answer)});
      const instance = new WebAssembly.Instance(module);
      return [
        module instanceof WebAssembly.Module, instance instanceof WebAssembly.Instance,
        module.constructor === WebAssembly.Module, WebAssembly.Module.exports(module).length,
        new WebAssembly.Memory({initial: 1}) instanceof WebAssembly.Memory,
        WebAssembly.compileStreaming === undefined, WebAssembly.instantiateStreaming === undefined,
        WebAssembly.validate(${bytes(answer)}),
      ]`;
    expect(realm.in('query', body)).toEqual([true, true, true, 1, true, true, true, true]);
  });

  test.each([
    ['a shared Memory', 'new WebAssembly.Memory({initial: 1, maximum: 2, shared: true})', 'TypeError: shared'],
    [
      'one that says so only when it is asked again',
      '((n = 0) => new WebAssembly.Memory({initial: 1, maximum: 2, get shared() { return n++ > 0; }}).buffer.grow(1))()',
      'is not a function',
    ],
    ['a shared memory of a module', `new WebAssembly.Module(${bytes(exportedMemory(3, 1, 2))})`, 'CompileError'],
    ['64-bit addresses', `new WebAssembly.Module(${bytes(exportedMemory(4, 1))})`, 'CompileError'],
    ['nonsense', 'new WebAssembly.Module(new Uint8Array([0, 1, 2]))', 'CompileError'],
    ['half a memory section', `new WebAssembly.Module(${bytes(exportedMemory(0, 1).slice(0, 11))})`, 'CompileError'],
    ['a text', "new WebAssembly.Module('abc')", 'TypeError'],
    ['a call without new', `WebAssembly.Module(${bytes(answer)})`, 'must be called with new'],
    ['a memory larger than allowed', `new WebAssembly.Memory({initial: ${WASM_MEMORY_PAGES_MAX + 1}})`, 'RangeError'],
    ['a module with one', `new WebAssembly.Module(${bytes(exportedMemory(0, 0x80, 0x80, 4))})`, 'RangeError'],
  ])('%s is refused', (_title, expression, message) => {
    expect(() => realm.in('query', `return ${expression}`)).toThrow(message);
  });

  test('a memory grows to its limit and no further', () => {
    const grow = `f(${WASM_MEMORY_PAGES_MAX - 1}), f(1)`.replaceAll('f(', 'instance.exports.f(');
    const make = `const instance = new WebAssembly.Instance(new WebAssembly.Module(${bytes(memory(0, 1))}));`;
    expect(realm.in('query', `${make} return [${grow}]`)).toEqual([1, -1]);
    const body = `const m = new WebAssembly.Memory({initial: 1, maximum: 65536}); m.grow(${WASM_MEMORY_PAGES_MAX})`;
    expect(() => realm.in('query', body)).toThrow('RangeError');
  });

  test('an invocation has a number of memories, the next one as many again', () => {
    const make = (count: number): string => `
      const module = new WebAssembly.Module(${bytes(memory(0, 1))});
      for (let i = 0; i < ${count}; i++) new WebAssembly.Instance(module);
      return true`;
    for (let i = 0; i < 3; i++) expect(realm.in('query', make(WASM_MEMORIES_MAX))).toBe(true);
    expect(() => realm.in('query', make(WASM_MEMORIES_MAX + 1))).toThrow('RangeError');
  });

  test('Atomics work on what is there, and do not wait', () => {
    expect(realm.in('query', 'return Atomics.add(new Int32Array(1), 0, 5)')).toBe(0);
    expect(() => realm.in('query', 'Atomics.wait(new Int32Array(1), 0, 0)')).toThrow('TypeError: Atomics.wait');
    expect(() => realm.in('query', 'Atomics.waitAsync(new Int32Array(1), 0, 0)')).toThrow('TypeError');
  });
});
