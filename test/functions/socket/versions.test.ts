import fc from 'fast-check';
import {expect, test} from 'vitest';
import {commonVersion} from '../../../worker/functions/sync/queries/versions.ts';

const moment = fc.nat(12);
const interval = fc
  .tuple(moment, fc.oneof(moment, fc.constant(Number.POSITIVE_INFINITY)))
  .map(([from, to]) => ({from, to}));

test('the common moment is the newest that lies in all intervals, between the last and now', () => {
  fc.assert(
    fc.property(fc.array(interval, {maxLength: 5}), moment, moment, (intervals, notBefore, now) => {
      const right = Array.from({length: 13}, (_, n) => n).filter(
        n => n >= notBefore && n <= now && intervals.every(({from, to}) => from <= n && n <= to),
      );
      expect(commonVersion(intervals, notBefore, now)).toBe(right.at(-1) ?? null);
    }),
  );
});
