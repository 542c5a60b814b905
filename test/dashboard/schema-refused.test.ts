/** The preview of what a schema refuses. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {checkType} from '../../dashboard/pages/data/document-edit.ts';
import {refusedFilters} from '../../dashboard/pages/schema/refused.ts';
import {FIELD_TYPES} from '../../shared/protocol/schema.ts';
import type {Value} from '../../shared/values/value.ts';
import {type Doc, naiveResult, withoutNegativeZero} from '../harness/naive-query.ts';
import {nativeValue} from '../harness/values.ts';

test('the filters of a declaration find the documents that it refuses, and no others', () => {
  const value = fc.option(nativeValue.map(withoutNegativeZero), {nil: undefined});
  fc.assert(
    fc.property(fc.array(value), fc.constantFrom(...FIELD_TYPES), fc.boolean(), (values, type, required) => {
      const docs = values.map((a, i): Doc => {
        const system = {_id: `d${i}`, _creationTime: i};
        return (a === undefined ? system : {...system, a}) as Doc;
      });
      const filters = refusedFilters({name: 'a', field_type: type, required});
      const found = filters === null ? [] : naiveResult(docs, {table: 't', filters});
      const refused = docs.filter(doc => checkType(doc.a as Value | undefined, type, required) !== null);
      expect(found).toEqual(refused);
    }),
  );
});
