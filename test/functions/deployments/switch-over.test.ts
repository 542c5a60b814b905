import {describe, expect, test} from 'vitest';
import {rounds} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App, type CallReply} from '../app.ts';

const schema = (index: string) => `
  import {defineSchema, defineTable} from 'svc/server';
  import {v} from 'svc/values';
  export default defineSchema({items: defineTable({n: v.number()})${index}});`;
const functions = (find: string) => `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const find = query({args: {}, handler: async ctx => ((await ${find}) as unknown[]).length});
  export const add = mutation({args: {}, handler: async ctx => {
    if (((await ${find}) as unknown[]).length > 0) await ctx.db.insert('items' as never, {n: 2} as never);
    return null;
  }});`;

/** Two versions of an app: one needs an index that the other one has not. */
const VERSIONS = [
  {
    'schema.ts': schema(".index('by_n', ['n'])"),
    'items.ts': functions(
      "(ctx.db.query('items' as never) as any).withIndex('by_n', (q: any) => q.eq('n', 1)).collect()",
    ),
  },
  {
    'schema.ts': schema(''),
    'items.ts': functions(
      "(ctx.db.query('items' as never) as any).filter((q: any) => q.eq(q.field('n'), 1)).collect()",
    ),
  },
] as const;

const service = await sharedService();

describe('a deploy under load', () => {
  test('that takes an index away fails no call of the code that used it', async () => {
    const app = await App.deploy(service, VERSIONS[0]);
    await app.admin('POST', '/documents', {table: 'items', fields: {n: 1}});
    let isDeploying = true;
    const failed: CallReply[] = [];
    const client = async (call: () => Promise<CallReply>) => {
      while (isDeploying) {
        const reply = await call();
        if (reply.status === 'error') failed.push(reply);
      }
    };
    const clients = [
      ...Array.from({length: 6}, () => client(() => app.reply('query', 'items:find', {}))),
      ...Array.from({length: 2}, () => client(() => app.reply('mutation', 'items:add', {}))),
    ];
    const deploys = rounds({commit: 3, nightly: 8});
    for (let i = 1; i <= deploys; i++) await app.deploy(VERSIONS[i % 2]!);
    isDeploying = false;
    await Promise.all(clients);
    expect(failed).toEqual([]);
    expect(await app.query('items:find', {})).toBe(1);
  });
});
