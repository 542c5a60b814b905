// @vitest-environment happy-dom
/** What apps would copy otherwise: parts of pages by sign-in, items put into lists in pages, queries asked for early. */
import {expect, onTestFinished, test, vi} from 'vitest';
import {
  Authenticated,
  AuthLoading,
  insertAtBottomIfLoaded,
  insertAtPosition,
  insertAtTop,
  type OptimisticLocalStore,
  optimisticallyUpdateValueInPaginatedQuery,
  SvcProviderWithAuth,
  SvcReactClient,
  Unauthenticated,
} from '../../sdk/react/index.ts';
import {makeFunctionReference, type PaginationResult} from '../../sdk/server/index.ts';
import {ScriptedServer, settled} from '../client/scripted-server.ts';
import {h, Page} from './page.ts';

type Item = {key: number};
type Args = {list: string; paginationOpts: {cursor: string | null; numItems: number; id: number}};
const list = makeFunctionReference<'paginatedQuery', Args, PaginationResult<Item>>('items:list');

type Loaded = {args: Args; value: PaginationResult<Item> | undefined};

/** A list of three pages by key: 10 20 | 30 40 | 50 60, each with its end; the last is the end of the list. */
function store(
  of = 'mine',
  isDone = true,
  sign = 1,
): {local: OptimisticLocalStore; keys: () => (number[] | undefined)[]} {
  const page = (cursor: string | null, end: string, keys: number[], isLast = false): Loaded => ({
    args: {list: of, paginationOpts: {cursor, numItems: 2, id: 1}},
    value: {page: keys.map(key => ({key: sign * key})), isDone: isLast, continueCursor: end} as PaginationResult<Item>,
  });
  const pages = [page('b', 'c', [50, 60], isDone), page(null, 'a', [10, 20]), page('a', 'b', [30, 40])];
  pages.push({args: {list: of, paginationOpts: {cursor: 'x', numItems: 2, id: 1}}, value: undefined});
  const local = {
    getAllQueries: () => pages,
    setQuery: (_: unknown, args: Args, value: PaginationResult<Item>) => {
      pages.find(one => one.args === args)!.value = value;
    },
  } as unknown as OptimisticLocalStore;
  const order = [1, 2, 0];
  return {local, keys: () => order.map(i => pages[i]!.value?.page.map(({key}) => key))};
}

const inserted = (localQueryStore: OptimisticLocalStore, key: number, argsToMatch?: {list: string}) => ({
  paginatedQuery: list,
  localQueryStore,
  item: {key},
  argsToMatch,
});
const WHOLE = [
  [10, 20],
  [30, 40],
  [50, 60],
];

test('an item is put at the top, and at the bottom if that is there', () => {
  const {local, keys} = store();
  insertAtTop(inserted(local, 1));
  insertAtBottomIfLoaded(inserted(local, 99));
  expect(keys()).toEqual([
    [1, 10, 20],
    [30, 40],
    [50, 60, 99],
  ]);
  const more = store('mine', false);
  insertAtBottomIfLoaded(inserted(more.local, 99));
  insertAtTop(inserted(more.local, 1, {list: 'another'}));
  expect(more.keys()).toEqual(WHOLE);
});

test.each([
  [
    5,
    [
      [5, 10, 20],
      [30, 40],
      [50, 60],
    ],
  ],
  [
    15,
    [
      [10, 15, 20],
      [30, 40],
      [50, 60],
    ],
  ],
  [
    25,
    [
      [10, 20, 25],
      [30, 40],
      [50, 60],
    ],
  ],
  [
    30,
    [
      [10, 20],
      [30, 30, 40],
      [50, 60],
    ],
  ],
  [
    45,
    [
      [10, 20],
      [30, 40, 45],
      [50, 60],
    ],
  ],
  [
    70,
    [
      [10, 20],
      [30, 40],
      [50, 60, 70],
    ],
  ],
])('%i is put where it belongs, in both orders', (key, wanted) => {
  for (const [sortOrder, sign] of [
    ['asc', 1],
    ['desc', -1],
  ] as const) {
    const {local, keys} = store('mine', true, sign);
    insertAtPosition({...inserted(local, sign * key, {list: 'mine'}), sortOrder, sortKeyFromItem: item => [item.key]});
    expect(keys()).toEqual(wanted.map(page => page.map(one => sign * one)));
  }
});

test('what belongs behind the last page that is there is not shown', () => {
  const {local, keys} = store('mine', false);
  insertAtPosition({...inserted(local, 70), sortOrder: 'asc', sortKeyFromItem: ({key}) => key});
  expect(keys()).toEqual(WHOLE);
});

test('items of lists with the same arguments are replaced', () => {
  const {local, keys} = store();
  const update = (of: string) =>
    optimisticallyUpdateValueInPaginatedQuery(local, list, {list: of}, item => ({
      key: item.key === 30 ? 31 : item.key,
    }));
  update('another');
  expect(keys()).toEqual(WHOLE);
  update('mine');
  expect(keys()).toEqual([
    [10, 20],
    [31, 40],
    [50, 60],
  ]);
});

test('parts of a page by sign-in', async () => {
  const server = new ScriptedServer();
  const client = new SvcReactClient('https://svc.example/svc/acme', {
    webSocketConstructor: server.WebSocket,
    logger: false,
  });
  onTestFinished(() => client.close());
  const shownFor = async (isLoading: boolean) => {
    const useAuth = () => ({isLoading, isAuthenticated: false, fetchAccessToken: async () => null});
    const tree = h(
      SvcProviderWithAuth,
      {client, useAuth},
      h(Authenticated, null, 'in'),
      h(Unauthenticated, null, 'out'),
      h(AuthLoading, null, 'loading'),
    );
    return (await Page.open(tree)).text;
  };
  expect([await shownFor(true), await shownFor(false)]).toEqual(['loading', 'out']);
});

test('a query is asked for early, for a while', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  onTestFinished(() => void vi.useRealTimers());
  const server = new ScriptedServer();
  const client = new SvcReactClient('https://svc.example/svc/acme', {
    webSocketConstructor: server.WebSocket,
    logger: false,
  });
  onTestFinished(() => void client.close());
  client.prewarmQuery({query: makeFunctionReference<'query', {n: number}>('rows:get'), args: {n: 1}});
  await settled();
  const socket = server.open().hello();
  expect(socket.queries.size).toBe(1);
  vi.advanceTimersByTime(5_000);
  await settled();
  expect(socket.queries.size).toBe(0);
});
