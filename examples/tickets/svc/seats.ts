import {v} from 'svc/values';
import {internal} from './_generated/api';
import {internalMutation, mutation, query} from './_generated/server';
import {moveSeat} from './moving';
import {seatState} from './schema';

const HOLD_SECONDS = 30;
const SEATS_MAX = 6;

/**
 * One row. It reads that row of the index and nothing else, so it runs again when one of these seats changes, and only then. It
 * does not tell who holds a seat: all buyers share the result.
 */
export const row = query({
  args: {show: v.id('shows'), row: v.string()},
  returns: v.array(v.object({_id: v.id('seats'), number: v.number(), price: v.number(), state: seatState})),
  handler: async (ctx, {show, row}) => {
    const seats = ctx.db.query('seats').withIndex('by_show_and_row', q => q.eq('show', show).eq('row', row));
    return (await seats.collect()).map(({_id, number, price, state}) => ({_id, number, price, state}));
  },
});

/** The seats of one buyer. */
export const mine = query({
  args: {buyer: v.string()},
  handler: async (ctx, {buyer}) => {
    const seats = ctx.db.query('seats').withIndex('by_buyer', q => q.eq('buyer', buyer));
    return (await seats.collect()).map(({_id, row, number, price, state, until}) => ({
      _id,
      place: `${row}${number}`,
      price,
      state,
      until,
    }));
  },
});

/**
 * Keeps a seat for a buyer for a while. However many ask for it at once, mutations run one after another: the first has it, and all others
 * see that it is taken. That is no error, so it is a returned value.
 */
export const hold = mutation({
  args: {seat: v.id('seats'), buyer: v.string()},
  returns: v.union(v.literal('held'), v.literal('taken'), v.literal('too many')),
  handler: async (ctx, {seat: id, buyer}) => {
    const seat = await ctx.db.get(id);
    if (seat === null) throw new Error('There is no such seat');
    if (seat.state !== 'free') return seat.buyer === buyer ? 'held' : 'taken';
    const has = await ctx.db
      .query('seats')
      .withIndex('by_buyer', q => q.eq('buyer', buyer))
      .filter(q => q.eq(q.field('state'), 'held'))
      .take(SEATS_MAX);
    if (has.length === SEATS_MAX) return 'too many';
    const holdMs = Number(process.env.HOLD_SECONDS ?? HOLD_SECONDS) * 1000;
    const expiry = await ctx.scheduler.runAfter(holdMs, internal.seats.expire, {seat: id});
    await moveSeat(ctx, seat, 'held', {buyer, until: Date.now() + holdMs, expiry});
    return 'held';
  },
});

export const letGo = mutation({
  args: {seat: v.id('seats'), buyer: v.string()},
  handler: async (ctx, {seat: id, buyer}) => {
    const seat = await ctx.db.get(id);
    if (seat?.state !== 'held' || seat.buyer !== buyer) return;
    if (seat.expiry !== undefined) await ctx.scheduler.cancel(seat.expiry);
    await moveSeat(ctx, seat, 'free');
  },
});

/** The clean-up that `hold` has scheduled; paying or letting go in time cancels it. */
export const expire = internalMutation({
  args: {seat: v.id('seats')},
  handler: async (ctx, {seat: id}) => {
    const seat = await ctx.db.get(id);
    if (seat?.state === 'held') await moveSeat(ctx, seat, 'free');
  },
});
