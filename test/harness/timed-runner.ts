/**
 * A file that has not begun at SVC_TESTS_UNTIL, a time in milliseconds since 1970, is not run, and a skipped test in its place
 * says so. CI sets it: a slow machine shall end in time, and name what it did not run.
 */
import {TestRunner, test} from 'vitest';

/** `.ci/outcome.mjs` looks for it. */
const NOT_RUN = 'not run: there was no time';
const {SVC_TESTS_UNTIL: until} = process.env;

export default class TimedRunner extends TestRunner {
  override importFile(...[path, source]: Parameters<TestRunner['importFile']>): unknown {
    if (source === 'setup' || until === undefined || Date.now() < Number(until)) return super.importFile(path, source);
    test.skip(NOT_RUN, () => undefined);
    return undefined;
  }
}
