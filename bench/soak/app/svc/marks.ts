import {v} from 'svc/values';
import {api, internal} from './_generated/api';
import type {Doc} from './_generated/dataModel';
import {action, internalMutation, mutation, type QueryCtx, query} from './_generated/server';

export const add = mutation({
  args: {group: v.string(), n: v.number()},
  handler: (ctx, {group, n}) => ctx.db.insert('marks', {group, n}),
});

export const raise = mutation({
  args: {id: v.id('marks'), by: v.number()},
  handler: async (ctx, {id, by}) => {
    const mark = await ctx.db.get(id);
    if (mark === null) throw new Error('there is no such mark');
    await ctx.db.patch(id, {n: mark.n + by});
    return mark.n + by;
  },
});

export const remove = mutation({args: {id: v.id('marks')}, handler: (ctx, {id}) => ctx.db.delete(id)});

export const get = query({args: {id: v.id('marks')}, handler: (ctx, {id}) => ctx.db.get(id)});

function marksOf(ctx: Pick<QueryCtx, 'db'>, group: string): Promise<Doc<'marks'>[]> {
  return ctx.db
    .query('marks')
    .withIndex('by_group', range => range.eq('group', group))
    .collect();
}

export const ofGroup = query({
  args: {group: v.string()},
  handler: async (ctx, {group}) => {
    const marks = await marksOf(ctx, group);
    return marks.map(({n}) => n);
  },
});

/** Adds a mark, reads it and removes it again. */
export const round = action({
  args: {group: v.string(), n: v.number()},
  handler: async (ctx, {group, n}): Promise<number> => {
    const id = await ctx.runMutation(api.marks.add, {group, n});
    const mark: Doc<'marks'> | null = await ctx.runQuery(api.marks.get, {id});
    await ctx.runMutation(api.marks.remove, {id});
    return mark?.n ?? Number.NaN;
  },
});

export const addLater = mutation({
  args: {group: v.string(), n: v.number()},
  handler: async (ctx, {group, n}) => {
    await ctx.scheduler.runAfter(0, internal.marks.addNow, {group, n});
  },
});

export const addNow = internalMutation({
  args: {group: v.string(), n: v.number()},
  handler: async (ctx, {group, n}) => {
    await ctx.db.insert('marks', {group, n});
  },
});

export const clear = mutation({
  args: {group: v.string()},
  handler: async (ctx, {group}) => {
    const marks = await marksOf(ctx, group);
    for (const {_id} of marks) await ctx.db.delete(_id);
    return marks.length;
  },
});
