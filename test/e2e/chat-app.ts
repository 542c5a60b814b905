/** The chat example, run as `npm run chat` does it, and its windows as those who use it see them. */
import type {Locator} from 'playwright-core';
import {type Example, openExample} from '../../examples/run/example.ts';
import {Browser, type Window, type WindowOptions} from '../harness/browser.ts';
import {Network} from '../harness/network.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

/** Runs in the page. */
const TEXTS = `[...document.querySelectorAll('.message')].map(
  item => (item.dataset.waiting === 'true' ? '…' : '') + item.querySelector('.text').textContent)`;
const HISTORY = `({
  messages: document.getElementsByClassName('message').length,
  status: document.querySelector('.edge').dataset.status,
})`;

type Options = {directory: string; isDevelopment?: boolean};

export class ChatApp {
  readonly service: Service;
  /** Between the pages and the service. */
  readonly network: Network;
  readonly example: Example;
  readonly browser: Browser;

  private constructor(service: Service, network: Network, example: Example, browser: Browser) {
    this.service = service;
    this.network = network;
    this.example = example;
    this.browser = browser;
  }

  static async start({directory, isDevelopment = false}: Options): Promise<ChatApp> {
    const browser = await Browser.launch();
    const service = await Service.start();
    const network = await Network.to(service.port);
    const example = await openExample({directory, server: service, publicUrl: network.url, port: 0, isDevelopment});
    return new ChatApp(service, network, example, browser);
  }

  /** A window in which somebody has signed in and opened a channel, which is made if it is not there. */
  async open(name: string, channel: string, options?: WindowOptions): Promise<ChatWindow> {
    const window = new ChatWindow(await this.browser.window(options));
    await window.page.goto(this.example.url);
    await window.signIn(name);
    await window.openChannel(channel);
    return window;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.example.close();
    this.network.close();
    await this.service.stop();
  }
}

export class ChatWindow {
  readonly window: Window;

  constructor(window: Window) {
    this.window = window;
  }

  get page() {
    return this.window.page;
  }

  async signIn(name: string): Promise<void> {
    await this.page.getByLabel('Your name').fill(name);
    await this.page.getByRole('button', {name: 'Sign in'}).click();
    await this.page.locator('.shell').waitFor();
  }

  async openChannel(name: string): Promise<void> {
    const menu = this.page.getByRole('button', {name: 'Channels', exact: true});
    if (await menu.isVisible()) await menu.click();
    const link = this.page.getByRole('navigation').getByRole('link', {name, exact: true});
    if (await link.isVisible()) {
      await link.click();
    } else {
      await this.page.getByRole('button', {name: 'New channel'}).click();
      await this.page.getByLabel('Its name').fill(name);
      await this.page.getByRole('button', {name: 'Create'}).click();
    }
    await this.page.getByRole('heading', {name}).waitFor();
    await this.page.locator('ol[aria-busy="false"]').waitFor({state: 'attached'});
  }

  get composer(): Locator {
    return this.page.getByRole('textbox', {name: /^Message #/});
  }

  async send(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press('Enter');
  }

  /** Of the messages on the page, oldest first; those on their way to the server have a mark before them. */
  texts(): Promise<string[]> {
    return this.page.evaluate<string[]>(TEXTS);
  }

  /** Resolves when these are the messages, all of them, and none waits. */
  async shows(texts: string[]): Promise<void> {
    const wanted = JSON.stringify(texts);
    let shown = '';
    const look = async () => {
      shown = JSON.stringify(await this.texts());
      return shown === wanted;
    };
    await until(`messages ${wanted}`, look).catch((caught: Error) => {
      throw new Error(`${caught.message}; there were ${shown}`);
    });
  }

  /** How many messages are on the page, and whether older ones are to come: cheap to ask, also of ten thousand. */
  history(): Promise<{messages: number; status: string}> {
    return this.page.evaluate(HISTORY);
  }

  scrollTo(top: number): Promise<void> {
    return this.page.evaluate(`document.querySelector('.scroller').scrollTo(0, ${top})`);
  }

  /** What the badge says: Live, Reconnecting…, Offline. */
  badge(state: string | RegExp): Promise<void> {
    return this.page.locator('.badge').filter({hasText: state}).waitFor();
  }
}
