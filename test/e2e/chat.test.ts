/** examples/chat in two windows of a real browser: what people do with it, and what it looks like. */
import {fileURLToPath} from 'node:url';
import {afterAll, afterEach, beforeAll, describe, expect, test, vi} from 'vitest';
import {nightly} from '../harness/nightly.ts';
import {until} from '../harness/until.ts';
import {ChatApp, type ChatWindow} from './chat-app.ts';

/** Tokens are refreshed 10 seconds before they end: these, every two seconds. */
vi.stubEnv('CHAT_TOKEN_SECONDS', '12');
afterAll(() => void vi.unstubAllEnvs());

let chat: ChatApp;

beforeAll(async () => {
  chat = await ChatApp.start({directory: fileURLToPath(new URL('../../examples/chat', import.meta.url))});
});
afterEach(async () => {
  chat.network.mend();
  expect(await chat.browser.closeWindows()).toEqual([]);
});
afterAll(() => chat?.stop());

const open: ChatApp['open'] = (...of) => chat.open(...of);

describe('examples/chat in two windows', () => {
  test('a message is in both, the newest last, and once', async () => {
    const ada = await open('Ada', 'both');
    const bob = await open('Bob', 'both');
    await ada.send('hello Bob');
    await bob.shows(['hello Bob']);
    await bob.send('hello Ada');
    await ada.send('one\ntwo');
    for (const window of [ada, bob]) await window.shows(['hello Bob', 'hello Ada', 'one\ntwo']);
  });

  nightly.test('a message is shown before the server has it, and stays in its place', async () => {
    const ada = await open('Ada', 'at-once');
    await ada.badge('Live');
    chat.network.cut();
    await ada.send('still here');
    await ada.shows(['…still here']);
    chat.network.mend();
    await ada.shows(['still here']);
  });

  nightly.test('who is there and who types is seen, and who leaves is gone', async () => {
    const ada = await open('Ada', 'people');
    const bob = await open('Bob', 'people');
    const here = ada.page.getByRole('list', {name: 'Here now'});
    await here.getByText('Bob').waitFor({state: 'attached'});
    await bob.composer.fill('I am about to say');
    await ada.page.getByText('Bob is typing').waitFor();
    await bob.send('that I type');
    await ada.page.getByText('Bob is typing').waitFor({state: 'detached'});
    await bob.openChannel('elsewhere');
    await here.getByText('Bob').waitFor({state: 'detached'});
  });

  nightly.test('one takes back a message of one’s own, and there is no button at those of others', async () => {
    const ada = await open('Ada', 'regrets');
    const bob = await open('Bob', 'regrets');
    await ada.send('oh no');
    await bob.shows(['oh no']);
    expect(await bob.page.getByRole('button', {name: /^Take back/}).count()).toBe(0);
    await ada.page.locator('.message').hover();
    await ada.page.getByRole('button', {name: 'Take back “oh no”'}).click();
    await bob.shows([]);
  });

  nightly.test('the assistant answers, and a word that it does not know comes back to the composer', async () => {
    const ada = await open('Ada', 'words');
    await ada.send('/define durable');
    await ada.shows(['durable: still there after the power went out']);
    await ada.send('/define nonsense');
    await ada.page.getByRole('alert').filter({hasText: 'The dictionary does not know nonsense'}).waitFor();
    expect(await ada.composer.inputValue()).toBe('/define nonsense');
  });

  nightly.test('what is not a name of a channel is refused in words', async () => {
    const ada = await open('Ada', 'names');
    await ada.page.getByRole('button', {name: 'New channel'}).click();
    await ada.page.getByLabel('Its name').fill('Ünïcode!');
    await ada.page.getByRole('button', {name: 'Create'}).click();
    await ada.page.getByRole('alert').filter({hasText: 'small letters, digits and hyphens'}).waitFor();
  });
});

