/** The Journal page and the history of a document in Chromium: what was written, who caused it, and putting it back. */
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {sharedService} from '../harness/shared-service.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let browser: Browser;
let app: App;

beforeAll(async () => {
  browser = await Browser.launch();
  app = await App.deploy(service, {
    'orders.ts': `
      import {mutation} from './_generated/server';
      export const open = mutation((ctx, {status}) => ctx.db.insert('orders', {status, amount: 1}));`,
  });
});
afterAll(() => browser?.close());
beforeEach(() => {
  service.showLogOnFailure();
  return async () => {
    const expected = /status of (401|404)/;
    expect((await browser.closeWindows()).filter(problem => !expected.test(problem))).toEqual([]);
  };
});

test('a record shows what changed and who caused it, and a deleted document is put back', async () => {
  const id = (await app.mutation('orders:open', {status: 'open'})) as string;
  await app.admin('PATCH', `/documents/orders/${id}`, {patch: {status: 'paid', note: 'late'}});
  await app.admin('DELETE', `/documents/orders/${id}`);
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);

  await window.goto(`/t/${app.tenant}/journal`);
  await window.settled('Journal');
  await page.getByLabel('Document').fill(id);
  const records = page.getByRole('listitem').filter({has: page.getByText(`orders/${id}`)});
  await until('its three records', async () => ((await records.count()) === 3 ? true : null));
  await records.nth(1).locator('summary').first().press('Enter');
  await page.getByText('added "late"').waitFor();
  expect(await records.nth(1).locator('del, ins').allTextContents()).toEqual(['"late"', '"open"', '"paid"']);
  await records.nth(2).locator('summary').first().press('Enter');
  await page.getByRole('link', {name: 'orders:open'}).waitFor();
  expect(await window.findings()).toEqual([]);
  expect(await window.unreachable()).toEqual([]);
  await window.window.screenshot('dashboard-journal-record');

  await records
    .nth(1)
    .getByRole('link', {name: `orders/${id}`})
    .click();
  await page.getByText('There is no document with this id now').waitFor();
  await page
    .getByRole('button', {name: /^Put back version/})
    .first()
    .click();
  await page.getByRole('status').getByText('Put back', {exact: true}).waitFor();
  const restored = await app.admin('GET', `/documents/orders/${id}`);
  expect(restored.body).toMatchObject({document: {status: 'paid', note: 'late', amount: 1}});

  await page.getByRole('tab', {name: 'History'}).click();
  await page
    .getByRole('button', {name: /^Put back version/})
    .last()
    .click();
  await page.getByRole('status').getByText('Saved').waitFor();
  expect((await app.admin('GET', `/documents/orders/${id}`)).body).toMatchObject({document: {status: 'open'}});
  await page.getByRole('status').getByRole('button', {name: 'Undo'}).last().click();
  await until('the undone change', async () => {
    const {body} = await app.admin('GET', `/documents/orders/${id}`);
    return (body as {document: {status: string}}).document.status === 'paid' ? true : null;
  });
});

test('dragging over the chart selects a time, which a link has', async () => {
  for (let n = 0; n < 5; n++) await app.admin('POST', '/documents', {table: 'dots', fields: {n}});
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/journal`);
  await window.settled('Journal');
  const plot = page.getByRole('img', {name: /^Records in/});
  await plot.locator('canvas').waitFor();
  const {x, y, width} = (await plot.boundingBox())!;
  await page.mouse.move(x + width * 0.4, y + 40);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.8, y + 60, {steps: 4});
  await page.mouse.up();
  await page.getByRole('combobox', {name: 'Time'}).getByText('Selected in the chart').waitFor({state: 'attached'});
  expect(page.url()).toMatch(/[?&]from=\d+&to=\d+/);
  await page.getByRole('button', {name: 'Remove filters'}).click();
  expect(page.url()).not.toContain('from=');
});
