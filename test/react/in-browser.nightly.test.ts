/** Where React's concurrent rendering is the real one: a page in Chromium, with frames and input, beside a started service. */

import {once} from 'node:events';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {Browser} from '../harness/browser.ts';
import {Service} from '../harness/service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const FILES = {
  'n.ts': `
    import {mutation, query} from './_generated/server';
    const current = async ctx => (await ctx.db.query('counters').first())?.n ?? 0;
    export const double = query({args: {}, handler: async ctx => 2 * (await current(ctx))});
    export const triple = query({args: {}, handler: async ctx => 3 * (await current(ctx))});
    export const count = mutation({args: {}, handler: async ctx => {
      const counter = await ctx.db.query('counters').first();
      if (counter === null) await ctx.db.insert('counters', {n: 1});
      else await ctx.db.patch(counter._id, {n: counter.n + 1});
    }});`,
};

/** Rows that take their time, brought by transitions while writes arrive; each frame that differs in itself is noted. */
const PAGE = (url: string) => `
import {createElement as h, startTransition, StrictMode, useState} from 'react';
import {createRoot} from 'react-dom/client';
import {SvcProvider, SvcReactClient, useMutation, useQuery} from './sdk/react/index.ts';

const client = new SvcReactClient(${JSON.stringify(url)});
const Row = ({of}) => {
  const end = performance.now() + 3;
  while (performance.now() < end);
  return h('i', {className: of}, useQuery('n:' + of));
};
const Rows = () => {
  const [rows, setRows] = useState(1);
  const count = useMutation('n:count');
  window.grow = to => startTransition(() => setRows(to));
  window.count = count;
  return h('p', null, Array.from({length: rows}, (_, key) => [h(Row, {key: 'd' + key, of: 'double'}), h(Row, {key: 't' + key, of: 'triple'})]));
};
window.torn = [];
window.frames = 0;
new MutationObserver(() => {
  const values = of => [...document.querySelectorAll('.' + of)].map(element => element.textContent);
  const [doubles, triples] = [values('double'), values('triple')];
  if (doubles.length === 0 || doubles[0] === '' || triples[0] === '') return;
  window.frames++;
  const isTorn = new Set(doubles).size > 1 || new Set(triples).size > 1 || Number(doubles[0]) * 3 !== Number(triples[0]) * 2;
  if (isTorn) window.torn.push([doubles, triples]);
}).observe(document.getElementById('root'), {subtree: true, childList: true, characterData: true});
createRoot(document.getElementById('root')).render(h(StrictMode, null, h(SvcProvider, {client}, h(Rows))));
`;

type Instruments = {grow(rows: number): void; count(): Promise<unknown>; torn: unknown[]; frames: number};

let service: Service;
let browser: Browser;
let server: Server;
beforeAll(async () => {
  [service, browser] = await Promise.all([Service.start(), Browser.launch()]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  await service?.stop();
});

test('[57] a page that grows by transitions while writes arrive is never torn, and [56] each await shows its write', async () => {
  const app = await App.deploy(service, FILES);
  const {outputFiles} = await build({
    stdin: {contents: PAGE(`${service.url}/svc/${app.tenant}`), resolveDir: root, loader: 'js'},
    bundle: true,
    format: 'esm',
    define: {'process.env.NODE_ENV': '"production"'},
    write: false,
  });
  const script = outputFiles[0]!.text;
  server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html; charset=utf-8');
    response.end(
      isScript
        ? script
        : '<link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/page.js"></script>',
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const window = await browser.window();
  const {page} = window;
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await page.locator('.triple', {hasText: '0'}).waitFor();

  const wrong = await page.evaluate(async () => {
    const instruments = globalThis as unknown as Instruments & {
      document: {
        querySelector(selector: string): {textContent: string};
        querySelectorAll(selector: string): {length: number};
      };
    };
    const stale: string[] = [];
    for (let n = 1; n <= 40; n++) {
      if (n % 10 === 1) instruments.grow(10 + n);
      await instruments.count();
      const shown = instruments.document.querySelector('.double').textContent;
      if (shown !== String(2 * n)) stale.push(`after write ${n} the page showed ${shown}`);
    }
    while (instruments.document.querySelectorAll('.double').length !== 41) {
      await new Promise<void>(resolve => setTimeout(resolve, 10));
    }
    return {stale, torn: instruments.torn, frames: instruments.frames};
  });
  expect(wrong).toMatchObject({stale: [], torn: []});
  expect(wrong.frames).toBeGreaterThan(40);
  expect(window.problems).toEqual([]);
});
