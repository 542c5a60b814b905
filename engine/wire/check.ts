/**
 * A wire type as a check. This is how it runs from its sources; in `dist/` the checks are typebox's as well, but were
 * generated when it was built (`generated-check.ts` stands in for this file, see build/wire-checks.ts).
 */
import type {TSchema} from 'typebox';
import {Compile} from 'typebox/compile';
import {type Fault, faults} from './faults.ts';

export type WireCheck = {
  check(value: unknown): boolean;
  /** Why a value is refused. */
  faults(value: unknown): Fault[];
  readonly schema: object;
};

export function wireCheck(schema: TSchema): WireCheck {
  const compiled = Compile(schema);
  return {check: value => compiled.Check(value), faults: value => faults(schema, value), schema};
}
