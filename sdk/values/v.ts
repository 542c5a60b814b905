/**
 * Creates validators, as members of `v`. Members that exist only at run time throw an error that names the unsupported
 * feature.
 */
import {isValidator} from './construction.ts';
import {
  asOptional,
  type GenericRequiredValidator,
  type GenericValidator,
  type ObjectType,
  type PropertyValidators,
  VAny,
  VArray,
  VBoolean,
  VFloat64,
  VId,
  VLiteral,
  VNull,
  VObject,
  type VOptional,
  VString,
  VUnion,
} from './validators.ts';
import type {GenericId} from './value.ts';

export type ValidatorBuilder = {
  /** The id of a document of this table. The document need not exist. */
  id<TableName extends string>(tableName: TableName): VId<GenericId<TableName>>;
  null(): VNull;
  /** Any number, including NaN and the infinities. */
  number(): VFloat64;
  boolean(): VBoolean;
  string(): VString;
  /** Exactly this value. */
  literal<T extends string | number | boolean>(literal: T): VLiteral<T>;
  array<T extends GenericRequiredValidator>(element: T): VArray<T['type'][], T>;
  /** An object with these fields and no others. */
  object<T extends PropertyValidators>(fields: T): VObject<ObjectType<T>, T>;
  /** A value that matches at least one of these validators. */
  union<T extends GenericRequiredValidator[]>(...members: T): VUnion<T[number]['type'], T>;
  /** Any value. A field of this type must be present; `v.optional(v.any())` can be absent. */
  any(): VAny;
  /** A field that can be absent. `null` does not count as absent. */
  optional<T extends GenericValidator>(value: T): VOptional<T>;
};

const supported: ValidatorBuilder = {
  id: tableName => new VId('required', tableName as never),
  null: () => Object.freeze(new VNull('required')),
  number: () => Object.freeze(new VFloat64('required')),
  boolean: () => Object.freeze(new VBoolean('required')),
  string: () => Object.freeze(new VString('required')),
  literal: literal => new VLiteral('required', literal as never),
  array: element => new VArray('required', element),
  object: fields => new VObject('required', fields),
  union: (...members) => new VUnion('required', members),
  any: () => Object.freeze(new VAny('required')),
  optional: value => {
    if (!isValidator(value)) throw new Error('v.optional(validator): it must be a validator; make one with v.…');
    return asOptional(value);
  },
};

function unsupported(name: string, instead = ''): () => never {
  return () => {
    throw new Error(`v.${name}() is not supported${instead}`);
  };
}

const notSupported = {
  int64: /* @__PURE__ */ unsupported('int64'),
  bigint: /* @__PURE__ */ unsupported('bigint'),
  bytes: /* @__PURE__ */ unsupported('bytes'),
  record: /* @__PURE__ */ unsupported('record'),
  float64: /* @__PURE__ */ unsupported('float64', ': use v.number()'),
  nullable: /* @__PURE__ */ unsupported('nullable', ': use v.union(…, v.null())'),
  commitTs: /* @__PURE__ */ unsupported('commitTs'),
};

export const v: ValidatorBuilder = /* @__PURE__ */ all();

/** A function call, because bundlers remove unused calls that are marked as pure. */
function all(): ValidatorBuilder {
  return Object.freeze({...supported, ...notSupported});
}

/** Converts fields to an object validator; returns a validator unchanged. */
export function asObjectValidator<T extends GenericValidator | PropertyValidators>(
  fields: T,
): T extends GenericValidator ? T : T extends PropertyValidators ? VObject<ObjectType<T>, T> : never {
  const validator = isValidator(fields) ? fields : v.object(fields as PropertyValidators);
  return validator as unknown as ReturnType<typeof asObjectValidator<T>>;
}
