import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {FixtureProject, root} from './project.ts';

type Report = {numPassedTests: number; numFailedTests: number; success: boolean};

let project: FixtureProject;
beforeAll(async () => {
  project = await FixtureProject.install('react-18');
}, 120_000);
afterAll(() => project.remove());

test('the tests of the hooks pass with React 18', {timeout: 180_000}, async () => {
  const version = await project.run(process.execPath, ['-p', "require('react').version"]);
  expect(version).toMatch(/^18\./);
  const report = join(project.directory, 'report.json');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const config = join(root, 'test/react/react-18.config.ts');
  await project.run(
    process.execPath,
    [vitest, 'run', '--config', config, '--reporter=default', '--reporter=json', `--outputFile=${report}`],
    {SVC_TEST_REACT: project.directory},
  );
  const {numPassedTests, numFailedTests, success} = JSON.parse(readFileSync(report, 'utf8')) as Report;
  expect({numFailedTests, success}).toEqual({numFailedTests: 0, success: true});
  expect(numPassedTests).toBeGreaterThan(70);
});
