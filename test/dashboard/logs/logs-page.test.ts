/** The page of logs in Chromium: the server filters, the list follows live, and its end reads older executions. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../../functions/app.ts';
import {Browser} from '../../harness/browser.ts';
import {DashboardWindow} from '../../harness/dashboard-window.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';

const SHOP = `
  import {action, mutation, query} from './_generated/server';
  export const note = query((_, {n}) => { console.log('note', n); return n; });
  export const order = action(async ctx => {
    await ctx.runMutation('shop:store', {});
    await ctx.runMutation('shop:pay', {n: 7}).catch(() => undefined);
    await ctx.scheduler.runAfter(0, 'shop:store', {});
  });
  export const store = mutation(ctx => ctx.db.insert('orders', {}));
  export const pay = mutation((_, {n}) => { console.warn('paying', n); throw new Error('card refused'); });`;

const service = await sharedService();
let browser: Browser;
let app: App;

beforeAll(async () => {
  browser = await Browser.launch();
  app = await App.deploy(service, {'shop.ts': SHOP});
});
afterAll(() => browser?.close());

test('filters are in the URL and the server applies them; a pause counts; scrolling reads what is older', async () => {
  service.showLogOnFailure();
  await app.reply('mutation', 'shop:pay', {n: 1});
  for (let n = 0; n < 440; n += 40)
    await Promise.all(Array.from({length: 40}, (_, i) => app.query('shop:note', {n: n + i})));
  await app.query('shop:note', {n: 449});
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/logs`);
  const list = page.getByRole('region', {name: 'Executions'});
  await page.getByText("'note' 449").waitFor();

  await page.getByRole('button', {name: 'Pause'}).click();
  for (let n = 450; n < 453; n++) await app.query('shop:note', {n});
  await page.getByRole('button', {name: 'Continue (3 new)'}).click();
  await page.getByText("'note' 452").waitFor();

  // The oldest is on the third page, and few of the 445 are in the page.
  const bottom = "document.querySelector('section[aria-label=Executions]').scrollTo(0, 1e6)";
  await until('the oldest execution', async () => {
    await page.evaluate(bottom);
    return (await list.getByText('shop:pay').count()) > 0 || null;
  });
  expect(await list.getByRole('listitem').count()).toBeLessThan(80);
  await page.evaluate(bottom.replace('1e6', '0'));

  // The failed one is not among those that the page has loaded.
  await page.reload();
  await page.getByLabel('Level').selectOption('error');
  await list.getByRole('button', {name: /shop:pay/}).click();
  await page.getByText("[WARN] 'paying' 1").waitFor();
  expect(new URL(page.url()).search).toBe('?level=error');
  await page.getByLabel('Text').fill('"NOT IT"');
  await page.getByRole('button', {name: 'Remove all filters'}).click();
  await page.getByText("'note' 452").waitFor();
  await page.getByLabel('Text').fill('NOTE');
  await page.getByLabel('Function').fill('shop:note');
  await app.query('shop:note', {n: 1000});
  await page.getByText("'note' 1000").waitFor();
  expect(await list.getByText('shop:pay').count()).toBe(0);

  expect(await window.findings()).toEqual([]);

  // The id of a request leads to its calls, its jobs and what they wrote.
  await app.svc('POST', '/action', {path: 'shop:order', args: {}}, {'x-request-id': 'order-1'});
  await window.goto(`/t/${app.tenant}/logs?request=order-1`);
  await page.getByRole('link', {name: 'Calls and jobs of this request'}).click();
  await window.settled('Request order-1');
  const calls = page.getByRole('list', {name: 'Executions of the request'}).getByRole('listitem');
  await until('the job', async () => {
    await page.getByRole('button', {name: 'Refresh'}).click();
    return (await calls.filter({hasText: 'job'}).count()) > 0 || null;
  });
  const shown = calls.filter({has: page.getByText('+')});
  expect(await shown.getByRole('link').allTextContents()).toEqual([
    'shop:order',
    'shop:store',
    'shop:pay',
    'shop:store',
  ]);
  await calls.filter({hasText: 'shop:pay'}).getByText('Uncaught Error: card refused').waitFor();
  const records = page.getByRole('region', {name: 'Journal records'});
  await records.getByRole('link', {name: 'insert orders'}).first().waitFor();
  expect(await window.findings()).toEqual([]);
  expect((await browser.closeWindows()).filter(problem => !problem.includes('status of 401'))).toEqual([]);
});
