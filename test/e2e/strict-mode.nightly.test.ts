/** The examples with React's development build, whose StrictMode mounts everything twice and complains about what pages do wrong. */
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {ChatApp} from './chat-app.ts';

let chat: ChatApp;

beforeAll(async () => {
  const directory = fileURLToPath(new URL('../../examples/chat', import.meta.url));
  chat = await ChatApp.start({directory, isDevelopment: true});
});
afterAll(() => chat?.stop());

test('the chat works in StrictMode: one socket, no complaint, nothing doubled', async () => {
  const ada = await chat.open('Ada', 'strict');
  const bob = await chat.open('Bob', 'strict');
  let sockets = 0;
  bob.page.on('websocket', () => sockets++);
  await bob.page.reload();
  await bob.composer.waitFor();
  await bob.badge('Live');
  await ada.send('once');
  await bob.send('and once more');
  for (const window of [ada, bob]) await window.shows(['once', 'and once more']);
  await ada.openChannel('another');
  await ada.send('elsewhere');
  await ada.shows(['elsewhere']);
  await ada.openChannel('strict');
  await ada.shows(['once', 'and once more']);
  expect(sockets).toBe(1);
  expect([...ada.window.problems, ...bob.window.problems]).toEqual([]);
});
