/** The list of live queries: what each has cost, and the writes that made it run. */
import {expect, onTestFinished, test} from 'vitest';
import type {FoundLiveQuery, LiveQueryPage} from '../../shared/protocol/live-list.ts';
import {App} from '../functions/app.ts';
import {EventReader} from '../harness/event-reader.ts';
import {FunctionSocket} from '../harness/function-socket.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Socket} from '../harness/socket.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();

async function follow(app: App, query: object): Promise<EventReader> {
  const reader = await EventReader.open(service, `/api/tenants/${app.tenant}/query/stream`, {
    method: 'POST',
    body: query,
  });
  onTestFinished(() => reader.close());
  await reader.take(1);
  return reader;
}

async function insert(app: App, fields: object): Promise<string> {
  return ((await app.admin('POST', '/documents', {table: 'cities', fields})).body as {id: string}).id;
}

async function list(app: App, query = ''): Promise<LiveQueryPage> {
  return (await app.admin('GET', `/live-queries${query}`)).body as LiveQueryPage;
}

async function find(app: App, id: string): Promise<FoundLiveQuery> {
  return (await app.admin('GET', `/live-queries/${id}`)).body as FoundLiveQuery;
}

const equal = (field: string, value: unknown) => ({field, op: 'eq', value});

test('has a native query with its evaluations, their writes and the key ranges that these hit', async () => {
  const app = await App.empty(service);
  await insert(app, {country: 'CH', n: 1});
  const large = {field: 'name', op: 'neq', value: 'Bern'};
  const swiss = {table: 'cities', filters: [equal('country', 'CH'), {field: 'n', op: 'gte', value: 5}, large]};
  const reader = await follow(app, swiss);
  const id = await insert(app, {country: 'CH', n: 7, name: 'Basel'});
  await reader.take(1);
  await insert(app, {country: 'CH', n: 8, name: 'Bern'});
  await insert(app, {country: 'NO', n: 9});

  const {queries, total, next_cursor: next} = await list(app);
  expect([queries.length, total, next]).toEqual([1, 1, null]);
  expect(queries[0]).toMatchObject({
    type: 'query',
    query: swiss,
    function: null,
    holders: 1,
    current: true,
    evaluations: {changed: 2, equal: 0, unmatched: 1, skipped: 1},
  });
  expect(queries[0]!.result_bytes).toBeGreaterThan(50);
  const {recent} = await find(app, queries[0]!.id);
  const hit = {cause: 'written', table: 'cities', index: null, range: 'country = "CH" and n >= 5'};
  expect(recent).toMatchObject([
    {...hit, result: 'unmatched', sequence: 3},
    {...hit, result: 'changed', sequence: 2, document: id},
    {cause: 'added', result: 'changed', sequence: null, range: null},
  ]);
});

test('counts the subscriptions of clients: those of one socket, of others, and of event streams', async () => {
  const app = await App.empty(service);
  const query = {table: 'cities', filters: []};
  await follow(app, query);
  const sockets = await Promise.all([1, 2].map(() => Socket.established(service, app.tenant)));
  onTestFinished(() => {
    for (const socket of sockets) socket.close();
  });
  const subscriptions: number[] = [];
  for (const socket of [sockets[0]!, sockets[0]!, sockets[1]!]) {
    socket.send({type: 'subscribe', request_id: 'r', query});
    subscriptions.push((await socket.next()).subscription_id!);
  }
  const [listed] = (await list(app)).queries;
  expect(listed).toMatchObject({type: 'query', kind: null, holders: 4, identities: null});
  expect((await find(app, listed!.id)).query.holders).toBe(4);

  sockets[0]!.send({type: 'unsubscribe', subscription_id: subscriptions[0]});
  sockets[1]!.close();
  await until('two to be left', async () => (await list(app)).queries[0]!.holders === 2 || null);
});

test('has the query of a function, with its arguments', async () => {
  const app = await App.deploy(service, {
    'schema.ts': `
      import {defineSchema, defineTable} from 'svc/server';
      import {v} from 'svc/values';
      export default defineSchema({cities: defineTable({country: v.string()}).index('by_country', ['country'])});`,
    'cities.ts': `
      import {query} from './_generated/server';
      export const number = query(async (ctx, {country}) =>
        (await ctx.db.query('cities').withIndex('by_country', q => q.eq('country', country)).collect()).length);`,
  });
  const sockets = await Promise.all([1, 2].map(() => FunctionSocket.established(service, app.tenant)));
  const shown = sockets.map(socket => ({
    socket,
    id: socket.queries([{path: 'cities:number', args: {country: 'CH'}}])[0]!,
  }));
  onTestFinished(() => {
    for (const socket of sockets) socket.close();
  });
  const see = (number: number) =>
    Promise.all(shown.map(({socket, id}) => socket.until(() => socket.shown.has(id) && socket.value(id) === number)));
  await see(0);
  const id = await insert(app, {country: 'CH'});
  await see(1);
  await insert(app, {country: 'NO'});

  const {queries} = await list(app);
  expect(queries).toMatchObject([{type: 'function', function: 'cities:number', args: {country: 'CH'}, holders: 2}]);
  expect(queries[0]).toMatchObject({kind: 'query', identities: null});
  expect(queries[0]!.evaluations).toEqual({changed: 2, equal: 0, unmatched: 0, skipped: 1});
  const {recent} = await find(app, queries[0]!.id);
  expect(recent).toMatchObject([
    {result: 'changed', cause: 'written', document: id, index: 'by_country', range: 'country = "CH"'},
    {result: 'changed', cause: 'added'},
  ]);
  const {records} = (await app.admin('GET', `/journal?after=${recent[0]!.sequence! - 1}&limit=1`)).body as {
    records: {writes: {id: string}[]}[];
  };
  expect(records[0]!.writes[0]!.id).toBe(id);
});

test('comes in pages, the most expensive query first', async () => {
  const app = await App.empty(service);
  for (const n of [1, 2, 3, 4, 5]) await follow(app, {table: 'cities', filters: [equal('n', n)]});
  const all = (await list(app)).queries;
  expect(all.map(({time_ms: ms}) => ms)).toEqual(all.map(({time_ms: ms}) => ms).sort((a, b) => b - a));
  const ids: string[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page: LiveQueryPage = await list(app, `?limit=2${after === '' ? '' : `&after=${after}`}`);
    expect(page.total).toBe(5);
    ids.push(...page.queries.map(({id}) => id));
    after = page.next_cursor ?? null;
  }
  expect(ids).toEqual(all.map(({id}) => id));
});
