import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  channels: defineTable({name: v.string()}).index('by_name', ['name']),

  messages: defineTable({
    channel: v.id('channels'),
    author: v.string(),
    text: v.string(),
  }).index('by_channel', ['channel']),

  /** Who is in a channel right now. `expiry` is the job that removes the entry unless another heartbeat comes first. */
  presence: defineTable({
    channel: v.id('channels'),
    user: v.string(),
    expiry: v.string(),
  }).index('by_channel_and_user', ['channel', 'user']),
});
