/** The Functions page in Chromium: a function is run from a form, as somebody, and again from the runs of the tab. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../../functions/app.ts';
import {Browser} from '../../harness/browser.ts';
import {DashboardWindow} from '../../harness/dashboard-window.ts';
import {sharedService} from '../../harness/shared-service.ts';

const ORDERS = `
  import {internalQuery, mutation, query} from './_generated/server';
  import {v} from 'svc/values';
  export const create = mutation({
    args: {
      customer: v.id('customers'),
      amount: v.number(),
      tags: v.array(v.string()),
      note: v.optional(v.union(v.string(), v.null())),
    },
    returns: v.object({by: v.any(), amount: v.number()}),
    handler: async (ctx, {customer, amount, tags, note}) => {
      await ctx.db.insert('orders', {amount});
      return {by: (await ctx.auth.getUserIdentity())?.name ?? null, amount};
    },
  });
  export const customer = mutation(ctx => ctx.db.insert('customers', {name: 'Grace'}));
  export const count = internalQuery({args: {}, handler: async ctx => (await ctx.db.query('orders').collect()).length});`;
const SCHEMA = `
  import {defineSchema, defineTable} from 'svc/server';
  import {v} from 'svc/values';
  export default defineSchema({
    customers: defineTable({name: v.string()}),
    orders: defineTable({amount: v.number()}),
  });`;

const service = await sharedService();
let browser: Browser;
let app: App;

beforeAll(async () => {
  browser = await Browser.launch();
  app = await App.deploy(service, {'orders.ts': ORDERS, 'schema.ts': SCHEMA});
  await app.mutation('orders:customer', {});
});
afterAll(() => browser?.close());

test('a function is run from a form, as a saved identity, and again from the runs of the tab', async () => {
  service.showLogOnFailure();
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/functions?search=orders`);
  await page.getByRole('link', {name: 'create'}).click();

  // What is wrong is said beside its field as it is typed.
  const run = page.getByRole('button', {name: 'Run', exact: true});
  await page.getByText('An id of customers is missing.').waitFor();
  expect(await run.isDisabled()).toBe(true);
  await page.getByRole('button', {name: 'Choose customer'}).click();
  await page.getByRole('button', {name: /Grace/}).click();
  await page.getByText('name: "Grace"').waitFor();
  await page.getByLabel('amount', {exact: true}).fill('much');
  await page.getByText('"much" is not a number.').waitFor();
  await page.getByLabel('amount', {exact: true}).fill('12.5');
  await page.getByRole('button', {name: 'Add to tags'}).click();
  await page.getByLabel('tags 1', {exact: true}).fill('new');
  await page.getByRole('button', {name: 'note', exact: true}).click();
  await page.getByLabel('note', {exact: true}).selectOption('null');

  await page.getByRole('button', {name: 'Edit as JSON'}).click();
  const json = page.getByLabel('Arguments (JSON)');
  const args = JSON.parse(await json.inputValue()) as object;
  expect(args).toEqual({customer: expect.any(String), amount: 12.5, tags: ['new'], note: null});
  await json.fill(JSON.stringify({...args, tags: [1]}));
  await page.getByText('Path: .tags[0]').waitFor();
  await json.fill(JSON.stringify({...args, tags: ['a', 'b']}));
  await page.getByRole('button', {name: 'Edit as a form'}).click();
  expect(await page.getByLabel('tags 2', {exact: true}).inputValue()).toBe('b');

  await page.getByLabel('Run as').selectOption({label: 'Another identity …'});
  await page.getByLabel('Subject').fill('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl');
  await page.getByText('This looks like a token').waitFor();
  await page.getByLabel('Subject').fill('ada');
  await page.getByLabel('Name', {exact: true}).fill('Ada');
  await page.getByLabel('Save as').fill('Ada the editor');
  await page.getByRole('button', {name: 'Save in this browser'}).click();
  await page.keyboard.press('Control+Enter');
  await page.getByText('"by": "Ada"').waitFor();
  const written = page.getByRole('link', {name: /^orders\//});
  await written.waitFor();
  expect(await window.findings()).toEqual([]);

  await page.reload();
  const runs = page.getByRole('region', {name: 'Runs from this tab'});
  await runs.getByRole('button', {name: 'Run again'}).click();
  await page.getByText('"by": "Ada"').waitFor();
  expect(await runs.getByRole('row').count()).toBe(3);
  expect(await page.getByLabel('Run as').locator('option').allTextContents()).toContain('Ada the editor');
  await page.getByRole('link', {name: /^Log of/}).click();
  await page.getByText('orders:create').first().waitFor();

  await window.goto(`/t/${app.tenant}/functions/orders:count`);
  await page.getByText('This function takes no arguments.').waitFor();
  await run.click();
  await page.locator('pre', {hasText: /^2$/}).waitFor();
  await page.getByLabel('Keep the result live').check();
  await run.click();
  await page.getByText('live', {exact: true}).waitFor();
  const {customer} = args as {customer: string};
  await app.mutation('orders:create', {customer, amount: 1, tags: []});
  await page.locator('pre', {hasText: /^3$/}).waitFor();
  await page.getByText('because of a write to orders/').waitFor();
  await page.getByRole('link', {name: 'All functions'}).click();
  await runs.getByRole('button', {name: '{}'}).click();
  await page.locator('pre', {hasText: /^2$/}).waitFor();
  const problems = (await browser.closeWindows()).filter(problem => !problem.includes('status of 401'));
  expect(problems).toEqual([]);
});
