/** The page of live queries in Chromium: who holds them, what they cost, and the write that caused an evaluation. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Socket} from '../harness/socket.ts';

const service = await sharedService();
let browser: Browser;
beforeAll(async () => {
  browser = await Browser.launch();
});
afterAll(() => browser?.close());

test('the most expensive queries come first, and an evaluation leads to the document and its records', async () => {
  service.showLogOnFailure();
  const app = await App.empty(service);
  const sockets = await Promise.all([1, 2].map(() => Socket.established(service, app.tenant)));
  const subscribe = async (socket: Socket, n: number) => {
    const filters = [{field: 'n', op: 'gte', value: n}];
    socket.send({type: 'subscribe', request_id: 'r', query: {table: 'cities', filters}});
    await socket.next();
  };
  for (let n = 0; n < 11; n++) await subscribe(sockets[0]!, n * 100);
  await subscribe(sockets[1]!, 0);
  await app.admin('POST', '/documents', {table: 'cities', fields: {n: 50}});
  await sockets[1]!.next();

  const window = await DashboardWindow.open(browser, service);
  const {page} = window;
  await window.signIn(service.accessToken);
  await window.goto(`/t/${app.tenant}/live`);
  const table = page.getByRole('region', {name: 'Live queries'});
  await page.getByRole('heading', {name: 'The most expensive'}).waitFor();
  expect(await table.getByRole('link').count()).toBe(10);
  await page.getByRole('button', {name: 'Show all 11'}).click();
  const row = table.getByRole('row').filter({has: page.getByRole('link', {name: 'cities where n >= 0', exact: true})});
  await row.getByRole('cell', {name: '2', exact: true}).first().waitFor();
  expect(await window.findings()).toEqual([]);

  await row.getByRole('link').click();
  const evaluations = page.getByRole('region', {name: 'Latest evaluations'});
  await evaluations.getByText('n >= 0').waitFor();
  expect(await window.findings()).toEqual([]);
  await evaluations.getByRole('link', {name: 'record 1'}).click();
  await window.settled('Journal');
  expect(new URL(page.url()).searchParams.get('table')).toBe('cities');

  for (const socket of sockets) socket.close();
  expect((await browser.closeWindows()).filter(problem => !problem.includes('status of 401'))).toEqual([]);
});
