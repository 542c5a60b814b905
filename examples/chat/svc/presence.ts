import {v} from 'svc/values';
import {internal} from './_generated/api';
import type {Id} from './_generated/dataModel';
import {internalMutation, type MutationCtx, mutation, query} from './_generated/server';
import {signedIn} from './users';

/** A user who is not heard of for this long has left. */
const GONE_MS = 12_000;

/** Sent every few seconds by everybody who has the channel open, and when they begin or stop to type. */
export const heartbeat = mutation({
  args: {channel: v.id('channels'), isTyping: v.boolean()},
  handler: async (ctx, {channel, isTyping}) => {
    const {user, name} = await signedIn(ctx);
    const before = await entryOf(ctx, channel, user);
    const presence = before?._id ?? (await ctx.db.insert('presence', {channel, user, name, isTyping}));
    if (before !== null && (before.isTyping !== isTyping || before.name !== name)) {
      await ctx.db.patch(presence, {isTyping, name});
    }
    await cancelExpiry(ctx, presence);
    const job = await ctx.scheduler.runAfter(GONE_MS, internal.presence.expire, {presence});
    await ctx.db.insert('expiries', {presence, job});
  },
});

/** Said when leaving; who cannot say it is gone after a while all the same. */
export const leave = mutation({
  args: {channel: v.id('channels')},
  handler: async (ctx, {channel}) => {
    const {user} = await signedIn(ctx);
    const entry = await entryOf(ctx, channel, user);
    if (entry === null) return;
    await cancelExpiry(ctx, entry._id);
    await ctx.db.delete(entry._id);
  },
});

export const expire = internalMutation({
  args: {presence: v.id('presence')},
  handler: async (ctx, {presence}) => {
    const expiry = await expiryOf(ctx, presence);
    if (expiry === null) return; // Left meanwhile.
    await ctx.db.delete(expiry._id);
    await ctx.db.delete(presence);
  },
});

export const here = query({
  args: {channel: v.id('channels')},
  returns: v.array(v.object({user: v.string(), name: v.string(), isTyping: v.boolean()})),
  handler: async (ctx, {channel}) => {
    const entries = await ctx.db
      .query('presence')
      .withIndex('by_channel_and_user', q => q.eq('channel', channel))
      .take(200);
    return entries.map(({user, name, isTyping}) => ({user, name, isTyping}));
  },
});

async function entryOf(ctx: MutationCtx, channel: Id<'channels'>, user: string) {
  return await ctx.db
    .query('presence')
    .withIndex('by_channel_and_user', q => q.eq('channel', channel).eq('user', user))
    .unique();
}

async function expiryOf(ctx: MutationCtx, presence: Id<'presence'>) {
  return await ctx.db
    .query('expiries')
    .withIndex('by_presence', q => q.eq('presence', presence))
    .unique();
}

async function cancelExpiry(ctx: MutationCtx, presence: Id<'presence'>): Promise<void> {
  const expiry = await expiryOf(ctx, presence);
  if (expiry === null) return;
  await ctx.scheduler.cancel(expiry.job);
  await ctx.db.delete(expiry._id);
}
