// @vitest-environment happy-dom
import {Component, type ReactNode, StrictMode, useState} from 'react';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {
  SvcProvider,
  SvcReactClient,
  useAction,
  useMutation,
  useQueries,
  useQuery,
  useSvc,
  useSvcAuth,
  useSvcConnectionState,
} from '../../sdk/react/index.ts';
import {makeFunctionReference} from '../../sdk/server/index.ts';
import {acted, h, Page, within} from './page.ts';
import {type Functions, SimulatedDeployment} from './simulated-deployment.ts';

type State = {numbers: number[]; failing: boolean};

const list = makeFunctionReference<'query', {from?: number}, number[]>('numbers:list');
const sum = makeFunctionReference<'query', Record<string, never>, number>('numbers:sum');
const boom = makeFunctionReference<'query', Record<string, never>, number>('numbers:boom');
const add = makeFunctionReference<'mutation', {n: number}, number>('numbers:add');
const roll = makeFunctionReference<'action', Record<string, never>, number>('dice:roll');

const FUNCTIONS: Functions<State> = {
  queries: {
    'numbers:list': ({state, args}) => state.numbers.filter(n => n >= ((args.from as number | undefined) ?? 0)),
    'numbers:sum': ({state}) => state.numbers.reduce((a, b) => a + b, 0),
    'numbers:boom': ({state}) => {
      if (state.failing) throw new Error('it is broken');
      return 1;
    },
    'numbers:none': () => null,
  },
  mutations: {
    'numbers:add': (state, {n}) => {
      if ((n as number) < 0) throw new Error('no negative numbers');
      return state.numbers.push(n as number);
    },
  },
  actions: {'dice:roll': () => 4},
};

function deploy(numbers: number[] = [1, 2]): {deployment: SimulatedDeployment<State>; client: SvcReactClient} {
  const deployment = new SimulatedDeployment<State>({numbers, failing: false}, FUNCTIONS);
  const client = new SvcReactClient(deployment.url, {webSocketConstructor: deployment.WebSocket, logger: false});
  onTestFinished(() => client.close());
  return {deployment, client};
}

class Boundary extends Component<{children: ReactNode; again: number}, {error: Error | null}> {
  override state: {error: Error | null} = {error: null};
  static getDerivedStateFromError(error: Error): {error: Error} {
    return {error};
  }
  override componentDidUpdate(before: {again: number}): void {
    if (before.again !== this.props.again) this.setState({error: null});
  }
  override render(): ReactNode {
    return this.state.error === null ? this.props.children : `caught: ${this.state.error.message}`;
  }
}

