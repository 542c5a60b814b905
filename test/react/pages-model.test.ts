// @vitest-environment happy-dom
import fc from 'fast-check';
import {useLayoutEffect} from 'react';
import {expect, onTestFinished, test} from 'vitest';
import {SvcReactClient, type UsePaginatedQueryResult, usePaginatedQuery} from '../../sdk/react/index.ts';
import {makeFunctionReference, type PaginationResult} from '../../sdk/server/index.ts';
import {acted, Page, within} from './page.ts';
import {type Command, NaiveList, type PagedListDriver, runBeside} from './paged-list.ts';
import {SimulatedDeployment} from './simulated-deployment.ts';
import {type Item, simulatedPage} from './simulated-pages.ts';

const list = makeFunctionReference<'paginatedQuery', {paginationOpts: object}, PaginationResult<Item>>('items:list');

const KEYS = fc.uniqueArray(fc.integer({min: 0, max: 40}), {maxLength: 25});
const COMMANDS = fc.array(
  fc.oneof(
    {weight: 6, arbitrary: fc.record({toggle: fc.integer({min: 0, max: 40})})},
    {weight: 3, arbitrary: fc.record({loadMore: fc.integer({min: 1, max: 6})})},
  ) as fc.Arbitrary<Command>,
  {maxLength: 30},
);

async function driverOf(keys: number[], initialNumItems: number): Promise<PagedListDriver> {
  const deployment = new SimulatedDeployment(
    {keys},
    {
      queries: {
        'items:list': call =>
          simulatedPage(
            call.state.keys.map(key => ({key})),
            call,
          ),
      },
    },
  );
  const client = new SvcReactClient(deployment.url, {webSocketConstructor: deployment.WebSocket, logger: false});
  onTestFinished(() => client.close());
  let now: UsePaginatedQueryResult<Item>;
  let frames: number[][] = [];
  const keysOf = ({results}: UsePaginatedQueryResult<Item>) => results.map(({key}) => key);
  const List = () => {
    const shown = usePaginatedQuery(list, {}, {initialNumItems});
    useLayoutEffect(() => {
      now = shown;
      if (shown.status !== 'LoadingFirstPage') frames.push(keysOf(shown));
    });
    return null;
  };
  await Page.open(within(client, List));
  await acted(() => {});
  frames = [];
  return {
    toggle: key =>
      acted(() =>
        deployment.commit(state => {
          state.keys = state.keys.includes(key) ? state.keys.filter(other => other !== key) : [...state.keys, key];
        }),
      ),
    loadMore: numItems => acted(() => now.loadMore(numItems)),
    cut: async () => {},
    shown: () => ({keys: keysOf(now), status: now.status}),
    frames: () => frames.splice(0),
    close: async () => {},
  };
}

test('usePaginatedQuery shows what is there up to its last page, whatever is inserted and deleted, in every frame', async () => {
  await fc.assert(
    fc.asyncProperty(KEYS, fc.integer({min: 1, max: 6}), COMMANDS, async (keys, initialNumItems, commands) => {
      await runBeside(await driverOf(keys, initialNumItems), new NaiveList(keys, initialNumItems), commands);
    }),
    {numRuns: 60},
  );
});

test('the model tells a list with a gap', async () => {
  const driver = await driverOf([1, 2, 3], 2);
  await expect(runBeside(driver, new NaiveList([1, 3], 2), [])).rejects.toThrow('after the first page the list is');
});
