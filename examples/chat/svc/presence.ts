import {v} from 'svc/values';
import {internal} from './_generated/api';
import {internalMutation, mutation, query} from './_generated/server';

/** A user who is not heard of for this long has left. */
const GONE_MS = 5_000;

/** Sent every few seconds by everybody who has the channel open. */
export const heartbeat = mutation({
  args: {channel: v.id('channels'), user: v.string()},
  handler: async (ctx, {channel, user}) => {
    const here = await ctx.db
      .query('presence')
      .withIndex('by_channel_and_user', q => q.eq('channel', channel).eq('user', user))
      .unique();
    if (here !== null) await ctx.scheduler.cancel(here.expiry);
    const expiry = await ctx.scheduler.runAfter(GONE_MS, internal.presence.leave, {channel, user});
    if (here === null) await ctx.db.insert('presence', {channel, user, expiry});
    else await ctx.db.patch(here._id, {expiry});
  },
});

export const leave = internalMutation({
  args: {channel: v.id('channels'), user: v.string()},
  handler: async (ctx, {channel, user}) => {
    const here = await ctx.db
      .query('presence')
      .withIndex('by_channel_and_user', q => q.eq('channel', channel).eq('user', user))
      .unique();
    if (here !== null) await ctx.db.delete(here._id);
  },
});

export const here = query({
  args: {channel: v.id('channels')},
  returns: v.array(v.string()),
  handler: async (ctx, {channel}) => {
    const entries = await ctx.db
      .query('presence')
      .withIndex('by_channel_and_user', q => q.eq('channel', channel))
      .collect();
    return entries.map(entry => entry.user);
  },
});
