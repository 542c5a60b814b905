import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  products: defineTable({name: v.string(), price: v.number(), stock: v.number()}).index('by_name', ['name']),

  customers: defineTable({name: v.string(), email: v.string(), city: v.string()}).index('by_email', ['email']),

  orders: defineTable({
    customer: v.id('customers'),
    items: v.array(v.object({product: v.id('products'), quantity: v.number()})),
    total: v.number(),
    status: v.union(v.literal('open'), v.literal('paid'), v.literal('sent')),
    note: v.optional(v.string()),
  })
    .index('by_customer', ['customer'])
    .index('by_status', ['status', 'total']),
});
