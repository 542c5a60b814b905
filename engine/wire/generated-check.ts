/**
 * A wire type whose check was generated at build time: typebox, which takes 3 MB and 15 ms, is loaded only to describe
 * the fault of a refused value.
 */
import {createRequire} from 'node:module';
import type {WireCheck} from './check.ts';

/** Replaces an exported schema of `shared/protocol` in `dist/`. */
export type GeneratedType = {
  check(value: unknown): boolean;
  /** Made on first use: only a value that is refused, or has nulls, needs it. */
  readonly schema: object;
};

let loaded: typeof import('./faults.ts') | null = null;

export function wireCheck(type: GeneratedType): WireCheck {
  return {
    check: type.check,
    faults: value => engine().faults(type.schema, value),
    get schema() {
      return type.schema;
    },
  };
}

/** Loaded synchronously, because a refusal is made where the fault is found; no other request path waits for it. */
function engine(): typeof import('./faults.ts') {
  loaded ??= createRequire(import.meta.url)('./wire-faults.cjs') as typeof import('./faults.ts');
  return loaded;
}
