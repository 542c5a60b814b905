/** The clients and a really started service: what the reference's section 9 and the checks of its section 13 say. */
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {SvcClient, type SvcClientOptions} from '../../sdk/browser/client.ts';
import {SvcHttpClient} from '../../sdk/browser/http-client.ts';
import type {Explained} from '../../sdk/client/explain.ts';
import {SyncClient} from '../../sdk/client/sync-client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {App} from '../functions/app.ts';
import {IdentityProvider} from '../functions/auth/identity-provider.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {Cable} from './cable.ts';

const MESSAGES = `
import {internalMutation, mutation, query, action, paginatedQuery} from './_generated/server';
export const list = query(ctx => ctx.db.query('messages').collect());
export const slow = query(async ctx => {
  let x = 0;
  for (let i = 0; i < 2e6; i++) x = (x + i) % 7;
  return x < 0 ? [] : await ctx.db.query('messages').collect();
});
export const count = query(async ctx => (await ctx.db.query('messages').collect()).length);
export const pages = paginatedQuery((ctx, args) => ctx.db.query('messages').paginate(args.paginationOpts));
export const send = mutation((ctx, {text}) => { console.log('sent', text); return ctx.db.insert('messages', {text}); });
export const clear = mutation(async ctx => {
  for (const table of ['messages', 'counters'])
    for (const {_id} of await ctx.db.query(table).collect()) await ctx.db.delete(_id);
});
export const fail = mutation(() => { throw new Error('boom'); });
export const failing = query(() => { throw new Error('boom'); });
export const echo = action((ctx, args) => args.value);
export const echoed = query((ctx, args) => args.value);
export const bump = mutation(async (ctx, {by = 1}) => {
  const counter = await ctx.db.query('counters').first();
  if (counter === null) return ctx.db.insert('counters', {n: by});
  return ctx.db.patch(counter._id, {n: counter.n + by});
});
export const counter = query(async ctx => (await ctx.db.query('counters').first())?.n ?? 0);
export const twice = query(async ctx => 2 * ((await ctx.db.query('counters').first())?.n ?? 0));
export const who = query(async ctx => (await ctx.auth.getUserIdentity())?.subject ?? null);
`;

type Message = {_id: string; text: string};
const list = makeFunctionReference<'query', Record<string, never>, Message[]>('messages:list');
const slow = makeFunctionReference<'query', Record<string, never>, Message[]>('messages:slow');
const count = makeFunctionReference<'query', Record<string, never>, number>('messages:count');
const counter = makeFunctionReference<'query', Record<string, never>, number>('messages:counter');
const twice = makeFunctionReference<'query', Record<string, never>, number>('messages:twice');
const who = makeFunctionReference<'query', Record<string, never>, string | null>('messages:who');
const echoed = makeFunctionReference<'query', {value: unknown}, unknown>('messages:echoed');
const failing = makeFunctionReference<'query', Record<string, never>, never>('messages:failing');
const send = makeFunctionReference<'mutation', {text: string}, string>('messages:send');
const fail = makeFunctionReference<'mutation', Record<string, never>, never>('messages:fail');
const bump = makeFunctionReference<'mutation', Record<string, unknown>, null>('messages:bump');
const echo = makeFunctionReference<'action', {value: unknown}, unknown>('messages:echo');

let service: Service;
let provider: IdentityProvider;
let common: App | null = null;
const clients: SvcClient[] = [];

beforeAll(async () => {
  provider = await IdentityProvider.start();
  service = await Service.start();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map(client => client.close()));
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

/** The app that tests share, without documents; a new one if its configuration is given. */
async function deployed(config?: {jwks?: string}): Promise<App> {
  if (config !== undefined) return await deployedAnew(config);
  common ??= await deployedAnew({});
  await common.mutation('messages:clear', {});
  return common;
}

async function deployedAnew(config: {jwks?: string}): Promise<App> {
  service.showLogOnFailure();
  const keys = [{...(await provider.publicJwk()), kid: 'key-1', alg: 'RS256', use: 'sig'}];
  const jwks = config.jwks ?? `data:application/json,${encodeURIComponent(JSON.stringify({keys}))}`;
  return await App.deploy(service, {
    'messages.ts': MESSAGES,
    'auth.config.ts': `export default {providers: [{type: 'customJwt', issuer: '${provider.issuer}', jwks: '${jwks}', algorithm: 'RS256'}]};`,
  });
}

const SILENT = {log() {}, warn() {}, error() {}};

function connected(app: App, options: SvcClientOptions = {}, host = service.url): SvcClient {
  const client = new SvcClient(`${host}/svc/${app.tenant}`, {logger: SILENT, ...options});
  clients.push(client);
  return client;
}

/** Resolves with the first result that is as wanted. */
async function shows<T>(
  client: SvcClient,
  query: Parameters<SvcClient['onUpdate']>[0],
  args: object,
  isWanted: (value: T) => boolean,
): Promise<T> {
  let stop = () => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      stop = client.onUpdate(query, args, value => isWanted(value as T) && resolve(value as T), reject);
    });
  } finally {
    stop();
  }
}

