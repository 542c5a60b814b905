/** The Schema page in Chromium: an index that no query reads says so, until one does; then it is dropped. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let browser: Browser;
beforeAll(async () => {
  browser = await Browser.launch();
});
afterAll(() => browser?.close());

test('an index says when it was last read, and an unused one is dropped', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('notes', {n: 1});
  const schema = {table: 'notes', fields: [], indexes: [{name: 'by_n', fields: ['n']}]};
  expect((await tenant.request('PUT', '/schema/notes', schema)).status).toBe(204);
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${tenant.id}/schema/notes`);
  const row = page.getByRole('row', {name: 'by_n'});
  await row.getByText('not since').waitFor();
  expect(await window.findings()).toEqual([]);
  await tenant.request('POST', '/query', {table: 'notes', filters: [{field: 'n', op: 'eq', value: 1}]});
  await page.reload();
  await row.getByRole('time').waitFor();
  expect(await row.getByText('not since').count()).toBe(0);
  await row.getByRole('button', {name: 'Drop'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Drop'}).click();
  await page.getByText('Dropped by_n').waitFor();
  expect(await browser.closeWindows()).toEqual([expect.stringContaining('status of 401')]);
});
