import type {JWTPayload} from 'jose';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {firstOf} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {IdentityProvider} from '../auth/identity-provider.ts';

const FUNCTIONS = `
  import {action, mutation, query} from './_generated/server';
  export const me = query({args: {}, handler: async ctx => {
    const n = (await ctx.db.query('ticks' as never).collect() as any[]).length;
    return {n, name: (await ctx.auth.getUserIdentity())?.subject ?? null};
  }});
  export const ticks = query({args: {}, handler: async ctx => (await ctx.db.query('ticks' as never).collect() as any[]).length});
  export const sometimes = query({args: {}, handler: async ctx => {
    const n = (await ctx.db.query('ticks' as never).collect() as any[]).length;
    return n % 2 === 0 ? 'even' : (await ctx.auth.getUserIdentity())?.subject ?? null;
  }});
  export const tick = mutation({args: {}, handler: async ctx => { await ctx.db.insert('ticks' as never, {} as never); }});
  export const clear = mutation({args: {}, handler: async ctx => {
    for (const {_id} of await ctx.db.query('ticks' as never).collect() as any[]) await ctx.db.delete(_id);
  }});
  export const ticked = mutation({args: {}, handler: async ctx => {
    await ctx.db.insert('ticks' as never, {} as never);
    return {name: (await ctx.auth.getUserIdentity())?.subject ?? null};
  }});
  export const act = action({args: {}, handler: async ctx => (await ctx.auth.getUserIdentity())?.subject ?? null});
  export const whoami = mutation({args: {}, handler: async ctx => (await ctx.auth.getUserIdentity())?.subject ?? null});`;

const service = await sharedService();
let provider: IdentityProvider;
let other: IdentityProvider;
beforeAll(async () => {
  provider = await IdentityProvider.start('RS256');
  other = await IdentityProvider.start('RS256');
});
afterAll(() => Promise.all([provider.stop(), other.stop()]));

const config = (of: IdentityProvider[]) =>
  `export default {providers: ${JSON.stringify(of.map(({issuer}) => ({domain: issuer, applicationID: 'chat'})))}};`;
async function newApp(...providers: IdentityProvider[]): Promise<App> {
  const app = await App.deploy(service, {'who.ts': FUNCTIONS, 'auth.config.ts': config(providers)});
  const allow = [provider, other].map(({issuer}) => issuer.slice('http://'.length));
  await app.admin('PUT', '/settings', {egress: {allow, deny: []}, allowed_origins: null});
  return app;
}
/** One for each list of providers, without ticks, for tests that leave nothing else. */
const apps = new Map<string, App>();
async function emptyApp(...providers: IdentityProvider[]): Promise<App> {
  const app = apps.get(config(providers)) ?? (await newApp(...providers));
  apps.set(config(providers), app);
  await app.mutation('who:clear', {});
  return app;
}
const nowS = () => Math.floor(Date.now() / 1000);
const token = (sub: string, claims: JWTPayload = {}, of = provider, header: Record<string, unknown> = {}) =>
  of.token({iss: of.issuer, sub, aud: 'chat', iat: nowS(), exp: nowS() + 60, ...claims}, header);

async function connect(app: App): Promise<FunctionSocket> {
  const socket = await FunctionSocket.established(service, app.tenant);
  onTestFinished(() => socket.close());
  return socket;
}

