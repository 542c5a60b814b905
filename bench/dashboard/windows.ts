/**
 * Windows of a real Chromium that are signed in to the dashboard of a server. In the background, as where the server
 * cannot notice it, its processes get the time that the server and its load leave: the browsers of operators run on
 * machines of their own.
 */
import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {constants, setPriority} from 'node:os';
import type {BrowserContext} from 'playwright-core';
import {Browser, type Window} from '../../test/harness/browser.ts';
import {DashboardWindow} from '../../test/harness/dashboard-window.ts';
import type {SvcPeer} from '../peers/svc/start.ts';

type Cookie = Awaited<ReturnType<BrowserContext['cookies']>>[number];

export class DashboardWindows {
  readonly #browser: Browser;
  readonly #cookies: readonly Cookie[];
  readonly #base: string;
  /** What its pages have requested, and the messages that they got over sockets. */
  requests = 0;

  private constructor(browser: Browser, base: string, cookies: readonly Cookie[]) {
    this.#browser = browser;
    this.#base = base;
    this.#cookies = cookies;
  }

  static async open(peer: SvcPeer, {inBackground = false} = {}): Promise<DashboardWindows> {
    const others = inBackground ? chromiumProcesses() : [];
    const browser = await Browser.launchOwn();
    if (inBackground) {
      // Windows get processes that inherit it.
      for (const pid of chromiumProcesses()) if (!others.includes(pid)) toBackground(pid);
    }
    const first = await DashboardWindow.open(browser, peer);
    await first.signIn(peer.token);
    const cookies = await first.page.context().cookies();
    await browser.closeWindows();
    return new DashboardWindows(browser, `${first.origin}/_dashboard`, cookies);
  }

  /** A window without any cache. @param path below `/_dashboard` @returns once what `selector` finds is there, and how long that took */
  async cold(path: string, selector: string): Promise<{window: Window; ms: number}> {
    const window = await this.#browser.window();
    await window.page.context().addCookies(this.#cookies);
    window.page.on('request', () => this.requests++);
    window.page.on('websocket', socket => socket.on('framereceived', () => this.requests++));
    const startedMs = performance.now();
    await window.page.goto(this.#base + path, {waitUntil: 'commit'});
    await window.page.waitForSelector(selector);
    return {window, ms: performance.now() - startedMs};
  }

  async closeAll(): Promise<void> {
    await this.#browser.closeWindows();
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/**
 * A priority belongs to a thread, and Chromium's were started before. Where the kernel groups threads by session, it
 * counts within the session alone, and the session has a priority of its own.
 */
function toBackground(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), constants.priority.PRIORITY_LOW);
    const session = `/proc/${pid}/autogroup`;
    if (existsSync(session)) writeFileSync(session, String(constants.priority.PRIORITY_LOW));
  } catch (caught) {
    if (existsSync(`/proc/${pid}`)) throw caught; // otherwise it has ended
  }
}

function chromiumProcesses(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0 && commandOf(pid).startsWith('chrom'));
}

/** Empty: it has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8');
  } catch {
    return '';
  }
}
