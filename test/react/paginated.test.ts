// @vitest-environment happy-dom
import * as React from 'react';
import {Component, type FunctionComponent, type ReactNode, StrictMode, useLayoutEffect, useState} from 'react';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {SvcReactClient, type UsePaginatedQueryResult, usePaginatedQuery, useQuery} from '../../sdk/react/index.ts';
import {makeFunctionReference, type PaginationResult} from '../../sdk/server/index.ts';
import {acted, h, Page, within} from './page.ts';
import {SimulatedDeployment} from './simulated-deployment.ts';
import {type Item, simulatedPage} from './simulated-pages.ts';

type State = {keys: number[]; rowsMax: number; failure: string | null};
type Shown = UsePaginatedQueryResult<Item>;
type Args = {list?: string; paginationOpts: object};

const {Activity} = React as {Activity?: unknown};
const list = makeFunctionReference<'paginatedQuery', Args, PaginationResult<Item>>('items:list');
const plain = makeFunctionReference<'query', {list?: string}, Item[]>('items:plain');

function deploy(keys: number[]) {
  const deployment = new SimulatedDeployment<State>(
    {keys, rowsMax: Number.POSITIVE_INFINITY, failure: null},
    {
      queries: {
        'items:list': call => {
          const {state} = call;
          if (state.failure !== null && (call.args.paginationOpts as {cursor: unknown}).cursor !== null) {
            throw new Error(state.failure);
          }
          const items = state.keys.map(key => ({key}));
          return simulatedPage(items, call, state.rowsMax);
        },
        'items:plain': ({state}) => state.keys.map(key => ({key})),
      },
    },
  );
  const client = new SvcReactClient(deployment.url, {webSocketConstructor: deployment.WebSocket, logger: false});
  onTestFinished(() => client.close());
  return {deployment, client};
}

/** A list on a page: what it is now, all it was, and how it is asked for something else. */
async function open(client: SvcReactClient, initialNumItems = 2, isStrict = false) {
  const {tree, renders, states, set} = listOf(client, initialNumItems);
  await Page.open(isStrict ? h(StrictMode, null, tree) : tree);
  await acted(() => {});
  return {
    get now() {
      return renders.at(-1)!;
    },
    get keys() {
      return renders.at(-1)!.results.map(({key}) => key);
    },
    states,
    renders,
    loadMore: (n: number) => acted(() => renders.at(-1)!.loadMore(n)),
    become: (args: {list?: string} | 'skip', count = initialNumItems) => acted(() => set([args, count])),
  };
}

function listOf(client: SvcReactClient, initialNumItems: number) {
  const renders: Shown[] = [];
  const states: string[] = [];
  let set: (props: [{list?: string} | 'skip', number]) => void = () => {};
  const List = () => {
    const [[args, count], setProps] = useState<[{list?: string} | 'skip', number]>([{}, initialNumItems]);
    set = setProps;
    const shown = usePaginatedQuery(list, args, {initialNumItems: count});
    // What is on the page: React may render what it does not show.
    useLayoutEffect(() => {
      renders.push(shown);
      const state = `${shown.status} ${shown.results.map(({key}) => key).join()}`.trim();
      if (states.at(-1) !== state) states.push(state);
    });
    return shown.status;
  };
  const become = (props: [{list?: string} | 'skip', number]) => set(props);
  return {tree: within(client, List), renders, states, set: become};
}

class Boundary extends Component<{children: ReactNode}, {error: Error | null}> {
  override state: {error: Error | null} = {error: null};
  static getDerivedStateFromError(error: Error): {error: Error} {
    return {error};
  }
  override render(): ReactNode {
    return this.state.error === null ? this.props.children : `caught: ${this.state.error.message}`;
  }
}

const silenced = (method: 'error' | 'warn') => {
  const spy = vi.spyOn(console, method).mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  return spy;
};

