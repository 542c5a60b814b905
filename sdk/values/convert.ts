/**
 * Converts values to plain JSON and back, measures documents, and compares values. For libraries that store or forward
 * values.
 */
import {compareValues as compared} from '../../shared/values/order.ts';
import {checkWireDocument, encodeDocument, ValueError} from '../../shared/values/wire-value.ts';
import type {Value} from './value.ts';

/** The values that `JSON.stringify` can represent. */
export type JsonValue = null | boolean | number | string | JsonValue[] | {[key: string]: JsonValue};

/**
 * Converts a value to JSON. NaN, ±Infinity and -0 become `{$float: …}`; fields that are `undefined` are omitted.
 * @throws ValueError when it is not a value
 */
export function svcToJson(value: Value): JsonValue {
  return JSON.parse(encodeDocument(value)) as JsonValue;
}

/**
 * Converts the JSON of `svcToJson` back to the value, without modifying the JSON.
 * @throws ValueError when it is not the JSON of a value
 */
export function jsonToSvc(json: JsonValue): Value {
  const text = JSON.stringify(json) as string | undefined;
  if (text === undefined) throw new ValueError(`${typeof json} is not the JSON of a value`);
  return checkWireDocument(JSON.parse(text)) as Value;
}

/**
 * The size of a document in bytes, as counted against the limit of 1 MiB: its fields as JSON, without the system
 * fields.
 */
export function getDocumentSize({
  _id,
  _creationTime,
  _updateTime,
  ...fields
}: Record<string, Value | undefined>): number {
  let bytes = 0;
  for (const char of encodeDocument(fields)) {
    const code = char.codePointAt(0)!;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/**
 * Compares in the order of indexes and `.order()`. Returns a negative number, 0 or a positive number; `undefined` sorts
 * first.
 */
export function compareValues(a: Value | undefined, b: Value | undefined): number {
  return compared(a as never, b as never);
}
