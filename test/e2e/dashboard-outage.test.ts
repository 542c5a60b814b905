/** Two windows of the data page, before, during and after the server is killed: what both show, and what one edits meanwhile. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Browser} from '../harness/browser.ts';
import {DashboardWindow} from '../harness/dashboard-window.ts';
import {freePort} from '../harness/free-port.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

let service: Service;
let browser: Browser;
beforeAll(async () => {
  // The origin of the pages has the port, so it stays over a restart.
  service = await Service.start({args: ['--port', String(await freePort())]});
  browser = await Browser.launch();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

test('two windows see the same edits; a killed server is noticed, and an edit made meanwhile is saved', async () => {
  service.showLogOnFailure();
  const tenant = await service.tenant();
  const insert = async (name: string) => {
    const fields = {name, stock: 1};
    const {id}: {id: string} = (await service.post(`/api/tenants/${tenant}/documents`, {table: 'lamps', fields})).body;
    return id;
  };
  const [first, second] = [await insert('desk'), await insert('floor')];
  const stored = async (id: string) => {
    const reply = await service.get(`/api/tenants/${tenant}/documents/lamps/${id}`);
    return (reply.body as {document: {name: string}}).document.name;
  };
  const open = async () => {
    const window = await DashboardWindow.open(browser, service);
    await window.signIn(service.accessToken);
    await window.goto(`/t/${tenant}/data/lamps`);
    await window.page.waitForSelector(`[data-id="${first}"]`);
    return window;
  };
  const name = ({page}: DashboardWindow, id: string) => page.locator(`[data-id="${id}"]`).getByRole('gridcell').nth(2);
  const edit = async (window: DashboardWindow, id: string, text: string) => {
    await name(window, id).dblclick();
    await window.page.keyboard.type(text);
    await window.page.keyboard.press('Enter');
  };
  const gone = ({page}: DashboardWindow) => page.getByText('The server cannot be reached. What you see');
  const [ada, bob] = [await open(), await open()];
  const loads = [ada, bob].map(({window}) => window.loads);

  await edit(ada, first, 'reading');
  await name(bob, first).getByText('reading').waitFor();
  await edit(bob, second, 'standing');
  await name(ada, second).getByText('standing').waitFor();

  await service.killAll();
  await edit(ada, first, 'bedside');
  await ada.page.getByText('Not saved yet').waitFor();
  for (const window of [ada, bob]) await gone(window).waitFor();
  await service.run();
  for (const window of [ada, bob]) await gone(window).waitFor({state: 'detached'});
  await until('the edit to be saved', async () => (await stored(first)) === 'bedside');
  for (const window of [ada, bob]) await name(window, first).getByText('bedside').waitFor();
  await edit(bob, second, 'garden');
  await name(ada, second).getByText('garden').waitFor();
  expect([ada, bob].map(({window}) => window.loads)).toEqual(loads);
});
