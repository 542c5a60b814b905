// @vitest-environment happy-dom
import {
  type ReactNode,
  StrictMode,
  Suspense,
  startTransition,
  useDeferredValue,
  useLayoutEffect,
  useMemo,
  useState,
} from 'react';
import {describe, expect, onTestFinished, test} from 'vitest';
import {SvcReactClient, useMutation, useQuery} from '../../sdk/react/index.ts';
import {makeFunctionReference} from '../../sdk/server/index.ts';
import {acted, h, Page, settled, within} from './page.ts';
import {SimulatedDeployment} from './simulated-deployment.ts';

type State = {n: number; items: string[]; isRefusing: boolean};

const double = makeFunctionReference<'query', Record<string, never>, number>('n:double');
const triple = makeFunctionReference<'query', Record<string, never>, number>('n:triple');
const items = makeFunctionReference<'query', Record<string, never>, string[]>('items:list');
const count = makeFunctionReference<'mutation', Record<string, never>, null>('n:count');
const addItem = makeFunctionReference<'mutation', {text: string}, null>('items:add');

function deploy(): {deployment: SimulatedDeployment<State>; client: SvcReactClient} {
  const deployment = new SimulatedDeployment<State>(
    {n: 1, items: [], isRefusing: false},
    {
      queries: {
        'n:double': ({state}) => state.n * 2,
        'n:triple': ({state}) => state.n * 3,
        'items:list': ({state}) => state.items,
      },
      mutations: {
        'n:count': state => void state.n++,
        'items:add': (state, {text}) => {
          if (state.isRefusing) throw new Error('refused');
          state.items.push(text as string);
        },
      },
    },
  );
  const client = new SvcReactClient(deployment.url, {webSocketConstructor: deployment.WebSocket, logger: false});
  onTestFinished(() => client.close());
  return {deployment, client};
}

/** Keeps React busy, so that a render that may be interrupted is. */
function work(): void {
  const endMs = performance.now() + 2;
  while (performance.now() < endMs);
}

describe('what is on the page is of one moment', () => {
  test('[57] two queries of one document through 100 mutations, in one component and in two', async () => {
    const {client} = deploy();
    const renders: [number, number][] = [];
    const commits: [string, string][] = [];
    let send: () => Promise<unknown> = async () => {};
    const Both = () => {
      send = useMutation(count);
      const [twice, thrice] = [useQuery(double), useQuery(triple)];
      if (twice !== undefined && thrice !== undefined) renders.push([twice, thrice]);
      return null;
    };
    const Double = () => h('i', null, useQuery(double));
    const Triple = () => h('b', null, useQuery(triple));
    const Watching = () => {
      useLayoutEffect(() => {
        const part = (name: string) => page?.container.innerHTML.match(new RegExp(`<${name}>(\\d*)`))?.[1] ?? '';
        commits.push([part('i'), part('b')]);
      });
      useQuery(double);
      useQuery(triple);
      return null;
    };
    const App = () => h('p', null, h(Both), h(Double), h(Triple), h(Watching));
    let page: Page | undefined;
    page = await Page.open(within(client, App));
    await acted(() => {});
    await Promise.all(Array.from({length: 50}, () => send()));
    for (let i = 0; i < 50; i++) await send();
    expect(renders.at(-1)).toEqual([202, 303]);
    expect(renders.filter(([twice, thrice]) => twice * 3 !== thrice * 2)).toEqual([]);
    const shown = commits.filter(([twice, thrice]) => twice !== '' && thrice !== '');
    expect(shown.length).toBeGreaterThan(20);
    expect(shown.filter(([twice, thrice]) => Number(twice) * 3 !== Number(thrice) * 2)).toEqual([]);
  });

  test('components that a transition brings in slices, while writes arrive, do not tear', async () => {
    const {deployment, client} = deploy();
    const commits: string[][] = [];
    let interruptions = 0;
    let grow: (rows: number) => void = () => {};
    const Row = () => {
      work();
      return h('i', null, String(useQuery(double) ?? ''));
    };
    const Rows = () => {
      const [rows, setRows] = useState(1);
      grow = setRows;
      useLayoutEffect(() => {
        const texts = [...(page?.container.innerHTML ?? '').matchAll(/<i>(\d*)/g)].map(([, text]) => text!);
        if (texts.length > 1) commits.push(texts);
      });
      useQuery(double);
      return h('p', null, ...Array.from({length: rows}, (_, key) => h(Row, {key})));
    };
    let page: Page | undefined;
    page = await Page.open(within(client, Rows));
    await acted(() => {});
    for (let round = 0; round < 3; round++) {
      startTransition(() => grow(15 + round));
      for (let write = 0; write < 6; write++) {
        await new Promise(resolve => setImmediate(resolve));
        if (commits.at(-1)?.length !== 15 + round) interruptions++;
        deployment.commit(state => void state.n++);
        await settled();
      }
      await expect.poll(() => commits.at(-1)?.length).toBe(15 + round);
    }
    expect(interruptions).toBeGreaterThan(0);
    expect(commits.filter(texts => new Set(texts).size > 1)).toEqual([]);
    expect(commits.at(-1)![0]).toBe(String(deployment.state.n * 2));
  });

  test('a deferred value is an older one, and never one beside its time', async () => {
    const {deployment, client} = deploy();
    const pairs: [number | undefined, number | undefined][] = [];
    const Deferring = () => {
      const now = useQuery(double);
      const later = useDeferredValue(now);
      pairs.push([now, later]);
      return later;
    };
    const page = await Page.open(h(StrictMode, null, within(client, Deferring)));
    await acted(() => {});
    await acted(() => deployment.commit(state => void state.n++));
    expect(page.text).toBe('4');
    for (const [now, later] of pairs)
      if (now !== undefined && later !== undefined) expect(later).toBeLessThanOrEqual(now);
  });

  test('a component that suspends for its own reasons keeps its subscription, and is current when it is back', async () => {
    const {deployment, client} = deploy();
    let wake: () => void = () => {};
    let isAsleep = false;
    let rest: Promise<void> | undefined;
    let again: (n: number) => void = () => {};
    const Sleeper = () => {
      const value = useQuery(double);
      if (isAsleep) {
        rest ??= new Promise(resolve => {
          wake = resolve;
        });
        throw rest;
      }
      return `awake ${value}`;
    };
    const App = () => {
      const [, set] = useState(0);
      again = set;
      return h(Suspense, {fallback: 'asleep'}, h(Sleeper));
    };
    const page = await Page.open(within(client, App));
    await acted(() => {});
    expect(page.text).toBe('awake 2');
    isAsleep = true;
    await acted(() => again(1));
    expect(page.text).toContain('asleep');
    await acted(() => deployment.commit(state => void state.n++));
    isAsleep = false;
    await acted(() => wake());
    expect(page.text).toBe('awake 4');
    expect(deployment.added).toHaveLength(1);
  });
});

