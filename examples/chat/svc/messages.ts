import {v} from 'svc/values';
import {internalMutation, internalQuery, mutation, paginatedQuery} from './_generated/server';
import {channelNamed} from './channels';
import {signedIn} from './users';

const CHARACTERS_MAX = 4_000;

export const send = mutation({
  args: {channel: v.id('channels'), text: v.string(), key: v.optional(v.string())},
  returns: v.id('messages'),
  handler: async (ctx, {channel, text, key}) => {
    const {user, name} = await signedIn(ctx);
    if (text.trim() === '') throw new Error('A message has some text');
    if (text.length > CHARACTERS_MAX) throw new Error(`A message has ${CHARACTERS_MAX} characters at most`);
    if ((await ctx.db.get(channel)) === null) throw new Error('There is no such channel');
    return await ctx.db.insert('messages', {channel, author: name, user, text, key});
  },
});

/** Takes back a message of one's own. */
export const remove = mutation({
  args: {id: v.id('messages')},
  handler: async (ctx, {id}) => {
    const {user} = await signedIn(ctx);
    const message = await ctx.db.get(id);
    if (message === null) return; // Twice is as good as once.
    if (message.user !== user) throw new Error('Only who wrote a message can take it back');
    await ctx.db.delete(id);
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
    const channel = await channelNamed(ctx, name);
    if (channel === null) return null;
    return await ctx.db.insert('messages', {channel: channel._id, author, text});
  },
});

export const inChannel = internalQuery({
  args: {channel: v.string()},
  handler: async (ctx, {channel: name}) => {
    const channel = await channelNamed(ctx, name);
    if (channel === null) return null;
    return await ctx.db
      .query('messages')
      .withIndex('by_channel', q => q.eq('channel', channel._id))
      .collect();
  },
});
