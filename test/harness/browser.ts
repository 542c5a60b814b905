/**
 * A real browser: Debian's `chromium`, driven by playwright-core. Without one the tests fail and say what to install: what pages do is
 * part of the contract.
 */
import {existsSync, mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {type Browser as Chromium, chromium, type Page} from 'playwright-core';

const EXECUTABLE = process.env.SVC_CHROMIUM ?? '/usr/bin/chromium';
/** CI keeps what is in it. */
const SCREENSHOTS = process.env.SVC_SCREENSHOTS ?? fileURLToPath(new URL('../../screenshots', import.meta.url));

export type WindowOptions = {colors?: 'light' | 'dark'; isPhone?: boolean};

export class Browser {
  readonly #chromium: Chromium;
  readonly #isShared: boolean;
  readonly #windows: Window[] = [];

  private constructor(launched: Chromium, isShared: boolean) {
    this.#chromium = launched;
    this.#isShared = isShared;
  }

  /** One of the tests' process, which ends with it: in others use `launchOwn`, because it keeps a process from its end. */
  static async launch(): Promise<Browser> {
    if (shared === null || !(await shared).isConnected()) shared = start();
    return new Browser(await shared, true);
  }

  /** A process of its own, which ends with `close`. */
  static async launchOwn(): Promise<Browser> {
    return new Browser(await start(), false);
  }

  /** A window with cookies and storage of its own, as another user has. */
  async window({colors = 'light', isPhone = false}: WindowOptions = {}): Promise<Window> {
    const context = await this.#chromium.newContext({
      colorScheme: colors,
      viewport: isPhone ? {width: 390, height: 780} : {width: 1200, height: 760},
      deviceScaleFactor: isPhone ? 2 : 1,
      hasTouch: isPhone,
      isMobile: isPhone,
      locale: 'en-GB',
    });
    const window = new Window(await context.newPage());
    this.#windows.push(window);
    return window;
  }

  /** Closes all windows and returns what went wrong in them: nothing, after a test. */
  async closeWindows(): Promise<string[]> {
    const windows = this.#windows.splice(0);
    const problems = windows.flatMap(window => window.problems);
    await Promise.all(windows.map(window => window.close()));
    return problems;
  }

  async close(): Promise<void> {
    await this.closeWindows();
    if (!this.#isShared) await this.#chromium.close();
  }
}

/** Of the files that a process of vitest runs one after another: starting it takes a second of processor time. */
let shared: Promise<Chromium> | null = null;

async function start(): Promise<Chromium> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(`There is no ${EXECUTABLE}: apt-get install chromium, or name yours in SVC_CHROMIUM`);
  }
  // Its sandbox cannot be had as root, which is who runs CI. It sees pages of ours only.
  const started = await chromium.launch({executablePath: EXECUTABLE, args: ['--no-sandbox'], handleSIGTERM: false});
  // As vitest ends its workers.
  process.once('SIGTERM', () => void started.close().finally(() => process.exit()));
  return started;
}

export class Window {
  readonly page: Page;
  /** What went wrong in the page's scripts: what they threw, and errors they wrote to the console. */
  readonly problems: string[] = [];
  /** How often its document was loaded. */
  loads = 0;

  constructor(page: Page) {
    this.page = page;
    page.on('pageerror', error => this.problems.push(error.stack ?? error.message));
    page.on('load', () => this.loads++);
    page.on('console', message => {
      const isOfNetwork = /net::ERR_|WebSocket connection to/.test(message.text());
      if (message.type() === 'error' && !isOfNetwork) this.problems.push(message.text());
    });
  }

  /** A picture for people, `NAME.png`. */
  async screenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOTS, {recursive: true});
    await this.page.screenshot({path: join(SCREENSHOTS, `${name}.png`), animations: 'disabled'});
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
