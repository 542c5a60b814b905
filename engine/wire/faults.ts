/**
 * Explains why a value is not of a wire type, in typebox's words. A separate bundle, loaded with the first refused
 * request.
 */
import {Errors} from 'typebox/value';

export type Fault = ReturnType<typeof Errors>[number];

export function faults(schema: object, value: unknown): Fault[] {
  return Errors({}, schema, value);
}
