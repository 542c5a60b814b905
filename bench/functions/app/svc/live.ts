import {v} from 'svc/values';
import {mutation, query} from './_generated/server';

/** Of which some are shown, each by itself or the first ten. */
export const fill = mutation({
  args: {from: v.number(), to: v.number(), text: v.string()},
  handler: async (ctx, {from, to, text}) => {
    const ids = [];
    for (let rank = from; rank < to; rank++) ids.push(await ctx.db.insert('notes', {rank, text, change: 0}));
    return ids;
  },
});

export const change = mutation({
  args: {id: v.id('notes'), change: v.number()},
  handler: (ctx, {id, change}) => ctx.db.patch(id, {change}),
});

export const firstTen = query({
  args: {},
  handler: ctx => ctx.db.query('notes').withIndex('by_rank').take(10),
});

export const one = query({
  args: {rank: v.number()},
  handler: (ctx, {rank}) =>
    ctx.db
      .query('notes')
      .withIndex('by_rank', range => range.eq('rank', rank))
      .unique(),
});

/** Reads what changes and does not show it: it runs again for nothing. */
export const ranks = query({
  args: {from: v.number()},
  handler: async (ctx, {from}) => {
    const notes = await ctx.db
      .query('notes')
      .withIndex('by_rank', range => range.gte('rank', from))
      .take(10);
    return notes.map(({rank}) => rank);
  },
});