describe('SvcClient and a service', () => {
  test('56: at the line after a mutation, subscriptions include what it did', async () => {
    const client = connected(await deployed());
    const messages = client.onUpdate(list, {}, () => {});
    const total = client.onUpdate(count, {}, () => {});
    await client.query(list);
    for (let n = 1; n <= 50; n++) {
      const id = await client.mutation(send, {text: String(n)});
      expect(messages.getCurrentValue()!.at(-1)!._id).toBe(id);
      expect(total.getCurrentValue()).toBe(n);
    }
  });

  test('56: 200 mutations of four clients that race: what each did is in all that its client shows when it is answered, a slow query too', async () => {
    const app = await deployed();
    const racers = Array.from({length: 4}, () => connected(app));
    const watched = racers.map(client => [list, slow].map(query => client.onUpdate(query, {}, () => {})));
    await Promise.all(racers.map(client => client.query(slow)));
    const missing: unknown[] = [];
    let told = 0;
    const race = async (racer: number, n: number) => {
      const id = await racers[racer]!.mutation(send, {text: `${racer} ${n}`});
      told++;
      for (const [i, query] of watched[racer]!.entries()) {
        if (!query.getCurrentValue()!.some(({_id}) => _id === id)) missing.push({racer, n, query: i});
      }
    };
    await Promise.all(racers.flatMap((_, racer) => Array.from({length: 50}, (__, n) => race(racer, n))));
    expect([told, missing]).toEqual([200, []]);
  });

  test('56: mutations that are called together run in the order of their calls', async () => {
    const client = connected(await deployed());
    const texts = [...Array(30).keys()].map(String);
    await Promise.all(texts.map(text => client.mutation(send, {text})));
    expect((await client.query(list)).map(({text}) => text)).toEqual(texts);
  });

  test('57: two queries of one document are always of one moment', async () => {
    const app = await deployed();
    const [reader, writer] = [connected(app), connected(app)];
    const pairs: [number, number][] = [];
    const look = (): void => {
      const pair = [one.getCurrentValue(), two.getCurrentValue()];
      if (pair[0] !== undefined && pair[1] !== undefined) pairs.push(pair as [number, number]);
    };
    const one = reader.onUpdate(counter, {}, look);
    const two = reader.onUpdate(twice, {}, look);
    await reader.query(twice);
    for (let n = 0; n < 100; n++) await writer.mutation(bump, {});
    await shows<number>(reader, twice, {}, n => n === 200);
    expect(pairs.filter(([n, m]) => m !== 2 * n)).toEqual([]);
    expect(pairs.at(-1)).toEqual([100, 200]);
  });

  test('7: numbers that JSON cannot hold go there and come back', async () => {
    const app = await deployed();
    const value = [Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    const client = connected(app);
    const http = new SvcHttpClient(client.url, {logger: false});
    for (const answer of [
      await client.query(echoed, {value}),
      await client.action(echo, {value}),
      await http.query(echoed, {value}),
      await http.action(echo, {value}),
    ]) {
      expect(answer).toEqual(value);
    }
  });

  test('59: what is shown optimistically is never missing and never there twice, whatever other clients write', async () => {
    const app = await deployed();
    const [client, other] = [connected(app), connected(app)];
    let sent = 0;
    const wrong: string[][] = [];
    const messages = client.onUpdate(list, {}, value => {
      const mine = value.map(({text}) => text).filter(text => text.startsWith('mine'));
      if (mine.join() !== [...Array(sent).keys()].map(n => `mine ${n}`).join()) wrong.push(mine);
    });
    await client.query(list);
    const noise = (async () => {
      for (let n = 0; n < 60; n++) await other.mutation(send, {text: `other ${n}`});
    })();
    for (let n = 0; n < 30; n++) {
      const text = `mine ${sent++}`;
      const mutation = client.mutation(
        send,
        {text},
        {
          optimisticUpdate: (store, args) => {
            const before = store.getQuery(list) ?? [];
            store.setQuery(list, {}, [...before, {_id: 'mine', text: args.text}]);
          },
        },
      );
      expect(messages.getCurrentValue()!.at(-1)!.text).toBe(text);
      await mutation;
    }
    await noise;
    expect(wrong).toEqual([]);
  });

  test('errors of functions have the texts of the reference, and lines are echoed', async () => {
    const said: string[] = [];
    const client = connected(await deployed(), {logger: {...SILENT, log: text => said.push(String(text))}});
    await expect(client.mutation(fail)).rejects.toThrow(
      /^\[SVC M\(messages:fail\)\] \[Request ID: [^\]]+\] Server Error\nUncaught Error: boom\n.*\n {2}Called by client$/s,
    );
    await expect(client.query(failing)).rejects.toThrow(/^\[SVC Q\(messages:failing\)\] .*boom.*Called by client$/s);
    await expect(client.query(makeFunctionReference<'query'>('messages:nothing'))).rejects.toThrow(
      "Could not find public function for 'messages:nothing'",
    );
    await expect(client.query(makeFunctionReference<'query'>('messages:send'))).rejects.toThrow('Mutation');
    await client.mutation(send, {text: 'hi'});
    expect(said).toEqual(["[SVC M(messages:send)] 'sent' 'hi'"]);
  });

  test('16: a query is watched as what it is: the other kind fails, as over HTTP', async () => {
    const app = await deployed();
    const engine = new SyncClient(`${service.url}/svc/${app.tenant}`, {logger: SILENT});
    const outcome = (path: string, paginated: boolean) =>
      new Promise<string>(resolve => {
        const {token} = engine.subscribe(path, {paginationOpts: {numItems: 1, cursor: null}}, {paginated});
        engine.onChange(() => {
          const result = engine.localResult(token);
          if (result !== undefined) resolve(result.ok ? JSON.stringify(result.value) : result.error.message);
        });
      });
    expect(await outcome('messages:pages', true)).toContain('"isDone":true');
    expect(await outcome('messages:pages', false)).toMatch(/as Query, but it is defined as PaginatedQuery/);
    expect(await outcome('messages:list', true)).toMatch(/as PaginatedQuery, but it is defined as Query/);
    await engine.close();
  });

  test('says which write made a query run again', async () => {
    const app = await deployed();
    const facts: Explained[] = [];
    const client = connected(app, {onExplain: explained => facts.push(explained)});
    client.onUpdate(list, {}, () => {});
    await client.query(list);
    const id = await client.mutation(send, {text: 'a'});
    const queries = facts.flatMap(({queries}) => queries);
    expect(queries.map(({path, because}) => [path, because.cause])).toEqual([
      ['messages:list', 'added'],
      ['messages:list', 'written'],
    ]);
    expect(queries[1]!.because).toMatchObject({table: 'messages', id});
  });

  test('70: a deploy swaps code under a live subscription', async () => {
    const app = await deployed({});
    const client = connected(app);
    await client.mutation(send, {text: 'a'});
    const counts: number[] = [];
    client.onUpdate(count, {}, value => counts.push(value));
    await client.query(count);
    await app.deploy({'messages.ts': `${MESSAGES.replace('.collect()).length', '.collect()).length + 100')}`});
    await shows<number>(client, count, {}, n => n === 101);
    expect(counts).toEqual([1, 101]);
    expect(client.connectionState().connectionCount).toBe(1);
  });
});

