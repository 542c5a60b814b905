/** examples/chat with a long history: 10,000 messages, scrolled from the newest to the first. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {until} from '../harness/until.ts';
import {ChatApp} from './chat-app.ts';
import {ProjectCopy} from './project-copy.ts';

const MESSAGES = 10_000;
const SEED = `
import {v} from 'svc/values';
import {mutation} from './_generated/server';

export const fill = mutation({
  args: {name: v.string(), from: v.number(), to: v.number()},
  handler: async (ctx, {name, from, to}) => {
    const known = await ctx.db.query('channels').withIndex('by_name', q => q.eq('name', name)).unique();
    const channel = known?._id ?? (await ctx.db.insert('channels', {name}));
    for (let n = from; n < to; n++) {
      await ctx.db.insert('messages', {channel, author: n % 7 < 4 ? 'Ada' : 'Bob', text: \`message \${n}\`});
    }
  },
});
`;

let project: ProjectCopy;
let chat: ChatApp;

beforeAll(async () => {
  project = new ProjectCopy('chat');
  project.write('svc/seed.ts', SEED);
  chat = await ChatApp.start({directory: project.directory});
  for (let from = 0; from < MESSAGES; from += 1_000) {
    const args = {name: 'archive', from, to: from + 1_000};
    const {body} = await chat.service.post('/svc/chat/mutation', {path: 'seed:fill', args}, {authorization: undefined});
    expect(body).toMatchObject({status: 'success'});
  }
});
afterAll(async () => {
  await chat?.stop();
  project.remove();
});

describe('examples/chat with 10,000 messages', () => {
  test('is scrolled to the first without a gap or a double, while others write', async () => {
    const ada = await chat.open('Ada', 'archive');
    const bob = await chat.open('Bob', 'archive');
    await until('the newest', async () => (await ada.texts()).at(-1) === `message ${MESSAGES - 1}`);

    let written = 0;
    for (let {messages, status} = await ada.history(), round = 0; status !== 'Exhausted'; round++) {
      if (round % 10 === 5) await bob.send(`meanwhile ${written++}`);
      await ada.scrollTo(0);
      const shown = messages;
      ({messages, status} = await until('older ones', async () => {
        const now = await ada.history();
        return now.messages > shown || now.status === 'Exhausted' ? now : null;
      }));
    }

    await until('what Bob wrote', async () => (await ada.history()).messages === MESSAGES + written);
    const texts = await ada.texts();
    expect(texts.slice(0, MESSAGES)).toEqual(Array.from({length: MESSAGES}, (_, n) => `message ${n}`));
    expect(texts.slice(MESSAGES)).toEqual(Array.from({length: written}, (_, n) => `meanwhile ${n}`));
    await ada.page.getByRole('button', {name: `${written} new`}).waitFor();
    await ada.window.screenshot('chat-history');
    await ada.page.getByRole('button', {name: `${written} new`}).click();
    await ada.page
      .getByText(`meanwhile ${written - 1}`, {exact: true})
      .and(ada.page.locator('.text'))
      .waitFor();
    expect([...ada.window.problems, ...bob.window.problems]).toEqual([]);
  }, 300_000);

  test('what is read stays in its place when older messages come above it', async () => {
    const ada = await chat.open('Ada', 'archive');
    await until('a page', async () => (await ada.texts()).length >= 40);
    const marker = ada.page.locator('[data-key]').first();
    const key = (await marker.getAttribute('data-key'))!;
    const same = ada.page.locator(`[data-key="${key}"]`);
    const {messages} = await ada.history();
    await ada.scrollTo(30);
    const before = await same.boundingBox();
    await until('older ones', async () => (await ada.history()).messages > messages);
    const after = await same.boundingBox();
    expect(Math.abs(after!.y - before!.y)).toBeLessThan(2);
  });
});
