import {beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {rounds} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const SCHEMA = `
  import {defineSchema, defineTable} from 'svc/server';
  import {v} from 'svc/values';
  export default defineSchema({
    messages: defineTable({channel: v.string(), text: v.string()}).index('by_channel', ['channel']).index('by_text', ['channel', 'text']),
    counters: defineTable({name: v.string(), n: v.number()}).index('by_name', ['name']),
  });`;
const CHAT = `
  import {v} from 'svc/values';
  import {action, mutation, query} from './_generated/server';
  export const list = query({args: {channel: v.string()}, handler: async (ctx, {channel}) =>
    (await ctx.db.query('messages').withIndex('by_channel', q => q.eq('channel', channel)).collect()).map(m => m.text)});
  export const count = query({args: {channel: v.string()}, handler: async (ctx, {channel}) =>
    (await ctx.db.query('messages').withIndex('by_channel', q => q.eq('channel', channel)).collect()).length});
  export const page = query({args: {channel: v.string(), paginationOpts: v.any()}, handler: async (ctx, {channel, paginationOpts}) => {
    const page = await ctx.db.query('messages').withIndex('by_text', q => q.eq('channel', channel)).paginate(paginationOpts);
    return {...page, page: page.page.map(m => m.text)};
  }});
  export const send = mutation({args: {channel: v.string(), text: v.string()}, handler: (ctx, message) => ctx.db.insert('messages', message)});
  export const remove = mutation({args: {channel: v.string(), text: v.string()}, handler: async (ctx, {channel, text}) => {
    for (const m of await ctx.db.query('messages').withIndex('by_channel', q => q.eq('channel', channel)).collect())
      if (m.text === text) await ctx.db.delete(m._id);
  }});
  export const one = query({args: {id: v.id('messages')}, handler: async (ctx, {id}) => (await ctx.db.get(id))?.text ?? null});
  export const nothing = mutation({args: {}, handler: () => 'nothing'});
  export const fails = mutation({args: {}, handler: async ctx => { await ctx.db.insert('messages', {channel: 'f', text: 'f'}); throw new Error('no'); }});
  export const numbers = query({args: {}, handler: () => [NaN, -0, Infinity]});
  export const now = query({args: {channel: v.string()}, handler: async (ctx, {channel}) =>
    ({at: Date.now(), n: (await ctx.db.query('messages').withIndex('by_channel', q => q.eq('channel', channel)).collect()).length})});
  export const throws = query({args: {channel: v.string()}, handler: async (ctx, {channel}) => {
    const all = await ctx.db.query('messages').withIndex('by_channel', q => q.eq('channel', channel)).collect();
    if (all.length < 2) throw new Error('too few: ' + (all.length > 5));
    return all.length;
  }});
  export const loops = query({args: {n: v.number()}, handler: () => { for (;;); }});
  export const greet = action({args: {name: v.string()}, handler: async (ctx, {name}) => { console.log('hi'); return 'Hello ' + name; }});`;

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, {'schema.ts': SCHEMA, 'chat.ts': CHAT});
});

let channels = 0;
const newChannel = () => `channel ${++channels}`;
async function connect(hello: object = {}): Promise<FunctionSocket> {
  const socket = await FunctionSocket.established(service, app.tenant, hello);
  onTestFinished(() => socket.close());
  return socket;
}
const send = (channel: string, text: string) => app.mutation('chat:send', {channel, text});

