import {v} from 'svc/values';
import {internal} from './_generated/api';
import {internalMutation, mutation, query} from './_generated/server';

export const place = mutation({
  args: {
    customer: v.id('customers'),
    items: v.array(v.object({product: v.id('products'), quantity: v.number()})),
    note: v.optional(v.string()),
  },
  returns: v.id('orders'),
  handler: async (ctx, {customer, items, note}) => {
    let total = 0;
    for (const {product: id, quantity} of items) {
      const product = await ctx.db.get(id);
      if (product === null) throw new Error('There is no such product');
      if (product.stock < quantity) throw new Error(`Only ${product.stock} of ${product.name} are left`);
      await ctx.db.patch(id, {stock: product.stock - quantity});
      total += product.price * quantity;
    }
    const order = await ctx.db.insert('orders', {customer, items, total, status: 'open', note});
    console.log('order placed', {total});
    await ctx.scheduler.runAfter(3_600_000, internal.orders.remind, {order});
    return order;
  },
});

export const pay = mutation({
  args: {order: v.id('orders')},
  handler: async (ctx, {order}) => {
    const {status} = (await ctx.db.get(order))!;
    if (status !== 'open') throw new Error(`This order is ${status} already`);
    await ctx.db.patch(order, {status: 'paid'});
  },
});

export const open = query({
  args: {},
  handler: async ctx =>
    await ctx.db
      .query('orders')
      .withIndex('by_status', q => q.eq('status', 'open'))
      .order('desc')
      .take(20),
});

export const ofCustomer = query({
  args: {customer: v.id('customers')},
  handler: async (ctx, {customer}) =>
    await ctx.db
      .query('orders')
      .withIndex('by_customer', q => q.eq('customer', customer))
      .collect(),
});

export const remind = internalMutation({
  args: {order: v.id('orders')},
  handler: async (ctx, {order}) => {
    const found = await ctx.db.get(order);
    if (found?.status === 'open') console.warn('still open', order);
  },
});

export const send = internalMutation({
  args: {},
  handler: async ctx => {
    const paid = await ctx.db
      .query('orders')
      .withIndex('by_status', q => q.eq('status', 'paid'))
      .take(10);
    for (const {_id} of paid) await ctx.db.patch(_id, {status: 'sent'});
    console.log('orders sent', paid.length);
  },
});
