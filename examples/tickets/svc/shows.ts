import {v} from 'svc/values';
import {mutation, query} from './_generated/server';
import {moveSeat} from './moving';

const SHOW = {name: 'Night of the Owls', rows: ['A', 'B', 'C', 'D', 'E', 'F'], seatsPerRow: 12};
const PRICES = [60, 60, 45, 45, 30, 30];

/** The show, made with all its seats if there is none. */
export const open = mutation({
  args: {},
  returns: v.id('shows'),
  handler: async ctx => {
    const open = await ctx.db.query('shows').first();
    if (open !== null) return open._id;
    const show = await ctx.db.insert('shows', SHOW);
    for (const [index, row] of SHOW.rows.entries()) {
      for (let number = 1; number <= SHOW.seatsPerRow; number++) {
        await ctx.db.insert('seats', {show, row, number, price: PRICES[index] ?? 30, state: 'free'});
      }
    }
    const free = SHOW.rows.length * SHOW.seatsPerRow;
    await ctx.db.insert('counts', {show, free, held: 0, paying: 0, sold: 0});
    return show;
  },
});

/** Every seat is free again; what is being paid for stays as it is. */
export const startOver = mutation({
  args: {show: v.id('shows')},
  handler: async (ctx, {show}) => {
    const seats = ctx.db.query('seats').withIndex('by_show_and_row', q => q.eq('show', show));
    for (const seat of await seats.collect()) {
      if (seat.state === 'free' || seat.state === 'paying') continue;
      if (seat.expiry !== undefined) await ctx.scheduler.cancel(seat.expiry);
      await moveSeat(ctx, seat, 'free');
    }
  },
});

export const current = query({
  args: {},
  handler: async ctx => await ctx.db.query('shows').first(),
});

export const counts = query({
  args: {show: v.id('shows')},
  returns: v.object({free: v.number(), held: v.number(), sold: v.number()}),
  handler: async (ctx, {show}) => {
    const counts = await ctx.db
      .query('counts')
      .withIndex('by_show', q => q.eq('show', show))
      .unique();
    if (counts === null) throw new Error('A show has counts');
    return {free: counts.free, held: counts.held + counts.paying, sold: counts.sold};
  },
});
