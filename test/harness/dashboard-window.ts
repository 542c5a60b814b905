/** A window on the dashboard of a service: what left its origin, what its policy stopped, and what axe finds on a page. */
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import type {Page} from 'playwright-core';
import type {Browser, Window} from './browser.ts';
import type {Service} from './service.ts';
import {until} from './until.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

export class DashboardWindow {
  readonly origin: string;
  readonly page: Page;
  readonly window: Window;
  /** Requests to other origins. */
  readonly elsewhere: string[] = [];

  private constructor(window: Window, origin: string) {
    this.window = window;
    this.page = window.page;
    this.origin = origin;
    this.page.on('request', request => {
      const {protocol, origin: of} = new URL(request.url());
      if (protocol !== 'data:' && of !== origin) this.elsewhere.push(request.url());
    });
  }

  static async open(browser: Browser, service: Pick<Service, 'port'>): Promise<DashboardWindow> {
    return new DashboardWindow(await browser.window(), `http://dashboard.localhost:${service.port}`);
  }

  /** @param path below `/_dashboard` */
  async goto(path: string): Promise<void> {
    await this.page.goto(`${this.origin}/_dashboard${path}`);
  }

  /** As a link goes there: nothing is loaded again. */
  async visit(path: string): Promise<void> {
    await this.page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/_dashboard${path}`)})`);
  }

  async signIn(token: string): Promise<void> {
    await this.goto('/');
    await this.page.getByLabel('Token').fill(token);
    await this.page.keyboard.press('Enter');
    await this.page.getByRole('heading', {name: 'Tenants', level: 1}).waitFor();
  }

  /** Until a page has its content: its heading is there, and nothing loads. */
  async settled(title: string): Promise<void> {
    await this.page.getByRole('heading', {name: title, level: 1}).waitFor();
    await this.loaded();
  }

  async loaded(): Promise<void> {
    const loading = this.page.locator('[role=status]').getByText(/^Loading/);
    await until('everything on the page to be loaded', async () => (await loading.count()) === 0 || null);
  }

  /** Controls that Tab does not reach. Cells of a grid and items of a menu are reached by arrow keys. */
  async unreachable(): Promise<string[]> {
    return await this.page.evaluate<string[]>(`[...document.querySelectorAll('button, a, input, select, textarea')]
      .filter(control => control.tabIndex < 0 && control.checkVisibility() && !control.closest('[role=menu]'))
      .map(control => control.outerHTML.slice(0, 200))`);
  }

  /** Serious findings of axe, which runs in a world of its own: the page's policy allows no foreign script. */
  async findings(): Promise<string[]> {
    const session = await this.page.context().newCDPSession(this.page);
    const {frameTree} = await session.send('Page.getFrameTree');
    const {executionContextId: contextId} = await session.send('Page.createIsolatedWorld', {
      frameId: frameTree.frame.id,
      worldName: 'axe',
    });
    const run = `axe.run(document, {runOnly: ${JSON.stringify(RULES)}}).then(({violations}) => JSON.stringify(violations
      .filter(({impact}) => impact === 'serious' || impact === 'critical')
      .map(({id, nodes}) => id + ': ' + nodes[0].html.slice(0, 200))))`;
    await session.send('Runtime.evaluate', {expression: AXE, contextId});
    const evaluated = {expression: run, contextId, awaitPromise: true, returnByValue: true};
    const {result} = await session.send('Runtime.evaluate', evaluated);
    await session.detach();
    return JSON.parse(String(result.value)) as string[];
  }
}