describe('usePaginatedQuery', () => {
  test.each([false, true])('[60] goes through its statuses page by page (StrictMode: %s)', async isStrict => {
    const {deployment, client} = deploy([1, 2, 3, 4, 5]);
    const shown = await open(client, 2, isStrict);
    expect(shown.now).toMatchObject({status: 'CanLoadMore', isLoading: false});
    await acted(() => {
      shown.now.loadMore(2);
      shown.now.loadMore(2);
    });
    await shown.loadMore(2);
    await shown.loadMore(2);
    expect(shown.states).toEqual([
      'LoadingFirstPage',
      'CanLoadMore 1,2',
      'LoadingMore 1,2',
      'CanLoadMore 1,2,3,4',
      'LoadingMore 1,2,3,4',
      'Exhausted 1,2,3,4,5',
    ]);
    expect(deployment.added).toHaveLength(3);
    for (const {status, isLoading} of shown.renders) expect(isLoading).toBe(status.startsWith('Loading'));
  });

  test('ends with an empty page when the one before was exactly full', async () => {
    const {client} = deploy([1, 2]);
    const shown = await open(client);
    expect(shown.states.at(-1)).toBe('CanLoadMore 1,2');
    await shown.loadMore(2);
    expect(shown.states.at(-1)).toBe('Exhausted 1,2');
  });

  test('shows what is inserted in its place and leaves out what is deleted; pages keep their ends', async () => {
    const {deployment, client} = deploy([10, 20, 30, 40, 50]);
    const shown = await open(client);
    await shown.loadMore(2);
    await acted(() => deployment.commit(state => state.keys.push(15, 35, 60)));
    expect(shown.states.at(-1)).toBe('CanLoadMore 10,15,20,30,35,40');
    await acted(() =>
      deployment.commit(state => {
        state.keys = state.keys.filter(key => key !== 20 && key !== 40);
      }),
    );
    expect(shown.states.at(-1)).toBe('CanLoadMore 10,15,30,35');
    await shown.loadMore(10);
    expect(shown.states.at(-1)).toBe('Exhausted 10,15,30,35,50,60');
    await acted(() => deployment.commit(state => state.keys.push(70, 25)));
    expect(shown.keys).toEqual([10, 15, 25, 30, 35, 50, 60, 70]);
  });

  test('over an empty table shows all that comes', async () => {
    const {deployment, client} = deploy([]);
    const shown = await open(client, 1);
    expect(shown.states.at(-1)).toBe('Exhausted');
    await acted(() => deployment.commit(state => state.keys.push(1, 2)));
    expect(shown.keys).toEqual([1, 2]);
  });

  test('gives the same results and the same object until something changes', async () => {
    const {deployment, client} = deploy([1, 2, 3]);
    const shown = await open(client);
    const before = shown.now;
    await acted(() => deployment.commit(state => state.keys.push(99)));
    await shown.become({});
    expect(shown.now).toBe(before);
    await acted(() => deployment.commit(state => state.keys.push(1.5)));
    expect(shown.now).not.toBe(before);
    expect(shown.now.results[0]).toBe(before.results[0]);
  });

  test('begins again with other arguments, and not with another initialNumItems', async () => {
    const {deployment, client} = deploy([1, 2, 3, 4]);
    const shown = await open(client);
    await shown.loadMore(1);
    await shown.become({}, 7);
    expect(shown.keys).toEqual([1, 2, 3]);
    expect(deployment.added).toHaveLength(2);
    const stale = shown.now;
    await shown.become({list: 'b'}, 1);
    expect(shown.states.slice(-2)).toEqual(['LoadingFirstPage', 'CanLoadMore 1']);
    expect(deployment.removed).toBe(2);
    await acted(() => stale.loadMore(1));
    expect(shown.states.at(-1)).toBe('CanLoadMore 1');
  });

  test('with "skip" shows nothing and asks nothing', async () => {
    const {deployment, client} = deploy([1, 2]);
    const Skipped = () => {
      const {results, status, loadMore} = usePaginatedQuery(list, 'skip', {initialNumItems: 1});
      loadMore(1);
      return `${status} ${results.length}`;
    };
    const page = await Page.open(within(client, Skipped));
    await acted(() => {});
    expect(page.text).toBe('LoadingFirstPage 0');
    expect(deployment.received).toEqual([]);
  });

  test('two lists with equal arguments have pages of their own', async () => {
    const {deployment, client} = deploy([1, 2, 3]);
    const Two = () => {
      const one = usePaginatedQuery(list, {}, {initialNumItems: 1});
      const two = usePaginatedQuery(list, {}, {initialNumItems: 1});
      return `${one.results.length} ${two.results.length}`;
    };
    const page = await Page.open(within(client, Two));
    await acted(() => {});
    expect(page.text).toBe('1 1');
    const ids = deployment
      .receivedOf('query_set')
      .flatMap(({changes}) => changes.map(change => change.type === 'add' && change.args))
      .map(args => (args as {paginationOpts: {id: number}}).paginationOpts.id);
    expect(new Set(ids).size).toBe(2);
  });

  test('splits a page that has grown to more than twice initialNumItems, without a moment of loading', async () => {
    const {deployment, client} = deploy([10, 20, 30]);
    const shown = await open(client);
    shown.states.length = 0;
    await acted(() => deployment.commit(state => state.keys.push(11, 12, 13)));
    expect(shown.states).toEqual(['CanLoadMore 10,11,12,13,20']);
    expect(deployment.added).toHaveLength(3);
    expect(deployment.removed).toBe(1);
    await acted(() => deployment.commit(state => state.keys.push(14)));
    await shown.loadMore(2);
    expect(shown.keys).toEqual([10, 11, 12, 13, 14, 20, 30]);
  });

  test('hides a page that must be split until its halves are there', async () => {
    const {deployment, client} = deploy([1, 2, 3, 4, 5, 6, 7, 8]);
    deployment.state.rowsMax = 4;
    const shown = await open(client, 8);
    expect(shown.states).toEqual(['LoadingFirstPage', 'CanLoadMore 1,2,3,4']);
    expect(deployment.added).toHaveLength(3);
    deployment.hold();
    deployment.state.rowsMax = 3;
    await acted(() => shown.now.loadMore(8));
    await acted(() => deployment.release(1));
    expect(shown.states.slice(2)).toEqual(['LoadingMore 1,2,3,4']);
    await acted(() => deployment.release());
    expect(shown.states.slice(3)).toEqual(['CanLoadMore 1,2,3,4,5,6,7']);
    await shown.loadMore(8);
    expect(shown.states.at(-1)).toBe('Exhausted 1,2,3,4,5,6,7,8');
  });

  test('begins again when a cursor is no good any more', async () => {
    const warned = silenced('warn');
    const {deployment, client} = deploy([1, 2, 3]);
    const shown = await open(client, 1);
    await shown.loadMore(1);
    expect(shown.keys).toEqual([1, 2]);
    shown.states.length = 0;
    await acted(() =>
      deployment.commit(state => {
        state.failure = '[Request ID: x] Server Error\nInvalidCursor';
      }),
    );
    expect(shown.states).toEqual(['LoadingFirstPage', 'CanLoadMore 1']);
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('usePaginatedQuery begins again with its first page'));
  });

  test('throws any other error of a page while rendering', async () => {
    silenced('error');
    const {deployment, client} = deploy([1, 2, 3]);
    let loadMore: (n: number) => void = () => {};
    const List = () => {
      const shown = usePaginatedQuery(list, {}, {initialNumItems: 1});
      loadMore = shown.loadMore;
      return shown.status;
    };
    const page = await Page.open(h(Boundary, null, within(client, List)));
    await acted(() => {});
    deployment.state.failure = 'out of order';
    await acted(() => loadMore(1));
    expect(page.text).toBe('caught: [SVC Q(items:list)] out of order\n  Called by client');
  });

  test('keeps its pages through a lost connection', async () => {
    const {deployment, client} = deploy([10, 20, 30, 40]);
    const shown = await open(client);
    await shown.loadMore(1);
    shown.states.length = 0;
    deployment.state.keys.push(5, 25);
    await acted(async () => {
      deployment.cut();
      await expect.poll(() => deployment.receivedOf('client_hello').length, {timeout: 20_000}).toBe(2);
    });
    expect(shown.states).toEqual(['CanLoadMore 5,10,20,25,30']);
  });

  // React 18 has none.
  test.skipIf(Activity === undefined)('keeps the ends of its pages when it is hidden and shown again', async () => {
    const {deployment, client} = deploy([10, 20, 30, 40]);
    const inside = listOf(client, 2);
    const shownAs = (mode: string) => h(Activity as FunctionComponent<{mode: string}>, {mode}, inside.tree);
    const page = await Page.open(shownAs('visible'));
    await acted(() => {});
    await acted(() => inside.renders.at(-1)!.loadMore(1));
    expect(inside.states.at(-1)).toBe('CanLoadMore 10,20,30');
    await acted(() => page.show(shownAs('hidden')));
    expect(deployment.removed).toBe(2);
    deployment.state.keys = [5, 10, 25, 30, 40];
    await acted(() => page.show(shownAs('visible')));
    expect(inside.states.at(-1)).toBe('CanLoadMore 5,10,25,30');
  });

  test.each([
    ['no options', undefined],
    ['a text', {initialNumItems: '5'}],
    ['a negative number', {initialNumItems: -1}],
    ['NaN', {initialNumItems: Number.NaN}],
  ])('wants initialNumItems: %s', async (_, options) => {
    silenced('error');
    const {client} = deploy([]);
    const Wrong = () => usePaginatedQuery(list, {}, options as never).status;
    const page = await Page.open(h(Boundary, null, within(client, Wrong)));
    expect(page.text).toContain('wants a non-negative number as options.initialNumItems');
  });

  test('says what was meant when loadMore is an event handler', async () => {
    const {client} = deploy([1, 2, 3]);
    const shown = await open(client);
    expect(() => shown.now.loadMore({type: 'click'} as never)).toThrow('onClick={() => loadMore(20)}');
  });

  test('says what it needs when the function gives no page', async () => {
    silenced('error');
    const {client} = deploy([1]);
    const Wrong = () => usePaginatedQuery(plain as never, {} as never, {initialNumItems: 1}).status;
    const page = await Page.open(h(Boundary, null, within(client, Wrong)));
    await acted(() => {});
    expect(page.text).toContain('use it with functions registered with paginatedQuery');
  });

  test('asks for the function as a paginated one, and useQuery as a plain one', async () => {
    const {deployment, client} = deploy([1]);
    const Both = () => {
      useQuery(plain, {});
      return usePaginatedQuery(list, {}, {initialNumItems: 1}).status;
    };
    await Page.open(within(client, Both));
    await acted(() => {});
    const added = deployment.receivedOf('query_set').flatMap(({changes}) => changes);
    expect(added).toMatchObject([
      {path: 'items:plain'},
      {path: 'items:list', paginated: true, args: {paginationOpts: {numItems: 1, cursor: null}}},
    ]);
    expect(added[0]).not.toHaveProperty('paginated');
  });
});
