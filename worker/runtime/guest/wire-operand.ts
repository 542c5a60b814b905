/** Encodes a value of a range or filter for the host: the missing value is `{"$undefined": true}`. */
import {encodeDocument} from '../../../shared/values/wire-value.ts';
import type {WireOrMissing} from './host-call.ts';

export function wireOperand(value: unknown): WireOrMissing {
  return value === undefined ? {$undefined: true} : JSON.parse(encodeDocument(value));
}