describe('a token', () => {
  test.each<[string, () => Promise<string>, boolean]>(
    firstOf(4, [
      ['valid', () => token('ada'), true],
      ['expired by 10 s', () => token('ada', {exp: nowS() - 10}), false],
      ['issued 3 s ahead', () => token('ada', {iat: nowS() + 3}), true],
      ['for another audience', () => token('ada', {aud: 'other'}), false],
      ['of an unknown issuer', () => token('ada', {iss: 'http://nobody.example'}), false],
      ['without a key id', () => token('ada', {}, provider, {kid: undefined}), false],
    ]),
  )('[53] %s is confirmed by a transition, or refused by auth_error', async (_, make, isGood) => {
    const socket = await connect(await emptyApp(provider));
    socket.authenticate(await make());
    if (isGood) await socket.until(() => socket.version.identity === 1);
    else expect(await socket.message('auth_error')).toMatchObject({identity: 1, error: {code: 'auth.unauthorized'}});
  });

  test('[53] of a tenant without a verifier is refused', async () => {
    const socket = await connect(await App.deploy(service, {'who.ts': FUNCTIONS}));
    socket.authenticate(await token('ada'));
    expect(await socket.message('auth_error')).toMatchObject({identity: 1});
  });

  test('that is refused stops what is shown until the client says who it is; its calls wait', async () => {
    const app = await emptyApp(provider);
    const socket = await connect(app);
    const ticks = await socket.query('who:ticks');
    socket.authenticate(await token('grace', {exp: nowS() - 10}));
    const call = socket.sendMutation('who:whoami', {});
    await socket.message('auth_error');
    await app.mutation('who:tick', {});
    expect(socket.value(ticks)).toBe(0);
    expect(socket.results.has(call)).toBe(false);
    socket.authenticate(await token('grace'));
    expect(await socket.result(call)).toMatchObject({ok: true, value: 'grace'});
    await socket.until(() => socket.value(ticks) === 1);
    expect(socket.version.identity).toBe(2);
  });

  test('that ends while the socket stands is an error once something that looks at it is new', async () => {
    const app = await emptyApp(provider);
    const socket = await connect(app);
    // Of five seconds of tolerance, three are left.
    socket.authenticate(await token('ada', {exp: nowS() - 2}));
    const me = await socket.query('who:me');
    expect(socket.value(me)).toMatchObject({name: 'ada'});
    await until('the end of the token', async () => {
      await app.mutation('who:tick', {});
      return socket.messages.some(({type}) => type === 'auth_error');
    });
    expect(await socket.message('auth_error')).toMatchObject({
      identity: 1,
      error: {message: expect.stringContaining('expired')},
    });
    expect(socket.value(me)).toMatchObject({name: 'ada'});
  });
});

describe('[63] when the user changes', () => {
  test('what looks at the identity is of the new one from the confirmation on, and the rest is not sent again', async () => {
    const app = await emptyApp(provider);
    const socket = await connect(app);
    socket.authenticate(await token('ada'));
    const [me, ticks] = socket.queries([{path: 'who:me'}, {path: 'who:ticks'}]);
    await socket.until(() => socket.shown.has(ticks!));
    expect(socket.value(me!)).toMatchObject({name: 'ada'});
    const wrong: unknown[] = [];
    socket.onState = (_, {identity}) => {
      const {name} = socket.value(me!) as {name: string};
      if (name !== (identity === 1 ? 'ada' : identity === 2 ? 'grace' : null)) wrong.push({name, identity});
    };
    const before = socket.transitions.length;
    const writer = await connect(app);
    socket.authenticate(await token('grace'));
    for (let n = 0; n < 10; n++) writer.sendMutation('who:tick', {});
    await socket.until(() => socket.version.identity === 2);
    socket.clearAuth();
    await socket.until(() => socket.version.identity === 3);
    await socket.until(() => socket.value(ticks!) === 10);
    expect(wrong).toEqual([]);
    expect(socket.transitions.length).toBeGreaterThan(before);
  });

  test('an equal identity of a fresh token moves nothing but the version', async () => {
    const socket = await connect(await emptyApp(provider));
    socket.authenticate(await token('ada'));
    await socket.query('who:me');
    socket.authenticate(await token('ada', {exp: nowS() + 90}));
    await socket.until(() => socket.version.identity === 2);
    expect(socket.transitions.at(-1)!.changes).toEqual([]);
  });
});

test('users are distinguished only for functions that use the identity, and as long as those do', async () => {
  const app = await emptyApp(provider);
  const [ada, grace] = [await connect(app), await connect(app)];
  ada.authenticate(await token('ada'));
  grace.authenticate(await token('grace'));
  const ids = await Promise.all([ada, grace].map(socket => socket.query('who:sometimes')));
  for (let n = 0; n < 4; n++) {
    const isEven = n % 2 === 0;
    await ada.until(() => ada.value(ids[0]!) === (isEven ? 'even' : 'ada'));
    await grace.until(() => grace.value(ids[1]!) === (isEven ? 'even' : 'grace'));
    await app.mutation('who:tick', {});
  }
});

