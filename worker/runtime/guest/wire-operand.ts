/** A value in a range or a filter, as the host takes it: the missing value is `{"$undefined": true}`. */
import {encodeDocument} from '../../../shared/values/wire-value.ts';
import type {WireOrMissing} from './host-call.ts';

export function wireOperand(value: unknown): WireOrMissing {
  return value === undefined ? {$undefined: true} : JSON.parse(encodeDocument(value));
}
