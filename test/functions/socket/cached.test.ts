/** A socket that holds a query which was called a moment ago: it is given the result that is kept, and watches what that read. */
import {expect, onTestFinished, test} from 'vitest';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const NOTES = `
  import {mutation, query} from './_generated/server';
  export const add = mutation((ctx, {text}) => ctx.db.insert('notes', {text}));
  export const list = query(async ctx => (await ctx.db.query('notes').collect()).map(note => note.text));
  export const page = query(async (ctx, {paginationOpts}) => {
    const {page} = await ctx.db.query('notes').order('desc').paginate(paginationOpts);
    return page.map(note => note.text);
  });
  export const now = query(async ctx => [Date.now() > 0, (await ctx.db.query('notes').collect()).length]);`;

const service = await sharedService();

async function counted(): Promise<{runs: number; hits: number}> {
  const {text} = await service.get('/metrics');
  const sum = (series: RegExp) => [...text.matchAll(series)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    runs: sum(/^svc_function_live_runs_total\{[^}]*\} (\d+)$/gm),
    hits: sum(/^svc_function_results_total\{how="hit"\} (\d+)$/gm),
  };
}

async function connect(app: App): Promise<FunctionSocket> {
  const socket = await FunctionSocket.established(service, app.tenant);
  onTestFinished(() => socket.close());
  return socket;
}

async function newApp(): Promise<App> {
  service.showLogOnFailure();
  const app = await App.deploy(service, {'notes.ts': NOTES});
  await app.mutation('notes:add', {text: 'first'});
  return app;
}

test('its first result takes no run, and it is shown what is written afterwards', async () => {
  const app = await newApp();
  await app.query('notes:list', {});
  const before = await counted();
  const socket = await connect(app);
  const [list] = socket.queries([{path: 'notes:list'}]);
  await socket.until(() => socket.shown.has(list!));
  expect(socket.value(list!)).toEqual(['first']);
  expect(await counted()).toEqual({runs: before.runs, hits: before.hits + 1});
  await app.mutation('notes:add', {text: 'second'});
  await socket.until(() => (socket.value(list!) as string[]).length === 2);
  expect(await counted()).toEqual({runs: before.runs + 1, hits: before.hits + 1});
  const cached = (await app.logs()).filter(({path}) => path === 'notes:list');
  expect(cached.map(({request_id}) => request_id.startsWith('live-'))).toEqual([false, true, true]);
});

test('a kept page stays the page that it was when something is written before its end', async () => {
  const app = await newApp();
  const args = {paginationOpts: {numItems: 1, cursor: null}};
  await app.query('notes:page', args);
  const before = await counted();
  const socket = await connect(app);
  const [page] = socket.queries([{path: 'notes:page', args}]);
  await socket.until(() => socket.shown.has(page!));
  expect(await counted()).toEqual({runs: before.runs, hits: before.hits + 1});
  await app.mutation('notes:add', {text: 'second'});
  await socket.until(() => (socket.value(page!) as string[]).length === 2);
  expect(socket.value(page!)).toEqual(['second', 'first']);
});

test('one that looked at the time is run: calls have their own', async () => {
  const app = await newApp();
  await app.query('notes:now', {});
  const before = await counted();
  const socket = await connect(app);
  const [now] = socket.queries([{path: 'notes:now'}]);
  await socket.until(() => socket.shown.has(now!));
  expect(await counted()).toEqual({runs: before.runs + 1, hits: before.hits});
});
