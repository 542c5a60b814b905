/**
 * `npm run screenshots`: pictures of every page of the dashboard in two widths and two themes, on a server with data that looks
 * real. They are for people to look at; CI keeps them. A data directory that exists is used as it is.
 */
import {existsSync, mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {Command} from 'commander';
import {Browser} from '../../test/harness/browser.ts';
import {DashboardWindow} from '../../test/harness/dashboard-window.ts';
import {startSvc, stopSvc} from '../peers/svc/start.ts';
import {shots} from './pages.ts';
import {SHOP, seedServer, shopRequest} from './seed.ts';

const SIZES = {wide: {width: 1_280, height: 800}, phone: {width: 390, height: 844}};
const THEMES = ['light', 'dark'] as const;
/** Charts have a point for each minute. */
const TRAFFIC_MS = 30_000;

const {data, only, output} = new Command('screenshots')
  .option('--data <directory>', 'of an earlier run; without it a new one is filled, which takes a minute')
  .option('--only <pattern>', 'pictures whose names match', '')
  .option('--output <directory>', 'where they are written', process.env.SVC_SCREENSHOTS ?? 'screenshots')
  .parse()
  .opts<{data?: string; only: string; output: string}>();

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const root = data ?? mkdtempSync(join(tmpdir(), 'svc-screenshots-'));
const isNew = !existsSync(join(root, 'data'));
mkdirSync(output, {recursive: true});
const svc = await startSvc(join(root, 'data'));
const browser = await Browser.launchOwn();
try {
  if (isNew) {
    const shop = await seedServer(svc, root);
    const endMs = performance.now() + TRAFFIC_MS;
    for (let i = 0; performance.now() < endMs; i++) await shopRequest(svc, shop, i);
  }
  const window = await DashboardWindow.open(browser, svc);
  const {page} = window;
  const take = async (name: string) => {
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport);
      for (const colorScheme of THEMES) {
        await page.emulateMedia({colorScheme});
        // Charts and grids are drawn after the size has changed.
        await delay(100);
        await page.screenshot({path: join(output, `${name}-${size}-${colorScheme}.png`), animations: 'disabled'});
      }
    }
    await page.setViewportSize(SIZES.wide);
    await page.emulateMedia({colorScheme: 'light'});
  };
  await window.goto('/');
  await page.getByLabel('Token').waitFor();
  await take('sign-in');
  await window.signIn(svc.token);
  // A page that is open elsewhere is a live query.
  const other = await DashboardWindow.open(browser, svc);
  await other.signIn(svc.token);
  await other.goto(`/t/${SHOP}/data/orders`);
  await other.loaded();
  for (const {name, path, prepare} of await shots(svc)) {
    if (!name.match(only)) continue;
    await window.goto(path);
    await page.locator('main').locator('h1, strong').first().waitFor();
    await window.loaded();
    await prepare?.(page);
    await window.loaded();
    await take(name);
    process.stderr.write(`${name}\n`);
  }
} finally {
  await browser.close();
  await stopSvc(svc);
  if (data === undefined) rmSync(root, {recursive: true});
}
