// What the test runs came to. Arguments: the report of the whole run, its exit status and, if there was one, the report and
// the status of the second run. Prints `PASSED FAILED`, and on standard error what passed only in the second run.
//
// With `files` as the third argument it prints the files to run again: those that failed, if they are few. With `slowest`
// it prints the files that took longest, in seconds, and with `not-run` those that a slow machine had no time for.
import {readFileSync} from 'node:fs';
import {relative} from 'node:path';

// More than this is not one unlucky moment.
const AGAIN_FILES_MAX = 6;
const SLOWEST_FILES = 20;
// A run of less than this part of the files has failed.
const RUN_SHARE_MIN = 0.6;
// What `test/harness/timed-runner.ts` puts in the place of a file's tests.
const NOT_RUN = 'not run: there was no time';

const [reportPath, status, again, againStatus] = process.argv.slice(2);

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null; // the run ended before it could report
  }
}

const isFailed = file => file.status === 'failed';
const failuresOf = file => file.assertionResults.filter(test => test.status === 'failed');

/** A file can fail without a test that did: it could not be loaded, or a hook after its tests failed. */
function named(file) {
  const path = relative(process.cwd(), file.name);
  const tests = failuresOf(file);
  if (tests.length === 0) return [`${path}: ${file.message?.split('\n')[0]}`];
  return tests.map(test => `${path} > ${test.fullName}: ${test.failureMessages[0]?.split('\n')[0]}`);
}

const report = read(reportPath);
if (again === 'files') {
  const files = report?.testResults.filter(isFailed).map(file => relative(process.cwd(), file.name)) ?? [];
  if (files.length <= AGAIN_FILES_MAX) console.log(files.join(' '));
} else if (again === 'slowest') {
  console.log(slowest().join('\n'));
} else if (again === 'not-run') {
  const names = notRun().map(file => relative(process.cwd(), file.name));
  if (names.length > 0) console.log([`not run, there was no time: ${names.length} files`, ...names].join('\n    '));
} else {
  console.log(count().join(' '));
}

function notRun() {
  return (report?.testResults ?? []).filter(file => file.assertionResults[0]?.title === NOT_RUN);
}

function slowest() {
  const files = (report?.testResults ?? []).map(({name, startTime, endTime}) => [(endTime - startTime) / 1000, name]);
  const total = files.reduce((sum, [seconds]) => sum + seconds, 0);
  const lines = files
    .sort(([a], [b]) => b - a)
    .slice(0, SLOWEST_FILES)
    .map(([seconds, name]) => `${seconds.toFixed(1).padStart(7)}  ${relative(process.cwd(), name)}`);
  return [...lines, `${total.toFixed(1).padStart(7)}  all ${files.length} files`];
}

function count() {
  if (report === null) return [0, 1];
  const withoutTests = report.testResults.filter(file => isFailed(file) && failuresOf(file).length === 0).length;
  const passed = report.numPassedTests;
  const tooFew = notRun().length > (1 - RUN_SHARE_MIN) * report.testResults.length ? 1 : 0;
  if (tooFew === 1) console.error('too few of the test files were run');
  const failed = report.numFailedTests + withoutTests;
  if (again !== undefined && againStatus === '0' && read(again)?.success === true) {
    for (const line of report.testResults.filter(isFailed).flatMap(named))
      console.error(`UNSTEADY, passed when run again: ${line}`);
    return [passed + failed, tooFew];
  }
  if (passed + failed === 0 || (status !== '0' && failed === 0)) return [passed, 1];
  return [passed, failed + tooFew];
}
