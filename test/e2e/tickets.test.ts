/** examples/tickets in a real browser: seats that many want, a bank that is asked, holds that run out, and why queries ran. */
import {fileURLToPath} from 'node:url';
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {type Example, openExample} from '../../examples/run/example.ts';
import {Browser, type Window, type WindowOptions} from '../harness/browser.ts';
import {nightly} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {ProjectCopy} from './project-copy.ts';

const TOTAL = 72;

let browser: Browser;
let service: Service;
let example: Example;

beforeAll(async () => {
  browser = await Browser.launch();
  service = await Service.start();
  const directory = fileURLToPath(new URL('../../examples/tickets', import.meta.url));
  example = await openExample({directory, server: service, port: 0});
});
afterEach(async () => {
  expect(await browser.closeWindows()).toEqual([]);
});
afterAll(async () => {
  await browser?.close();
  await example?.close();
  await service?.stop();
});

async function open(options?: WindowOptions): Promise<Window> {
  const window = await browser.window(options);
  await window.page.goto(example.url);
  await seat(window, 'F12').waitFor();
  return window;
}

const seat = ({page}: Window, place: string) => page.locator(`[data-place="${place}"]`);
const seatIn = ({page}: Window, place: string, state: string) =>
  page.locator(`[data-place="${place}"][data-state="${state}"]`).waitFor();

/** Free, held, sold: at any moment there are as many as seats. */
async function counts({page}: Window): Promise<number[]> {
  const numbers = (await page.locator('.counts dd').allTextContents()).map(Number);
  expect(numbers.reduce((sum, number) => sum + number, 0)).toBe(TOTAL);
  return numbers;
}

/** The newest that the page tells of why queries ran. */
const newest = ({page}: Window) => page.locator('.moment').first();

describe('examples/tickets', () => {
  test('a seat that is held in one window is held in the other, and let go again', async () => {
    const ada = await open();
    const bob = await open();
    await seat(ada, 'C7').click();
    await seatIn(ada, 'C7', 'mine');
    await seatIn(bob, 'C7', 'held');
    expect(await counts(bob)).toEqual([TOTAL - 1, 1, 0]);
    await seat(bob, 'C7').press('Enter');
    await bob.page.getByRole('status').filter({hasText: 'C7 is held by another buyer'}).waitFor();
    await seat(ada, 'C7').click();
    await seatIn(bob, 'C7', 'free');
    expect(await counts(bob)).toEqual([TOTAL, 0, 0]);
  });

  nightly.test(
    'the page says which queries ran, and which write made them: the row of the seat, and not the other rows',
    async () => {
      const ada = await open();
      const bob = await open();
      const runs = (window: Window, row: string) =>
        window.page
          .getByRole('group', {name: `Row ${row}`})
          .locator('.runs')
          .textContent();
      const before = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(row => runs(bob, row)));
      await seat(ada, 'D4').click();
      await seatIn(bob, 'D4', 'held');
      await newest(bob).getByText('seat D4 was written').first().waitFor();
      expect(await newest(bob).getByText('row D').count()).toBe(1);
      expect(await newest(bob).getByText('row C').count()).toBe(0);
      const after = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(row => runs(bob, row)));
      expect(after.map((text, index) => text !== before[index])).toEqual([false, false, false, true, false, false]);
      await seat(ada, 'D4').click();
      await seatIn(bob, 'D4', 'free');
    },
  );

  nightly.test(
    'paying asks the bank: a card that it declines leaves the seats held, a good one makes them sold',
    async () => {
      const ada = await open();
      const bob = await open();
      for (const place of ['A1', 'A2']) await seat(ada, place).click();
      await ada.page.getByRole('button', {name: 'Pay 120 €'}).waitFor();
      await ada.page.getByLabel('Pay with').selectOption({label: 'A card that the bank declines'});
      await ada.page.getByRole('button', {name: 'Pay 120 €'}).click();
      await ada.page.getByRole('alert').filter({hasText: 'The bank declined this card'}).waitFor();
      await seatIn(ada, 'A1', 'mine');
      await ada.page.getByLabel('Pay with').selectOption({label: 'A card that is good'});
      await ada.page.getByRole('button', {name: 'Pay 120 €'}).click();
      await ada.page.getByText('paid · 120 €').waitFor();
      await seatIn(ada, 'A1', 'bought');
      await seatIn(bob, 'A2', 'sold');
      expect((await counts(bob))[2]).toBe(2);
    },
  );

  nightly.test(
    'thirty strangers want twelve seats: each seat goes to one of them, and the numbers add up all the while',
    async () => {
      const ada = await open();
      const bob = await open({colors: 'dark'});
      const [free] = await counts(bob);
      await ada.page.getByRole('button', {name: 'Open the doors'}).click();
      const tally = ada.page.locator('.tally');
      while ((await tally.count()) === 0) await counts(bob);
      const [asked, held, seats, taken] = (await tally.locator('b').allTextContents()).map(Number);
      expect(seats).toBe(12);
      expect(held).toBe(12);
      expect(asked).toBe(held! + taken!);
      await until('what was held', async () => (await counts(bob))[0] === free! - 12);
      await seat(bob, 'F1').focus();
      await ada.screenshot('tickets-light');
      await bob.screenshot('tickets-dark');
      const phone = await open({isPhone: true});
      await phone.screenshot('tickets-phone');
    },
  );

  nightly.test('a hold that nobody pays for is freed by the mutation that was scheduled with it', async () => {
    const ada = await open();
    await ada.page.getByRole('button', {name: 'Free all seats'}).click();
    await until('all to be free', async () => (await counts(ada))[0] === TOTAL);
    await service.request('PUT', '/api/tenants/tickets/env/HOLD_SECONDS', {value: '5'});
    // Long enough that the page sees the hold and its end as two moments, however busy the machine is.
    await seat(ada, 'E5').click();
    await ada.page.locator('.moment').getByText('seat E5 was written').first().waitFor();
    await until('the hold to run out', async () => (await counts(ada))[0] === TOTAL);
    await seatIn(ada, 'E5', 'free');
    await service.request('PUT', '/api/tenants/tickets/env/HOLD_SECONDS', {value: '30'});
  });

  nightly.test('arrow keys go from seat to seat, and Enter holds', async () => {
    const ada = await open();
    await seat(ada, 'B2').focus();
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowDown']) await ada.page.keyboard.press(key);
    await ada.page.keyboard.press('Enter');
    await seatIn(ada, 'D2', 'mine');
    await seat(ada, 'D2').click();
    await seatIn(ada, 'D2', 'free');
  });

  nightly.test('a hall that cannot be opened says why', async () => {
    const copy = new ProjectCopy('tickets');
    copy.write('svc.json', JSON.stringify({tenant: 'closed-tickets'}));
    copy.replace(
      'svc/shows.ts',
      'const open = await',
      "throw new Error('The house is closed');\n    const open = await",
    );
    const closed = await openExample({directory: copy.directory, server: service, port: 0});
    try {
      const window = await browser.window();
      await window.page.goto(closed.url);
      await window.page.getByRole('alert').filter({hasText: 'The house is closed'}).waitFor();
    } finally {
      await closed.close();
      copy.remove();
    }
  });
});
