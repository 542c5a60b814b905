/** The hooks beside a really started service. The page is one of happy-dom, the WebSocket that of Node. */
import './dom.ts';
import fc from 'fast-check';
import {useLayoutEffect} from 'react';
import {beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {preloadQuery, SvcHttpClient} from '../../sdk/browser/index.ts';
import {
  SvcReactClient,
  type UsePaginatedQueryResult,
  usePaginatedQuery,
  usePreloadedQuery,
  useQuery,
} from '../../sdk/react/index.ts';
import {makeFunctionReference, type PaginationResult} from '../../sdk/server/index.ts';
import {App} from '../functions/app.ts';
import {rounds} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {acted, Page, within} from './page.ts';
import {type Command, NaiveList, type PagedListDriver, runBeside} from './paged-list.ts';

const FILES = {
  'schema.ts': `
    import {defineSchema, defineTable} from 'svc/server';
    import {v} from 'svc/values';
    export default defineSchema({
      items: defineTable({list: v.string(), key: v.number()}).index('by_list_key', ['list', 'key']),
      accounts: defineTable({name: v.string(), balance: v.number()}),
    });`,
  'items.ts': `
    import {v} from 'svc/values';
    import {mutation, paginatedQuery, query} from './_generated/server';
    export const list = paginatedQuery({args: {list: v.string()}, handler: (ctx, {list, paginationOpts}) =>
      ctx.db.query('items').withIndex('by_list_key', q => q.eq('list', list)).paginate(paginationOpts)});
    export const fill = mutation({args: {list: v.string(), keys: v.array(v.number())}, handler: async (ctx, {list, keys}) => {
      for (const key of keys) await ctx.db.insert('items', {list, key});
    }});
    export const toggle = mutation({args: {list: v.string(), key: v.number()}, handler: async (ctx, {list, key}) => {
      // A key that comes back is the same document: a new one with the key at a page's end would stand after that end.
      const hidden = list + ' hidden';
      const at = list => ctx.db.query('items').withIndex('by_list_key', q => q.eq('list', list).eq('key', key)).first();
      const [shown, gone] = [await at(list), await at(hidden)];
      if (shown !== null) await ctx.db.patch(shown._id, {list: hidden});
      else if (gone !== null) await ctx.db.patch(gone._id, {list});
      else await ctx.db.insert('items', {list, key});
    }});
    export const plain = query({args: {list: v.string()}, handler: async (ctx, {list}) =>
      (await ctx.db.query('items').withIndex('by_list_key', q => q.eq('list', list)).collect()).length});`,
  'accounts.ts': `
    import {v} from 'svc/values';
    import {mutation, query} from './_generated/server';
    export const open = mutation({args: {}, handler: async ctx => {
      for (const name of ['a', 'b']) await ctx.db.insert('accounts', {name, balance: 50});
    }});
    const balance = async (ctx, name) => (await ctx.db.query('accounts').filter(q => q.eq(q.field('name'), name)).unique())?.balance ?? 0;
    export const a = query({args: {}, handler: ctx => balance(ctx, 'a')});
    export const b = query({args: {}, handler: ctx => balance(ctx, 'b')});
    export const move = mutation({args: {amount: v.number()}, handler: async (ctx, {amount}) => {
      for (const account of await ctx.db.query('accounts').collect()) {
        await ctx.db.patch(account._id, {balance: account.balance + (account.name === 'a' ? -amount : amount)});
      }
    }});`,
};

type Item = {key: number};
type Shown = UsePaginatedQueryResult<Item>;
const items = makeFunctionReference<'paginatedQuery', {list: string; paginationOpts: object}, PaginationResult<Item>>(
  'items:list',
);
const plain = makeFunctionReference<'query', {list: string}, number>('items:plain');
const toggle = makeFunctionReference<'mutation', {list: string; key: number}, null>('items:toggle');
const fill = makeFunctionReference<'mutation', {list: string; keys: number[]}, null>('items:fill');
const move = makeFunctionReference<'mutation', {amount: number}, null>('accounts:move');
const openAccounts = makeFunctionReference<'mutation', Record<string, never>, null>('accounts:open');
const a = makeFunctionReference<'query', Record<string, never>, number>('accounts:a');
const b = makeFunctionReference<'query', Record<string, never>, number>('accounts:b');

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

/** Sockets that a test can cut: the client does not know of it beforehand. */
const sockets = new Set<WebSocket>();
class CuttableSocket extends WebSocket {
  constructor(url: string | URL, protocols?: string | string[]) {
    super(url, protocols);
    sockets.add(this);
    this.addEventListener('close', () => sockets.delete(this));
  }
}

/** What the server sends waits while the test says so. */
class SlowSocket extends CuttableSocket {
  static waiting: (() => void)[] | null = null;

  static release(): void {
    const waiting = SlowSocket.waiting ?? [];
    SlowSocket.waiting = null;
    for (const deliver of waiting) deliver();
  }

  override set onmessage(listener: ((event: MessageEvent) => void) | null) {
    super.onmessage = event => {
      if (SlowSocket.waiting === null) listener?.(event);
      else SlowSocket.waiting.push(() => listener?.(event));
    };
  }
}

function connect(webSocketConstructor: typeof CuttableSocket = CuttableSocket): SvcReactClient {
  const url = `${service.url}/svc/${app.tenant}`;
  const client = new SvcReactClient(url, {webSocketConstructor, logger: false});
  onTestFinished(() => client.close());
  return client;
}

let lists = 0;
async function driverOf(client: SvcReactClient, keys: number[], initialNumItems: number): Promise<PagedListDriver> {
  const list = `list ${++lists}`;
  await client.mutation(fill, {list, keys});
  let now: Shown | undefined;
  let frames: number[][] = [];
  let changed: () => void = () => {};
  const keysOf = ({results}: Shown) => results.map(({key}) => key);
  const List = () => {
    const shown = usePaginatedQuery(items, {list}, {initialNumItems});
    useLayoutEffect(() => {
      now = shown;
      if (shown.status !== 'LoadingFirstPage') frames.push(keysOf(shown));
      changed();
    });
    return null;
  };
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await new Promise<void>(resolve => (changed = resolve));
  };
  const isThere = () => now !== undefined && !now.isLoading;
  const page = await Page.open(within(client, List));
  await until(isThere);
  frames = [];
  return {
    toggle: async key => void (await client.mutation(toggle, {list, key})),
    loadMore: async numItems => {
      const before = now!;
      before.loadMore(numItems);
      if (before.status === 'CanLoadMore') await until(() => now !== before);
      await until(isThere);
    },
    cut: async () => {
      const {connectionCount} = client.connectionState();
      for (const socket of sockets) socket.close();
      await connectedAfter(client, connectionCount);
    },
    shown: () => ({keys: keysOf(now!), status: now!.status}),
    frames: () => frames.splice(0),
    close: () => page.close(),
  };
}