describe('an optimistic update', () => {
  function app(client: SvcReactClient): {
    shown: string[];
    send: (text: string) => Promise<unknown>;
    open: () => Promise<Page>;
  } {
    const shown: string[] = [];
    const calls: {send: (args: {text: string}) => Promise<unknown>} = {send: async () => {}};
    const Items = () => {
      const mutation = useMutation(addItem);
      calls.send = useMemo(
        () =>
          mutation.withOptimisticUpdate((store, {text}) => {
            const before = store.getQuery(items);
            if (before !== undefined) store.setQuery(items, {}, [...before, text]);
          }),
        [mutation],
      );
      const text = useQuery(items)?.join() ?? 'loading';
      if (shown.at(-1) !== text) shown.push(text);
      return text;
    };
    return {
      shown,
      send: text => calls.send({text}),
      open: async () => {
        const page = await Page.open(within(client, Items));
        await acted(() => {});
        return page;
      },
    };
  }

  test('[59] stays on top of newer snapshots and gives way without a frame in which it is missing or doubled', async () => {
    const {deployment, client} = deploy();
    const {shown, send, open} = app(client);
    const page = await open();
    deployment.hold();
    let sent: Promise<unknown> | undefined;
    await acted(() => {
      sent = send('mine');
    });
    expect(page.text).toBe('mine');
    // Its result, and the transition that includes it, wait. Another client's write came before it in the server's order.
    const [theirs, ...rest] = ['theirs'];
    expect(rest).toEqual([]);
    deployment.state.items.unshift(theirs!);
    deployment.commit(() => {});
    await acted(() => deployment.release());
    await acted(() => sent!);
    expect(page.text).toBe('theirs,mine');
    expect(shown).toEqual(['loading', '', 'mine', 'theirs,mine']);
  });

  test('[59] is replayed on a snapshot of another client that arrives before the mutation runs', async () => {
    const {deployment, client} = deploy();
    const {shown, send, open} = app(client);
    await open();
    deployment.cut();
    let sent: Promise<unknown> | undefined;
    await acted(() => {
      sent = send('mine');
    });
    deployment.hold();
    deployment.commit(state => void state.items.push('theirs'));
    await acted(() => {});
    deployment.release();
    await acted(() => sent!);
    expect(shown).toEqual(['loading', '', 'mine', 'theirs,mine']);
  });

  test('[59] disappears when the mutation fails', async () => {
    const {deployment, client} = deploy();
    const {shown, send, open} = app(client);
    const page = await open();
    deployment.state.isRefusing = true;
    deployment.hold();
    let failure: unknown;
    await acted(() => {
      send('mine').catch(caught => {
        failure = caught;
      });
    });
    expect(page.text).toBe('mine');
    await acted(() => deployment.release());
    expect(String(failure)).toContain('refused');
    expect(page.text).toBe('');
    expect(shown).toEqual(['loading', '', 'mine', '']);
  });

  test('of several mutations run in the order of their calls', async () => {
    const {deployment, client} = deploy();
    const {shown, send, open} = app(client);
    const page = await open();
    deployment.hold();
    const sent: Promise<unknown>[] = [];
    await acted(() => {
      sent.push(send('1'), send('2'), send('3'));
    });
    expect(page.text).toBe('1,2,3');
    while (deployment.heldFrames > 0) await acted(() => deployment.release(1));
    await acted(() => Promise.all(sent));
    expect(new Set(shown.slice(2))).toEqual(new Set(['1,2,3']));
  });

  test('can be given once', async () => {
    const {client} = deploy();
    let error: unknown;
    const Twice = (): ReactNode => {
      const mutation = useMutation(addItem).withOptimisticUpdate(() => {});
      try {
        mutation.withOptimisticUpdate(() => {});
      } catch (caught) {
        error = caught;
      }
      return null;
    };
    await Page.open(within(client, Twice));
    expect(String(error)).toContain('Already specified optimistic update for mutation items:add');
  });
});
