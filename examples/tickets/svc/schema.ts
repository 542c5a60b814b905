import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

/** Held: for a buyer who has until `until` to pay. Paying: the bank is being asked, so the time does not run out. */
export const seatState = v.union(v.literal('free'), v.literal('held'), v.literal('paying'), v.literal('sold'));

export default defineSchema({
  shows: defineTable({name: v.string(), rows: v.array(v.string()), seatsPerRow: v.number()}),

  /** How many seats of a show are in each state: always as many as the table of seats has, because both change in one transaction. */
  counts: defineTable({
    show: v.id('shows'),
    free: v.number(),
    held: v.number(),
    paying: v.number(),
    sold: v.number(),
  }).index('by_show', ['show']),

  seats: defineTable({
    show: v.id('shows'),
    row: v.string(),
    number: v.number(),
    price: v.number(),
    state: seatState,
    /** A random string that only the buyer's page knows. */
    buyer: v.optional(v.string()),
    until: v.optional(v.number()),
    /** Frees the seat then. */
    expiry: v.optional(v.id('_scheduled_functions')),
  })
    .index('by_show_and_row', ['show', 'row', 'number'])
    .index('by_buyer', ['buyer']),

  orders: defineTable({
    buyer: v.string(),
    seats: v.array(v.id('seats')),
    places: v.array(v.string()),
    amount: v.number(),
    state: v.union(v.literal('paying'), v.literal('paid'), v.literal('failed')),
    problem: v.optional(v.string()),
  }).index('by_buyer', ['buyer']),
});
