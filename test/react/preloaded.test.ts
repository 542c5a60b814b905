// @vitest-environment happy-dom
/** `preloadQuery` and `usePreloadedQuery`: what a server rendered, and what becomes of it on the page. */
import {useLayoutEffect} from 'react';
import {renderToString} from 'react-dom/server';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {type Preloaded, preloadedQueryResult, preloadQuery, SvcHttpClient} from '../../sdk/browser/index.ts';
import {SvcReactClient, usePreloadedQuery, useQuery} from '../../sdk/react/index.ts';
import {makeFunctionReference} from '../../sdk/server/index.ts';
import {decodeValue, encodeDocument} from '../../shared/values/wire-value.ts';
import {acted, Page, within} from './page.ts';
import {SimulatedDeployment} from './simulated-deployment.ts';

type Box = {n: number};
const a = makeFunctionReference<'query', Record<string, never>, Box>('n:a');
const b = makeFunctionReference<'query', Record<string, never>, Box>('n:b');
const odd = makeFunctionReference<'query', Record<string, never>, number[]>('n:odd');

function deploy({isOld = false} = {}) {
  const queries = {
    'n:a': ({state}: {state: Record<'a' | 'b', number>}) => ({n: state.a}),
    'n:b': ({state}: {state: Record<'a' | 'b', number>}) => {
      if (state.b < 0) throw new Error('negative');
      return {n: state.b};
    },
    'n:odd': () => [Number.NaN, -0],
  };
  const deployment = new SimulatedDeployment({a: 1, b: 1}, {queries});
  const newClient = () => {
    const client = new SvcReactClient(deployment.url, {webSocketConstructor: deployment.WebSocket, logger: false});
    onTestFinished(() => client.close());
    return client;
  };
  const http = new SvcHttpClient(deployment.url, {
    fetch: async (_, {body}) => {
      const {path, version} = decodeValue(body) as {path: keyof typeof queries; version?: boolean};
      const value = queries[path](deployment);
      const facts = version === true && !isOld ? {version: {timeline: 'line', ts: deployment.ts}} : {};
      return {ok: true, status: 200, text: async () => encodeDocument({status: 'success', value, ...facts})};
    },
  });
  return {deployment, newClient, http};
}

/** Shows the preloaded queries; `frames` are all that was ever on the page. */
function shows(...preloaded: Preloaded<typeof a>[]) {
  const frames: number[][] = [];
  const boxes = new Set<Box>();
  const Component = () => {
    // biome-ignore lint/correctness/useHookAtTopLevel: there are as many each time.
    const shown = preloaded.map(one => usePreloadedQuery(one));
    const text = shown.map(({n}) => n).join();
    useLayoutEffect(() => {
      if (frames.at(-1)?.join() !== text) frames.push(shown.map(({n}) => n));
      for (const box of shown) boxes.add(box);
    });
    return text;
  };
  return {Component, frames, boxes};
}

describe('a preloaded query', () => {
  test('is in the HTML and stays, with its references, when an equal live result comes; then it is current', async () => {
    const complaints = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const {deployment, newClient, http} = deploy();
    deployment.commit(() => {});
    const preloaded = await preloadQuery(http, a);
    expect(preloadedQueryResult(preloaded)).toEqual({n: 1});
    const {Component, frames, boxes} = shows(JSON.parse(JSON.stringify(preloaded)) as typeof preloaded);
    const html = renderToString(within(newClient(), Component));
    expect([html, deployment.received]).toEqual(['1', []]);
    await Page.open(within(newClient(), Component), html);
    await acted(() => {});
    expect(deployment.receivedOf('client_hello')[0]!.seen).toEqual({timeline: 'line', ts: 2});
    expect([frames, boxes.size]).toEqual([[[1]], 1]);
    await acted(() => deployment.commit(state => void state.a++));
    expect(frames).toEqual([[1], [2]]);
    expect(complaints.mock.calls).toEqual([]);
  });

  test('stays while the live result is older; several give way together, to one version', async () => {
    const {deployment, newClient, http} = deploy();
    const client = newClient();
    for (const query of [a, b]) client.watchQuery(query).onUpdate(() => {});
    await acted(() => {});
    expect(client.watchQuery(a).localQueryResult()).toEqual({n: 1});
    deployment.hold();
    const commit = (n: number) => deployment.commit(state => void Object.assign(state, {a: n, b: n}));
    commit(2);
    const older = await preloadQuery(http, a);
    commit(3);
    commit(4);
    const newer = await preloadQuery(http, b);
    commit(5);
    const {Component, frames} = shows(older, newer);
    await Page.open(within(client, Component));
    // The live results are of versions 1, 2 and 3.
    for (let frame = 0; frame < 3; frame++) {
      expect(frames).toEqual([[2, 4]]);
      await acted(() => deployment.release(1));
    }
    expect(frames).toEqual([
      [2, 4],
      [4, 4],
    ]);
    await acted(() => deployment.release());
    expect(frames.slice(2)).toEqual([[5, 5]]);
    expect(deployment.receivedOf('query_set').at(-1)!.seen).toEqual({timeline: 'line', ts: 4});
  });

  test('that waits keeps others waiting only while it is there, and none that is mounted with a live result as new', async () => {
    const {deployment, newClient, http} = deploy();
    const client = newClient();
    for (const query of [a, b]) client.watchQuery(query).onUpdate(() => {});
    await acted(() => {});
    deployment.hold();
    const increment = () => deployment.commit(state => void state.a++);
    const oldest = await preloadQuery(http, a);
    increment();
    const older = await preloadQuery(http, a);
    increment();
    increment();
    const newer = await preloadQuery(http, b);
    const [live, waiting, last] = [shows(oldest), shows(older), shows(newer)];
    const page = await Page.open(within(client, last.Component));
    await Page.open(within(client, waiting.Component));
    await acted(() => deployment.release(2));
    await Page.open(within(client, live.Component));
    expect([live.frames, waiting.frames, last.frames]).toEqual([[[3]], [[2]], [[1]]]);
    await page.close();
    await acted(() => {});
    expect(waiting.frames).toEqual([[2], [3]]);
  });

  test('of a server that says no version gives way to any live result; numbers that JSON lacks arrive', async () => {
    const {deployment, newClient, http} = deploy({isOld: true});
    const preloaded = await preloadQuery(http, odd);
    expect(preloaded.version).toBe(null);
    expect(preloadedQueryResult(preloaded)).toEqual([Number.NaN, -0]);
    const {Component, frames} = shows(await preloadQuery(http, a));
    deployment.commit(state => void state.a++);
    await Page.open(within(newClient(), Component));
    await acted(() => {});
    expect(frames).toEqual([[1], [2]]);
  });

  test('is beside a live query on the page, and its failure is thrown', async () => {
    const {deployment, newClient, http} = deploy();
    const preloaded = await preloadQuery(http, b);
    const client = newClient();
    let shown: unknown;
    const Component = () => {
      shown = [useQuery(a)?.n, usePreloadedQuery(preloaded).n];
      return null;
    };
    await Page.open(within(client, Component));
    await acted(() => {});
    expect(shown).toEqual([1, 1]);
    const failing = acted(() =>
      deployment.commit(state => {
        state.b = -1;
      }),
    );
    await expect(failing).rejects.toThrow('negative');
  });
});
