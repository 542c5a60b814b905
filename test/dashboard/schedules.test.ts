/** The Schedules page in Chromium: the next times of a cron, and a failed job that is retried. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let browser: Browser;
beforeAll(async () => {
  browser = await Browser.launch();
});
afterAll(() => browser?.close());

test('a cron shows when it is due next, and a failed job is retried', async () => {
  service.showLogOnFailure();
  const tenant = await Tenant.make(service);
  const cron = {name: 'nightly', schedule: {type: 'cron', expression: '0 3 * * *'}, mutation: work('insert')};
  await tenant.request('POST', '/crons', cron);
  await tenant.request('POST', '/schedule', {run_after_ms: 0, mutation: work('update')});
  const failed = async () => (await tenant.request('GET', '/scheduled/history')).text.includes('failed');
  await until('the job to fail', failed);
  await tenant.request('PUT', '/documents/notes/x', {fields: {n: 1}});

  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${tenant.id}/schedules`);
  await page.locator('summary').click();
  await until('its next runs', async () => (await page.locator('details li').count()) === 5);
  expect(await window.findings()).toEqual([]);
  const past = page.getByRole('region', {name: 'Past runs'});
  await past.getByRole('button', {name: 'Retry'}).click();
  await past.getByText('completed', {exact: true}).waitFor();
  expect(await tenant.list('notes')).toMatchObject([{_id: 'x', n: 2}]);
  const problems = (await browser.closeWindows()).filter(problem => !problem.includes('status of 401'));
  expect(problems).toEqual([]);
});

function work(type: 'insert' | 'update'): object {
  return type === 'insert' ? {type, table: 'notes', fields: {n: 0}} : {type, table: 'notes', id: 'x', patch: {n: 2}};
}
