/**
 * A wire type whose check was generated when this was built: typebox, which takes 3 MB and 15 ms, is loaded only to say what
 * is wrong with a value that was refused.
 */
import {createRequire} from 'node:module';
import type {WireCheck} from './check.ts';

/** What stands in `dist/` for an exported schema of `shared/protocol`. */
export type GeneratedType = {
  check(value: unknown): boolean;
  /** Made when it is asked for: only a value that is refused, or has nulls, needs it. */
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

/** Loaded at once, since a refusal is said where it is found: nothing between a request and its answer waits for it otherwise. */
function engine(): typeof import('./faults.ts') {
  loaded ??= createRequire(import.meta.url)('./wire-faults.cjs') as typeof import('./faults.ts');
  return loaded;
}
