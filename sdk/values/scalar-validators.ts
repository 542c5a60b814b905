/**
 * Validators of values that contain no others, and the base class of all validators. `type` and `fieldPaths` exist in
 * types only: the type of the accepted values, and the dotted paths that an index or filter can name in them. `json` is
 * the serialised form that a deployment stores.
 */
import type {ValidatorJson} from '../../shared/values/validator.ts';
import type {Any} from './any.ts';
import type {GenericId} from './value.ts';

export type OptionalProperty = 'optional' | 'required';

export abstract class BaseValidator<Type, IsOptional extends OptionalProperty, FieldPaths extends string> {
  /** Exists in types only. */
  declare readonly type: Type;
  /** Exists in types only. */
  declare readonly fieldPaths: FieldPaths;
  readonly isOptional: IsOptional;
  readonly isSvcValidator = true;
  /** Libraries made for Convex check this member. */
  readonly isConvexValidator = true;
  abstract readonly kind: string;
  abstract readonly json: ValidatorJson;

  constructor(isOptional: IsOptional) {
    this.isOptional = isOptional;
  }
}

export class VId<Type, IsOptional extends OptionalProperty = 'required'> extends BaseValidator<
  Type,
  IsOptional,
  never
> {
  readonly kind = 'id';
  readonly tableName: TableNameOf<Type>;
  readonly json: ValidatorJson;

  constructor(isOptional: IsOptional, tableName: TableNameOf<Type>) {
    super(isOptional);
    if (typeof tableName !== 'string') throw new Error('v.id(tableName): the table name must be a string');
    this.tableName = tableName;
    this.json = {type: 'id', tableName};
    Object.freeze(this);
  }
}

type TableNameOf<Type> = Type extends GenericId<infer TableName> ? TableName : string;

export class VString<Type = string, IsOptional extends OptionalProperty = 'required'> extends BaseValidator<
  Type,
  IsOptional,
  never
> {
  readonly kind = 'string';
  readonly json: ValidatorJson = {type: 'string'};
}

/** `v.number()`. The kind is called `float64` because libraries expect that name. */
export class VFloat64<Type = number, IsOptional extends OptionalProperty = 'required'> extends BaseValidator<
  Type,
  IsOptional,
  never
> {
  readonly kind = 'float64';
  readonly json: ValidatorJson = {type: 'number'};
}

export class VBoolean<Type = boolean, IsOptional extends OptionalProperty = 'required'> extends BaseValidator<
  Type,
  IsOptional,
  never
> {
  readonly kind = 'boolean';
  readonly json: ValidatorJson = {type: 'boolean'};
}

export class VNull<Type = null, IsOptional extends OptionalProperty = 'required'> extends BaseValidator<
  Type,
  IsOptional,
  never
> {
  readonly kind = 'null';
  readonly json: ValidatorJson = {type: 'null'};
}

/** A filter or an index can name any path in it. */
export class VAny<Type = Any, IsOptional extends OptionalProperty = 'required'> extends BaseValidator<
  Type,
  IsOptional,
  string
> {
  readonly kind = 'any';
  readonly json: ValidatorJson = {type: 'any'};
}

export class VLiteral<Type, IsOptional extends OptionalProperty = 'required'> extends BaseValidator<
  Type,
  IsOptional,
  never
> {
  readonly kind = 'literal';
  readonly value: Exclude<Type, undefined>;
  readonly json: ValidatorJson;

  constructor(isOptional: IsOptional, value: Exclude<Type, undefined>) {
    super(isOptional);
    this.value = value;
    this.json = {type: 'literal', value: literalJson(value)};
    Object.freeze(this);
  }
}

function literalJson(value: unknown): string | number | boolean {
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
    throw new Error(`v.literal(${Object.is(value, -0) ? '-0' : value}) is not supported`);
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new Error('v.literal(value): the value must be a string, a number or a boolean');
}