/** Of a connection that is cut before the answer; every second before the service hears of the mutation's effect. */
const ROUNDS = rounds({commit: 2, nightly: 15});

describe('SvcClient when the connection breaks', () => {
  test('58: a mutation whose answer was lost runs once, and its promise resolves', async () => {
    const app = await deployed();
    const cable = await Cable.to(() => service.port);
    const client = connected(app, {}, cable.url);
    const value = client.onUpdate(counter, {}, () => {});
    await client.query(counter);
    for (let round = 1; round <= ROUNDS; round++) {
      const first = client.mutation(bump, {});
      const second = client.mutation(bump, {});
      const action = client.action(echo, {value: 1}).catch((error: Error) => error.message);
      // The service hears them; what it says is lost.
      cable.deafen();
      const other = new SvcHttpClient(`${service.url}/svc/${app.tenant}`);
      if (round % 2 !== 0) while ((await other.query(counter)) < 2 * round) await new Promise(setImmediate);
      cable.cut();
      await Promise.all([first, second]);
      expect(value.getCurrentValue()).toBe(2 * round);
      expect([1, 'Connection lost while action was in flight']).toContain(await action);
    }
    cable.close();
  });

  test('what is shown stays until there is something else, and the socket too, through the death of the worker', async () => {
    const app = await deployed();
    const client = connected(app);
    const seen: (string[] | undefined)[] = [];
    const messages = client.onUpdate(list, {}, value => seen.push(value.map(({text}) => text)));
    await client.mutation(send, {text: 'a'});
    const before = messages.getCurrentValue();
    process.kill(await service.workerOf(app.tenant), 'SIGKILL');
    expect(messages.getCurrentValue()).toBe(before);
    await client.mutation(send, {text: 'b'});
    expect(client.connectionState()).toMatchObject({connectionCount: 1, connectionRetries: 0});
    expect(seen.slice(seen.findIndex(texts => texts!.length === 1))).toEqual([['a'], ['a', 'b']]);
  });
});

