import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {type GenericValidator, v} from '../../../sdk/values/index.ts';
import {compileValidator, type IdCheck, renderValidator} from '../../../shared/values/validate.ts';
import type {Value} from '../../../shared/values/value.ts';

/** Ids of these tests: `users-1` belongs to users; others are no ids. */
const ids: IdCheck = (id, table) => {
  const found = /^(users|posts)-\d+$/.exec(id)?.[1];
  if (found === undefined) return 'undecodable';
  return found === table ? 'ok' : {table: found};
};

function errorOf(validator: GenericValidator, value: Value | undefined): string | null {
  return compileValidator(validator.json, ids)(value);
}

describe('validators accept', () => {
  test.each<[string, GenericValidator, Value]>([
    ['any', v.any(), {a: [null]}],
    ['null', v.null(), null],
    ['a string', v.string(), 'users-1'],
    ['NaN', v.number(), Number.NaN],
    ['-0', v.number(), -0],
    ['a boolean', v.boolean(), false],
    ['an id of the table', v.id('users'), 'users-1'],
    ['the literal', v.literal('a'), 'a'],
    ['an array', v.array(v.number()), [1, 2]],
    ['an object', v.object({a: v.string(), b: v.optional(v.null())}), {a: 'x'}],
    ['one of a union', v.union(v.string(), v.number()), 5],
  ])('%s', (_, validator, value) => expect(errorOf(validator, value)).toBeNull());
});

describe('validators refuse', () => {
  const generic = 'Value does not match validator.';
  test.each<[string, GenericValidator, Value | undefined, string]>([
    ['nothing for any', v.any(), undefined, generic],
    ['a missing value for null', v.null(), undefined, generic],
    ['numeric text', v.number(), '5', generic],
    ['text that is no id', v.id('users'), 'garbage', generic],
    ['null for an optional field', v.object({a: v.optional(v.string())}), {a: null}, generic],
    ['-0 for 0', v.literal(0), -0, "'-0' does not match literal validator v.literal(0)"],
    ['another literal', v.literal('x'), 'v', `'v' does not match literal validator v.literal("x")`],
    ['an array for an object', v.object({}), [], generic],
    ['anything for an empty union', v.union(), 'x', generic],
    ['no member of a union', v.union(v.string(), v.literal(1)), 2, generic],
    ['the member of a one-member union', v.union(v.literal(1)), 2, "'2' does not match literal validator v.literal(1)"],
  ])('%s', (_, validator, value, gist) => expect(errorOf(validator, value)).toContain(gist));

  test('[6] an id of another table: both tables are named', () => {
    const error = errorOf(v.object({author: v.id('users')}), {author: 'posts-1'});
    expect(error).toContain(
      `Found ID "posts-1" from table 'posts', which does not match the table name in validator v.id("users")`,
    );
    expect(error).toContain('Path: .author');
  });
  test('a missing field is reported before an extra one', () => {
    const error = errorOf(v.object({x: v.string()}), {a: 1});
    expect(error).toContain(
      "Object is missing the required field 'x'. Consider wrapping the field validator in v.optional(...)",
    );
    expect(errorOf(v.object({x: v.string()}), {x: '', a: 1})).toContain(
      "Object contains extra field 'a' that is not in the validator.",
    );
  });
  test('names that objects inherit are not fields', () => {
    expect(errorOf(v.object({constructor: v.any()}), {})).toContain("required field 'constructor'");
  });
  test('the error says where, what and by which validator', () => {
    const validator = v.object({a: v.object({b: v.array(v.string())})});
    expect(errorOf(validator, {a: {b: ['x', 5]}})).toBe(
      'Value does not match validator.\n\nPath: .a.b[1]\nValue: 5\nValidator: v.string()',
    );
  });
});

describe('a validator as text', () => {
  test('is how it is written', () => {
    const validator = v.object({
      b: v.optional(v.array(v.id('t'))),
      a: v.union(v.literal('x'), v.null(), v.any()),
      c: v.boolean(),
    });
    expect(renderValidator(validator.json)).toBe(
      'v.object({a: v.union(v.literal("x"), v.null(), v.any()), b: v.optional(v.array(v.id("t"))), c: v.boolean()})',
    );
  });
});

describe('a literal', () => {
  test('is matched by itself only', () => {
    const scalar = fc.oneof(fc.string(), fc.boolean(), fc.integer());
    fc.assert(
      fc.property(scalar, scalar, (literal, value) => {
        expect(errorOf(v.literal(literal), value) === null).toBe(Object.is(literal, value));
      }),
    );
  });
});
