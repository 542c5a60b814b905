/**
 * The dashboard in a real Chromium: a table of 135,000 documents opened cold beside one of 100, the page's heap before and
 * after scrolling through all of them, and gets of the server with five dashboards open and with none, in turns.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {tenantPath} from '../../cli/client.ts';
import type {Window} from '../../test/harness/browser.ts';
import {cities} from '../bulk/cities.ts';
import {importChunks} from '../bulk/import.ts';
import {type LoadResult, requestText} from '../load/job.ts';
import {type Measurement, runLoad} from '../load/run.ts';
import type {SvcPeer} from '../peers/svc/start.ts';
import type {BenchSettings} from '../settings.ts';
import {DashboardWindows} from './windows.ts';

type Gets = Pick<LoadResult, 'requestsPerS'> & Pick<Measurement, 'cpuUs'>;
export type DashboardRound = {
  documents: number;
  /** From the address to the first row, of the large and of the small table. */
  largeMs: number[];
  smallMs: number[];
  /** Of the page, after a garbage collection. */
  heapBytes: {before: number; after: number};
  /** The part of the table, by creation time, that passed through the page, and how long that took. */
  scrolled: {part: number; ms: number};
  /** `requests`: of the five dashboards while the load ran. Their browser runs in the background. */
  gets: {none: Gets; five: Gets; requests: number}[];
};

const SMALL = 100;
const OPENS = 5;
const TURNS = 4;
const PAGES = ['overview', 'data/cities', 'logs', 'live', 'journal'];
const WARM_UP_S = 1;
/** In which new pages end their first requests. */
const SETTLE_MS = 3_000;
const SCROLL_MS_MAX = 120_000;

/** Runs in the page: to the end of what is loaded, until that is the last document. */
const SCROLL = (last: string) => `(async () => {
  const startedMs = performance.now();
  const grid = document.querySelector('[role=grid]');
  while (performance.now() - startedMs < ${SCROLL_MS_MAX}) {
    grid.scrollTop = grid.scrollHeight;
    await new Promise(requestAnimationFrame);
    if (grid.querySelector('[data-id="${last}"]') !== null) return {part: 1, ms: performance.now() - startedMs};
  }
  const {ariaValueMin, ariaValueMax, ariaValueNow} = document.querySelector('[role=slider]');
  return {part: (ariaValueMax - ariaValueNow) / (ariaValueMax - ariaValueMin), ms: ${SCROLL_MS_MAX}};
})()`;

export async function measureDashboard(
  svc: SvcPeer,
  tenant: string,
  settings: BenchSettings,
  say: (text: string) => void,
): Promise<DashboardRound> {
  const {count, chunks} = cities();
  await svc.client.createTenant(tenant);
  await importChunks(svc, tenant, 'cities', chunks);
  await importChunks(svc, tenant, 'few', [chunks[0]!.subarray(0, endOfLine(chunks[0]!, SMALL))]);
  const [oldest] = (
    await svc.client.json<{data: {_id: string}[]}>('POST', `${tenantPath(tenant)}/query`, {
      ...{table: 'cities', filters: [], order: {field: '_creationTime', direction: 'asc'}, limit: 1},
    })
  ).data;
  const windows = await DashboardWindows.open(svc);
  try {
    const open = (path: string) => windows.cold(`/t/${tenant}/${path}`, selectorOf(path));
    const round: DashboardRound = {
      ...{documents: count, largeMs: [], smallMs: [], gets: []},
      ...{heapBytes: {before: 0, after: 0}, scrolled: {part: 0, ms: 0}},
    };
    for (let i = 0; i < OPENS; i++) {
      round.smallMs.push((await open('data/few')).ms);
      round.largeMs.push((await open('data/cities')).ms);
      await windows.closeAll();
    }
    const {window} = await open('data/cities');
    round.heapBytes.before = await heapBytes(window);
    round.scrolled = await window.page.evaluate<DashboardRound['scrolled']>(SCROLL(oldest!._id));
    round.heapBytes.after = await heapBytes(window);
    await windows.closeAll();
    say(
      `dashboard: first row ${round.largeMs.map(Math.round).join(', ')} ms; ${Math.round(round.scrolled.part * 100)} % passed in ${Math.round(round.scrolled.ms)} ms`,
    );

    round.gets = await getsBeside(svc, tenant, oldest!._id, settings, say);
    return round;
  } finally {
    await windows.close();
  }
}

async function getsBeside(
  svc: SvcPeer,
  tenant: string,
  id: string,
  {seconds, connections, generator}: BenchSettings,
  say: (text: string) => void,
): Promise<DashboardRound['gets']> {
  const windows = await DashboardWindows.open(svc, {inBackground: true});
  try {
    const headers = {Authorization: `Bearer ${svc.token}`};
    const requests = [requestText('GET', tenantPath(tenant, 'documents', 'cities', id), headers)];
    const job = {port: svc.port, connections, requests};
    const gets = async () => {
      await runLoad(generator, {...job, seconds: WARM_UP_S}, svc.process.pid);
      return await runLoad(generator, {...job, seconds}, svc.process.pid);
    };
    const turns: DashboardRound['gets'] = [];
    for (let i = 0; i < TURNS; i++) {
      const none = await gets();
      for (const path of PAGES) await windows.cold(`/t/${tenant}/${path}`, selectorOf(path));
      await delay(SETTLE_MS);
      const before = windows.requests;
      const five = await gets();
      turns.push({none, five, requests: windows.requests - before});
      await windows.closeAll();
      say(`dashboard: ${Math.round(none.requestsPerS)} gets/s, with five open ${Math.round(five.requestsPerS)}/s`);
    }
    return turns;
  } finally {
    await windows.close();
  }
}

function selectorOf(path: string): string {
  return path.startsWith('data/') ? '[data-id]' : 'h1';
}

/** Where so many lines end. */
function endOfLine(bytes: Buffer, lines: number): number {
  let at = 0;
  for (let i = 0; i < lines; i++) at = bytes.indexOf('\n', at) + 1;
  return at;
}

async function heapBytes({page}: Window): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const {usedSize} = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}
