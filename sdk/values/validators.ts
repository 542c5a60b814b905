/**
 * The classes of validators that contain others, and the type of any validator. Each kind has its own immutable class.
 */
import type {ValidatorJson} from '../../shared/values/validator.ts';
import type {Any} from './any.ts';
import {checkFieldName, checkMember} from './construction.ts';
import {
  BaseValidator,
  type OptionalProperty,
  VAny,
  VBoolean,
  VFloat64,
  VId,
  VLiteral,
  VNull,
  VString,
} from './scalar-validators.ts';
import type {BetterOmit, Expand} from './value.ts';

export type {OptionalProperty, ValidatorJson};
export {VAny, VBoolean, VFloat64, VId, VLiteral, VNull, VString};

export type Validator<Type, IsOptional extends OptionalProperty = 'required', FieldPaths extends string = never> =
  | VId<Type, IsOptional>
  | VString<Type, IsOptional>
  | VFloat64<Type, IsOptional>
  | VBoolean<Type, IsOptional>
  | VNull<Type, IsOptional>
  | VAny<Type, IsOptional>
  | VLiteral<Type, IsOptional>
  // Older compilers report a circular type if this uses the aliases below.
  | VArray<Type, Validator<Any, 'required', Any>, IsOptional>
  | VObject<Type, Record<string, Validator<Any, OptionalProperty, Any>>, IsOptional, FieldPaths>
  | VUnion<Type, Validator<Any, 'required', Any>[], IsOptional, FieldPaths>;

export type GenericValidator = Validator<Any, OptionalProperty, Any>;
export type GenericRequiredValidator = Validator<Any, 'required', Any>;

/** The fields of an object or a table, or the arguments of a function. */
export type PropertyValidators = Record<string, GenericValidator>;

/** The type of the values that a validator accepts. */
export type Infer<T extends GenericValidator> = T['type'];

/** The type of the objects that have these fields. */
export type ObjectType<Fields extends PropertyValidators> = Expand<
  {[Key in OptionalKeys<Fields>]?: Exclude<Infer<Fields[Key]>, undefined>} & {
    [Key in Exclude<keyof Fields, OptionalKeys<Fields>>]: Infer<Fields[Key]>;
  }
>;

type OptionalKeys<Fields extends PropertyValidators> = {
  [Key in keyof Fields]: Fields[Key]['isOptional'] extends 'required' ? never : Key;
}[keyof Fields];

export class VArray<
  Type,
  Element extends GenericRequiredValidator,
  IsOptional extends OptionalProperty = 'required',
> extends BaseValidator<Type, IsOptional, never> {
  readonly kind = 'array';
  readonly element: Element;
  readonly json: ValidatorJson;

  constructor(isOptional: IsOptional, element: Element) {
    super(isOptional);
    checkMember(element, 'v.array()', 'its element', false);
    this.element = element;
    this.json = {type: 'array', value: element.json};
    Object.freeze(this);
  }
}

export class VUnion<
  Type,
  Members extends GenericRequiredValidator[],
  IsOptional extends OptionalProperty = 'required',
  FieldPaths extends string = Members[number]['fieldPaths'],
> extends BaseValidator<Type, IsOptional, FieldPaths> {
  readonly kind = 'union';
  readonly members: Members;
  readonly json: ValidatorJson;

  constructor(isOptional: IsOptional, members: Members) {
    super(isOptional);
    for (const [i, member] of members.entries()) checkMember(member, 'v.union()', `member ${i}`, false);
    this.members = members;
    this.json = {type: 'union', value: members.map(member => member.json)};
    Object.freeze(this);
  }
}

/** The paths of fields: `a`, and `a.b` for the fields inside `a`. */
type PathsOf<Fields extends PropertyValidators> = {
  [Key in keyof Fields & string]: Key | `${Key}.${Fields[Key]['fieldPaths']}`;
}[keyof Fields & string];

export class VObject<
  Type,
  Fields extends PropertyValidators,
  IsOptional extends OptionalProperty = 'required',
  FieldPaths extends string = PathsOf<Fields>,
