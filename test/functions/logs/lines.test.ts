import {beforeAll, describe, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const FILES = {
  'lines.ts': `
    import {v} from 'svc/values';
    import {action, mutation, query} from './_generated/server';
    import {api} from './_generated/api';

    const wrong = {a: 1, b: 2} as any;
    const returns = v.object({a: v.number()});
    export const wrongQuery = query({args: {}, returns, handler: async () => { console.log('before'); return wrong; }});
    export const wrongMutation = mutation({args: {}, returns, handler: async () => { console.log('before'); return wrong; }});
    export const wrongAction = action({args: {}, returns, handler: async () => { console.log('before'); return wrong; }});

    function fails(): never {
      throw new Error('caught one');
    }
    const logsError = () => {
      try {
        fails();
      } catch (e) {
        console.error('failed:', e);
        console.log({inside: e});
      }
      console.trace('here');
      return null;
    };
    export const errorInQuery = query({args: {}, handler: async () => logsError()});
    export const errorInMutation = mutation({args: {}, handler: async () => logsError()});
    export const errorInAction = action({args: {}, handler: async () => logsError()});
    export const likeAFrame = query({args: {}, handler: async () => { console.log('\\n    at home (nowhere.js:1:1)'); return null; }});

    export const leaf = query({args: {}, handler: async () => { console.log('leaf says'); return null; }});
    export const middle = action({args: {}, handler: async (ctx): Promise<null> => { console.log('middle says'); return await ctx.runQuery(api.lines.leaf, {}); }});
    export const top = action({args: {}, handler: async (ctx): Promise<null> => { console.log('top says'); return await ctx.runAction(api.lines.middle, {}); }});
    export const talks = query({args: {}, handler: async () => { for (let i = 0; i < 100; i++) console.log(i); return null; }});
    export const hears = action({args: {}, handler: async (ctx): Promise<null> => { for (let i = 0; i < 5; i++) await ctx.runQuery(api.lines.talks, {}); return null; }});
  `,
};

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

const entryOf = async (path: string) => (await app.logs()).find(entry => entry.path === path)!;

describe('a return value that does not fit keeps the lines that its function wrote', () => {
  test.each([
    ['query', 'lines:wrongQuery'],
    ['mutation', 'lines:wrongMutation'],
    ['action', 'lines:wrongAction'],
  ] as const)('%s', async (kind, path) => {
    const reply = await app.reply(kind, path, {});
    expect(reply).toMatchObject({
      status: 'error',
      errorMessage: expect.stringContaining('ReturnsValidationError'),
      logLines: ["[LOG] 'before'"],
    });
    expect(await entryOf(path)).toMatchObject({outcome: 'error', lines: ["[LOG] 'before'"]});
  });
});

describe('the stack of an error that is logged names the project’s files, and nothing of the platform', () => {
  test.each([
    ['query', 'lines:errorInQuery'],
    ['mutation', 'lines:errorInMutation'],
    ['action', 'lines:errorInAction'],
  ] as const)('%s', async (kind, path) => {
    const {logLines} = await app.reply(kind, path, {});
    expect(logLines).toHaveLength(3);
    expect(logLines![0]).toMatch(
      /^\[ERROR\] 'failed:' Error: caught one\n {4}at fails \(\.\.\/svc\/lines\.ts:13:13\)\n {4}at logsError \(\.\.\/svc\/lines\.ts:17:9\)\n/,
    );
    expect(logLines![1]).toContain('../svc/lines.ts:13:13');
    expect(logLines![2]).toMatch(/^\[LOG\] Trace: 'here'\n {4}at logsError \(\.\.\/svc\/lines\.ts:22:15\)/);
    expect(logLines!.join('\n')).not.toMatch(/svc:realm|lines\.js/);
    expect(await entryOf(path)).toMatchObject({lines: logLines});
  });

  test('what only looks like a frame stays as it was written', async () => {
    const {logLines} = await app.reply('query', 'lines:likeAFrame', {});
    expect(logLines).toEqual([expect.stringContaining('nowhere.js:1:1')]);
  });
});

describe('lines of functions that an action calls', () => {
  test('are in its reply, in order, and each once in the log', async () => {
    const reply = await app.reply('action', 'lines:top', {});
    expect(reply.logLines).toEqual(["[LOG] 'top says'", "[LOG] 'middle says'", "[LOG] 'leaf says'"]);
    expect(await entryOf('lines:top')).toMatchObject({lines: ["[LOG] 'top says'"]});
    expect(await entryOf('lines:middle')).toMatchObject({lines: ["[LOG] 'middle says'"]});
    expect(await entryOf('lines:leaf')).toMatchObject({lines: ["[LOG] 'leaf says'"]});
  });

  test('are no more together than one execution may write', async () => {
    const {logLines} = await app.reply('action', 'lines:hears', {});
    expect(logLines).toHaveLength(256);
    expect(logLines!.at(-1)).toBe('[ERROR] Log overflow (maximum 256). Remaining log lines omitted.');
  });
});
