import {v} from 'svc/values';
import {mutation, query} from './_generated/server';

export const list = query({
  args: {},
  handler: async ctx => await ctx.db.query('tasks').order('desc').take(100),
});

export const add = mutation({
  args: {text: v.string()},
  handler: async (ctx, {text}) => await ctx.db.insert('tasks', {text, done: false}),
});

export const setDone = mutation({
  args: {id: v.id('tasks'), done: v.boolean()},
  handler: async (ctx, {id, done}) => {
    await ctx.db.patch(id, {done});
  },
});