> extends BaseValidator<Type, IsOptional, FieldPaths> {
  readonly kind = 'object';
  readonly fields: Fields;
  readonly json: ValidatorJson;

  constructor(isOptional: IsOptional, fields: Fields) {
    super(isOptional);
    if (typeof fields !== 'object' || fields === null) throw new Error('v.object(fields): fields must be an object');
    const value: (ValidatorJson & {type: 'object'})['value'] = {};
    for (const [name, field] of Object.entries(fields)) {
      checkFieldName(name);
      checkMember(field, 'v.object()', `field '${name}'`, true);
      value[name] = {fieldType: field.json, optional: field.isOptional === 'optional'};
    }
    this.fields = fields;
    this.json = {type: 'object', value};
    Object.freeze(this);
  }

  /** Returns a validator with only these fields. */
  pick<Keys extends keyof Fields & string>(
    ...names: Keys[]
  ): VObject<ObjectType<Pick<Fields, Keys>>, Pick<Fields, Keys>, IsOptional> {
    const kept = Object.fromEntries(Object.entries(this.fields).filter(([name]) => names.includes(name as Keys)));
    return new VObject(this.isOptional, kept as Pick<Fields, Keys>);
  }

  /** Returns a validator without these fields. */
  omit<Keys extends keyof Fields & string>(
    ...names: Keys[]
  ): VObject<ObjectType<Omitted<Fields, Keys>>, Omitted<Fields, Keys>, IsOptional> {
    const kept = Object.fromEntries(Object.entries(this.fields).filter(([name]) => !names.includes(name as Keys)));
    return new VObject(this.isOptional, kept as Omitted<Fields, Keys>);
  }

  /** Returns a validator with more fields. A field in both is taken from `fields`. */
  extend<More extends PropertyValidators>(
    fields: More,
  ): VObject<ObjectType<Extended<Fields, More>>, Extended<Fields, More>, IsOptional> {
    return new VObject(this.isOptional, {...this.fields, ...fields} as unknown as Extended<Fields, More>);
  }

  /** Returns a validator with the same fields, all optional. */
  partial(): VObject<ObjectType<AllOptional<Fields>>, AllOptional<Fields>, IsOptional> {
    const fields = Object.fromEntries(Object.entries(this.fields).map(([name, field]) => [name, asOptional(field)]));
    return new VObject(this.isOptional, fields as AllOptional<Fields>);
  }
}

type Omitted<Fields extends PropertyValidators, Keys extends string> = Expand<BetterOmit<Fields, Keys>>;
type Extended<Fields extends PropertyValidators, More extends PropertyValidators> = Expand<
  BetterOmit<Fields, keyof More> & More
>;
type AllOptional<Fields extends PropertyValidators> = {[Key in keyof Fields]: VOptional<Fields[Key]>};

/** The validator of a field that can be absent. */
export type VOptional<T extends GenericValidator> =
  T extends VId<infer Type, OptionalProperty>
    ? VId<Type | undefined, 'optional'>
    : T extends VString<infer Type, OptionalProperty>
      ? VString<Type | undefined, 'optional'>
      : T extends VFloat64<infer Type, OptionalProperty>
        ? VFloat64<Type | undefined, 'optional'>
        : T extends VBoolean<infer Type, OptionalProperty>
          ? VBoolean<Type | undefined, 'optional'>
          : T extends VNull<infer Type, OptionalProperty>
            ? VNull<Type | undefined, 'optional'>
            : T extends VAny<infer Type, OptionalProperty>
              ? VAny<Type | undefined, 'optional'>
              : T extends VLiteral<infer Type, OptionalProperty>
                ? VLiteral<Type | undefined, 'optional'>
                : T extends VArray<infer Type, infer Element, OptionalProperty>
                  ? VArray<Type | undefined, Element, 'optional'>
                  : T extends VObject<infer Type, infer Fields, OptionalProperty, infer Paths>
                    ? VObject<Type | undefined, Fields, 'optional', Paths>
                    : T extends VUnion<infer Type, infer Members, OptionalProperty, infer Paths>
                      ? VUnion<Type | undefined, Members, 'optional', Paths>
                      : never;

export function asOptional<T extends GenericValidator>(validator: T): VOptional<T> {
  if (validator.isOptional === 'optional') return validator as unknown as VOptional<T>;
  return Object.freeze(optionalOf(validator)) as unknown as VOptional<T>;
}

function optionalOf(validator: GenericValidator): GenericValidator {
  switch (validator.kind) {
    case 'id':
      return new VId('optional', validator.tableName);
    case 'string':
      return new VString('optional');
    case 'float64':
      return new VFloat64('optional');
    case 'boolean':
      return new VBoolean('optional');
    case 'null':
      return new VNull('optional');
    case 'any':
      return new VAny('optional');
    case 'literal':
      return new VLiteral('optional', validator.value);
    case 'array':
      return new VArray('optional', validator.element);
    case 'object':
      return new VObject('optional', validator.fields);
    case 'union':
      return new VUnion('optional', validator.members);
  }
}