function connectedAfter(client: SvcReactClient, count: number): Promise<void> {
  return new Promise(resolve => {
    const end = client.subscribeToConnectionState(({connectionCount, isWebSocketConnected}) => {
      if (connectionCount <= count || !isWebSocketConnected) return;
      end();
      resolve();
    });
  });
}

const COMMANDS = fc.array(
  fc.oneof(
    {weight: 12, arbitrary: fc.record({toggle: fc.integer({min: 0, max: 40})})},
    {weight: 5, arbitrary: fc.record({loadMore: fc.integer({min: 1, max: 6})})},
    {weight: 1, arbitrary: fc.constant('cut')},
  ) as fc.Arbitrary<Command>,
  {maxLength: 30},
);
const KEYS = fc.uniqueArray(fc.integer({min: 0, max: 40}), {maxLength: 25});

describe('usePaginatedQuery', () => {
  test('shows what a model does, in every frame, through inserts, deletes and lost connections', async () => {
    service.showLogOnFailure();
    const client = connect();
    await fc.assert(
      fc.asyncProperty(KEYS, fc.integer({min: 1, max: 6}), COMMANDS, async (keys, initialNumItems, commands) => {
        const driver = await driverOf(client, keys, initialNumItems);
        try {
          await runBeside(driver, new NaiveList(keys, initialNumItems), commands);
        } finally {
          await driver.close();
        }
      }),
      {numRuns: rounds({commit: 5, nightly: 20}), interruptAfterTimeLimit: 45_000},
    );
  });

  test('of a plain query fails by name, and useQuery of a paginated one', async () => {
    const client = connect();
    const failures: string[] = [];
    const watch = client.watchQuery(items as never, {list: 'x', paginationOpts: {numItems: 1, cursor: null}} as never);
    const wrong = client.store.query(plain, {list: 'x'}, true);
    const end = client.store.watch(wrong, () => {});
    watch.onUpdate(() => {});
    await expect
      .poll(
        () => {
          const result = client.store.result(wrong);
          if (result?.ok === false) failures[0] = result.error.message;
          try {
            watch.localQueryResult();
          } catch (caught) {
            failures[1] = (caught as Error).message;
          }
          return failures.filter(Boolean).length;
        },
        {timeout: 20_000},
      )
      .toBe(2);
    end();
    expect(failures[0]).toMatch(/items:plain.*Query/s);
    expect(failures[1]).toMatch(/items:list.*PaginatedQuery/s);
  });
});

