import {v} from 'svc/values';
import {internal} from './_generated/api';
import {action, internalMutation, mutation, query} from './_generated/server';

export const addProduct = mutation({
  args: {name: v.string(), price: v.number(), stock: v.number()},
  handler: (ctx, product) => ctx.db.insert('products', product),
});

export const addCustomer = mutation({
  args: {name: v.string(), email: v.string(), city: v.string()},
  handler: (ctx, customer) => ctx.db.insert('customers', customer),
});

export const products = query({
  args: {search: v.optional(v.string())},
  handler: async (ctx, {search = ''}) =>
    (await ctx.db.query('products').collect()).filter(({name}) => name.includes(search)),
});

export const restockAll = internalMutation({
  args: {stock: v.number()},
  handler: async (ctx, {stock}) => {
    for (const {_id} of await ctx.db.query('products').collect()) await ctx.db.patch(_id, {stock});
  },
});

/** A call that makes two others. */
export const restock = action({
  args: {stock: v.number()},
  handler: async (ctx, {stock}) => {
    console.info('restocking to', stock);
    await ctx.runMutation(internal.shop.restockAll, {stock});
    await ctx.runMutation(internal.orders.send, {});
  },
});
