/** docs/native-client.md as a reader would try it: its blocks are one project, which is type-checked, and its scripts run. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {DocsProject, PROCESS_TYPES, SCRIPT_OPTIONS} from '../harness/docs-project.ts';
import {sharedService} from '../harness/shared-service.ts';

/** What each prints, in the order of the page. */
const PRINTED: Record<string, string[]> = {
  'tour.ts': ['write docs 3', '1 popular', 'op.precondition_failed 412'],
  'transaction.ts': ["[ 'pen' ]"],
  'live.ts': ['people: ', 'people: ada'],
  'journal.ts': ["true [ 'insert ada' ]"],
};

const service = await sharedService();
let project: DocsProject;
beforeAll(async () => {
  expect((await service.post('/api/tenants', {id: 'talk'})).status).toBe(201);
  project = new DocsProject(['native-client.md'], {compilerOptions: SCRIPT_OPTIONS, include: ['*.ts']});
  project.write('package.json', '{"type": "module"}');
  project.write('process.d.ts', PROCESS_TYPES);
});
afterAll(async () => {
  project.remove();
});

test('every example of docs/native-client.md type-checks and prints what it says', async () => {
  service.showLogOnFailure();
  expect(await project.typeErrors()).toBe('');
  const env = {...process.env, SVC_URL: service.url, SVC_KEY: service.accessToken};
  const printed: Record<string, string[]> = {};
  for (const path of project.paths) printed[path] = await project.script(path, env);
  expect(printed).toEqual(PRINTED);
});