describe('signing in', () => {
  nightly.test('tokens are renewed while the page is used, and nobody notices', async () => {
    const ada = await open('Ada', 'tokens');
    let renewed = 0;
    ada.page.on('response', response => {
      if (response.url().endsWith('/auth/token') && response.ok()) renewed++;
    });
    const gone = ada.page.waitForSelector('.sign-in, .notice', {state: 'attached'}).then(
      () => true,
      () => false,
    );
    await until('some tokens', () => renewed >= 3);
    await ada.send('still me');
    await ada.shows(['still me']);
    expect(await Promise.race([gone, Promise.resolve(false)])).toBe(false);
    expect(ada.window.loads).toBe(1);
  });

  nightly.test(
    'an answer of the login provider that cannot be read is asked for again: nobody is signed out for it',
    async () => {
      const ada = await open('Ada', 'unreadable');
      let answers = 0;
      await ada.page.route('**/auth/token', async route => {
        answers++;
        if (answers <= 2) await route.fulfill({body: '<title>502 Bad Gateway</title>'});
        else await route.continue();
      });
      await ada.page.reload();
      await ada.page.getByRole('button', {name: 'Sign out'}).waitFor();
      expect(answers).toBeGreaterThan(2);
      await ada.page.unrouteAll({behavior: 'ignoreErrors'});
    },
  );

  test('the session outlives a reload', async () => {
    const ada = await open('Ada', 'reload');
    await ada.page.reload();
    await ada.page.getByRole('button', {name: 'Sign out'}).waitFor();
    expect(await ada.page.locator('.me').textContent()).toBe('Ada');
  });

  nightly.test('signing out leaves nothing on the page, and another user can sign in', async () => {
    const ada = await open('Ada', 'farewell');
    await ada.send('this was me');
    await ada.shows(['this was me']);
    await ada.page.getByRole('button', {name: 'Sign out'}).click();
    await ada.page.getByLabel('Your name').waitFor();
    expect(await ada.page.getByText('this was me').count()).toBe(0);
    await ada.page.reload();
    await ada.signIn('Eve');
    await ada.openChannel('farewell');
    await ada.shows(['this was me']);
    expect(await ada.page.locator('.me').textContent()).toBe('Eve');
    expect(await ada.page.getByRole('button', {name: /^Take back/}).count()).toBe(0);
  });

  nightly.test('a session that the login provider has ended ends in the page', async () => {
    const ada = await open('Ada', 'ended');
    await ada.page.context().clearCookies();
    await ada.page.getByLabel('Your name').waitFor();
  });

  nightly.test('a name is wanted', async () => {
    const window = await chat.browser.window();
    await window.page.goto(chat.example.url);
    await window.page.getByLabel('Your name').fill('   ');
    expect(await window.page.getByRole('button', {name: 'Sign in'}).isDisabled()).toBe(true);
  });
});

nightly.describe('what it looks like', () => {
  test('by day, by night and on a phone', async () => {
    const ada = await open('Ada Lovelace', 'garden');
    const bob = await open('Grace Hopper', 'garden', {colors: 'dark'});
    const phone = await open('Alan Turing', 'garden', {colors: 'dark', isPhone: true});
    const talk: [ChatWindow, string][] = [
      [ada, 'The peas are up! All three rows, and nobody has found them yet.'],
      [ada, 'Not even the pigeons.'],
      [bob, 'Give them a day. Last year I counted forty seedlings in the evening and four in the morning.'],
      [phone, 'I have a net in the shed, second shelf, behind the watering can.'],
      [bob, 'Do take it. How to hang it so that blackbirds stay out: https://example.org/nets'],
      [ada, 'Thank you both. Tomorrow at seven, then?\nI bring coffee.'],
      [phone, 'Seven it is.'],
    ];
    const said: string[] = [];
    for (const [window, text] of talk) {
      await window.send(text);
      said.push(text);
      for (const each of [ada, bob, phone]) await each.shows(said);
    }
    await ada.send('/define durable');
    said.push('durable: still there after the power went out');
    for (const each of [ada, bob, phone]) await each.shows(said);
    await ada.composer.fill('And who');
    await bob.page.getByText('Ada Lovelace is typing').waitFor();
    for (const each of [ada, bob, phone]) await each.badge('Live');
    await ada.window.screenshot('chat-light');
    await bob.window.screenshot('chat-dark');
    await phone.window.screenshot('chat-phone-dark');
    await phone.page.getByRole('button', {name: 'Channels', exact: true}).click();
    await phone.page.getByRole('navigation').getByRole('link', {name: 'garden'}).waitFor();
    await phone.window.screenshot('chat-phone-channels');
    await ada.page.getByRole('button', {name: 'Sign out'}).click();
    await ada.page.getByLabel('Your name').waitFor();
    await ada.window.screenshot('chat-sign-in');
  });
});
