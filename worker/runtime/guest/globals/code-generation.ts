/**
 * Disables code generation from strings. V8 has no switch for it here, so `eval` and the constructors of functions are
 * replaced; the prototype of any function leads to a constructor. V8's originals are not reachable afterwards.
 */
import {define} from './define.ts';

const REFUSAL = 'Code generation from strings disallowed for this context';

export function installCodeGeneration(): void {
  define(
    globalThis,
    'eval',
    {
      eval: (source: unknown): unknown => {
        // `eval` returns any value that is not a string unchanged.
        if (typeof source === 'string') throw new EvalError(REFUSAL);
        return source;
      },
    }.eval,
  );
  const plain = standIn(
    'Function',
    Object.getPrototypeOf(() => {}),
  );
  define(globalThis, 'Function', plain);
  const others: [string, object][] = [
    ['AsyncFunction', Object.getPrototypeOf(async () => {})],
    ['GeneratorFunction', Object.getPrototypeOf(function* () {})],
    ['AsyncGeneratorFunction', Object.getPrototypeOf(async function* () {})],
  ];
  for (const [name, prototype] of others) Object.setPrototypeOf(standIn(name, prototype), plain);
}

/** Keeps `instanceof Function` true for functions. */
function standIn(name: string, prototype: object): object {
  function refuse(): never {
    throw new EvalError(REFUSAL);
  }
  Object.defineProperty(refuse, 'prototype', {value: prototype, writable: false});
  Object.defineProperty(refuse, 'name', {value: name});
  Object.defineProperty(refuse, 'length', {value: 1});
  Object.defineProperty(prototype, 'constructor', {value: refuse, writable: false, configurable: false});
  return refuse;
}
