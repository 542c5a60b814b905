import {v} from 'svc/values';
import {mutation, query} from './_generated/server';

const item = {name: v.string(), category: v.string(), rank: v.number(), active: v.boolean(), note: v.string()};

export const get = query({args: {id: v.id('items')}, handler: (ctx, {id}) => ctx.db.get(id)});

/** The same; a result that looked at the time is of its call alone. */
export const fresh = query({
  args: {id: v.id('items')},
  handler: async (ctx, {id}) => (Date.now() > 0 ? await ctx.db.get(id) : null),
});

export const insert = mutation({args: item, handler: (ctx, fields) => ctx.db.insert('items', fields)});

export const open = mutation({
  args: {from: v.number(), to: v.number(), balance: v.number()},
  handler: async (ctx, {from, to, balance}) => {
    const ids = [];
    for (let number = from; number < to; number++) ids.push(await ctx.db.insert('accounts', {number, balance}));
    return ids;
  },
});

/** Reads two accounts and writes both. */
export const transfer = mutation({
  args: {from: v.id('accounts'), to: v.id('accounts'), amount: v.number()},
  handler: async (ctx, {from, to, amount}) => {
    const payer = await ctx.db.get(from);
    const payee = await ctx.db.get(to);
    if (payer === null || payee === null) throw new Error('there is no such account');
    await ctx.db.patch(from, {balance: payer.balance - amount});
    await ctx.db.patch(to, {balance: payee.balance + amount});
  },
});
