/** examples/todo as its README says it: with the service behind it, and served by Caddy, on a service at another origin, behind Caddy, too. */
import {type ChildProcess, execFile, spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import type {Page} from 'playwright-core';
import {afterAll, beforeAll, beforeEach, expect, onTestFinished, test} from 'vitest';
import {makeKey, writePage} from '../../examples/todo/page.ts';
import {Browser} from '../harness/browser.ts';
import {freePort} from '../harness/free-port.ts';
import {Network} from '../harness/network.ts';
import {nightly} from '../harness/nightly.ts';
import {ReverseProxy} from '../harness/reverse-proxy.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

let service: Service;
let proxy: ReverseProxy;
/** Between the pages and the proxy. */
let network: Network;
let browser: Browser;
let web: ChildProcess;
let folder: string;
let origin: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-todo-'));
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  service = await Service.start({args: ['--allowed-origin', origin]});
  proxy = await ReverseProxy.start('caddy', service.port);
  network = await Network.to(Number(new URL(proxy.url).port));
  for (const [name, scopes] of [
    ['all', undefined],
    ['reader', ['data:read']],
  ] as const) {
    const key = await makeKey(service, 'todo', scopes);
    await writePage(join(folder, 'site', name), {url: network.url, tenant: 'todo', key});
  }
  web = spawn('caddy', ['file-server', '--root', join(folder, 'site'), '--listen', `127.0.0.1:${port}`], {
    stdio: 'ignore',
    env: {PATH: process.env.PATH ?? '', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder},
  });
  await until('the web server', () =>
    fetch(`${origin}/all/`).then(
      ({ok}) => ok,
      () => false,
    ),
  );
  browser = await Browser.launch();
});
afterAll(async () => {
  await browser?.close();
  web?.kill();
  network?.close();
  await proxy?.stop();
  await service?.stop();
  rmSync(folder, {recursive: true, force: true});
});
beforeEach(() => service.showLogOnFailure());

async function open(path = '/all/'): Promise<Page> {
  const {page} = await browser.window();
  await page.goto(origin + path);
  await page.getByText('left').waitFor();
  return page;
}

async function add(page: Page, text: string): Promise<void> {
  await page.getByLabel('What is to be done').fill(text);
  await page.getByRole('button', {name: 'Add', exact: true}).click();
}

const item = (page: Page, text: string) => page.locator('li:not(.waiting)', {hasText: text});

test('the page type-checks against what the package declares', async () => {
  const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'examples/todo')];
  expect(await promisify(execFile)(process.execPath, args).catch(failure => failure)).toMatchObject({stdout: ''});
});

test('a todo is added, ticked and removed, and a second page shows it live', async () => {
  const [one, two] = [await open(), await open()];
  await add(one, 'milk');
  await item(two, 'milk').waitFor();
  await two.getByText('1 thing left').waitFor();
  await two.getByLabel('milk', {exact: true}).click();
  await one.locator('li.done', {hasText: 'milk'}).waitFor();
  await one.getByText('0 things left').waitFor();
  await one.getByLabel('Remove milk').click();
  await item(two, 'milk').waitFor({state: 'detached'});
  expect(await browser.closeWindows()).toEqual([]);
});

nightly.test('a page whose network is gone keeps what is added, and writes it once when it is back', async () => {
  const [one, two] = [await open(), await open()];
  network.cut();
  await one.getByText('Offline').waitFor();
  await add(one, 'bread');
  await one.locator('li.waiting', {hasText: 'bread'}).waitFor();
  network.mend();
  await item(one, 'bread').waitFor();
  await item(two, 'bread').waitFor();
  expect(await item(two, 'bread').count()).toBe(1);
  await one.getByText('Offline').waitFor({state: 'detached'});
  expect(await browser.closeWindows()).toEqual([]);
});

nightly.test('a page whose key may only read shows the list, and says that it may not change it', async () => {
  const [writer, reader] = [await open(), await open('/reader/')];
  await add(writer, 'eggs');
  await item(reader, 'eggs').waitFor();
  await add(reader, 'sweets');
  await reader.getByText('This page may not do that.').waitFor();
  expect(await item(reader, 'sweets').count()).toBe(0);
  const {body}: {body: {data: {text: string}[]}} = await service.get('/api/tenants/todo/documents/todos');
  expect(body.data.map(({text}) => text)).not.toContain('sweets');
  expect((await browser.closeWindows()).filter(problem => !problem.includes('status of 403'))).toEqual([]);
});

nightly.test('the command of the README serves the page with the service behind it', async () => {
  const child = spawn(
    process.execPath,
    ['--experimental-strip-types', '--no-warnings', join(root, 'examples/todo/main.ts'), '--port', '0'],
    {
      env: {...process.env, SVC_URL: service.url, SVC_DATA: service.data},
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => void child.kill());
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', text => (printed += text));
  const address = await until('the page', () => /^todo at (\S+)/m.exec(printed)?.[1]);
  const [one, two] = [(await browser.window()).page, (await browser.window()).page];
  for (const page of [one, two]) await page.goto(address);
  await add(one, 'tea');
  await item(two, 'tea').waitFor();
  const foreign = await fetch(`${address}config.json`, {headers: {origin: 'http://127.0.0.1:1'}});
  expect(foreign.status).toBe(403);
  expect(await browser.closeWindows()).toEqual([]);
});
