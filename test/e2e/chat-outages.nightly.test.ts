/** examples/chat when the network, the server or the code goes away under it: nothing is lost, nothing is doubled. */
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {until} from '../harness/until.ts';
import {ChatApp, type ChatWindow} from './chat-app.ts';
import {ProjectCopy} from './project-copy.ts';

let project: ProjectCopy;
let chat: ChatApp;

beforeAll(async () => {
  project = new ProjectCopy('chat');
  chat = await ChatApp.start({directory: project.directory});
});
afterEach(async () => {
  chat.network.mend();
  expect(await chat.browser.closeWindows()).toEqual([]);
});
afterAll(async () => {
  await chat?.stop();
  project.remove();
});

async function open(name: string, channel: string): Promise<ChatWindow> {
  const window = await chat.open(name, channel);
  await window.badge('Live');
  return window;
}

describe('examples/chat, and then', () => {
  test('one is offline and comes back: what both wrote meanwhile is there, once, and in one order', async () => {
    const ada = await open('Ada', 'tunnel');
    const bob = await open('Bob', 'tunnel');
    await ada.send('before');
    await bob.shows(['before']);

    // In this order: a browser that is set offline may hear no more of its sockets, not even their end.
    chat.network.cut();
    await ada.badge('Reconnecting');
    await ada.page.context().setOffline(true);
    await ada.badge('Offline');
    await ada.send('first in the tunnel');
    await ada.send('second in the tunnel');
    await ada.shows(['before', '…first in the tunnel', '…second in the tunnel']);
    // Or one more: that she is there may have been under way when the network went.
    await ada.badge(/\b[23] waiting/);
    await ada.window.screenshot('chat-offline');

    await ada.page.context().setOffline(false);
    chat.network.mend();
    for (const window of [ada, bob]) await window.shows(['before', 'first in the tunnel', 'second in the tunnel']);
    await ada.badge('Live');
    await bob.send('welcome back');
    await ada.shows(['before', 'first in the tunnel', 'second in the tunnel', 'welcome back']);
  });

  test('the server is killed and started again while both type', async () => {
    const ada = await open('Ada', 'storm');
    const bob = await open('Bob', 'storm');
    await ada.send('one');
    await bob.send('two');
    for (const window of [ada, bob]) await until('both', async () => (await window.texts()).length === 2);
    await ada.composer.pressSequentially('three, and I am typ');
    const port = String(chat.service.port);

    // Under way when it dies: whether it was committed nobody knows, least of all the page.
    await bob.composer.fill('four');
    await Promise.all([bob.composer.press('Enter'), chat.service.killAll()]);
    await ada.badge('Reconnecting');
    await bob.badge('Reconnecting');
    await bob.send('five');
    await ada.composer.pressSequentially('ing on');
    expect((await bob.texts()).at(-1)).toBe('…five');
    await chat.service.run(['--port', port]);

    await ada.badge('Live');
    await bob.badge('Live');
    expect(await ada.composer.inputValue()).toBe('three, and I am typing on');
    await ada.composer.press('Enter');
    for (const window of [ada, bob]) await until('all five', async () => (await window.texts()).length >= 5);
    const [first, second, ...rest] = await ada.texts();
    expect([first, second].sort()).toEqual(['one', 'two']);
    expect(rest).toContain('three, and I am typing on');
    expect(rest.filter(text => text !== 'three, and I am typing on')).toEqual(['four', 'five']);
    await bob.shows([first!, second!, ...rest]);
    for (const {window} of [ada, bob]) expect(window.loads).toBe(1);
  });

  test('other code is deployed: the open page shows its results, and keeps what was typed', async () => {
    const ada = await open('Ada', 'deploys');
    await ada.send('deployed by the first');
    await ada.shows(['deployed by the first']);
    await ada.composer.fill('half a sent');
    project.replace('svc/presence.ts', '=> ({user, name, isTyping})', "=> ({user, name: name + ' (here)', isTyping})");
    await chat.example.deploy();
    await ada.page.getByText('Ada (here)').waitFor({state: 'attached'});
    expect(await ada.composer.inputValue()).toBe('half a sent');
    expect(ada.window.loads).toBe(1);
    await ada.send('deployed by the second');
    await ada.shows(['deployed by the first', 'deployed by the second']);
  });
});
