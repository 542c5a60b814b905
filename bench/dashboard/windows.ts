/** Windows of a real Chromium that are signed in to the dashboard of a server. */
import type {BrowserContext} from 'playwright-core';
import {Browser, type Window} from '../../test/harness/browser.ts';
import {DashboardWindow} from '../../test/harness/dashboard-window.ts';
import type {SvcPeer} from '../peers/svc/start.ts';

type Cookie = Awaited<ReturnType<BrowserContext['cookies']>>[number];

export class DashboardWindows {
  readonly #browser: Browser;
  readonly #cookies: readonly Cookie[];
  readonly #base: string;

  private constructor(browser: Browser, base: string, cookies: readonly Cookie[]) {
    this.#browser = browser;
    this.#base = base;
    this.#cookies = cookies;
  }

  static async open(peer: SvcPeer): Promise<DashboardWindows> {
    const browser = await Browser.launch();
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
