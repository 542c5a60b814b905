import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import type {JWTPayload} from 'jose';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {expectError} from '../../harness/tenant.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {IdentityProvider} from '../auth/identity-provider.ts';

const FUNCTIONS = `
  import {internal} from './_generated/api';
  import {action, internalMutation, mutation, query} from './_generated/server';
  export const me = query({args: {}, handler: ctx => ctx.auth.getUserIdentity()});
  export const verified = query({args: {}, handler: ctx => ctx.auth.getVerifiedIdentity()});
  export const meInMutation = mutation({args: {}, handler: ctx => ctx.auth.getUserIdentity()});
  export const meByAction = action({args: {}, handler: ctx => ctx.runQuery('who:me' as never)});
  export const later = mutation({args: {}, handler: ctx => ctx.scheduler.runAfter(0, internal.who.note, {})});
  export const note = internalMutation({args: {}, handler: async ctx => {
    await ctx.db.insert('notes' as never, {identity: await ctx.auth.getUserIdentity()} as never);
  }});
  export const notes = query({args: {}, handler: ctx => ctx.db.query('notes' as never).collect()});`;
const HTTP = `
  import {httpRouter} from 'svc/server';
  import {httpAction} from './_generated/server';
  const http = httpRouter();
  http.route({path: '/me', method: 'GET', handler: httpAction(async ctx => Response.json(await ctx.auth.getUserIdentity()))});
  http.route({path: '/why', method: 'GET', handler: httpAction(async ctx =>
    Response.json({why: await ctx.auth.getUserIdentity().then(() => null, error => error.message)}))});
  export default http;`;
const config = (issuer: string) =>
  `export default {providers: [{domain: ${JSON.stringify(issuer)}, applicationID: 'chat'}]};`;
const customConfig = (provider: IdentityProvider) =>
  `export default {providers: [{type: 'customJwt', issuer: ${JSON.stringify(provider.issuer)}, jwks: ${JSON.stringify(`${provider.issuer}/jwks`)}, algorithm: 'ES256'}]};`;

const service = await sharedService();
let provider: IdentityProvider;
let other: IdentityProvider;
let app: App;

async function appFor(of: IdentityProvider, authConfig: string): Promise<App> {
  const made = await App.deploy(service, {'who.ts': FUNCTIONS, 'http.ts': HTTP, 'auth.config.ts': authConfig});
  const egress = {allow: [of.issuer.slice('http://'.length)], deny: []};
  await made.admin('PUT', '/settings', {egress, allowed_origins: null});
  return made;
}

beforeAll(async () => {
  provider = await IdentityProvider.start('RS256');
  other = await IdentityProvider.start('ES256');
  app = await appFor(provider, config(provider.issuer));
});
afterAll(() => Promise.all([provider.stop(), other.stop()]));

const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** `svc auth check`, with the token on standard input. */
async function checkByCommand(input: string): Promise<{code: number | null; stdout: string}> {
  const args = [cli, 'auth', 'check', '--tenant', app.tenant, '--url', service.url, '--data', service.data];
  const child = spawn(process.execPath, args, {stdio: ['pipe', 'pipe', 'inherit']});
  child.stdin.end(`${input}\n`);
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return {code: code as number | null, stdout};
}

const nowS = () => Math.floor(Date.now() / 1000);
function token(of: IdentityProvider, claims: JWTPayload = {}, header: Record<string, unknown> = {}): Promise<string> {
  return of.token(
    {iss: of.issuer, sub: 'ada', aud: 'chat', iat: nowS(), exp: nowS() + 60, name: 'Ada', ...claims},
    header,
  );
}
const bearer = async (...args: Parameters<typeof token>) => ({authorization: `Bearer ${await token(...args)}`});
const asked = (app: App, headers: Record<string, string>) =>
  app.svc('POST', '/query', {path: 'who:me', args: {}}, headers);

