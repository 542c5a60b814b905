/**
 * What a commit leaves to the nightly run: more rounds, more cases, whole tests. `npm run test:nightly` runs everything, and
 * so do the files of CI's sample (`tiers.ts`). A file whose tests are all nightly is called `*.nightly.test.ts` instead.
 */
import {describe, test} from 'vitest';

const IS_NIGHTLY = process.env.SVC_TESTS === 'nightly';

/** A number of rounds, or a list of cases, for each tier. */
export function rounds<T>({commit, nightly}: {commit: T; nightly: T}): T {
  return IS_NIGHTLY ? nightly : commit;
}

/** The first of some cases for a commit, all of them for the nightly run. */
export function firstOf<T extends [unknown] | object | string | number>(
  count: number,
  cases: readonly T[],
): readonly T[] {
  return IS_NIGHTLY ? cases : cases.slice(0, count);
}

/** `test` and `describe` that a commit leaves out. */
export const nightly = {
  test(name: string, body: () => unknown, timeoutMs?: number): void {
    if (IS_NIGHTLY) test(name, body, timeoutMs);
  },
  describe(name: string, body: () => void): void {
    if (IS_NIGHTLY) describe(name, body);
  },
};