describe('a query', () => {
  test('whose argument is an id of no document, or of another table, is shown when the document comes', async () => {
    const socket = await connect();
    const query = await socket.query('chat:one', {id: 'my-own'});
    expect(socket.error(query)).toMatch(/ArgumentValidationError/);
    for (const text of ['first', 'second']) {
      await app.admin('PUT', '/documents/messages/my-own', {fields: {channel: 'own', text}});
      await socket.until(() => !('error' in socket.shown.get(query)!));
      expect(socket.value(query)).toBe(text);
      await app.admin('DELETE', '/documents/messages/my-own');
      await socket.until(() => 'error' in socket.shown.get(query)!);
      await app.admin('PUT', '/documents/counters/my-own', {fields: {name: 'own', n: 1}});
      await socket.until(() => socket.error(query).includes("from table 'counters'"));
      await app.admin('DELETE', '/documents/counters/my-own');
    }
  });

  test('is shown, and shown again when what it read is written, by whomever', async () => {
    const channel = newChannel();
    const socket = await connect();
    const list = await socket.query('chat:list', {channel});
    expect(socket.value(list)).toEqual([]);
    await send(channel, 'over HTTP');
    await socket.until(() => JSON.stringify(socket.value(list)) === '["over HTTP"]');
  });

  test('[40] that read another stretch of the index is not sent again', async () => {
    const [a, b] = [newChannel(), newChannel()];
    const socket = await connect();
    const list = await socket.query('chat:list', {channel: a});
    const before = socket.transitions.length;
    await send(b, 'elsewhere');
    await send(b, 'elsewhere');
    await socket.mutation('chat:nothing');
    await send(a, 'here');
    await socket.until(() => JSON.stringify(socket.value(list)) === '["here"]');
    const shown = socket.transitions.slice(before).flatMap(({changes}) => changes);
    expect(shown).toHaveLength(1);
  });

  test('that comes out equal is not sent', async () => {
    const channel = newChannel();
    const socket = await connect();
    const count = await socket.query('chat:count', {channel});
    await socket.mutation('chat:send', {channel, text: 'one'});
    await socket.mutation('chat:send', {channel, text: 'two'});
    const before = socket.transitions.length;
    await app.mutation('chat:remove', {channel, text: 'none of these'});
    await socket.mutation('chat:remove', {channel, text: 'one'});
    await socket.mutation('chat:send', {channel, text: 'three'});
    expect(socket.value(count)).toBe(2);
    const values = socket.transitions.slice(before).flatMap(({changes}) => changes);
    expect(values.length).toBeLessThanOrEqual(2);
  });

  test('[7] shows numbers that JSON has not', async () => {
    const socket = await connect();
    const numbers = await socket.query('chat:numbers');
    expect(JSON.stringify(socket.value(numbers))).toBe(
      '[{"$float":"AAAAAAAA+H8="},{"$float":"AAAAAAAAAIA="},{"$float":"AAAAAAAA8H8="}]',
    );
  });

  test('that throws has an error for a result, which is sent once, and shown no more when it does not throw', async () => {
    const channel = newChannel();
    const socket = await connect();
    const query = await socket.query('chat:throws', {channel});
    expect(socket.error(query)).toContain('too few: false');
    const before = socket.transitions.flatMap(({changes}) => changes).length;
    await socket.mutation('chat:send', {channel, text: 'one'});
    expect(socket.transitions.flatMap(({changes}) => changes)).toHaveLength(before);
    await socket.mutation('chat:send', {channel, text: 'two'});
    expect(socket.value(query)).toBe(2);
  });

  test.each([
    ['a function that is not there', 'chat:none', {}, "Could not find public function for 'chat:none'"],
    ['a mutation', 'chat:send', {}, 'Trying to execute chat:send as Query, but it is defined as Mutation.'],
    ['arguments that do not fit', 'chat:list', {channel: 1}, 'ArgumentValidationError'],
  ])('of %s has an error for a result', async (_, path, args, error) => {
    const socket = await connect();
    expect(socket.error(await socket.query(path, args))).toContain(error);
  });

  test('that looked at the clock stands until what it read is written', async () => {
    const channel = newChannel();
    const socket = await connect();
    const query = await socket.query('chat:now', {channel});
    const before = socket.value(query);
    await socket.mutation('chat:nothing');
    expect(socket.value(query)).toBe(before);
    await socket.mutation('chat:send', {channel, text: 'one'});
    expect(socket.value(query)).toMatchObject({n: 1});
  });

  test('that loops holds up nobody else', async () => {
    const channel = newChannel();
    const [one, other] = [await connect(), await connect()];
    const loops = one.queries([
      {path: 'chat:loops', args: {n: 1}},
      ...rounds({commit: [], nightly: [{path: 'chat:loops', args: {n: 2}}]}),
    ]);
    const list = await other.query('chat:list', {channel});
    await other.mutation('chat:send', {channel, text: 'meanwhile'});
    expect(other.value(list)).toEqual(['meanwhile']);
    expect(one.shown.size).toBe(0);
    await one.until(() => loops.every(id => one.shown.has(id)));
    expect(one.error(loops[0]!)).toContain('timed out');
  });

  test('that is removed is not shown any more, and may be added again', async () => {
    const channel = newChannel();
    const socket = await connect();
    const first = await socket.query('chat:list', {channel});
    const [second] = socket.queries([{path: 'chat:list', args: {channel}}], [first]);
    await socket.until(() => socket.shown.has(second!));
    await socket.mutation('chat:send', {channel, text: 'x'});
    expect(socket.value(second!)).toEqual(['x']);
    expect(socket.transitions.at(-1)!.changes.map(({query_id}) => query_id)).toEqual([second]);
  });
});

