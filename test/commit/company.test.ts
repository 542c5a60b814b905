/** A group has company when the tenant had more to do since the group before than its writes. */
import {expect, test} from 'vitest';
import {Company} from '../../engine/commit/company.ts';

let requests = 0;
const stages = [{}, {dependents: {size: 0}}];
const company = new Company(stages, () => requests);

test.each([
  ['the only write', 1, 1, 0, true],
  ['two writes of two clients', 2, 2, 0, true],
  ['a write, and a read', 2, 1, 0, false],
  ['a write that no request waits for', 0, 1, 0, false],
  ['a write that a live query can show', 1, 1, 1, false],
  ['the only write again', 1, 1, 0, true],
])('%s', (_, arrived, writes, dependents, isAlone) => {
  requests += arrived;
  stages[1]!.dependents!.size = dependents;
  expect(company.isAbsent(writes)).toBe(isAlone);
});
