/** The pages of backups in Chromium: without a backup, with one, and a drill that is begun by keyboard. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {sharedService} from '../harness/shared-service.ts';

const without = await sharedService();
let browser: Browser;
let service: Service;
let app: App;

beforeAll(async () => {
  browser = await Browser.launch();
  service = await Service.start({args: (await testRepository(afterAll)).args});
  app = await App.empty(service);
  expect((await app.admin('POST', '/documents', {table: 't', fields: {n: 1}})).status).toBe(201);
  expect((await service.request('POST', '/api/backup/run')).status).toBe(200);
});
afterAll(async () => {
  await browser?.close();
  await service?.end('SIGTERM');
});

async function signedIn(of: Service): Promise<DashboardWindow> {
  const window = await DashboardWindow.open(browser, of);
  await window.signIn(of.accessToken);
  return window;
}

/** Of axe, in both themes, and controls that Tab does not reach. */
async function findings(window: DashboardWindow): Promise<string[]> {
  const found = await window.unreachable();
  for (const colorScheme of ['light', 'dark'] as const) {
    await window.page.emulateMedia({colorScheme});
    found.push(...(await window.findings()).map(finding => `${colorScheme}: ${finding}`));
  }
  return found;
}

test('a server without a backup shows the commands that make one', async () => {
  const window = await signedIn(without);
  await window.goto('/backups');
  await window.settled('Backups');
  await window.page.getByText('svc backup init').waitFor();
  await window.page.getByText('svc start --backup-to').waitFor();
  expect(await findings(window)).toEqual([]);
});

test('a tenant has its points in time, and a drill begun by keyboard proves it', async () => {
  const window = await signedIn(service);
  const {page} = window;
  await window.goto('/backups');
  await window.settled('Backups');
  const row = page.getByRole('row').filter({has: page.getByRole('link', {name: app.tenant, exact: true})});
  await row.getByText('complete').waitFor();
  await row.getByText('never').waitFor();
  expect(await findings(window)).toEqual([]);

  await page.getByRole('button', {name: 'Drill 3 tenants'}).focus();
  await page.keyboard.press('Enter');
  await row.getByText('passed').waitFor();

  await row.getByRole('link').focus();
  await page.keyboard.press('Enter');
  const points = page.getByRole('region', {name: 'Points in time'});
  await points.getByRole('row').nth(1).waitFor();
  expect(await page.getByText('passed').count()).toBe(1);
  expect(await findings(window)).toEqual([]);

  await points.getByRole('button', {name: 'Look', exact: true}).first().focus();
  await page.keyboard.press('Enter');
  await page.getByText('Restores the commit of').waitFor();
  expect(await findings(window)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByText('Read-only.').waitFor();
  await page.waitForURL(new RegExp(`/t/${app.tenant}-\\d{4}-\\d\\d-\\d\\d-\\d{4}/data`));
  await page.getByRole('button', {name: 'Remove', exact: true}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Remove'}).click();
  await window.settled('Tenants');
});