describe('the caller', () => {
  const token = (subject: string, seconds = 60) => {
    const now = Math.floor(Date.now() / 1000);
    return provider.token({iss: provider.issuer, sub: subject, iat: now, exp: now + seconds});
  };

  test('63: results of the one before are gone with the confirmation; those of everybody stay the same', async () => {
    const app = await deployed();
    const client = connected(app);
    const seen: unknown[] = [];
    let confirmed = 0;
    client.onUpdate(who, {}, value => seen.push([value, confirmed]));
    const shared = client.onUpdate(list, {}, () => {});
    await client.mutation(send, {text: 'a'});
    const before = shared.getCurrentValue();
    const signIn = (subject: string) =>
      new Promise<void>(resolve =>
        client.setAuth(
          () => token(subject),
          isAuthenticated => {
            confirmed++;
            if (isAuthenticated) resolve();
          },
        ),
      );
    await signIn('ada');
    await signIn('grace');
    client.clearAuth();
    await shows<unknown>(client, who, {}, value => value === null);
    expect(seen).toEqual([
      [null, 0],
      ['ada', 0],
      ['grace', 1],
      [null, 2],
    ]);
    expect(shared.getCurrentValue()).toBe(before);
  });

  test('a token that the service does not take is no caller: onChange(false), and queries go on', async () => {
    const client = connected(await deployed());
    const told: boolean[] = [];
    client.setAuth(
      () => token('ada', -60),
      isAuthenticated => told.push(isAuthenticated),
    );
    expect(await client.query(who)).toBeNull();
    expect(told).toEqual([false]);
  });

  test('SvcHttpClient carries its token', async () => {
    const app = await deployed();
    const client = new SvcHttpClient(`${service.url}/svc/${app.tenant}`, {auth: await token('ada')});
    expect(await client.query(who)).toBe('ada');
    client.clearAuth();
    expect(await client.query(who)).toBeNull();
    client.setAuth('nonsense');
    await expect(client.query(who)).rejects.toThrow('auth.unauthorized');
  });
});

describe('SvcHttpClient and a service', () => {
  test('reads what it wrote, gets pages, and errors', async () => {
    const app = await deployed();
    const client = new SvcHttpClient(`${service.url}/svc/${app.tenant}/`, {logger: false});
    await Promise.all(['a', 'b', 'c'].map(text => client.mutation(send, {text})));
    expect((await client.query(list)).map(({text}) => text)).toEqual(['a', 'b', 'c']);
    const pages = makeFunctionReference<'paginatedQuery', {paginationOpts: object}, {page: Message[]}>(
      'messages:pages',
    );
    const {page} = await client.paginatedQuery(pages, {paginationOpts: {numItems: 2, cursor: null}});
    expect(page.map(({text}) => text)).toEqual(['a', 'b']);
    await expect(client.mutation(fail)).rejects.toThrow('Uncaught Error: boom');
    expect((await client.query(list)).length).toBe(3);
  });
});

nightly.test(
  'the worker restarts while the server of the keys is down: no user is signed out, and calls wait',
  async () => {
    const app = await deployed({jwks: `${provider.issuer}/jwks`});
    await app.admin('PUT', '/settings', {egress: {allow: ['127.0.0.1'], deny: []}, allowed_origins: null});
    const client = connected(app);
    const told: boolean[] = [];
    let fetches = 0;
    const fetchToken = async () => {
      fetches++;
      return await provider.token({
        iss: provider.issuer,
        sub: 'ada',
        iat: Date.now() / 1000,
        exp: Date.now() / 1000 + 3600,
      });
    };
    client.setAuth(fetchToken, isAuthenticated => told.push(isAuthenticated));
    await shows(client, who, {}, subject => subject === 'ada');
    await until('the fresh token', () => fetches === 2);
    const keys = provider.answers.get('/jwks')!;
    provider.answers.set('/jwks', {status: 503, body: ''});
    const asked = provider.asked.length;
    process.kill(await service.workerOf(app.tenant), 'SIGKILL');
    await until('a failed fetch of the keys', () => provider.asked.length > asked);
    const token = await fetchToken();
    const overHttp = await app.svc(
      'POST',
      '/query',
      {path: 'messages:who', args: {}},
      {authorization: `Bearer ${token}`},
    );
    expect([overHttp.status, (overHttp.body as {error: {code: string}}).error.code]).toEqual([
      503,
      'session.auth_unavailable',
    ]);
    const sent = client.mutation(send, {text: 'by ada'});
    provider.answers.set('/jwks', keys);
    await sent;
    expect([told, await client.query(who)]).toEqual([[true], 'ada']);
  },
);
