/** `"use node"` modules on the server's own Node: what their actions can do, and that they are actions like all others. */
import {describe, expect, test} from 'vitest';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';
import {onNode} from './node-app.ts';

const service = await sharedService();

const MESSAGES = `
  import {query, mutation, internalMutation, action} from './_generated/server';
  import {v} from 'svc/values';
  export const list = query(async ctx => (await ctx.db.query('messages').collect()).map(({text}) => text));
  export const add = mutation({args: {text: v.string()}, handler: async (ctx, {text}) => {
    console.log('adding', text);
    return await ctx.db.insert('messages', {text});
  }});
  export const addInternal = internalMutation(async (ctx, {text}) => { await ctx.db.insert('messages', {text}); });
  export const refuse = mutation(async () => { throw new Error('not today'); });
  export const plain = action(async () => typeof process.version);
`;

describe('an action of a module with "use node"', () => {
  test('runs on Node, with its modules under both names', async () => {
    const app = await App.deploy(service, {
      ...onNode('22'),
      'where.ts': `"use node";
        import {action} from './_generated/server';
        import fs from 'fs';
        import * as nodeFs from 'node:fs';
        import {createHash} from 'node:crypto';
        export const version = action(async () => process.version);
        export const same = action(async () => fs.readFileSync === nodeFs.readFileSync);
        export const digest = action(async (_ctx, {text}) => createHash('sha256').update(Buffer.from(text)).digest('hex'));
      `,
    });
    expect(await app.action('where:version', {})).toMatch(/^v22\./);
    expect(await app.action('where:same', {})).toBe(true);
    expect(await app.action('where:digest', {text: 'x'})).toMatch(/^2d711642b726b044/);
  });

  test('calls queries, mutations and actions of the default runtime, and the scheduler', async () => {
    const app = await App.deploy(service, {
      ...onNode('22'),
      'messages.ts': MESSAGES,
      'jobs.ts': `"use node";
        import {action} from './_generated/server';
        import {api, internal} from './_generated/api';
        export const copy = action(async ctx => {
          await ctx.runMutation(api.messages.add, {text: 'one'});
          await ctx.runMutation(internal.messages.addInternal, {text: 'two'});
          const id = await ctx.scheduler.runAfter(3_600_000, api.messages.add, {text: 'later'});
          await ctx.scheduler.cancel(id);
          return [await ctx.runQuery(api.messages.list), await ctx.runAction(api.messages.plain), typeof id];
        });
        export const refused = action(async ctx => {
          try { await ctx.runMutation(api.messages.refuse); } catch (error) { return error.message; }
        });
      `,
    });
    expect(await app.action('jobs:copy', {})).toEqual([['one', 'two'], 'undefined', 'string']);
    expect(await app.action('jobs:refused', {})).toContain('not today');
  });

  test('writes its lines to its caller and the log, with those of what it calls', async () => {
    const app = await App.deploy(service, {
      ...onNode('22'),
      'messages.ts': MESSAGES,
      'talk.ts': `"use node";
        import {action} from './_generated/server';
        import {api} from './_generated/api';
        export const both = action(async ctx => {
          console.log('before', {a: 1});
          await ctx.runMutation(api.messages.add, {text: 'x'});
          console.warn('after');
          void ctx.runQuery(api.messages.list);
        });
      `,
    });
    const {logLines} = await app.reply('action', 'talk:both', {});
    expect(logLines).toEqual([
      "[LOG] 'before' {\n  a: 1\n}",
      "[LOG] 'adding' 'x'",
      "[WARN] 'after'",
      '[WARN] 1 unawaited operation: [runQuery]. Async operations should be awaited or they might not run.',
    ]);
  });

  test('fails with its message and the place in its source', async () => {
    const app = await App.deploy(service, {
      ...onNode('22'),
      'bad.ts': `"use node";
        import {action} from './_generated/server';
        function helper(): never {
          throw new TypeError('boom');
        }
        export const fails = action(async () => helper());
      `,
    });
    const {status, errorMessage} = await app.reply('action', 'bad:fails', {});
    expect(status).toBe('error');
    expect(errorMessage).toContain('Uncaught TypeError: boom');
    expect(errorMessage).toContain('at helper (../svc/bad.ts:4:17)');
  });
});
