// @vitest-environment happy-dom
import {StrictMode, Suspense} from 'react';
import {renderToString} from 'react-dom/server';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {
  SvcProvider,
  SvcProviderWithAuth,
  SvcReactClient,
  usePaginatedQuery,
  useQueries,
  useQuery,
  useSvcAuth,
  useSvcConnectionState,
} from '../../sdk/react/index.ts';
import {makeFunctionReference, type PaginationResult} from '../../sdk/server/index.ts';
import {acted, h, Page} from './page.ts';
import {SimulatedDeployment} from './simulated-deployment.ts';
import {type Item, simulatedPage} from './simulated-pages.ts';

const count = makeFunctionReference<'query', Record<string, never>, number>('n:count');
const list = makeFunctionReference<'paginatedQuery', {paginationOpts: object}, PaginationResult<Item>>('n:list');

function deploy() {
  const deployment = new SimulatedDeployment(
    {n: 3},
    {queries: {'n:count': ({state}) => state.n, 'n:list': call => simulatedPage([{key: 1}, {key: 2}], call)}},
  );
  const newClient = () => {
    const client = new SvcReactClient(deployment.url, {webSocketConstructor: deployment.WebSocket, logger: false});
    onTestFinished(() => client.close());
    return client;
  };
  return {deployment, newClient};
}

function App() {
  const shown = useQuery(count);
  const many = useQueries({count: {query: count, args: {}}});
  const {results, status} = usePaginatedQuery(list, {}, {initialNumItems: 2});
  const {isWebSocketConnected} = useSvcConnectionState();
  return h(
    'p',
    null,
    JSON.stringify([shown ?? null, many.count ?? null, results.length, status, isWebSocketConnected]),
  );
}

const tree = (client: SvcReactClient) =>
  h(StrictMode, null, h(SvcProvider, {client}, h(Suspense, {fallback: 'waiting'}, h(App))));

/** As HTML has it. */
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, '').replaceAll('&quot;', '"');

describe('rendered on a server', () => {
  test('a page shows what it shows while loading, and nothing is asked', async () => {
    const {deployment, newClient} = deploy();
    const html = renderToString(tree(newClient()));
    expect(textOf(html)).toBe('[null,null,0,"LoadingFirstPage",false]');
    await acted(() => {});
    expect(deployment.received).toEqual([]);
  });

  test('a page is hydrated without a difference, also when its results are there already, and becomes current', async () => {
    const complaints = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const {newClient} = deploy();
    const html = renderToString(tree(newClient()));
    for (const isWarm of [false, true]) {
      const client = newClient();
      if (isWarm) {
        client.watchQuery(count).onUpdate(() => {});
        await acted(() => {});
      }
      const page = await Page.open(tree(client), html);
      await acted(() => {});
      expect(page.text).toBe('[3,3,2,"CanLoadMore",true]');
    }
    expect(complaints.mock.calls).toEqual([]);
  });

  test('nobody is signed in yet', () => {
    const {newClient} = deploy();
    const useLoading = () => ({isLoading: true, isAuthenticated: false, fetchAccessToken: async () => null});
    const Auth = () => JSON.stringify(useSvcAuth());
    const html = renderToString(h(SvcProviderWithAuth, {client: newClient(), useAuth: useLoading}, h(Auth)));
    expect(textOf(html)).toBe('{"isLoading":true,"isAuthenticated":false}');
  });
});
