/** Why a value is not of a wire type, in typebox's words. A bundle of its own: loaded when a request is refused first. */
import {Errors} from 'typebox/value';

export type Fault = ReturnType<typeof Errors>[number];

export function faults(schema: object, value: unknown): Fault[] {
  return Errors({}, schema, value);
}
