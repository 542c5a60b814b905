/** The dashboard in Chromium, on a running server: the way of a new operator, every page, and what is read-only. */
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {rounds} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';

const MESSAGES = `
  import {mutation, query} from './_generated/server';
  export const send = mutation((ctx, {text}) => {
    console.log('sent', text);
    return ctx.db.insert('messages', {text});
  });
  export const list = query(ctx => ctx.db.query('messages').collect());`;

const service = await sharedService();
let browser: Browser;
let app: App;
/** Those of the current test. */
let windows: DashboardWindow[] = [];

beforeAll(async () => {
  browser = await Browser.launch();
  app = await App.deploy(service, {'messages.ts': MESSAGES});
  await app.mutation('messages:send', {text: 'hello'});
});
afterAll(() => browser?.close());
beforeEach(() => {
  windows = [];
  service.showLogOnFailure();
  return async () => {
    // An answer of 401 is how the page learns that no one is signed in.
    const problems = (await browser.closeWindows()).filter(problem => !problem.includes('status of 401'));
    expect(problems).toEqual([]);
    expect(windows.flatMap(({elsewhere}) => elsewhere)).toEqual([]);
  };
});

async function open(): Promise<DashboardWindow> {
  const window = await DashboardWindow.open(browser, service);
  windows.push(window);
  return window;
}

