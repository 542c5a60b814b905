/** Pages without content, without permission and after failures, and dialogs that are open: axe in both themes, and Tab. */
import type {Page} from 'playwright-core';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {rounds} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();
let browser: Browser;
/** One without any document, and one with a table. */
let empty: string;
let filled: string;
let limited: string;

beforeAll(async () => {
  [empty, filled] = [await service.tenant('empty'), await service.tenant('filled')];
  for (const name of ['desk', 'floor']) {
    await service.post(`/api/tenants/${filled}/documents`, {table: 'lamps', fields: {name, stock: 1}});
  }
  const key = {name: 'logs of one', scopes: ['logs'], tenants: [filled]};
  limited = ((await service.post('/api/keys', key)).body as {secret: string}).secret;
  browser = await Browser.launch();
});
afterAll(async () => await browser?.close());

/** A commit looks at each state in one of them, in turn. */
const THEMES = ['light', 'dark'] as const;

type State = {path: string; shows: string | RegExp; open?: (page: Page) => Promise<void>};

const press = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole('button', {name}).first().click();
};
const choose = (menu: string | RegExp, item: string) => async (page: Page) => {
  await press(menu)(page);
  await page.getByRole('menuitem', {name: item}).click();
};

/** Looks at all of them in one window. @returns what is wrong, by state */
async function findings(token: string, states: readonly State[]): Promise<[string, string[]][]> {
  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(token);
  const found: [string, string[]][] = [];
  for (const [at, {path, shows, open}] of states.entries()) {
    const isClear = states[at - 1]?.open === undefined;
    await rounds({
      commit: isClear ? () => window.visit(path) : () => window.goto(path),
      nightly: () => window.goto(path),
    })();
    await page.locator('main').locator('h1, strong').first().waitFor();
    await window.loaded();
    await open?.(page);
    await page.getByText(shows).first().waitFor();
    const wrong = await window.unreachable();
    for (const colorScheme of rounds({commit: [THEMES[at % 2]!], nightly: [...THEMES]})) {
      await page.emulateMedia({colorScheme});
      wrong.push(...(await window.findings()).map(finding => `${colorScheme}: ${finding}`));
    }
    await page.emulateMedia({colorScheme: 'light'});
    if (wrong.length > 0) found.push([`${path}: ${shows}`, wrong]);
  }
  expect(window.elsewhere).toEqual([]);
  return found;
}

test('pages without content and after failures are accessible, and all of them by keyboard', async () => {
  const ofEmpty: [page: string, shows: string | RegExp][] = [
    ['overview', 'This tenant is asleep'],
    ['data', 'No documents yet'],
    ['schema', 'No tables yet'],
    ['functions', 'svc deploy'],
    ['logs', 'No function has run yet'],
    ['schedules', 'Nothing is scheduled'],
    ['services', 'No services'],
  ];
  const found = await findings(service.accessToken, [
    ...ofEmpty.map(([page, shows]) => ({path: `/t/${empty}/${page}`, shows})),
    {path: '/t/not-here/overview', shows: 'Not found'},
    {path: '/nothing', shows: 'There is no page at this address'},
    {path: '/tenants?search=no-tenant-has-this', shows: 'No tenant matches'},
    {path: `/t/${filled}/data/lamps?filter=stock+%3E+5`, shows: 'No document matches'},
  ]);
  const problems = (await browser.closeWindows()).filter(text => !/status of 40[14]/.test(text));
  expect([found, problems]).toEqual([[], []]);
});

test('dialogs are accessible, and all of them by keyboard', async () => {
  const lamps = `/t/${filled}/data/lamps`;
  const found = await findings(service.accessToken, [
    {path: lamps, shows: 'desk'},
    {path: `/t/${filled}/schema/lamps`, shows: 'Indexes'},
    {path: '/tenants', shows: 'Tenant id', open: press('New tenant')},
    {path: `/tenants?search=${filled}`, shows: 'to confirm', open: choose(/^Actions of/, 'Delete')},
    {path: '/keys', shows: 'Expires after', open: press('New key')},
    {path: '/tenants', shows: 'Go to', open: page => page.keyboard.press('Control+k')},
    {path: lamps, shows: 'Import into lamps', open: choose('More for this table', 'Import a file')},
    {path: lamps, shows: 'Export lamps', open: choose('More for this table', 'Export to a file')},
    {path: lamps, shows: 'New document', open: press('New')},
    {path: `/t/${filled}/settings`, shows: 'Paste a .env', open: press('Paste a .env')},
  ]);
  const problems = (await browser.closeWindows()).filter(text => !text.includes('status of 401'));
  expect([found, problems]).toEqual([[], []]);
});

test('a page that a key cannot use names the missing right, and says what to do', async () => {
  const found = await findings(limited, [
    {path: `/t/${filled}/settings`, shows: 'Sign in with a key that has this right'},
  ]);
  const problems = (await browser.closeWindows()).filter(text => !/status of 40[13]/.test(text));
  expect([found, problems]).toEqual([[], []]);
});
