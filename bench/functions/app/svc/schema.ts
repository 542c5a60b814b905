import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  items: defineTable({name: v.string(), category: v.string(), rank: v.number(), active: v.boolean(), note: v.string()}),
  accounts: defineTable({number: v.number(), balance: v.number()}).index('by_number', ['number']),
  notes: defineTable({rank: v.number(), text: v.string(), change: v.number()}).index('by_rank', ['rank']),
});
