/** Values as plain JSON and back, and what a document counts against its limit: for libraries that store, compare or pass on values. */
import {compareValues as compared} from '../../shared/values/order.ts';
import {checkWireDocument, encodeDocument, ValueError} from '../../shared/values/wire-value.ts';
import type {Value} from './value.ts';

/** What `JSON.stringify` can hold. */
export type JsonValue = null | boolean | number | string | JsonValue[] | {[key: string]: JsonValue};

/**
 * The value as JSON: NaN, ±Infinity and -0 become `{$float: …}`, fields that are `undefined` are left out.
 * @throws ValueError when it is not a value
 */
export function svcToJson(value: Value): JsonValue {
  return JSON.parse(encodeDocument(value)) as JsonValue;
}

/** What `svcToJson` was given. The JSON is not changed. @throws ValueError when it is not the JSON of a value */
export function jsonToSvc(json: JsonValue): Value {
  const text = JSON.stringify(json) as string | undefined;
  if (text === undefined) throw new ValueError(`${typeof json} is not the JSON of a value`);
  return checkWireDocument(JSON.parse(text)) as Value;
}

/** The bytes of a document as they count against the limit of 1 MiB: its fields as JSON, without `_id` and `_creationTime`. */
export function getDocumentSize({_id, _creationTime, ...fields}: Record<string, Value | undefined>): number {
  let bytes = 0;
  for (const char of encodeDocument(fields)) {
    const code = char.codePointAt(0)!;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** Negative, 0 or positive: the order of indexes and of `.order()`. `undefined` comes first. */
export function compareValues(a: Value | undefined, b: Value | undefined): number {
  return compared(a as never, b as never);
}
