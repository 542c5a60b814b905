/** The page of sessions in Chromium: another browser is signed out, then all browsers of the credential. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {Dashboard} from '../harness/dashboard.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
let browser: Browser;
beforeAll(async () => {
  browser = await Browser.launch();
});
afterAll(() => browser?.close());

test('a person signs another browser out, then everywhere', async () => {
  const {body: key} = await service.post('/api/keys', {name: 'two browsers', scopes: ['data:read']});
  const {secret} = key as {secret: string};
  const other = new Dashboard(service);
  const phone = {'user-agent': 'Mozilla/5.0 (Linux; Android 15) Gecko/1.0 Firefox/140.0'};
  const reply = await other.request('POST', '/_dashboard/session', {token: secret}, phone);
  other.cookie = String(reply.headers['set-cookie']).split(';')[0]!;
  const isSignedIn = async () => (await other.get('/_dashboard/session')).status === 200;
  expect(await isSignedIn()).toBe(true);

  const {page, ...window} = await DashboardWindow.open(browser, service);
  await page.goto(`${window.origin}/_dashboard/sessions`);
  await page.getByLabel('Token').fill(secret);
  await page.keyboard.press('Enter');
  await page.getByText('this browser').waitFor();
  const row = page.getByRole('row').filter({hasText: 'Firefox on Android'});
  await row.getByRole('button', {name: 'Sign out'}).click();
  await row.waitFor({state: 'detached'});
  expect(await isSignedIn()).toBe(false);

  await page.getByRole('button', {name: 'Sign out everywhere'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Sign out everywhere'}).click();
  await page.getByLabel('Token').waitFor();
});