describe('useQuery', () => {
  test('is undefined while loading, then the result, then each result after it', async () => {
    const {deployment, client} = deploy();
    const seen: unknown[] = [];
    const Numbers = () => {
      const numbers = useQuery(list, {});
      seen.push(numbers);
      return JSON.stringify(numbers ?? 'loading');
    };
    const page = await Page.open(within(client, Numbers));
    await acted(() => {});
    expect(seen[0]).toBeUndefined();
    expect(page.text).toBe('[1,2]');
    await acted(() => deployment.commit(state => state.numbers.push(3)));
    expect(page.text).toBe('[1,2,3]');
    expect(seen).toEqual([undefined, [1, 2], [1, 2, 3]]);
  });

  test('tells null from not being there', async () => {
    const {client} = deploy();
    const None = () => String(useQuery(makeFunctionReference<'query'>('numbers:none')));
    const page = await Page.open(within(client, None));
    await acted(() => {});
    expect(page.text).toBe('null');
  });

  test('[62] with an equal object gives the same reference, without another subscription', async () => {
    const {deployment, client} = deploy();
    const seen: unknown[] = [];
    const Numbers = () => {
      const [renders, setRenders] = useState(0);
      seen.push(useQuery(list, {from: 1}));
      again = () => setRenders(renders + 1);
      return renders;
    };
    let again = () => {};
    await Page.open(within(client, Numbers));
    await acted(() => {});
    await acted(() => again());
    await acted(() => again());
    const results = seen.filter(result => result !== undefined);
    expect(results).toHaveLength(3);
    expect(new Set(results).size).toBe(1);
    expect(deployment.added).toEqual(['numbers:list']);
  });

  test('[62] with "skip" is undefined, without traffic', async () => {
    const {deployment, client} = deploy();
    const Skipping = () => String(useQuery(list, 'skip'));
    const page = await Page.open(within(client, Skipping));
    await acted(() => {});
    expect(page.text).toBe('undefined');
    expect(deployment.received).toEqual([]);
  });

  test('renders nothing again when a write leaves its result as it is', async () => {
    const {deployment, client} = deploy();
    let renders = 0;
    const Numbers = () => {
      renders++;
      return useQuery(list, {from: 2})?.length;
    };
    await Page.open(within(client, Numbers));
    await acted(() => {});
    const before = renders;
    await acted(() => deployment.commit(state => state.numbers.push(0)));
    expect(renders).toBe(before);
  });

  test('with other arguments is undefined until they are answered, and not when another component has them', async () => {
    const {deployment, client} = deploy();
    const seen: unknown[] = [];
    let setFrom: (from: number) => void = () => {};
    const Chosen = () => {
      const [from, set] = useState(0);
      setFrom = set;
      const numbers = useQuery(list, {from});
      seen.push([from, numbers]);
      return null;
    };
    const Other = () => String(useQuery(list, {from: 2}));
    await Page.open(h(SvcProvider, {client}, h(Chosen), h(Other)));
    await acted(() => {});
    seen.length = 0;
    await acted(() => setFrom(2));
    expect(seen).toEqual([[2, [2]]]);
    await acted(() => setFrom(1));
    expect(seen.slice(1)).toEqual([
      [1, undefined],
      [1, [1, 2]],
    ]);
    expect(deployment.added).toEqual(['numbers:list', 'numbers:list', 'numbers:list']);
    expect(deployment.removed).toBe(1);
  });

  test('[61] of a query that fails throws while rendering, and recovers with the query', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const {deployment, client} = deploy();
    const Broken = () => String(useQuery(boom));
    let again: (n: number) => void = () => {};
    const App = () => {
      const [n, set] = useState(0);
      again = set;
      return h(Boundary, {again: n, children: h(Broken)});
    };
    const page = await Page.open(within(client, App));
    await acted(() => {});
    expect(page.text).toBe('1');
    await acted(() =>
      deployment.commit(state => {
        state.failing = true;
      }),
    );
    expect(page.text).toContain('caught: [SVC Q(numbers:boom)] it is broken');
    await acted(() =>
      deployment.commit(state => {
        state.failing = false;
      }),
    );
    await acted(() => again(1));
    expect(page.text).toBe('1');
  });

  test('under StrictMode asks once, and keeps what it shows', async () => {
    const {deployment, client} = deploy();
    const seen: unknown[] = [];
    const Numbers = () => {
      const numbers = useQuery(list, {});
      seen.push(numbers);
      return JSON.stringify(numbers);
    };
    const page = await Page.open(h(StrictMode, null, within(client, Numbers)));
    await acted(() => {});
    expect(page.text).toBe('[1,2]');
    expect(seen.slice(seen.findIndex(Boolean))).not.toContain(undefined);
    expect(deployment.added).toEqual(['numbers:list']);
    expect(deployment.removed).toBe(0);
  });

  test('ends its subscription when its last component is gone, and hands it on when another comes in the same render', async () => {
    const {deployment, client} = deploy();
    const seen: unknown[] = [];
    const First = () => JSON.stringify(useQuery(list, {}) ?? null);
    const Second = () => {
      seen.push(useQuery(list, {}));
      return null;
    };
    const page = await Page.open(within(client, First));
    await acted(() => {});
    await page.show(within(client, Second));
    await acted(() => {});
    expect(seen).not.toContain(undefined);
    expect(deployment.added).toHaveLength(1);
    await page.show(null);
    await acted(() => {});
    expect(deployment.removed).toBe(1);
  });
});

describe('a query that is unsubscribed and subscribed in one go', () => {
  test.each([
    ['a mutation is called', (client: SvcReactClient) => void client.mutation(add, {n: 3})],
    ['who the caller is changes', (client: SvcReactClient) => client.clearAuth()],
  ])('keeps its result and its subscription, though %s in between', async (_, between) => {
    const {deployment, client} = deploy();
    const watch = client.watchQuery(list, {});
    const end = watch.onUpdate(() => {});
    await acted(() => {});
    end();
    between(client);
    const endAgain = watch.onUpdate(() => {});
    expect(watch.localQueryResult()).toEqual([1, 2]);
    await acted(() => {});
    expect([deployment.added.length, deployment.removed]).toEqual([1, 0]);
    endAgain();
    between(client);
    await acted(() => {});
    expect(deployment.removed).toBe(1);
  });

  test('is asked for, though nothing could be sent meanwhile', async () => {
    const {deployment, client} = deploy();
    client.setAuth(async () => null);
    const watch = client.watchQuery(list, {});
    watch.onUpdate(() => {})();
    client.clearAuth();
    watch.onUpdate(() => {});
    await acted(() => {});
    expect(watch.localQueryResult()).toEqual([1, 2]);
    expect(deployment.added).toHaveLength(1);
  });
});