describe('who is asking', () => {
  test('[53] a valid token is an identity, in queries, mutations, actions and HTTP actions', async () => {
    const headers = await bearer(provider);
    const ada = {tokenIdentifier: `${provider.issuer}|ada`, subject: 'ada', issuer: provider.issuer, name: 'Ada'};
    expect(await app.query('who:me', {}, headers)).toMatchObject(ada);
    expect(await app.query('who:verified', {}, headers)).toMatchObject(ada);
    expect(await app.mutation('who:meInMutation', {}, headers)).toMatchObject(ada);
    expect(await app.action('who:meByAction', {}, headers)).toMatchObject(ada);
    expect((await app.svc('GET', '/http/me', undefined, headers)).body).toMatchObject(ada);
    expect(await app.query('who:me', {})).toBeNull();
    expect(await app.queryError('who:verified', {})).toContain('Not authenticated');
  });

  // Times are of the moment in which the token is made: cases are collected long before the service has started.
  test.each<[string, JWTPayload | (() => JWTPayload), Record<string, unknown>, number]>([
    ['issued 3 s ahead', () => ({iat: nowS() + 3}), {}, 200],
    ['issued 60 s ahead', () => ({iat: nowS() + 60}), {}, 401],
    ['expired by 10 s', () => ({exp: nowS() - 10}), {}, 401],
    ['that is good for ever', {exp: 1e300}, {}, 401],
    ['for another audience', {aud: 'other'}, {}, 401],
    ['for several audiences', {aud: ['chat', 'other']}, {}, 401],
    ['of an unknown issuer', {iss: 'https://nobody.example'}, {}, 401],
    ['without a key id', {}, {kid: undefined}, 401],
    ['with an unknown key id', {}, {kid: 'key-9'}, 401],
  ])('[53] a token %s', async (_, claims, header, status) => {
    const made = typeof claims === 'function' ? claims() : claims;
    const reply = await asked(app, await bearer(provider, made, header));
    if (status === 200) expect(reply.status).toBe(200);
    else expectError(reply, 401, 'auth.unauthorized');
  });

  test('a token of none of the providers gets an error that names them; so does an HTTP action', async () => {
    const strange = await bearer(provider, {aud: 'other'});
    const configured = `configured are ${provider.issuer} (applicationID chat)`;
    expect((await asked(app, strange)).text).toContain(configured);
    const action = await app.svc('GET', '/http/why', undefined, strange);
    expect(action.body).toEqual({why: expect.stringContaining('Could not verify the Authorization header: ')});
    expect(action.text).toContain(configured);
    const open = await App.deploy(service, {'who.ts': FUNCTIONS});
    expect((await asked(open, strange)).text).toContain('none are configured');
  });

  test('svc run --identity always says who it is', async () => {
    const run = (identity: unknown) => app.admin('POST', '/functions/run', {path: 'who:me', identity});
    const anyone = {name: 'Z', subject: 'nobody', issuer: 'https://svc.invalid/run'};
    expect((await run({name: 'Z'})).body).toMatchObject({
      value: {...anyone, tokenIdentifier: 'https://svc.invalid/run|nobody'},
    });
    expect((await run({issuer: 'https://i', subject: 's'})).body).toMatchObject({
      value: {tokenIdentifier: 'https://i|s'},
    });
    expectError(await run({subject: 5}), 400, 'op.invalid_input');
    expectError(await run('ada'), 400, 'op.invalid_input');
    expect((await run(undefined)).body).toMatchObject({value: null});
  });

  test('[53] a tenant without a verifier refuses every token, and serves who has none', async () => {
    const open = await App.deploy(service, {'who.ts': FUNCTIONS});
    expectError(await asked(open, await bearer(provider)), 401, 'auth.unauthorized');
    expect(await open.query('who:me', {})).toBeNull();
    expectError(await asked(await App.empty(service), await bearer(provider)), 401, 'auth.unauthorized');
  });

  test('[54] a token of one tenant is nothing to another', async () => {
    const second = await appFor(other, customConfig(other));
    expectError(await asked(second, await bearer(provider)), 401, 'auth.unauthorized');
    expectError(await asked(app, await bearer(other)), 401, 'auth.unauthorized');
    const identity = (await second.query('who:me', {}, await bearer(other))) as {tokenIdentifier: string};
    expect(identity.tokenIdentifier).toBe(`${other.issuer}|ada`);
  });

  test('[46] a scheduled mutation is anonymous, whichever user scheduled it', async () => {
    await app.mutation('who:later', {}, await bearer(provider));
    const notes = await until('the note', async () => {
      const found = (await app.query('who:notes', {})) as {identity: unknown}[];
      return found.length > 0 ? found : null;
    });
    expect(notes).toMatchObject([{identity: null}]);
  });

  test('another deployment brings another verifier', async () => {
    const changing = await appFor(provider, config(provider.issuer));
    const headers = await bearer(provider);
    expect((await asked(changing, headers)).status).toBe(200);
    await changing.deploy({'who.ts': FUNCTIONS});
    expectError(await asked(changing, headers), 401, 'auth.unauthorized');
  });

  test('the admin credentials of the server are none of a tenant’s', async () => {
    expectError(await asked(app, {authorization: `Bearer ${service.accessToken}`}), 401, 'auth.unauthorized');
    expect((await asked(app, {'x-svc-admin-token': service.adminToken})).body).toMatchObject({
      status: 'success',
      value: null,
    });
    expectError(await asked(app, {'x-svc-admin-token': 'wrong'}), 401, 'auth.unauthorized');
  });

  test.each([
    [
      'both auth.config.ts and auth.config.js',
      {'auth.config.ts': 'export default {providers: []};', 'auth.config.js': 'export default {providers: []};'},
      /auth\.config/,
    ],
    [
      'a variable that is not set',
      {'auth.config.ts': 'export default {providers: [{domain: process.env.DOMAIN!, applicationID: "a"}]};'},
      /DOMAIN/,
    ],
    [
      'an algorithm that is not allowed',
      {
        'auth.config.ts':
          'export default {providers: [{type: "customJwt", issuer: "https://a.example", jwks: "https://a.example/jwks", algorithm: "HS256"}]};',
      },
      /algorithm/,
    ],
  ])('a deploy is refused with %s', async (_, files, message) => {
    const attempt = app.tryDeploy({'who.ts': FUNCTIONS, ...files}).then(
      reply => reply.text,
      (error: Error) => error.message,
    );
    expect(await attempt).toMatch(message);
  });
});

