/**
 * A wire type as a check, when svc runs from its sources. In `dist/` the checks are also typebox's, but generated at
 * build time (`generated-check.ts` replaces this file, see build/wire-checks.ts).
 */
import type {TSchema} from 'typebox';
import {Compile} from 'typebox/compile';
import {type Fault, faults} from './faults.ts';

export type WireCheck = {
  check(value: unknown): boolean;
  /** The reason why a value is refused. */
  faults(value: unknown): Fault[];
  readonly schema: object;
};

export function wireCheck(schema: TSchema): WireCheck {
  const compiled = Compile(schema);
  return {check: value => compiled.Check(value), faults: value => faults(schema, value), schema};
}
