/** What `svc/values` gives to libraries: values as JSON and back, their order and the size of a document. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {
  compareValues,
  getDocumentSize,
  type JsonValue,
  jsonToSvc,
  svcToJson,
  type Value,
  ValueError,
} from '../../../sdk/values/index.ts';
import {encodeDocument} from '../../../shared/values/wire-value.ts';
import {anyValue} from '../../harness/values.ts';

test('a value comes back from its JSON, and neither side is changed', () => {
  fc.assert(
    fc.property(
      fc.array(anyValue).map(values => values.filter(one => one !== undefined)),
      value => {
        const text = encodeDocument(value);
        const json = svcToJson(value);
        const before = JSON.stringify(json);
        expect(encodeDocument(jsonToSvc(json))).toBe(text);
        expect([JSON.stringify(json), encodeDocument(value)]).toEqual([before, text]);
      },
    ),
  );
  expect(svcToJson([Number.NaN, -0, {a: undefined}])).toEqual([{$float: 'AAAAAAAA+H8='}, {$float: 'AAAAAAAAAIA='}, {}]);
  expect(Object.is((jsonToSvc([{$float: 'AAAAAAAAAIA='}]) as number[])[0], -0)).toBe(true);
});

test('what is no value is refused with its place', () => {
  expect(() => svcToJson({a: [new Date(0)]} as unknown as Value)).toThrow(ValueError);
  expect(() => svcToJson({a: [new Date(0)]} as unknown as Value)).toThrow('(present at path .a[0] in original object');
  expect(() => jsonToSvc({$float: 7} as unknown as JsonValue)).toThrow('Malformed $float');
  expect(() => jsonToSvc(undefined as unknown as JsonValue)).toThrow(ValueError);
});

test('values have one order, and a document the size that its limit counts', () => {
  const ordered = [undefined, null, -1, 0, Number.NaN, false, true, 'a', [1], {a: 1}];
  const shuffled = [...ordered].reverse();
  // `sort` puts undefined last by itself.
  expect(
    shuffled
      .map(value => ({value}))
      .sort((a, b) => compareValues(a.value, b.value))
      .map(({value}) => value),
  ).toEqual(ordered);
  expect(getDocumentSize({_id: 'abc', _creationTime: 5, _updateTime: 6, name: 'é€😀', n: 1})).toBe(
    Buffer.byteLength(encodeDocument({name: 'é€😀', n: 1})),
  );
});
