/** Copies of a deleted tenant stay in the repository, and a restore of the host leaves them there. */
import {expect, test} from 'vitest';
import {isDeleted, type StoredTenants} from '../../cli/restore/server-state.ts';

test('a tenant was deleted if a list of tenants that is younger than its copies does not have it', () => {
  const stored: StoredTenants = {atMs: 10_000_000, isPaused: new Map([['acme', false]])};
  expect(isDeleted(stored, 'acme', 1)).toBe(false);
  expect(isDeleted(stored, 'gone', 1)).toBe(true);
  // It can have been made after the list.
  expect(isDeleted(stored, 'young', 9_999_999)).toBe(false);
  expect(isDeleted(stored, 'younger', 20_000_000)).toBe(false);
  expect(isDeleted(null, 'gone', 1)).toBe(false);
});
