/**
 * Wire types as checks, compiled on first use: that costs a millisecond each, which the start of a tenant should not
 * pay.
 *
 * `null` for an optional member means that the member is absent, because the API itself uses null for absent values:
 * paging that begins with `after: null` is the same as without `after`.
 */
import type {Static, TSchema} from 'typebox';
import {invalid} from '../shared/errors.ts';
import type {BodyType} from '../shared/operation-types.ts';
import type {Operation} from '../shared/operations.ts';
import {parseJson} from '../shared/values/json.ts';
import {type WireCheck, wireCheck} from './wire/check.ts';
import type {Fault} from './wire/faults.ts';

/** The schema's check. The type is only in the name of the value. */
export type WireType<T extends TSchema> = (() => WireCheck) & {readonly of?: T};

export function wireType<T extends TSchema>(schema: T): WireType<T> {
  let compiled: WireCheck | undefined;
  return () => {
    compiled ??= wireCheck(schema);
    return compiled;
  };
}

/** The body of an operation, with the type of `shared/operation-types.ts`; otherwise this does not compile. */
export function bodyType<O extends Operation>(schema: BodyType<O>): WireType<BodyType<O>> {
  return wireType(schema);
}

/** The value as its wire type. @throws op.invalid_input 400 that names the first invalid field, after `prefix` */
export function checkWireType<T extends TSchema>(type: WireType<T>, value: unknown, prefix = ''): Static<T> {
  const wire = type();
  if (wire.check(value)) return value as Static<T>;
  dropNulls(wire.schema as Shape, value);
  if (wire.check(value)) return value as Static<T>;
  const fault = tellingFault(wire.faults(value));
  const path = fault === undefined ? '' : fault.instancePath.slice(1).replaceAll('/', '.');
  const at = `${prefix}${path}`.replace(/\.$/, '') || 'the body';
  throw invalid(`${at} ${fault === undefined ? 'is not what this route takes' : said(fault)}`);
}

/** A request body as its wire type. @throws op.invalid_input 400 */
export function decodeBody<T extends TSchema>(type: WireType<T>, body: Buffer): Static<T> {
  return checkWireType(type, parseJson(body));
}

/** The first fault; if one of several types would be valid, a fault other than the wrong type is preferred. */
function tellingFault(all: readonly Fault[]): Fault | undefined {
  const choices = new Set(all.filter(({keyword}) => keyword === 'anyOf').map(({instancePath}) => instancePath));
  const telling = all.find(({keyword, instancePath}) => keyword !== 'type' || !choices.has(instancePath));
  return telling === undefined || telling.keyword === 'anyOf' ? all[0] : telling;
}

/** The checker's message, plus the allowed values where it leaves them out. */
function said({keyword, params, message}: Fault): string {
  const {allowedValues, allowedValue} = params as {allowedValues?: unknown[]; allowedValue?: unknown};
  if (keyword === 'enum' && allowedValues !== undefined) {
    return `must be ${allowedValues.length === 1 ? '' : 'one of '}${allowedValues.map(shown).join(', ')}`;
  }
  if (keyword === 'boolean') return 'is not a member that is known here';
  return keyword === 'const' ? `must be ${shown(allowedValue)}` : message;
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}

/** The part of a JSON schema that `dropNulls` reads. */
type Shape = {
  type?: string;
  properties?: Record<string, Shape>;
  required?: readonly string[];
  items?: Shape;
  anyOf?: readonly Shape[];
};

/** Removes, in place, optional members that are null and whose type gives null no meaning. */
function dropNulls(shape: Shape, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (shape.items !== undefined) for (const element of value) dropNulls(shape.items, element);
    return;
  }
  const members = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(shape.properties ?? {})) {
    if (!Object.hasOwn(members, name)) continue;
    if (members[name] !== null) dropNulls(member, members[name]);
    else if (shape.required?.includes(name) !== true && !takesNull(member)) delete members[name];
  }
}

function takesNull({type, anyOf}: Shape): boolean {
  return anyOf === undefined ? type === undefined || type === 'null' : anyOf.some(takesNull);
}
