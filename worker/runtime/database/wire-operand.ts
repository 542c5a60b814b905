/** Decodes values of ranges and filters from a realm: a wire value, or `{"$undefined": true}` for the missing one. */
import type {Value} from '../../../shared/values/value.ts';
import {checkWireDocument, ValueError} from '../../../shared/values/wire-value.ts';
import {DatabaseFault} from './database-fault.ts';

/** @throws DatabaseFault */
export function operand(wire: unknown): Value | undefined {
  if (wire === undefined) return undefined;
  if (typeof wire === 'object' && wire !== null && Object.hasOwn(wire, '$undefined')) return undefined;
  try {
    return checkWireDocument(wire);
  } catch (caught) {
    if (!(caught instanceof ValueError)) throw caught;
    throw new DatabaseFault(caught.message);
  }
}
