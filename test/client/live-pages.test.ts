/** Lists in pages without React: `onPaginatedUpdate` and `SvcReactClient.watchPaginatedQuery`. */
import fc from 'fast-check';
import {describe, expect, expectTypeOf, onTestFinished, test} from 'vitest';
import {insertAtPosition, type LoadedPages, onPaginatedUpdate, SvcClient} from '../../sdk/browser/index.ts';
import {SvcReactClient} from '../../sdk/react/index.ts';
import {makeFunctionReference, type PaginationResult} from '../../sdk/server/index.ts';
import {type Command, NaiveList, type PagedListDriver, runBeside} from '../react/paged-list.ts';
import {SimulatedDeployment} from '../react/simulated-deployment.ts';
import {type Item, simulatedPage} from '../react/simulated-pages.ts';
import {settled} from './scripted-server.ts';

const list = makeFunctionReference<'paginatedQuery', {list?: string; paginationOpts: object}, PaginationResult<Item>>(
  'items:list',
);
const count = makeFunctionReference<'query', Record<string, never>, number>('items:count');

type State = {keys: number[]; failure: string | null};

function deploy(keys: number[]) {
  const deployment = new SimulatedDeployment<State>(
    {keys, failure: null},
    {
      queries: {
        'items:list': call => {
          const {keys, failure} = call.state;
          if (failure !== null && (call.args.paginationOpts as {cursor: unknown}).cursor !== null)
            throw new Error(failure);
          return simulatedPage(
            keys.map(key => ({key})),
            call,
          );
        },
        'items:count': ({state}) => state.keys.length,
      },
      mutations: {'items:add': ({keys}, {key}) => void keys.splice(1, 0, key as number)},
    },
  );
  const said: unknown[] = [];
  const note = (...parts: unknown[]) => void said.push(...parts);
  const options = {webSocketConstructor: deployment.WebSocket, logger: {log: note, warn: note, error: note}};
  const client = new SvcClient(deployment.url, options);
  onTestFinished(() => client.close());
  return {deployment, client, options, said};
}

const textOf = ({status, results}: LoadedPages<Item>) => `${status} ${results.map(({key}) => key).join()}`;

/** A list of two items a page, with all that its callbacks got. */
async function open(client: SvcClient, initialNumItems = 2) {
  const states: string[] = [];
  const errors: string[] = [];
  const pages = onPaginatedUpdate(
    client,
    list,
    {},
    {initialNumItems},
    shown => states.push(textOf(shown)),
    error => errors.push(error.message),
  );
  expect(pages.getCurrentValue()).toBeUndefined();
  await settled();
  const loadMore = async (numItems: number) => {
    pages.getCurrentValue()!.loadMore(numItems);
    await settled();
  };
  return {pages, states, errors, loadMore};
}

describe('onPaginatedUpdate', () => {
  test('goes through its statuses page by page, and asks once for a page', async () => {
    const {deployment, client} = deploy([1, 2, 3, 4, 5]);
    const {pages, states, loadMore} = await open(client);
    const first = pages.getCurrentValue()!;
    expectTypeOf(first.results).toEqualTypeOf<Item[]>();
    first.loadMore(2);
    first.loadMore(2);
    await settled();
    first.loadMore(2); // of what is not shown any more
    await loadMore(2);
    expect(states).toEqual([
      'CanLoadMore 1,2',
      'LoadingMore 1,2',
      'CanLoadMore 1,2,3,4',
      'LoadingMore 1,2,3,4',
      'Exhausted 1,2,3,4,5',
    ]);
    expect(deployment.added).toHaveLength(3);
    expect(() => first.loadMore({} as number)).toThrow('greater than 0');
    pages();
    await settled();
    expect(deployment.removed).toBe(3);
    deployment.commit(state => state.keys.push(6));
    await settled();
    expect(states).toHaveLength(5);
  });

  test('is of one moment with other queries, and tells nothing when what it shows is the same', async () => {
    const {deployment, client} = deploy([1, 2, 3]);
    const {pages, states} = await open(client, 10);
    const looks: string[] = [];
    client.onUpdate(count, {}, n => looks.push(`${n}: ${textOf(pages.getCurrentValue()!)}`));
    await settled();
    deployment.commit(state => state.keys.push(4));
    await settled();
    expect(looks).toEqual(['3: Exhausted 1,2,3', '4: Exhausted 1,2,3,4']);
    deployment.commit(() => {});
    await settled();
    expect(states).toEqual(['Exhausted 1,2,3', 'Exhausted 1,2,3,4']);
  });

  test('splits a page that has grown to more than twice initialNumItems, unseen', async () => {
    const {deployment, client} = deploy([10, 20, 30]);
    const {states, loadMore} = await open(client);
    deployment.commit(state => state.keys.push(11, 12, 13));
    await settled();
    expect([...new Set(states)]).toEqual(['CanLoadMore 10,20', 'CanLoadMore 10,11,12,13,20']);
    expect([deployment.added.length, deployment.removed]).toEqual([3, 1]);
    await loadMore(2);
    expect(states.at(-1)).toBe('Exhausted 10,11,12,13,20,30');
  });

  test('begins again when a cursor is no good any more; what is shown stays until then', async () => {
    const {deployment, client} = deploy([1, 2, 3]);
    const {states, errors, loadMore} = await open(client, 1);
    await loadMore(1);
    states.length = 0;
    deployment.commit(state => {
      state.failure = '[Request ID: x] Server Error\nInvalidCursor';
    });
    await settled();
    expect([states, errors]).toEqual([['CanLoadMore 1'], []]);
    deployment.commit(state => {
      state.failure = null;
    });
    await loadMore(1);
    expect(states.at(-1)).toBe('CanLoadMore 1,2');
  });

  test('tells onError of any other error of a page, getCurrentValue throws it, and it goes on', async () => {
    const {deployment, client, said} = deploy([1, 2, 3]);
    const {pages, states, errors, loadMore} = await open(client, 1);
    onPaginatedUpdate(client, list, {list: 'b'}, {initialNumItems: 1}, shown => shown.loadMore(1));
    await loadMore(1);
    deployment.commit(state => {
      state.failure = 'out of order';
    });
    await settled();
    const message = '[SVC Q(items:list)] out of order\n  Called by client';
    expect(errors).toEqual([message]);
    expect(said).toEqual([new Error(message)]);
    expect(() => pages.getCurrentValue()).toThrow('out of order');
    deployment.commit(state => {
      state.failure = null;
    });
    await settled();
    expect(states.at(-1)).toBe('CanLoadMore 1,2');
  });

  test('shows an optimistic update of its pages until the server has it', async () => {
    const {deployment, client} = deploy([1, 3, 4]);
    const {states} = await open(client);
    deployment.hold();
    const add = makeFunctionReference<'mutation', {key: number}, null>('items:add');
    const added = client.mutation(
      add,
      {key: 2},
      {
        optimisticUpdate: (localQueryStore, item) =>
          insertAtPosition({
            ...{paginatedQuery: list, localQueryStore, item, sortOrder: 'asc'},
            sortKeyFromItem: ({key}) => key,
          }),
      },
    );
    expect(states).toEqual(['CanLoadMore 1,3', 'CanLoadMore 1,2,3']);
    deployment.release();
    await added;
    expect([...new Set(states)]).toEqual(['CanLoadMore 1,3', 'CanLoadMore 1,2,3']);
    expect(states.at(-1)).toBe('CanLoadMore 1,2,3');
  });

  test('of a disabled client does nothing', () => {
    const client = new SvcClient('https://svc.example/svc/acme', {disabled: true});
    const pages = onPaginatedUpdate(client, list, {}, {initialNumItems: 1}, () => expect.fail());
    expect(pages.getCurrentValue()).toBeUndefined();
    pages.unsubscribe();
  });
});

