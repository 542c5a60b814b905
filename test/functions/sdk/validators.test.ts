import {describe, expect, test} from 'vitest';
import * as exported from '../../../sdk/values/index.ts';
import {type GenericValidator, v} from '../../../sdk/values/index.ts';

/** As code without types calls it. */
const untyped = v as unknown as Record<string, (...args: unknown[]) => GenericValidator>;

describe('a validator', () => {
  test.each<[GenericValidator, string, object]>([
    [v.any(), 'any', {type: 'any'}],
    [v.null(), 'null', {type: 'null'}],
    [v.string(), 'string', {type: 'string'}],
    [v.number(), 'float64', {type: 'number'}],
    [v.boolean(), 'boolean', {type: 'boolean'}],
    [v.id('t'), 'id', {type: 'id', tableName: 't'}],
    [v.literal(5), 'literal', {type: 'literal', value: 5}],
    [v.array(v.string()), 'array', {type: 'array', value: {type: 'string'}}],
    [v.union(v.null(), v.string()), 'union', {type: 'union', value: [{type: 'null'}, {type: 'string'}]}],
    [
      v.object({a: v.optional(v.string()), b: v.null()}),
      'object',
      {
        type: 'object',
        value: {a: {fieldType: {type: 'string'}, optional: true}, b: {fieldType: {type: 'null'}, optional: false}},
      },
    ],
  ])('%o has its kind and its serialised form, and does not change', (validator, kind, json) => {
    expect(validator.kind).toBe(kind);
    expect(validator.json).toEqual(json);
    expect(validator.isOptional).toBe('required');
    expect(validator.isSvcValidator).toBe(true);
    expect(Object.isFrozen(validator)).toBe(true);
    const optional = v.optional(validator) as GenericValidator;
    expect(optional).toMatchObject({kind, json, isOptional: 'optional'});
    expect(v.optional(optional)).toBe(optional);
    expect(Object.isFrozen(optional)).toBe(true);
  });

  test('of an object makes others', () => {
    const base = v.object({a: v.string(), b: v.number()});
    expect(Object.keys(base.pick('a').fields)).toEqual(['a']);
    expect(Object.keys(base.omit('a').fields)).toEqual(['b']);
    expect(base.extend({a: v.null(), c: v.any()}).json).toEqual(
      v.object({a: v.null(), b: v.number(), c: v.any()}).json,
    );
    expect(base.partial().json).toEqual(v.object({a: v.optional(v.string()), b: v.optional(v.number())}).json);
    expect(Object.keys(base.fields)).toEqual(['a', 'b']);
  });
});

describe('a wrong validator fails where it is made', () => {
  test.each<[string, () => unknown, RegExp]>([
    ['an undefined field', () => untyped.object!({a: undefined}), /field 'a' is undefined.*circular imports/],
    ['an undefined element', () => untyped.array!(undefined), /its element is undefined/],
    ['an undefined member', () => untyped.union!(v.string(), undefined), /member 1 is undefined/],
    ['a plain object as a field', () => untyped.object!({a: {}}), /field 'a' is not a validator/],
    ['text as a field', () => untyped.object!({a: 'string'}), /field 'a' is not a validator/],
    ['no fields', () => untyped.object!(null), /fields must be an object/],
    ['an optional element', () => untyped.array!(v.optional(v.string())), /may not be v\.optional/],
    ['an optional member', () => untyped.union!(v.optional(v.string())), /may not be v\.optional/],
    ['no validator in optional', () => untyped.optional!(undefined), /must be a validator/],
    ['an id of no table', () => untyped.id!(), /table name must be a string/],
    ['a literal null', () => untyped.literal!(null), /must be a string, a number or a boolean/],
    ['a literal NaN', () => v.literal(Number.NaN), /v\.literal\(NaN\) is not supported/],
    ['a literal -0', () => v.literal(-0), /v\.literal\(-0\) is not supported/],
    ['a field name with a hyphen', () => v.object({'a-b': v.null()}), /Invalid field name "a-b"/],
    ['an empty field name', () => v.object({'': v.null()}), /Invalid field name/],
    ['a field name of underscores', () => v.object({__: v.null()}), /Invalid field name/],
    ['a field name of 65 characters', () => v.object({['a'.repeat(65)]: v.null()}), /at most 64 characters/],
  ])('%s', (_, make, message) => expect(make).toThrow(message));

  test('a field name of 64 characters is fine', () =>
    expect(() => v.object({['a'.repeat(64)]: v.null()})).not.toThrow());
});

describe('what is not supported', () => {
  test.each(['int64', 'bigint', 'bytes', 'record', 'float64', 'nullable', 'commitTs'])('v.%s() says so', name => {
    expect(() => untyped[name]!(v.string(), v.string())).toThrow(`v.${name}() is not supported`);
  });
  test('v.float64() names what to use', () => expect(() => untyped.float64!()).toThrow('use v.number()'));
  test('SvcError is not exported', () => expect(exported).not.toHaveProperty('SvcError'));
});
