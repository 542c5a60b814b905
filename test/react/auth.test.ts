// @vitest-environment happy-dom
import {StrictMode, useEffect, useState} from 'react';
import {describe, expect, onTestFinished, test} from 'vitest';
import {SvcProviderWithAuth, SvcReactClient, type UseAuth, useQuery, useSvcAuth} from '../../sdk/react/index.ts';
import {makeFunctionReference} from '../../sdk/server/index.ts';
import {acted, h, Page} from './page.ts';
import {SimulatedDeployment} from './simulated-deployment.ts';

const me = makeFunctionReference<'query', Record<string, never>, string | null>('users:me');
const rules = makeFunctionReference<'query', Record<string, never>, {text: string}>('rules:get');

type Session = {isLoading: boolean; isAuthenticated: boolean; fetchAccessToken: () => Promise<string | null>};
const SIGNED_OUT: Session = {isLoading: false, isAuthenticated: false, fetchAccessToken: async () => null};
const signedIn = (user: string): Session => ({
  isLoading: false,
  isAuthenticated: true,
  fetchAccessToken: async () => tokenOf(user),
});

/** As it would be of a JWT; the deployment looks at the whole of it only. */
function tokenOf(user: string): string {
  const part = (value: object) => btoa(JSON.stringify(value)).replaceAll('=', '');
  return `${part({alg: 'ES256'})}.${part({sub: user, iat: 0, exp: 3600})}.${user}`;
}

function deploy() {
  const deployment = new SimulatedDeployment(
    {},
    {
      queries: {
        'users:me': ({identity}) => identity?.split('.')[2] ?? null,
        'rules:get': () => ({text: 'be kind'}),
      },
    },
  );
  const client = new SvcReactClient(deployment.url, {webSocketConstructor: deployment.WebSocket, logger: false});
  onTestFinished(() => client.close());
  return {deployment, client};
}

/** An app whose library for signing in says what the test says. */
async function open(client: SvcReactClient, first: Session, isStrict = false) {
  const states: string[] = [];
  const shown: unknown[] = [];
  const allRules = new Set<unknown>();
  let set: (session: Session) => void = () => {};
  const useSession: UseAuth = () => {
    const [session, setSession] = useState(first);
    set = setSession;
    return session;
  };
  const App = () => {
    const {isLoading, isAuthenticated} = useSvcAuth();
    const state = isLoading ? 'loading' : isAuthenticated ? 'in' : 'out';
    if (states.at(-1) !== state) states.push(state);
    const user = useQuery(me);
    if (shown.at(-1) !== user) shown.push(user);
    const kept = useQuery(rules);
    if (kept !== undefined) allRules.add(kept);
    return `${state} ${user}`;
  };
  const tree = h(SvcProviderWithAuth, {client, useAuth: useSession}, h(App));
  const page = await Page.open(isStrict ? h(StrictMode, null, tree) : tree);
  await acted(() => {});
  return {page, states, shown, allRules, become: (session: Session) => acted(() => set(session))};
}

