/** Wire types as checks, compiled when first used: that costs a millisecond each, which a tenant's start need not pay. */
import type {Static, TSchema} from 'typebox';
import {Compile, type Validator} from 'typebox/compile';
import {ServiceError} from '../shared/errors.ts';
import {parseJson} from '../shared/values/json.ts';

export type WireType<T extends TSchema> = () => Validator<Record<never, never>, T>;

export function wireType<T extends TSchema>(schema: T): WireType<T> {
  let compiled: Validator<Record<never, never>, T> | undefined;
  return () => {
    compiled ??= Compile(schema);
    return compiled;
  };
}

/** The value as its wire type. @throws op.invalid_input 400 that names the first field at fault, behind `prefix` */
export function checkWireType<T extends TSchema>(type: WireType<T>, value: unknown, prefix = ''): Static<T> {
  const validator = type();
  if (validator.Check(value)) return value as Static<T>;
  const [error] = validator.Errors(value);
  const path = error === undefined ? '' : error.instancePath.slice(1).replaceAll('/', '.');
  const at = `${prefix}${path}` || 'the body';
  throw new ServiceError(
    'op.invalid_input',
    `${at.replace(/\.$/, '')} ${error?.message ?? 'is not what this route takes'}`,
  );
}

/** A request body as its wire type. @throws op.invalid_input 400 */
export function decodeBody<T extends TSchema>(type: WireType<T>, body: Buffer): Static<T> {
  return checkWireType(type, parseJson(body));
}
