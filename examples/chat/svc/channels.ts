import {v} from 'svc/values';
import {mutation, query} from './_generated/server';

export const create = mutation({
  args: {name: v.string()},
  returns: v.id('channels'),
  handler: async (ctx, {name}) => {
    const taken = await ctx.db
      .query('channels')
      .withIndex('by_name', q => q.eq('name', name))
      .unique();
    if (taken !== null) return taken._id;
    return await ctx.db.insert('channels', {name});
  },
});

export const list = query({
  args: {},
  handler: async ctx => await ctx.db.query('channels').withIndex('by_name').collect(),
});
