/** The built `svc/client`: its size, and a page of another origin that works with it, through a network that breaks. */
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Cable} from '../client/cable.ts';
import {Browser} from '../harness/browser.ts';
import {packagesNamed} from '../harness/declarations.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function bundled(contents: string): Promise<string> {
  const {outputFiles} = await build({
    stdin: {contents: contents.replace('svc/client', './dist/sdk/client.js'), resolveDir: root},
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    logLevel: 'silent',
  });
  return outputFiles![0]!.text;
}

test('is at most 8 kB, minified and compressed, and imports nothing', async () => {
  const text = await bundled("export * from 'svc/client'");
  expect(gzipSync(text, {level: 9}).length).toBeLessThanOrEqual(8_000);
  expect(text).not.toMatch(/\bfrom"|\brequire\(|typebox/);
});

test('has declarations that name nothing an app has not installed', () => {
  const {packages, files} = packagesNamed(join(root, 'dist/sdk/client.d.ts'));
  expect(files).toBeGreaterThan(5);
  expect(packages).toEqual([]);
});

const PAGE = `
import {createClient} from 'svc/client';
const db = createClient(JSON.parse(document.body.dataset.options));
const list = document.querySelector('ul');
let written = 0;
const counts = [];
for (let n = 0; n < 8; n++) {
  db.liveCount('notes', {limit: 100 + n}, count => {
    counts[n] = count;
    list.dataset.counts = counts.join();
  });
}
db.live('notes', {}, notes => {
  list.replaceChildren(...notes.map(({text}) => Object.assign(document.createElement('li'), {textContent: text})));
  list.dataset.shown = notes.map(({text}) => text).join();
});
document.querySelector('button').onclick = async () => {
  await db.insert('notes', {text: 'from the page'});
  document.body.dataset.written = String(++written);
};
`;

const ONE = `
import {createClient} from 'svc/client';
const db = createClient(JSON.parse(document.body.dataset.options));
const list = document.querySelector('ul');
db.liveCount('notes', {}, count => { list.textContent = list.dataset.count = count; });
`;

let pages: Server;
let service: Service;
let cable: Cable;
let browser: Browser;
let html = '';
beforeAll(async () => {
  pages = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
  await new Promise<void>(resolve => pages.listen(0, '127.0.0.1', resolve));
  service = await Service.start({args: ['--allowed-origin', origin()]});
  cable = await Cable.to(() => service.port);
  browser = await Browser.launch();
});
afterAll(async () => {
  await browser?.close();
  cable?.close();
  await service?.stop();
  pages?.close();
});

const origin = () => `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;

test('shows and writes in a page of another origin, also after its network was gone, with more live queries than connections', async () => {
  service.showLogOnFailure();
  const tenant = await Tenant.make(service);
  await tenant.insert('notes', {text: 'a'});
  const ask = {name: 'page', scopes: ['data:read', 'data:write'], expires_in_seconds: 600};
  const {secret} = (await service.post('/api/keys', ask)).body as {secret: string};
  const options = JSON.stringify({url: cable.url, tenant: tenant.id, key: secret});
  html = `<body data-options='${options}'><ul></ul><button>add</button><script type="module">${await bundled(PAGE)}</script>`;
  const {page} = await browser.window();
  await page.goto(origin());
  const shows = (texts: string) => page.waitForSelector(`ul[data-shown='${texts}']`);
  await shows('a');
  cable.cut();
  await tenant.insert('notes', {text: 'b'});
  await shows('a,b');
  await page.click('button');
  await shows('a,b,from the page'); // the browser has asked by now whether the page may write
  cable.deafen();
  await page.click('button');
  await until('the write whose answer is lost', async () => (await tenant.list('notes')).length === 4);
  cable.cut();
  await page.waitForSelector("body[data-written='2']");
  await shows('a,b,from the page,from the page');
  await page.waitForSelector(`ul[data-counts='${Array.from({length: 8}, () => 4).join()}']`);
  expect(await browser.closeWindows()).toEqual([]);
});

test('shows what changes in a page whose credential may be no subprotocol', async () => {
  service.showLogOnFailure();
  const tenant = await Tenant.make(service);
  const ask = {name: 'lasting', scopes: ['data:read'], expires_in_seconds: null};
  const {secret} = (await service.post('/api/keys', ask)).body as {secret: string};
  const options = JSON.stringify({url: cable.url, tenant: tenant.id, key: secret});
  html = `<body data-options='${options}'><ul></ul><script type="module">${await bundled(ONE)}</script>`;
  const {page} = await browser.window();
  await page.goto(origin());
  await page.waitForSelector("ul[data-count='0']");
  await tenant.insert('notes', {text: 'a'});
  await page.waitForSelector("ul[data-count='1']");
  expect(await browser.closeWindows()).toEqual([]);
});
