import {v} from 'svc/values';
import {type MutationCtx, mutation, type QueryCtx, query} from './_generated/server';
import {signedIn} from './users';

/** The channel of this name, made if there is none. */
export const create = mutation({
  args: {name: v.string()},
  returns: v.id('channels'),
  handler: async (ctx, {name}) => {
    await signedIn(ctx);
    if (!/^[a-z0-9-]{1,30}$/.test(name)) {
      throw new Error('The name of a channel has 1 to 30 small letters, digits and hyphens');
    }
    return (await channelNamed(ctx, name))?._id ?? (await ctx.db.insert('channels', {name}));
  },
});

/** Reads no identity: all callers share one result, which is computed again when a channel is made. */
export const list = query({
  args: {},
  handler: async ctx => await ctx.db.query('channels').withIndex('by_name').collect(),
});

export async function channelNamed(ctx: Pick<QueryCtx | MutationCtx, 'db'>, name: string) {
  return await ctx.db
    .query('channels')
    .withIndex('by_name', q => q.eq('name', name))
    .unique();
}
