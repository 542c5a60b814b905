/**
 * Paying calls another service, the bank, and that is no part of any transaction. So an order goes in steps, each of them a mutation, and
 * whatever happens between two steps, the next one or the scheduled `giveUp` finds the seats in a state that it knows:
 *
 *   held ──begin──▶ paying ──bank: yes──▶ sold
 *                     │ └──bank: no─────▶ held, for a new while
 *                     └──no word for a minute──▶ free; should the bank say yes after all, it is paid back
 */
import {v} from 'svc/values';
import {internal} from './_generated/api';
import type {Doc, Id} from './_generated/dataModel';
import {action, internalMutation, type MutationCtx, query} from './_generated/server';
import {moveSeat} from './moving';

const PATIENCE_MS = 60_000;
/** To try another card. */
const AGAIN_MS = 60_000;

type Outcome = {state: 'paid' | 'failed'; problem: string | null};
type Begun = {order: Id<'orders'>; amount: number} | null;

export const pay = action({
  args: {buyer: v.string(), card: v.string()},
  returns: v.object({state: v.union(v.literal('paid'), v.literal('failed')), problem: v.union(v.string(), v.null())}),
  handler: async (ctx, {buyer, card}): Promise<Outcome> => {
    const begun: Begun = await ctx.runMutation(internal.orders.begin, {buyer});
    if (begun === null) return {state: 'failed', problem: 'You hold no seat any more'};
    const {order, amount} = begun;
    // The bank takes an order once, so that no buyer pays twice.
    const reply = await askBank('charges', {order, amount, card});
    console.log('asked the bank', {amount, ok: reply.ok});
    if (!reply.ok) {
      await ctx.runMutation(internal.orders.fail, {order, problem: reply.problem});
      return {state: 'failed', problem: reply.problem};
    }
    if (await ctx.runMutation(internal.orders.finish, {order})) return {state: 'paid', problem: null};
    await askBank('refunds', {order});
    return {state: 'failed', problem: 'It took too long; the money is on its way back'};
  },
});

async function askBank(path: string, body: object): Promise<{ok: true} | {ok: false; problem: string}> {
  const bank = process.env.BANK_URL;
  if (bank === undefined) throw new Error('Set BANK_URL first, see the README');
  const response = await fetch(`${bank}/${path}`, {
    method: 'POST',
    headers: {'content-type': 'application/json'},
    body: JSON.stringify(body),
  });
  if (response.ok) return {ok: true};
  return {ok: false, problem: ((await response.json()) as {message: string}).message};
}

/** The buyer's held seats become an order. */
export const begin = internalMutation({
  args: {buyer: v.string()},
  handler: async (ctx, {buyer}): Promise<Begun> => {
    const seats = await ctx.db
      .query('seats')
      .withIndex('by_buyer', q => q.eq('buyer', buyer))
      .filter(q => q.eq(q.field('state'), 'held'))
      .collect();
    if (seats.length === 0) return null;
    const amount = seats.reduce((sum, {price}) => sum + price, 0);
    const order = await ctx.db.insert('orders', {
      buyer,
      seats: seats.map(({_id}) => _id),
      places: seats.map(({row, number}) => `${row}${number}`),
      amount,
      state: 'paying',
    });
    for (const seat of seats) {
      if (seat.expiry !== undefined) await ctx.scheduler.cancel(seat.expiry);
      await moveSeat(ctx, seat, 'paying', {buyer});
    }
    await ctx.scheduler.runAfter(PATIENCE_MS, internal.orders.giveUp, {order});
    return {order, amount};
  },
});

/** @returns whether the seats were still the order's */
export const finish = internalMutation({
  args: {order: v.id('orders')},
  handler: async (ctx, {order: id}): Promise<boolean> => {
    const order = await ctx.db.get(id);
    if (order?.state !== 'paying') return false;
    for (const seat of await seatsOf(ctx, order)) await moveSeat(ctx, seat, 'sold', {buyer: order.buyer});
    await ctx.db.patch(id, {state: 'paid'});
    return true;
  },
});

export const fail = internalMutation({
  args: {order: v.id('orders'), problem: v.string()},
  handler: async (ctx, {order: id, problem}) => {
    const order = await ctx.db.get(id);
    if (order?.state !== 'paying') return;
    for (const seat of await seatsOf(ctx, order)) {
      const expiry = await ctx.scheduler.runAfter(AGAIN_MS, internal.seats.expire, {seat: seat._id});
      await moveSeat(ctx, seat, 'held', {buyer: order.buyer, until: Date.now() + AGAIN_MS, expiry});
    }
    await ctx.db.patch(id, {state: 'failed', problem});
  },
});

export const giveUp = internalMutation({
  args: {order: v.id('orders')},
  handler: async (ctx, {order: id}) => {
    const order = await ctx.db.get(id);
    if (order?.state !== 'paying') return;
    for (const seat of await seatsOf(ctx, order)) await moveSeat(ctx, seat, 'free');
    await ctx.db.patch(id, {state: 'failed', problem: 'The bank did not answer'});
  },
});

export const mine = query({
  args: {buyer: v.string()},
  handler: async (ctx, {buyer}) => {
    const orders = ctx.db.query('orders').withIndex('by_buyer', q => q.eq('buyer', buyer));
    return (await orders.order('desc').take(10)).map(({_id, places, amount, state, problem}) => ({
      _id,
      places,
      amount,
      state,
      problem,
    }));
  },
});

async function seatsOf(ctx: MutationCtx, {seats: ids}: Doc<'orders'>): Promise<Doc<'seats'>[]> {
  const seats = await Promise.all(ids.map(id => ctx.db.get(id)));
  return seats.filter(seat => seat !== null);
}
