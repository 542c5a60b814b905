import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  channels: defineTable({name: v.string()}).index('by_name', ['name']),

  messages: defineTable({
    channel: v.id('channels'),
    author: v.string(),
    /** The `tokenIdentifier` of the author. Messages of webhooks and of the assistant have none. */
    user: v.optional(v.string()),
    text: v.string(),
    /** The sender's own name for it, so that a page knows the message that it showed before the server had it. */
    key: v.optional(v.string()),
  }).index('by_channel', ['channel']),

  /** Who is in a channel right now, and writes. */
  presence: defineTable({
    channel: v.id('channels'),
    user: v.string(),
    name: v.string(),
    isTyping: v.boolean(),
  }).index('by_channel_and_user', ['channel', 'user']),

  /**
   * The job that removes a user's presence, unless another heartbeat comes first. In a table of its own: it changes with every
   * heartbeat, and a query that shows who is there should not run again for that.
   */
  expiries: defineTable({
    presence: v.id('presence'),
    job: v.id('_scheduled_functions'),
  }).index('by_presence', ['presence']),
});