describe('a function that was scheduled over HTTP is cancelled', () => {
  const LATER = {path: 'who:later', args: {}, delayMs: 3_600_000};
  const scheduled = async (headers: Record<string, string>) => {
    const {body} = await app.svc('POST', '/schedule/run_after', LATER, headers);
    return (body as {jobId: string}).jobId;
  };
  const cancel = async (id: string, headers: Record<string, string>) =>
    (await app.svc('DELETE', `/schedule/${id}`, undefined, headers)).status;

  test('by who scheduled it, under any of their tokens, and by an admin; for others it is not there', async () => {
    const [ada, bob] = [await bearer(provider), await bearer(provider, {sub: 'bob'})];
    const admin = {'x-svc-admin-token': service.adminToken};
    const [first, second] = [await scheduled(ada), await scheduled(ada)];
    expect([await cancel(first, {}), await cancel(first, bob)]).toEqual([404, 404]);
    expect(await cancel(first, await bearer(provider, {name: 'Ada L.'}))).toBe(204);
    expect(await cancel(second, admin)).toBe(204);
  });

  test('by callers without a token when such a caller scheduled it, and never when an admin did', async () => {
    const id = await scheduled({});
    expect(await cancel(id, await bearer(provider))).toBe(404);
    expect(await cancel(id, {})).toBe(204);
    const admins = await scheduled({'x-svc-admin-token': service.adminToken});
    expect([await cancel(admins, {}), await cancel(admins, await bearer(provider))]).toEqual([404, 404]);
  });
});

test('an operator learns which check a token fails, and which identity a good one gives; neither is logged', async () => {
  const [good, expired] = [await token(provider), await token(provider, {exp: nowS() - 60})];
  const check = async (given: string) => {
    const {status, body} = await app.admin('POST', '/auth/check', {token: given});
    expect(status).toBe(200);
    return body as {is_valid: boolean; identity: object | null; checks: {check: string; outcome: string}[]};
  };
  expect(await check(good)).toMatchObject({is_valid: true, identity: {subject: 'ada', name: 'Ada'}});
  const {is_valid, checks} = await check(expired);
  expect([is_valid, checks.find(({outcome}) => outcome === 'failed')?.check]).toEqual([false, 'expiry']);
  expect((await app.admin('GET', '/auth')).body).toEqual({
    providers: [expect.objectContaining({type: 'oidc', issuer: provider.issuer, application_id: 'chat'})],
  });
  expect((await checkByCommand(good)).code).toBe(0);
  expect(await checkByCommand(expired)).toEqual({
    code: 1,
    stdout: expect.stringMatching(/FAIL {2}expiry.*\n.*new token/),
  });
  for (const secret of [good, expired]) expect(service.log).not.toContain(secret.split('.')[2]);
});
