import {v} from 'svc/values';
import {internalMutation, internalQuery, mutation, paginatedQuery} from './_generated/server';

export const send = mutation({
  args: {channel: v.id('channels'), author: v.string(), text: v.string()},
  handler: async (ctx, message) => {
    if (message.text.trim() === '') throw new Error('A message has some text');
    return await ctx.db.insert('messages', message);
  },
});

/** Newest first. */
export const list = paginatedQuery({
  args: {channel: v.id('channels')},
  handler: async (ctx, {channel, paginationOpts}) =>
    await ctx.db
      .query('messages')
      .withIndex('by_channel', q => q.eq('channel', channel))
      .order('desc')
      .paginate(paginationOpts),
});

/** For code of ours that knows a channel by its name. */
export const sendTo = internalMutation({
  args: {channel: v.string(), author: v.string(), text: v.string()},
  handler: async (ctx, {channel: name, author, text}) => {
    const channel = await ctx.db
      .query('channels')
      .withIndex('by_name', q => q.eq('name', name))
      .unique();
    if (channel === null) return null;
    return await ctx.db.insert('messages', {channel: channel._id, author, text});
  },
});

export const inChannel = internalQuery({
  args: {channel: v.string()},
  handler: async (ctx, {channel: name}) => {
    const channel = await ctx.db
      .query('channels')
      .withIndex('by_name', q => q.eq('name', name))
      .unique();
    if (channel === null) return null;
    return await ctx.db
      .query('messages')
      .withIndex('by_channel', q => q.eq('channel', channel._id))
      .collect();
  },
});