describe('useQueries', () => {
  test('[61] gives values, what is not there yet and errors by key', async () => {
    const {deployment, client} = deploy();
    deployment.state.failing = true;
    let seen: Record<string, unknown> = {};
    const Many = () => {
      seen = useQueries({all: {query: list, args: {}}, boom: {query: boom, args: {}}});
      return null;
    };
    await Page.open(within(client, Many));
    expect(Object.keys(seen)).toEqual(['all', 'boom']);
    await acted(() => {});
    expect(seen.all).toEqual([1, 2]);
    expect(seen.boom).toBeInstanceOf(Error);
    expect((seen.boom as Error).message).toContain('it is broken');
  });

  test('is the same object until a result or a key is another one, whatever objects it is asked with', async () => {
    const {deployment, client} = deploy();
    const seen = new Set<unknown>();
    let render: (keys: string[]) => void = () => {};
    const Many = () => {
      const [keys, set] = useState(['a', 'b']);
      render = set;
      seen.add(useQueries(Object.fromEntries(keys.map((key, from) => [key, {query: list, args: {from}}]))));
      return null;
    };
    await Page.open(within(client, Many));
    await acted(() => {});
    expect(seen.size).toBe(2);
    await acted(() => render(['a', 'b']));
    expect(seen.size).toBe(2);
    expect(deployment.receivedOf('query_set')).toHaveLength(1);
    await acted(() => render(['a', 'c']));
    expect([...seen].at(-1)).toEqual({a: [1, 2], c: [1, 2]});
    expect(deployment.receivedOf('query_set')).toHaveLength(1);
    await acted(() => render([]));
    expect([...seen].at(-1)).toEqual({});
    expect(deployment.removed).toBe(2);
  });
});

describe('useMutation and useAction', () => {
  test('give functions that stay the same and call', async () => {
    const {deployment, client} = deploy();
    const seen = new Set<unknown>();
    let call: {add: (args: {n: number}) => Promise<number>; roll: () => Promise<number>} | undefined;
    let again: (n: number) => void = () => {};
    const Calls = () => {
      const [, set] = useState(0);
      again = set;
      call = {add: useMutation(add), roll: useAction(roll)};
      seen.add(call.add).add(call.roll);
      return null;
    };
    await Page.open(within(client, Calls));
    await acted(() => again(1));
    expect(seen.size).toBe(2);
    expect(await acted(() => call!.add({n: 7}))).toBe(3);
    expect(deployment.state.numbers).toEqual([1, 2, 7]);
    expect(await acted(() => call!.roll())).toBe(4);
    await expect(acted(() => call!.add({n: -1}))).rejects.toThrow('[SVC M(numbers:add)] no negative numbers');
  });

  test('[56] after the await the page shows the write', async () => {
    const {client} = deploy();
    let send: (args: {n: number}) => Promise<unknown> = async () => {};
    const Numbers = () => {
      send = useMutation(add);
      return JSON.stringify(useQuery(list, {}) ?? null);
    };
    const page = await Page.open(within(client, Numbers));
    await acted(() => {});
    // Without act: what React does by itself is what counts.
    for (const n of [3, 4, 5]) {
      await send({n});
      expect(page.text).toBe(JSON.stringify([1, 2, 3, 4, 5].filter(number => number <= n)));
    }
  });

  test('as an event handler say what was meant', async () => {
    const {client} = deploy();
    let call: [(args: never) => unknown, (args: never) => unknown] | undefined;
    const Calls = () => {
      call = [useMutation(add), useAction(roll) as (args: never) => unknown];
      return null;
    };
    await Page.open(within(client, Calls));
    const event = {type: 'click', bubbles: true, preventDefault() {}, nativeEvent: {}} as never;
    for (const [index, name] of ['numbers:add', 'dice:roll'].entries()) {
      expect(() => call![index]!(event)).toThrow(`svc function ${name} was called with a React event`);
    }
  });
});