describe('a call that waited because its token was refused', () => {
  const ended = (sub: string) => token(sub, {exp: nowS() - 10});

  test.each<[string, () => Promise<string>, (() => Promise<string>) | null]>([
    ['another user signs in', () => ended('ada'), () => token('grace')],
    ['a user of another issuer, who has the same subject, does', () => ended('ada'), () => token('ada', {}, other)],
    ['nobody does', () => ended('ada'), null],
    ['somebody does, and the token named nobody', async () => 'not a token', () => token('ada')],
  ])('is refused when %s, and did not run', async (_, made, next) => {
    const app = await emptyApp(provider, other);
    const socket = await connect(app);
    socket.authenticate(await made());
    const calls = [socket.sendMutation('who:ticked', {}), socket.sendAction('who:act', {})];
    await socket.message('auth_error');
    if (next === null) socket.clearAuth();
    else socket.authenticate(await next());
    for (const call of calls) {
      expect(await socket.result(call)).toEqual({
        type: expect.any(String),
        request_id: call,
        ok: false,
        code: 'auth.unauthorized',
        error: 'The call was made by another user than who is signed in now: it did not run',
      });
    }
    expect(await app.query('who:ticks', {})).toBe(0);
    expect(await socket.mutation('who:whoami')).toEqual(next === null ? null : expect.any(String));
  });

  test('runs as the same user, by a token that is good', async () => {
    const socket = await connect(await emptyApp(provider));
    socket.authenticate(await ended('ada'));
    const calls = [socket.sendMutation('who:ticked', {}), socket.sendAction('who:act', {})];
    await socket.message('auth_error');
    socket.authenticate(await token('ada'));
    expect(await socket.result(calls[0]!)).toMatchObject({ok: true, value: {name: 'ada'}});
    expect(await socket.result(calls[1]!)).toMatchObject({ok: true, value: 'ada'});
  });
});

test('calls under way and behind them are those of who made them, though another user signs in meanwhile', async () => {
  const app = await emptyApp(provider);
  const socket = await connect(app);
  socket.authenticate(await token('ada'));
  const ofAda = Array.from({length: 20}, () => socket.sendMutation('who:whoami', {}));
  socket.authenticate(await token('grace'));
  const ofGrace = socket.sendMutation('who:whoami', {});
  socket.clearAuth();
  const ofNobody = socket.sendMutation('who:whoami', {});
  for (const call of ofAda) expect(await socket.result(call)).toMatchObject({ok: true, value: 'ada'});
  expect(await socket.result(ofGrace)).toMatchObject({ok: true, value: 'grace'});
  expect(await socket.result(ofNobody)).toMatchObject({ok: true, value: null});
});

describe('a mutation that comes again', () => {
  const sent = async (app: App, client_id: string, user: string | null, claims: JWTPayload = {}) => {
    const socket = await FunctionSocket.established(service, app.tenant, {client_id});
    onTestFinished(() => socket.close());
    if (user !== null) socket.authenticate(await token(user, claims));
    return await socket.result(socket.sendMutation('who:ticked', {}, 1));
  };

  test.each<[string, string | null, string | null]>(
    firstOf(1, [
      ['another user', 'ada', 'grace'],
      ['nobody', 'ada', null],
      ['somebody, who was nobody before', null, 'ada'],
    ]),
  )('from %s is not run again, and only the user it was run for gets its result', async (_, first, next) => {
    const app = await emptyApp(provider);
    const client_id = FunctionSocket.newClient();
    const answer = await sent(app, client_id, first);
    expect(answer).toMatchObject({ok: true, value: {name: first}});
    const other = await sent(app, client_id, next);
    expect(other).toMatchObject({ok: false, code: 'op.conflict', error: expect.stringContaining('another caller')});
    expect(JSON.stringify(other)).not.toContain('value');
    expect(await app.query('who:ticks', {})).toBe(1);
    // By another token of the same user, too.
    expect(await sent(app, client_id, first, {exp: nowS() + 99, nickname: 'new'})).toEqual(answer);
  });
});

test('a deploy with other auth providers asks for the tokens again', async () => {
  const app = await newApp(provider);
  const socket = await connect(app);
  socket.authenticate(await token('ada'));
  await socket.query('who:me');
  await app.deploy({'who.ts': FUNCTIONS, 'auth.config.ts': config([other])});
  expect(await socket.message('auth_error')).toMatchObject({identity: 1});
  socket.authenticate(await token('ada', {}, other));
  await socket.until(() => socket.version.identity === 2);
});

test('pages of an origin that the tenant does not allow are refused', async () => {
  const app = await newApp(provider);
  await app.admin('PUT', '/settings', {egress: {allow: [], deny: []}, allowed_origins: ['https://app.example']});
  const {WebSocket} = await import('undici');
  const ws = new WebSocket(`${service.url.replace('http', 'ws')}/svc/${app.tenant}/ws`, {
    protocols: ['svc.functions.v1'],
    headers: {origin: 'https://evil.example'},
  });
  const closed = await new Promise<{code: number; reason: string}>(resolve =>
    ws.addEventListener('close', ({code, reason}) => resolve({code, reason})),
  );
  expect(closed).toEqual({code: 1008, reason: 'auth.origin_forbidden'});
});
