/** Forms for a function's arguments: a value survives the way from JSON to the fields and back. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {draftOf, exampleOf, faultOf, itemOf, made} from '../../../dashboard/pages/functions/form/draft.ts';
import type {ValidatorJson} from '../../../shared/values/validator.ts';
import type {Value} from '../../../shared/values/value.ts';
import {encodeValue} from '../../../shared/values/wire-value.ts';
import {anyValue} from '../../harness/values.ts';

/** A validator with a value that it accepts. */
type Pair = {validator: ValidatorJson; value: Value};

const name = fc.constantFrom('a', 'b', 'long name', '__proto__', 'constructor');
const number = fc.oneof(
  fc.double(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 1e21, 5e-324),
);
const argument = anyValue.filter(value => value !== undefined && isArgument(value)) as fc.Arbitrary<Value>;

function isArgument(value: unknown): boolean {
  try {
    encodeValue(value);
    return true;
  } catch {
    return false;
  }
}

const pair: fc.Arbitrary<Pair> = fc.letrec<{pair: Pair}>(tie => ({
  pair: fc.oneof(
    {maxDepth: 3, withCrossShrink: true},
    fc.constant<Pair>({validator: {type: 'null'}, value: null}),
    fc.boolean().map((value): Pair => ({validator: {type: 'boolean'}, value})),
    number.map((value): Pair => ({validator: {type: 'number'}, value})),
    fc.string().map((value): Pair => ({validator: {type: 'string'}, value})),
    fc.string({minLength: 1}).map((value): Pair => ({validator: {type: 'id', tableName: 'users'}, value})),
    fc
      .oneof(fc.string(), fc.boolean(), fc.integer())
      .map((value): Pair => ({validator: {type: 'literal', value}, value})),
    argument.map((value): Pair => ({validator: {type: 'any'}, value})),
    fc.tuple(tie('pair'), fc.nat(2)).map(([{validator, value}, count]): Pair => {
      return {validator: {type: 'array', value: validator}, value: Array.from({length: count}, () => value)};
    }),
    fc.tuple(fc.array(tie('pair'), {minLength: 1, maxLength: 3}), fc.nat(2)).map(([pairs, chosen]): Pair => {
      const {value} = pairs[Math.min(chosen, pairs.length - 1)]!;
      return {validator: {type: 'union', value: pairs.map(({validator}) => validator)}, value};
    }),
    fc
      .uniqueArray(fc.record({name, pair: tie('pair'), optional: fc.boolean(), isThere: fc.boolean()}), {
        selector: field => field.name,
        maxLength: 3,
      })
      .map((fields): Pair => {
        const declared = fields.map(({name, pair: {validator}, optional}) => [name, {fieldType: validator, optional}]);
        const there = fields.filter(({optional, isThere}) => !optional || isThere);
        return {
          validator: {type: 'object', value: Object.fromEntries(declared)},
          value: Object.fromEntries(there.map(({name, pair: {value}}) => [name, value])),
        };
      }),
  ),
})).pair;

const wireOf = (value: unknown): unknown => JSON.parse(encodeValue(value));

test('a valid value comes out of the form as it went in, without a fault', () => {
  fc.assert(
    fc.property(pair, ({validator, value}) => {
      const wire = wireOf(value);
      const {value: again, faults} = made(validator, draftOf(validator, wire));
      expect([...faults]).toEqual([]);
      expect(JSON.stringify(again)).not.toBe(undefined);
      expect(again).toEqual(wire);
      expect(made(validator, draftOf(validator, JSON.parse(JSON.stringify(again)))).value).toEqual(wire);
    }),
  );
});

test('a value of another type is kept, and marked where it differs', () => {
  fc.assert(
    fc.property(pair, argument, ({validator}, other) => {
      const wire = wireOf(other);
      const {value, faults} = made(validator, draftOf(validator, wire));
      expect(value).toEqual(wire);
      // An empty id is a string, but no id: only the form knows before the server does.
      const isRefused = faultOf(validator, wire) !== null;
      if (isRefused) expect(faults.size).toBeGreaterThan(0);
    }),
  );
});

const ORDER: ValidatorJson = {
  type: 'object',
  value: {
    customer: {fieldType: {type: 'id', tableName: 'customers'}, optional: false},
    tags: {fieldType: {type: 'array', value: {type: 'string'}}, optional: true},
    amount: {fieldType: {type: 'union', value: [{type: 'number'}, {type: 'null'}]}, optional: false},
  },
};

test('faults stand at the field that has them', () => {
  const draft = draftOf(ORDER, {customer: '', tags: ['a', 1], amount: 'much'});
  const {faults} = made(ORDER, draft);
  expect([...faults.keys()].sort()).toEqual(['.amount', '.customer', '.tags[1]']);
  expect(faults.get('.tags[1]')).toContain('Validator: v.string()');

  const typed = {kind: 'number', text: '12 apples'} as const;
  const wrong = made({type: 'array', value: {type: 'number'}}, {kind: 'array', items: [itemOf(typed)]});
  expect(wrong).toEqual({value: undefined, faults: new Map([['[0]', '"12 apples" is not a number.']])});
  expect(made(ORDER, draftOf(ORDER, {customer: 'x'})).faults.get('.amount')).toContain('missing the required field');
  expect(made(ORDER, draftOf(ORDER, {customer: 'x', amount: 1, more: 2})).faults.get('')).toContain("'more'");
});

test('the value to begin with has the required fields only', () => {
  expect(exampleOf(ORDER)).toEqual({customer: '', amount: 0});
});