describe('the provider', () => {
  test.each([
    ['useQuery', () => useQuery(list, {})],
    ['useQueries', () => useQueries({})],
    ['useMutation', () => useMutation(add)],
    ['useAction', () => useAction(roll)],
    ['useSvcConnectionState', () => useSvcConnectionState()],
  ])('is missed by %s', async (name, hook) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const Hooked = () => String(hook());
    const page = await Page.open(h(Boundary, {again: 0, children: h(Hooked)}));
    expect(page.text).toContain(
      `Could not find svc client! ${name} must be used in the React component tree under SvcProvider`,
    );
  });

  test('gives its client to useSvc, which is undefined outside', async () => {
    const {client} = deploy();
    const seen: unknown[] = [];
    const Client = () => {
      seen.push(useSvc());
      return null;
    };
    await Page.open(h('div', null, h(Client), within(client, Client)));
    expect(seen).toEqual([undefined, client]);
  });

  test('[63] is SvcProviderWithAuth for useSvcAuth', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const {client} = deploy();
    const Auth = () => String(useSvcAuth().isLoading);
    const page = await Page.open(h(Boundary, {again: 0, children: within(client, Auth)}));
    expect(page.text).toContain('useSvcAuth must be used in the React component tree under SvcProviderWithAuth');
  });

  test('given another client shows what that one has', async () => {
    const [one, two] = [deploy([1]), deploy([2])];
    const Numbers = () => JSON.stringify(useQuery(list, {}) ?? 'loading');
    const page = await Page.open(within(one.client, Numbers));
    await acted(() => {});
    expect(page.text).toBe('[1]');
    await acted(() => page.show(within(two.client, Numbers)));
    expect(page.text).toBe('[2]');
    expect(one.deployment.removed).toBe(1);
  });
});

describe('wrong uses', () => {
  test.each([
    ['a registered function', Object.assign(() => {}, {isSvcFunction: true}), 'is not a functionReference'],
    ['nothing', undefined, 'is not a functionReference'],
  ])('of %s as a reference', async (_, reference, message) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const {client} = deploy();
    const Wrong = () => String(useQuery(reference as never));
    const page = await Page.open(h(Boundary, {again: 0, children: within(client, Wrong)}));
    expect(page.text).toContain(message);
  });

  test('of a value that is none is reported with its path, before anything is sent', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const {deployment, client} = deploy();
    const Wrong = () => String(useQuery(makeFunctionReference<'query'>('numbers:list'), {a: {b: new Date()}}));
    const page = await Page.open(h(Boundary, {again: 0, children: within(client, Wrong)}));
    expect(page.text).toMatch(/Date.*\.a\.b/);
    expect(deployment.received).toEqual([]);
  });
});

describe('useSvcConnectionState', () => {
  test('renders again when the connection comes and goes', async () => {
    const {deployment, client} = deploy();
    const State = () => {
      const {isWebSocketConnected, hasEverConnected} = useSvcConnectionState();
      useQuery(list, {});
      return `${isWebSocketConnected} ${hasEverConnected}`;
    };
    const page = await Page.open(within(client, State));
    await acted(() => {});
    expect(page.text).toBe('true true');
    await acted(() => deployment.cut());
    expect(page.text).toBe('false true');
  });
});

describe('SvcReactClient', () => {
  test('sends nothing before it is used', async () => {
    const {deployment, client} = deploy();
    await acted(() => {});
    expect(deployment.received).toEqual([]);
    expect(client.url).toBe(deployment.url);
  });

  test('asks once, and not at all for what is on the page', async () => {
    const {deployment, client} = deploy();
    expect(await client.query(list, {})).toEqual([1, 2]);
    await acted(() => {});
    expect([deployment.added.length, deployment.removed]).toEqual([1, 1]);
    deployment.state.failing = true;
    await expect(client.query(boom)).rejects.toThrow('it is broken');
    const watch = client.watchQuery(sum);
    expect(watch.localQueryResult()).toBeUndefined();
    const told = vi.fn();
    const end = watch.onUpdate(told);
    await acted(() => {});
    expect(told).toHaveBeenCalledTimes(1);
    expect(watch.localQueryResult()).toBe(3);
    const before = deployment.added.length;
    expect(await client.query(sum)).toBe(3);
    expect(deployment.added).toHaveLength(before);
    end();
    await acted(() => deployment.commit(state => state.numbers.push(9)));
    expect(told).toHaveBeenCalledTimes(1);
  });

  test('watches a query that fails: its result is thrown', async () => {
    const {deployment, client} = deploy();
    deployment.state.failing = true;
    const watch = client.watchQuery(boom);
    watch.onUpdate(() => {});
    await acted(() => {});
    expect(() => watch.localQueryResult()).toThrow('it is broken');
  });

  test('calls mutations and actions, and is closed for good', async () => {
    const {client} = deploy();
    expect(await client.mutation(add, {n: 3})).toBe(3);
    expect(await client.action(roll)).toBe(4);
    await client.close();
    expect(() => client.watchQuery(sum).onUpdate(() => {})).toThrow('has already been closed');
  });
});