test('[57] transfers between accounts never show a total that is wrong, and [56] each await shows its transfer', async () => {
  const client = connect();
  await client.mutation(openAccounts);
  const shown: [number, number][] = [];
  const Accounts = () => {
    const [left, right] = [useQuery(a), useQuery(b)];
    useLayoutEffect(() => {
      if (left !== undefined && right !== undefined) shown.push([left, right]);
    });
    return `${left} ${right}`;
  };
  const page = await Page.open(within(client, Accounts));
  await expect.poll(() => page.text, {timeout: 20_000}).toBe('50 50');
  for (let moved = 1; moved <= 30; moved++) {
    await client.mutation(move, {amount: 1});
    expect(page.text).toBe(`${50 - moved} ${50 + moved}`);
  }
  const other = connect();
  await Promise.all(Array.from({length: 70}, (_, i) => (i % 2 === 0 ? client : other).mutation(move, {amount: 1})));
  await expect.poll(() => page.text, {timeout: 20_000}).toBe('-50 150');
  expect(shown.filter(([left, right]) => left + right !== 100)).toEqual([]);
  await acted(() => page.close());
});

test('preloaded queries are never shown older than the server rendered them, also while the socket is behind', async () => {
  const client = connect(SlowSocket);
  const http = new SvcHttpClient(client.url, {logger: false});
  const query = (list: string) => preloadQuery(http, plain, {list});
  await client.mutation(fill, {list: 'left', keys: [1]});
  await client.mutation(fill, {list: 'right', keys: [1]});
  const live = ['left', 'right'].map(list => client.watchQuery(plain, {list}));
  for (const one of live) one.onUpdate(() => {});
  await expect.poll(() => live.map(one => one.localQueryResult()), {timeout: 20_000}).toEqual([1, 1]);

  SlowSocket.waiting = [];
  await http.mutation(fill, {list: 'left', keys: [2, 3]});
  const left = await query('left');
  await http.mutation(fill, {list: 'right', keys: [2, 3, 4]});
  const right = await query('right');
  // The second time it is a cached result: of the newest commit.
  const [again, cached] = [await query('right'), await query('left')];
  expect([left, right, again, cached].map(({value}) => value)).toEqual(['3', '4', '4', '3']);
  expect(left.version!.ts).toBeLessThan(right.version!.ts);
  expect([again.version, cached.version]).toEqual([right.version, right.version]);

  const frames: string[] = [];
  const Preloaded = () => {
    const text = `${usePreloadedQuery(left)} ${usePreloadedQuery(right)}`;
    useLayoutEffect(() => {
      if (frames.at(-1) !== text) frames.push(text);
    });
    return text;
  };
  const page = await Page.open(within(client, Preloaded));
  await expect.poll(() => SlowSocket.waiting!.length, {timeout: 20_000}).toBeGreaterThan(1);
  expect(live.map(one => one.localQueryResult())).toEqual([1, 1]);
  expect(frames).toEqual(['3 4']);
  SlowSocket.release();
  await expect.poll(() => live.map(one => one.localQueryResult()), {timeout: 20_000}).toEqual([3, 4]);
  await client.mutation(toggle, {list: 'left', key: 9});
  await expect.poll(() => page.text, {timeout: 20_000}).toBe('4 4');
  expect(frames).toEqual(['3 4', '4 4']);
  await acted(() => page.close());
});
