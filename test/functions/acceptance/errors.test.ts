import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Service} from '../../harness/service.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {expectError} from '../../harness/tenant.ts';
import {App} from '../app.ts';

const FILES = {
  'e.ts': `
    import {action, mutation, paginatedQuery, query} from './_generated/server';
    export const boom = query({args: {}, handler: () => { console.log('before'); throw new Error('boom'); }});
    export const text = query({args: {}, handler: () => { throw 'a text'; }});
    export const boomInMutation = mutation({args: {}, handler: () => { throw new TypeError('two\\nlines'); }});
    export const tells = action({args: {}, handler: async ctx => {
      const told: string[] = [];
      for (const [run, path] of [['runQuery', 'e:boom'], ['runMutation', 'e:boomInMutation'], ['runQuery', 'e:text']])
        await (ctx as any)[run!](path, {}).catch((error: Error) => told.push(error.message));
      return told;
    }});
    export const fine = query({args: {}, handler: () => { console.warn('a line'); return 1; }});
    export const page = paginatedQuery((ctx, args) => ctx.db.query('t').paginate(args.paginationOpts));`,
};

const open = await sharedService();

describe('what callers see of a failure', () => {
  let closed: Service;
  let app: App;
  let redacted: App;
  beforeAll(async () => {
    closed = await Service.start({args: ['--redact-errors']});
    app = await App.deploy(open, FILES);
    redacted = await App.deploy(closed, FILES);
  });
  afterAll(() => closed.stop());

  test('[55] in development message, stack and log lines', async () => {
    const reply = await app.reply('query', 'e:boom', {});
    expect(reply).toEqual({
      status: 'error',
      errorMessage: expect.stringMatching(
        /^\[Request ID: \S+\] Server Error\nUncaught Error: boom\n {4}at .*svc\/e\.ts:\d+:\d+/,
      ),
      logLines: ["[LOG] 'before'"],
    });
    expect(await app.queryError('e:text', {})).toContain('Uncaught a text');
    expect(await app.reply('query', 'e:fine', {})).toEqual({
      status: 'success',
      value: 1,
      logLines: ["[WARN] 'a line'"],
    });
  });

  test('[55] in production the request id alone; the log of the server has the rest', async () => {
    const app = redacted;
    for (const path of ['e:boom', 'e:missing']) {
      expect(await app.reply('query', path, {})).toEqual({
        status: 'error',
        errorMessage: expect.stringMatching(/^\[Request ID: \S+\] Server Error$/),
      });
    }
    expect(await app.reply('query', 'e:fine', {})).toEqual({status: 'success', value: 1});
    const [entry] = (await app.logs()).filter(({path}) => path === 'e:boom');
    expect(entry).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('Uncaught Error: boom'),
      lines: ["[LOG] 'before'"],
    });
  });

  test('that a cursor is invalid is reported in production too, for clients to begin again, without the reason', async () => {
    const error = await redacted.paginatedError('e:page', {paginationOpts: {numItems: 1, cursor: 'x'}});
    expect(error).toMatch(/^\[Request ID: \S+\] Server Error\nInvalidCursor$/);
  });

  test('an action that catches a failure can hand on its message, in production without the stack', async () => {
    const [boom, typed, text] = (await app.action('e:tells', {})) as string[];
    expect(boom).toMatch(/^Uncaught Error: boom\n {4}at handler \(\.\.\/svc\/e\.ts:/);
    expect(typed).toMatch(/^Uncaught TypeError: two\nlines\n {4}at handler/);
    expect(text).toContain('Uncaught a text');
    expect(await redacted.action('e:tells', {})).toEqual(['boom', 'TypeError: two\nlines', 'a text']);
  });

  test('the error of a mistyped path names the function that was probably meant, and to a client never an internal one', async () => {
    const files = {
      'messages.ts': `
        import {internalQuery, paginatedQuery, query} from './_generated/server';
        export default query({args: {}, handler: () => 1});
        export const list = query({args: {}, handler: () => 1});
        export const secret = internalQuery({args: {}, handler: () => 1});
        export const page = paginatedQuery((ctx, args) => ctx.db.query('t').paginate(args.paginationOpts));`,
    };
    const typed = await App.deploy(open, files);
    for (const path of ['messages:lst', 'messages:lsit', 'mesages:list', 'messages:list1']) {
      expect(await typed.queryError(path, {})).toContain("Is it exported and deployed? Did you mean 'messages:list'?");
    }
    expect(await typed.queryError('message', {})).toContain("Did you mean 'messages'?");
    for (const path of ['messages:secre', 'other:thing', 'm']) {
      expect(await typed.queryError(path, {})).not.toContain('Did you mean');
    }
    const run = await typed.admin('POST', '/functions/run', {path: 'messages:secre'});
    expect(run.text).toContain("Did you mean 'messages:secret'?");
    expect(await typed.paginatedError('messages:page', {})).toMatch(
      /Server Error\nArgumentValidationError: paginationOpts must be/,
    );
    expect(await typed.paginated('messages:page', {paginationOpts: {numItems: 1, cursor: null}})).toMatchObject({
      page: [],
    });
  });

  test.each([
    ['no JSON', '{', 400, 'op.invalid_input'],
    ['no path', '{"args":{}}', 400, 'op.invalid_input'],
    ['a path that is no text', '{"path":1}', 400, 'op.invalid_input'],
    ['an unknown format', '{"path":"e:fine","format":"xml"}', 400, 'op.invalid_input'],
  ])('a malformed request is an HTTP error: %s', async (_, body, status, code) => {
    expectError(await app.svc('POST', '/query', body), status, code);
  });

  test('missing args are {}, and args may come in an array', async () => {
    expect((await app.svc('POST', '/query', {path: 'e:fine'})).body).toMatchObject({status: 'success'});
    expect((await app.svc('POST', '/query', {path: 'e:fine', args: [{}]})).body).toMatchObject({status: 'success'});
  });

  test('an unknown tenant, another method, a token without a verifier', async () => {
    const body = {path: 'e:fine', args: {}};
    const {request} = open;
    expectError(await request.call(open, 'POST', '/svc/nobody/query', body), 404, 'session.tenant_not_found');
    expectError(await app.svc('GET', '/query'), 405, 'op.method_not_allowed');
    expectError(await app.svc('POST', '/query', body, {authorization: 'Bearer x.y.z'}), 401, 'auth.unauthorized');
  });

  test('pages of any origin may call functions', async () => {
    const preflight = await app.svc('OPTIONS', '/query', undefined, {origin: 'https://app.example'});
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': expect.stringContaining('POST'),
    });
    const reply = await app.svc('POST', '/query', {path: 'e:fine'}, {origin: 'https://app.example'});
    expect(reply.headers['access-control-allow-origin']).toBe('*');
    await app.admin('PUT', '/settings', {egress: {allow: [], deny: []}, allowed_origins: ['https://app.example']});
    const listed = await app.svc('POST', '/query', {path: 'e:fine'}, {origin: 'https://app.example'});
    expect(listed.headers['access-control-allow-origin']).toBe('https://app.example');
    const other = await app.svc('POST', '/query', {path: 'e:fine'}, {origin: 'https://other.example'});
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
  });
});