describe('SvcProviderWithAuth', () => {
  test('says who is signed in when the server has confirmed it, and not before', async () => {
    const {deployment, client} = deploy();
    deployment.hold();
    const {page, states, become} = await open(client, {...SIGNED_OUT, isLoading: true});
    expect(states).toEqual(['loading']);
    await become(signedIn('ada'));
    expect(states).toEqual(['loading']);
    await acted(() => deployment.release());
    expect(states).toEqual(['loading', 'in']);
    expect(page.text).toBe('in ada');
  });

  test('says at once that nobody is signed in', async () => {
    const {client} = deploy();
    const {page, states} = await open(client, SIGNED_OUT);
    expect(states).toEqual(['out']);
    expect(page.text).toBe('out null');
  });

  test('asks as the user from the first: nothing is shown as nobody', async () => {
    const {client} = deploy();
    const {shown} = await open(client, signedIn('ada'));
    expect(shown).toEqual(['ada']);
  });

  test.each([false, true])(
    '[63] another user: what depends on it is another result, the rest the same reference (StrictMode: %s)',
    async isStrict => {
      const {client} = deploy();
      const {states, shown, allRules, become} = await open(client, signedIn('ada'), isStrict);
      await become(signedIn('bob'));
      expect(shown).toEqual(['ada', 'bob']);
      expect(allRules.size).toBe(1);
      expect(states.slice(-1)).toEqual(['in']);
      await become(SIGNED_OUT);
      expect(shown.slice(-2)).toEqual(['bob', null]);
      expect(states.slice(-1)).toEqual(['out']);
      await become(signedIn('ada'));
      expect(shown.slice(-1)).toEqual(['ada']);
      expect(states.slice(-3)).toEqual(['out', 'loading', 'in']);
      expect(allRules.size).toBe(1);
    },
  );

  test('[63] between another token and its confirmation stays what was there', async () => {
    const {deployment, client} = deploy();
    const {page, shown, become} = await open(client, signedIn('ada'));
    deployment.hold();
    await become(signedIn('bob'));
    expect(page.text).toBe('in ada');
    await acted(() => deployment.release());
    expect(page.text).toBe('in bob');
    expect(shown).toEqual(['ada', 'bob']);
  });

  test('a token that the server does not take is nobody', async () => {
    const {deployment, client} = deploy();
    deployment.acceptedTokens = new Set([tokenOf('ada')]);
    const {page} = await open(client, signedIn('mallory'));
    await acted(() => {});
    expect(page.text).toBe('out null');
  });

  test('a function for tokens that is another in each render does not make it ask again and again', async () => {
    const {deployment, client} = deploy();
    const useRestless: UseAuth = () => ({
      isLoading: false,
      isAuthenticated: true,
      fetchAccessToken: async () => tokenOf('ada'),
    });
    let renders = 0;
    const App = () => {
      renders++;
      return String(useSvcAuth().isAuthenticated);
    };
    const page = await Page.open(h(SvcProviderWithAuth, {client, useAuth: useRestless}, h(App)));
    for (let turn = 0; turn < 5; turn++) await acted(() => {});
    expect(page.text).toBe('true');
    expect(renders).toBeLessThan(5);
    expect(deployment.receivedOf('authenticate').length).toBeLessThan(5);
  });

  test.each([false, true])(
    'after a user who was refused comes another one: it is not known who is there until the server says (StrictMode: %s)',
    async isStrict => {
      const {deployment, client} = deploy();
      deployment.acceptedTokens = new Set([tokenOf('ada')]);
      const {page, states, become} = await open(client, signedIn('mallory'), isStrict);
      await acted(() => {});
      expect(page.text).toBe('out null');
      const before = states.length;
      deployment.hold();
      await become(signedIn('ada'));
      expect(page.text).toBe('loading null');
      await acted(() => deployment.release());
      expect(page.text).toBe('in ada');
      expect(states.slice(before)).toEqual(['loading', 'in']);
      await become(signedIn('mallory'));
      await acted(() => {});
      expect(page.text).toBe('out null');
      await become(signedIn('eve'));
      await acted(() => {});
      expect(states.slice(before)).toEqual(['loading', 'in', 'out', 'loading', 'out']);
    },
  );

  test('a refused user whose function for tokens is another in each render stays refused, whatever renders again', async () => {
    const {deployment, client} = deploy();
    deployment.acceptedTokens = new Set();
    const useRestless: UseAuth = () => ({
      isLoading: false,
      isAuthenticated: true,
      fetchAccessToken: async () => tokenOf('mallory'),
    });
    const states: string[] = [];
    const Report = ({tell}: {tell: (state: string) => void}) => {
      const {isLoading, isAuthenticated} = useSvcAuth();
      const state = isLoading ? 'loading' : isAuthenticated ? 'in' : 'out';
      useEffect(() => tell(state), [state, tell]);
      if (states.at(-1) !== state) states.push(state);
      return state;
    };
    let renderAgain: () => void = () => {};
    // An update above the provider renders it again, with one more function.
    const App = () => {
      const [, setTold] = useState('');
      const [, setCount] = useState(0);
      renderAgain = () => setCount(count => count + 1);
      return h(SvcProviderWithAuth, {client, useAuth: useRestless}, h(Report, {tell: setTold}));
    };
    const page = await Page.open(h(App));
    for (let turn = 0; turn < 5; turn++) await acted(() => {});
    expect(page.text).toBe('out');
    const asked = deployment.receivedOf('authenticate').length;
    for (let turn = 0; turn < 5; turn++) await acted(() => {});
    expect(deployment.receivedOf('authenticate')).toHaveLength(asked);
    await acted(renderAgain);
    await acted(() => {});
    expect(states).toEqual(['loading', 'out']);
  });

  test('goes after its client was closed', async () => {
    const {client} = deploy();
    const {page} = await open(client, signedIn('ada'));
    await client.close();
    await acted(() => page.close());
    expect(page.text).toBe('');
  });

  test('signs out after its components have unsubscribed: nothing is asked again as nobody', async () => {
    const {deployment, client} = deploy();
    const order: string[] = [];
    const clearAuth = client.clearAuth.bind(client);
    client.clearAuth = () => {
      order.push('clearAuth');
      clearAuth();
    };
    const useAda: UseAuth = () => useState(signedIn('ada'))[0];
    const Child = () => {
      useEffect(() => () => void order.push('child'), []);
      return String(useQuery(me));
    };
    const page = await Page.open(h(SvcProviderWithAuth, {client, useAuth: useAda}, h(Child)));
    await acted(() => {});
    expect(page.text).toBe('ada');
    await acted(() => page.close());
    expect(order).toEqual(['child', 'clearAuth']);
    expect(deployment.receivedOf('query_set').at(-1)?.changes).toMatchObject([{type: 'remove'}]);
  });
});