test('watchPaginatedQuery asks with the first onUpdate, and ends with the last one', async () => {
  const {deployment, options} = deploy([1, 2, 3]);
  const client = new SvcReactClient(deployment.url, options);
  onTestFinished(() => client.close());
  const watched = client.watchPaginatedQuery(list, {}, {initialNumItems: 2});
  await settled();
  expect([deployment.added, watched.localQueryResult()]).toEqual([[], undefined]);
  const states: string[] = [];
  const note = () => states.push(textOf(watched.localQueryResult()!));
  const stops = [watched.onUpdate(note), watched.onUpdate(note)];
  await settled();
  stops[0]!();
  watched.localQueryResult()!.loadMore(2);
  await settled();
  expect(states).toEqual(['CanLoadMore 1,2', 'CanLoadMore 1,2', 'LoadingMore 1,2', 'Exhausted 1,2,3']);
  stops[1]!();
  await settled();
  expect([deployment.added.length, deployment.removed, watched.localQueryResult()]).toEqual([2, 2, undefined]);
});

async function driverOf(keys: number[], initialNumItems: number): Promise<PagedListDriver> {
  const {deployment, client} = deploy(keys);
  let frames: number[][] = [];
  const keysOf = ({results}: LoadedPages<Item>) => results.map(({key}) => key);
  const pages = onPaginatedUpdate(client, list, {}, {initialNumItems}, shown => frames.push(keysOf(shown)));
  await settled();
  frames = [];
  const now = () => pages.getCurrentValue()!;
  return {
    toggle: async key => {
      deployment.commit(state => {
        state.keys = state.keys.includes(key) ? state.keys.filter(other => other !== key) : [...state.keys, key];
      });
      await settled();
    },
    loadMore: async numItems => {
      now().loadMore(numItems);
      await settled();
    },
    cut: async () => {},
    shown: () => ({keys: keysOf(now()), status: now().status}),
    frames: () => frames.splice(0),
    close: () => client.close(),
  };
}

const COMMANDS = fc.array(
  fc.oneof(
    {weight: 6, arbitrary: fc.record({toggle: fc.integer({min: 0, max: 40})})},
    {weight: 3, arbitrary: fc.record({loadMore: fc.integer({min: 1, max: 6})})},
  ) as fc.Arbitrary<Command>,
  {maxLength: 30},
);

test('shows after each change what a naive list shows, without gaps between', async () => {
  const keys = fc.uniqueArray(fc.integer({min: 0, max: 40}), {maxLength: 25});
  await fc.assert(
    fc.asyncProperty(keys, fc.integer({min: 1, max: 5}), COMMANDS, async (begun, initialNumItems, commands) => {
      const driver = await driverOf(begun, initialNumItems);
      await runBeside(driver, new NaiveList(begun, initialNumItems), commands);
      await driver.close();
    }),
    {numRuns: 40},
  );
});
