/** Random values of every type, small enough that equal ones and shared prefixes come up often. */
import fc from 'fast-check';
import type {Value} from '../../shared/values/value.ts';

const text = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'ab',
    'b',
    '\0',
    'a\0',
    'a\0b',
    '\u{1f600}',
    '\uff5e',
    '\ud7ff',
    '\ue000',
    'é',
    '__proto__',
    '10',
    '9',
  ),
  fc.string({unit: 'binary', maxLength: 6}).filter(value => value.isWellFormed()),
);
const key = text.filter(value => !value.startsWith('$'));

const numbers = fc.oneof(
  fc.integer({min: -3, max: 3}),
  fc.double({noNaN: true, noDefaultInfinity: true}),
  fc.constantFrom(1e308, 5e-324, 0.1),
);

/** What native documents hold. Objects have a null prototype, so `__proto__` is a key like any other. */
export const nativeValue: fc.Arbitrary<Value> = fc.letrec<{value: Value}>(tie => ({
  value: fc.oneof(
    {maxDepth: 3, withCrossShrink: true},
    fc.constant(null),
    fc.boolean(),
    numbers.map(value => (Object.is(value, -0) ? 0 : value)),
    text,
    fc.array(tie('value'), {maxLength: 3}),
    fc.dictionary(key, tie('value'), {maxKeys: 3, noNullPrototype: false}),
  ),
})).value as fc.Arbitrary<Value>;

/** With what functions may store beyond that. */
export const anyValue: fc.Arbitrary<Value | undefined> = fc.oneof(
  {arbitrary: nativeValue, weight: 8},
  {
    arbitrary: fc.constantFrom<Value | undefined>(
      undefined,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      -0,
    ),
    weight: 2,
  },
);
