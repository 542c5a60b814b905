/** docs/function-socket.md: the messages that it shows are an exchange, and a service answers in the same words. */
import {readFileSync} from 'node:fs';
import {beforeAll, expect, test} from 'vitest';
import type {ServerMessage} from '../../shared/protocol/function-socket/server-message.ts';
import {App} from '../functions/app.ts';
import {FunctionSocket} from '../harness/function-socket.ts';
import {sharedService} from '../harness/shared-service.ts';

const CHAT = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const list = query({args: {channel: v.string()}, handler: async (ctx, {channel}) =>
    (await ctx.db.query('messages' as never).collect() as any[]).filter(message => message.channel === channel)});
  export const send = mutation({args: {channel: v.string(), text: v.string()}, handler: (ctx, message) =>
    ctx.db.insert('messages' as never, message as never)});`;

type Hello = Extract<ServerMessage, {type: 'hello'}>;
type Shown = Record<string, unknown> & {type: string};

/** All messages of the page, in their order. One may take several lines. */
function shown(): Shown[] {
  const page = readFileSync(new URL('../../docs/function-socket.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => text!);
  return blocks.flatMap(text => text.split(/\n(?=\{)/).map(message => JSON.parse(message) as Shown));
}

const CLIENT = new Set(['client_hello', 'query_set', 'mutation', 'action', 'authenticate', 'clear_auth']);
/** What is another one each time. */
const OWN = new Set(['version', 'build', 'id', 'serverNow', 'timeline', 'ts']);

/** The same for messages that say the same: what is another one each time is its type, and a text that the page cuts with `…` as well. */
function words(message: unknown, like: unknown): unknown {
  if (typeof like === 'string' && like.includes('…')) return typeof message;
  if (typeof message !== 'object' || message === null) return message;
  if (Array.isArray(message)) return message.map((one, i) => words(one, (like as unknown[] | undefined)?.[i]));
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => {
      const its = (like as Record<string, unknown> | undefined)?.[name];
      return [name, OWN.has(name) && name in Object(like) ? typeof value : words(value, its)];
    }),
  );
}

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, {'chat.ts': CHAT});
});

test('its messages, said by a client, are answered as it shows', async () => {
  const socket = await FunctionSocket.open(service, app.tenant);
  const asked = shown();
  expect(asked.map(({type}) => type)).toEqual([
    'hello',
    'client_hello',
    'query_set',
    'transition',
    'mutation',
    'mutation_result',
    'hello',
    'client_hello',
  ]);
  const [further, answer] = asked.splice(-2) as [Shown, Shown];
  for (const like of asked) {
    if (CLIENT.has(like.type)) {
      socket.send(like);
      continue;
    }
    const message = await socket.message(like.type as 'hello');
    expect(words(message, like)).toEqual(words(like, like));
  }
  process.kill(await service.workerOf(app.tenant), 'SIGKILL');
  await socket.until(() => socket.messages.at(-1)?.type === 'hello');
  const again = socket.messages.at(-1) as Hello;
  expect(words(again, further)).toEqual(words(further, further));
  socket.send({...answer, session: again.session.id});
  const query = asked.find(({type}) => type === 'query_set')!;
  const moves = () => socket.messages.filter(({type}) => type === 'transition').length;
  const before = moves();
  socket.version = {query_set: 0, identity: 0, ts: 0};
  socket.send(query);
  await socket.until(() => moves() > before);
  socket.close();
});