test('an operator signs in, makes a tenant and a key, runs a function and reads its log, all by keyboard', async () => {
  const window = await open();
  const {page} = window;
  const {keyboard} = page;
  /** Moves by Tab until a control with this name has the focus. */
  const tabTo = async (name: string, role: 'button' | 'link' = 'button') => {
    const control = page.getByRole(role, {name, exact: true}).last();
    await control.waitFor();
    for (let i = 0; i < 60; i++) {
      if (
        await control.evaluate(element =>
          (element as unknown as {matches(selector: string): boolean}).matches(':focus'),
        )
      )
        return;
      await keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${name}`);
  };
  const goTo = async (text: string, title: string) => {
    await keyboard.press('Control+k');
    await page.getByRole('combobox', {expanded: true}).waitFor();
    await keyboard.type(text);
    await keyboard.press('Enter');
    await window.settled(title);
  };

  await window.goto('/');
  await page.getByLabel('Token').waitFor();
  await keyboard.type(service.accessToken);
  await keyboard.press('Enter');
  await window.settled('Tenants');

  await tabTo('New tenant');
  await keyboard.press('Enter');
  await page.getByLabel('Tenant id').waitFor();
  await keyboard.type('by-keyboard');
  await keyboard.press('Enter');
  await window.settled('by-keyboard');

  await goTo('Keys', 'Keys');
  await tabTo('New key');
  await keyboard.press('Enter');
  await page.getByLabel('Name', {exact: true}).waitFor();
  await keyboard.type('by keyboard');
  await keyboard.press('Enter');
  const secret = await page.locator('output').textContent();
  expect((await service.get('/api/whoami', {authorization: `Bearer ${secret}`})).body).toMatchObject({
    name: 'by keyboard',
    scopes: ['data:read'],
  });
  await keyboard.press('Escape');
  await page.getByRole('cell', {name: 'by keyboard', exact: true}).waitFor();

  await goTo(app.tenant, app.tenant);
  await goTo('Functions', 'Functions');
  await tabTo('send', 'link');
  await keyboard.press('Enter');
  await page.getByLabel('Arguments (JSON)').fill('{"text": "from the dashboard"}');
  await tabTo('Run');
  await keyboard.press('Enter');
  await page.locator('pre').first().waitFor();
  await goTo('Logs', 'Logs');
  await page.getByText("'from the dashboard'").first().waitFor();

  await keyboard.press('?');
  await page.getByRole('dialog', {name: 'Keys'}).waitFor();
});

const SERVER_PAGES = ['Tenants', 'Keys', 'Sessions', 'Audit', 'Server'];
const TENANT_PAGES = [
  'Journal',
  'Functions',
  'Logs',
  'Schedules',
  'Deployments',
  'Services',
  'Live queries',
  'Settings',
];

test('every page is accessible and within its policy, in light or on a dark phone, and in both at night', async () => {
  const window = await open();
  const {page} = window;
  const found: Record<string, string[]> = {};
  const LOOKS = [
    {look: 'light', colorScheme: 'light', width: 1_200, height: 760},
    {look: 'dark-phone', colorScheme: 'dark', width: 390, height: 780},
  ] as const;
  let pagesSeen = 0;
  const look = async (title: string) => {
    const name = `dashboard-${title.toLowerCase().replace(' ', '-')}`;
    // Pages share most of their parts, so half of them in each look find what most pages have wrong.
    for (const {look, colorScheme, ...size} of rounds({commit: [LOOKS[pagesSeen++ % 2]!], nightly: [...LOOKS]})) {
      await page.emulateMedia({colorScheme});
      await page.setViewportSize(size);
      found[`${title}, ${look}`] = await window.findings();
      await window.window.screenshot(`${name}-${look}`);
    }
    await page.emulateMedia({colorScheme: 'light'});
    await page.setViewportSize({width: 1_200, height: 760});
  };
  await window.goto('/');
  await page.getByLabel('Token').waitFor();
  await look('Sign-in');
  await window.signIn(service.accessToken);

  const pathOf = (title: string) => title.toLowerCase().replace(' queries', '');
  const pages: [title: string, path: string][] = [
    ...SERVER_PAGES.map((title): [string, string] => [title, `/${pathOf(title)}`]),
    [app.tenant, `/t/${app.tenant}/overview`],
    ...TENANT_PAGES.map((title): [string, string] => [title, `/t/${app.tenant}/${pathOf(title)}`]),
  ];
  for (const [title, path] of pages) {
    await rounds({commit: () => window.visit(path), nightly: () => window.goto(path)})();
    await window.settled(title);
    if (title === 'Server') await page.getByRole('cell', {name: 'supervisor'}).waitFor();
    await look(title === app.tenant ? 'Overview' : title);
  }
  expect(Object.entries(found).filter(([, findings]) => findings.length > 0)).toEqual([]);
});

test('a tenant marked as production is read-only until it is unlocked', async () => {
  const window = await open();
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/settings`);
  await page.getByLabel(/^Production/).check();

  await window.goto(`/t/${app.tenant}/functions/messages:send`);
  await page.getByLabel('Arguments (JSON)').fill('{"text": "refused"}');
  await page.getByRole('button', {name: 'Run'}).click();
  await page.getByText('is marked as production and read-only').waitFor();
  await page.getByRole('button', {name: 'Unlock for this session'}).click();
  await page.getByRole('button', {name: 'Run'}).click();
  await page.locator('pre').first().waitFor();
  const stored = (await app.query('messages:list', {})) as {text: string}[];
  expect(stored.filter(({text}) => text === 'refused')).toHaveLength(1);
});

test('what cannot be undone wants its name typed, and a key sees only what its scopes allow', async () => {
  const made = await service.post('/api/keys', {name: 'logs only', scopes: ['logs'], tenants: [app.tenant]});
  const window = await open();
  const {page} = window;
  await window.signIn((made.body as {secret: string}).secret);
  await page.getByRole('link', {name: app.tenant}).click();
  await page.getByRole('link', {name: 'Logs'}).waitFor();
  expect(await page.getByRole('link', {name: 'Settings'}).count()).toBe(0);
  expect(await page.getByRole('link', {name: 'Keys'}).count()).toBe(0);

  const tenant = await service.tenant('doomed');
  const other = await open();
  await other.signIn(service.accessToken);
  await other.goto('/tenants?search=doomed');
  await other.page.getByRole('button', {name: `Actions of ${tenant}`}).click();
  await other.page.getByRole('menuitem', {name: 'Delete'}).click();
  const confirm = other.page.getByRole('dialog').getByRole('button', {name: 'Delete'});
  expect(await confirm.isDisabled()).toBe(true);
  await other.page.getByLabel(`Type ${tenant} to confirm`).fill(tenant);
  await confirm.click();
  await other.page.getByText(`Deleted ${tenant}`).waitFor();
  expect((await service.get('/api/tenants')).body).not.toContain(tenant);
});
