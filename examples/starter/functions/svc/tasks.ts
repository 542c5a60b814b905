import {v} from 'svc/values';
import {mutation, query} from './_generated/server';

export const open = query({
  args: {},
  handler: async ctx =>
    await ctx.db
      .query('tasks')
      .withIndex('by_done', q => q.eq('done', false))
      .collect(),
});

export const add = mutation({
  args: {text: v.string()},
  handler: async (ctx, {text}) => await ctx.db.insert('tasks', {text, done: false}),
});

export const finish = mutation({
  args: {id: v.id('tasks')},
  handler: async (ctx, {id}) => {
    await ctx.db.patch(id, {done: true});
  },
});