describe('all queries of a client', () => {
  test('[57] are of one moment, however often what they read changes', async () => {
    const channel = newChannel();
    const [socket, writer] = [await connect(), await connect()];
    const [list, count] = socket.queries([
      {path: 'chat:list', args: {channel}},
      {path: 'chat:count', args: {channel}},
    ]);
    const torn: unknown[] = [];
    socket.onState = shown => {
      if (!shown.has(list!)) return;
      if ((socket.value(list!) as string[]).length !== socket.value(count!)) torn.push([...shown]);
    };
    for (let n = 0; n < 100; n++) writer.sendMutation('chat:send', {channel, text: String(n)});
    await socket.until(() => socket.shown.has(count!) && socket.value(count!) === 100);
    expect(torn).toEqual([]);
  });

  test('of several sockets that show the same are sent the same, and each is moved on', async () => {
    const channel = newChannel();
    const sockets = await Promise.all(Array.from({length: 20}, () => connect()));
    const ids = await Promise.all(sockets.map(socket => socket.query('chat:list', {channel})));
    await sockets[0]!.mutation('chat:send', {channel, text: 'to all'});
    await Promise.all(sockets.map((socket, i) => socket.until(() => (socket.value(ids[i]!) as string[]).length === 1)));
  });
});

describe('a mutation', () => {
  test('is answered with a moment that its queries are moved to', async () => {
    const channel = newChannel();
    const socket = await connect();
    const list = await socket.query('chat:list', {channel});
    await socket.mutation('chat:send', {channel, text: 'mine'});
    expect(socket.value(list)).toEqual(['mine']);
  });

  test('that wrote nothing, or nothing that is watched, is shown all the same', async () => {
    const socket = await connect();
    expect(await socket.mutation('chat:nothing')).toBe('nothing');
    await socket.mutation('chat:send', {channel: newChannel(), text: 'unwatched'});
  });

  test('that fails says why, and has left nothing', async () => {
    const socket = await connect();
    const list = await socket.query('chat:list', {channel: 'f'});
    await expect(socket.mutation('chat:fails')).rejects.toThrow('Uncaught Error: no');
    expect(socket.value(list)).toEqual([]);
  });

  test('runs after the one before', async () => {
    const channel = newChannel();
    const socket = await connect();
    const sent = Array.from({length: 20}, (_, n) => socket.sendMutation('chat:send', {channel, text: String(n)}));
    const results = await Promise.all(sent.map(id => socket.result(id)));
    const moments = results.map(result => ('ts' in result ? result.ts : 0));
    expect(moments).toEqual([...moments].sort((a, b) => a - b));
    expect(await app.query('chat:list', {channel})).toEqual(sent.map((_, n) => String(n)));
  });
});

test('an action is answered, with the lines that it wrote', async () => {
  const socket = await connect();
  expect(await socket.action('chat:greet', {name: 'Ada'})).toMatchObject({
    type: 'action_result',
    ok: true,
    value: 'Hello Ada',
    log_lines: ["[LOG] 'hi'"],
  });
});

describe('a page that is held', () => {
  const options = (cursor: string | null = null, numItems = 2) => ({numItems, cursor});
  type Page = {page: string[]; continueCursor: string; isDone: boolean};

  test('[38] grows and shrinks between its ends, and the next never repeats or loses what is on it', async () => {
    const channel = newChannel();
    const socket = await connect();
    for (const text of ['1', '2', '3']) await socket.mutation('chat:send', {channel, text});
    const first = await socket.query('chat:page', {channel, paginationOpts: options()});
    const page = (id: number) => socket.value(id) as Page;
    expect(page(first).page).toEqual(['1', '2']);
    const second = await socket.query('chat:page', {channel, paginationOpts: options(page(first).continueCursor)});
    expect(page(second).page).toEqual(['3']);
    await socket.mutation('chat:remove', {channel, text: '2'});
    expect([page(first).page, page(second).page]).toEqual([['1'], ['3']]);
    await socket.mutation('chat:send', {channel, text: '1½'});
    expect([page(first).page, page(second).page]).toEqual([['1', '1½'], ['3']]);
    await socket.mutation('chat:send', {channel, text: '4'});
    expect([page(first).page, page(second).page]).toEqual([
      ['1', '1½'],
      ['3', '4'],
    ]);
  });

  test('[39] of an empty table shows all that comes', async () => {
    const channel = newChannel();
    const socket = await connect();
    const page = await socket.query('chat:page', {channel, paginationOpts: options(null, 1)});
    await socket.mutation('chat:send', {channel, text: '1'});
    await socket.mutation('chat:send', {channel, text: '2'});
    expect((socket.value(page) as Page).page).toEqual(['1', '2']);
  });

  test('keeps its ends on another socket, by its journal', async () => {
    const channel = newChannel();
    const socket = await connect();
    const args = {channel, paginationOpts: options(null, 1)};
    const page = await socket.query('chat:page', args);
    await socket.mutation('chat:send', {channel, text: '1'});
    await socket.mutation('chat:send', {channel, text: '2'});
    const next = await connect();
    const [again, anew] = next.queries([
      {path: 'chat:page', args, ...socket.known(page)},
      {path: 'chat:page', args},
    ]);
    await next.until(() => next.shown.has(anew!));
    expect(next.transitions[0]!.changes.find(({query_id}) => query_id === again)).toMatchObject({unchanged: true});
    expect((next.value(anew!) as Page).page).toEqual(['1']);
  });
});
