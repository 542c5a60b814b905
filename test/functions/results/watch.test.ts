/** POST …/functions/watch: the result of a query as any user, now and after each change, as server-sent events. */
import {beforeAll, expect, test} from 'vitest';
import {EventReader, type ServerEvent} from '../../harness/event-reader.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const NOTES = `
  import {internalQuery, mutation, query} from './_generated/server';
  import {v} from 'svc/values';
  export const add = mutation((ctx, {text}) => ctx.db.insert('notes', {text}));
  export const texts = internalQuery({
    args: {first: v.string()},
    handler: async (ctx, {first}) => {
      console.log('read');
      const user = await ctx.auth.getUserIdentity();
      const found = await ctx.db.query('notes').collect();
      if (found.some(({text}) => text === 'bad')) throw new Error('a bad note');
      return [first, user?.name ?? null, ...found.map(({text}) => text)];
    },
  });
  export const pages = query((ctx, {paginationOpts}) => ctx.db.query('notes').paginate(paginationOpts));`;

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, {'notes.ts': NOTES});
});

function watch(body: unknown, query = '', headers?: Record<string, string>): Promise<EventReader> {
  return EventReader.open(service, `/api/tenants/${app.tenant}/functions/watch${query}`, {
    method: 'POST',
    body,
    headers,
  });
}

const dataOf = (event: ServerEvent | null) => event!.data as Record<string, unknown>;

test('a query is sent as its user sees it, and again after each change of its result', async () => {
  const call = {path: 'notes:texts', args: {first: '!'}};
  const [ada, anonymous] = [await watch({...call, identity: {name: 'Ada'}}), await watch(call)];
  expect(ada.headers['content-type']).toBe('text/event-stream');
  const first = await ada.next();
  expect(dataOf(first)).toMatchObject({status: 'success', value: ['!', 'Ada'], because: {cause: 'added'}});
  expect(dataOf(first).logLines).toEqual([expect.stringContaining('read')]);
  expect(dataOf(await anonymous.next()).value).toEqual(['!', null]);

  const id = await app.mutation('notes:add', {text: 'one'});
  const changed = await ada.next();
  expect(dataOf(changed)).toMatchObject({value: ['!', 'Ada', 'one'], because: {cause: 'written', table: 'notes', id}});
  expect(Number(changed!.id)).toBeGreaterThan(Number(first!.id));
  expect(dataOf(await anonymous.next()).value).toEqual(['!', null, 'one']);

  await app.mutation('notes:add', {text: 'bad'});
  expect(dataOf(await ada.next())).toMatchObject({
    status: 'error',
    errorMessage: expect.stringContaining('a bad note'),
  });
  ada.close();
  anonymous.close();
  await until('the queries to be released', async () => {
    const {queries} = (await app.admin('GET', '/live-queries')).body as {queries: unknown[]};
    return queries.length === 0 || null;
  });
});

test('wrong arguments are an error of the query, and the stream ends after `limit` results', async () => {
  const wrong = await watch({path: 'notes:texts', args: {first: 1}}, '?limit=1');
  expect(dataOf(await wrong.next())).toMatchObject({
    status: 'error',
    errorMessage: expect.stringContaining('ArgumentValidationError'),
  });
  expect(await wrong.next()).toMatchObject({event: 'end', data: {error: null}});
});

test('what cannot be watched, and who may not, is refused before the stream begins', async () => {
  const refusal = async (reader: Promise<EventReader>) => {
    const {status} = await reader;
    (await reader).close();
    return status;
  };
  expect(await refusal(watch({path: 'notes:add'}))).toBe(400);
  expect(await refusal(watch({path: 'notes:none'}))).toBe(400);
  expect(await refusal(watch({path: 'notes:texts', identity: 7}))).toBe(400);
  expect(await refusal(watch({path: 'notes:texts'}, '?limits=1'))).toBe(400);
  const {secret} = (await service.post('/api/keys', {name: 'reader', scopes: ['data:read']})).body as {secret: string};
  expect(await refusal(watch({path: 'notes:texts'}, '', {authorization: `Bearer ${secret}`}))).toBe(403);
});
